"""The options of jobs in tasks: where they run, and how a data set is learned by key."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Run on a Dask cluster, such as tcp://host:8786 (requires the extra dask).",
    ),
]
LocalCluster = Annotated[
    bool,
    typer.Option("--local-cluster", help="Start a Dask cluster on this machine (requires the extra dask)."),
]


@dataclass(frozen=True)
class EngineOptions:
    """Where the tasks of a job run."""

    cluster: Cluster = None
    local_cluster: LocalCluster = False
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, help="The processes on this machine.", show_default="one per core"),
    ] = None

    @property
    def asked(self) -> bool:
        """Whether an option is given."""
        return any(getattr(self, field.name) != field.default for field in fields(self))

    def where(self) -> dict[str, Any]:
        """Return the arguments of `linmax.scale.open_engine`."""
        if self.cluster is not None and self.local_cluster:
            raise ValueError("--cluster and --local-cluster exclude each other; pass one of them")
        if self.cluster is not None and self.workers is not None:
            raise ValueError(f"--workers {self.workers} has no effect on --cluster; leave out one of them")
        return {"cluster": "local" if self.local_cluster else self.cluster, "workers": self.workers}

    def refuse(self, needed: str) -> None:
        """Refuse the options where they have no effect."""
        for name, given in (
            ("--cluster", self.cluster),
            ("--local-cluster", self.local_cluster),
            ("--workers", self.workers),
        ):
            if given:
                raise ValueError(f"{name} requires {needed}")


@dataclass(frozen=True)
class KeyedOptions:
    """How `linmax fuse --by` learns."""

    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Learn one model per value of a column of a data set, or of several: repeat it, or A,B;"
            " --save is the folder of models.",
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            "--time",
            metavar="COLUMN",
            help="With --by: the column that orders the rows of a key.",
            show_default="their order in the files",
        ),
    ] = None
    pooled: Annotated[
        int,
        typer.Option(
            "--pooled",
            min=0,
            metavar="ITEMS",
            help="With --by: start each key from a model of so many items of all keys.",
        ),
    ] = 0
    buckets: Annotated[
        int | None,
        typer.Option(
            "--buckets",
            min=1,
            help="With --by: the parts into which keys are divided; one is in memory per worker.",
            show_default="one per 32 MB",
        ),
    ] = None
    resume: Annotated[
        bool,
        typer.Option("--resume", help="With --by: learn what is new, or go on with a run that was stopped."),
    ] = False

    def refuse(self) -> None:
        """Refuse the options without --by."""
        for field in fields(self):
            if (getattr(self, field.name) or field.default) != field.default:
                raise ValueError(f"--{field.name} requires --by COLUMN")


@dataclass(frozen=True)
class DatasetOptions:
    """How `linmax predict` predicts the partitions of a data set."""

    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="COLUMN", help="Use the models by key of fuse --by; MODEL is their folder."
        ),
    ] = None
    format: Annotated[
        str,
        typer.Option("--format", help="Of a data set: parquet, csv, tsv or jsonl; --output is a folder."),
    ] = "parquet"
    resume: Annotated[
        bool, typer.Option("--resume", help="Of a data set: leave out partitions that are predicted already.")
    ] = False

    def refuse(self) -> None:
        """Refuse the options for one file."""
        for field in fields(self):
            if (getattr(self, field.name) or field.default) != field.default:
                raise ValueError(
                    f"--{field.name} requires a data set: pass --by, --workers, --local-cluster or --cluster"
                )
