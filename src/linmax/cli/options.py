"""The options of the commands that read a file, each declared once, as fields of frozen dataclasses.

A command whose parameter is such a dataclass has an option per field. Nothing here imports the packages that
do the work, so that `linmax --help` is quick.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from linmax.streams import Stream

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file, written by fuse --save or Fusion.save.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Learner = Annotated[
    str | None,
    typer.Option(
        "--learner",
        metavar="TERM",
        help="The learner, such as 'Averaged(Winnow(1.2))'.",
        show_default="recommended()",
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="A file with labels that came later, joined by id; --label is its column.",
    ),
]
Shuffle = Annotated[
    int | None,
    typer.Option(
        "--shuffle", min=0, metavar="SEED", help="Shuffle the rows, which are then all held in memory."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a file are; None is detected."""

    label: Annotated[
        str | None,
        typer.Option("--label", help="The column of labels.", show_default="truth, label, gold or target"),
    ] = None
    id: Annotated[
        str | None, typer.Option("--id", help="The column of ids.", show_default="id, if there is one")
    ] = None
    attributes: Annotated[
        list[str] | None,
        typer.Option("--attributes", metavar="COLUMN", help="A column of attributes; repeat it, or A,B,C."),
    ] = None
    experts: Annotated[
        list[str] | None,
        typer.Option(
            "--experts",
            metavar="COLUMN",
            help="A column of votes; repeat it, or A,B,C.",
            show_default="all others",
        ),
    ] = None
    shape: Annotated[
        str | None, typer.Option("--shape", help="wide, scores or long.", show_default="detected")
    ] = None
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Strip whitespace around votes and labels and ignore case.")
    ] = False

    def open_file(self, path: Path) -> Stream:
        """Open a file as a stream of chunks; - is standard input."""
        from linmax.streams import open_stream

        return open_stream(
            str(path) if str(path) == "-" else path,
            label=self.label,
            id=self.id,
            attributes=split_names(self.attributes) or (),
            experts=split_names(self.experts),
            shape=self.shape,
            ignore_case=self.ignore_case,
        )


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ColumnOptions):
    """A file, and what its columns are."""

    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSONL, Parquet, Arrow, svmlight or numpy; also .gz, .zst; - is standard input.",
        ),
    ]

    def open(self) -> Stream:
        """Open the file as a stream of chunks."""
        return self.open_file(self.path)


@dataclass(frozen=True)
class FuseOptions:
    """What `linmax fuse` does with a file."""

    learner: Learner = None
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML report: report.html.")] = None
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the model, for predict, explain and --from.")
    ] = None
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="MODEL",
            help="Resume from a checkpoint, or continue with a finished model.",
        ),
    ] = None
    relearn: Annotated[
        bool,
        typer.Option("--relearn", help="With --from: also learn rows that the model has already learned."),
    ] = False
    checkpoint: Annotated[
        int,
        typer.Option(
            "--checkpoint", min=0, metavar="ROWS", help="Write the model every ROWS rows; 0: at the end only."
        ),
    ] = 0
    output: Annotated[
        Path | None, typer.Option("--output", help="Write every prediction: .csv, .tsv, .jsonl or .parquet.")
    ] = None
    labels: Labels = None
    shuffle: Shuffle = None
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost", metavar="EXPERT=NUMBER", help="The price of one vote of an expert; repeat it."
        ),
    ] = None
    abstain: Annotated[
        str | None,
        typer.Option(
            "--abstain",
            metavar="VOTE",
            help="The vote that means no vote; 'none' if every vote counts.",
            show_default="-1, and an empty cell",
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option("--seed", min=0, max=2**63 - 1, help="The seed of learners that use random numbers."),
    ] = 0
    json: Json = False


@dataclass(frozen=True)
class CompareOptions:
    """What `linmax compare` compares, and how."""

    learners: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LEARNER]...",
            help="Such as 'Averaged(Winnow(1.2))'; gains are relative to the first.",
            show_default="recommended() and others",
        ),
    ] = None
    labels: Labels = None
    shuffle: Shuffle = None
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.png", help="Draw the mistakes of all as curves.")
    ] = None
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class ExplainOptions(ReadOptions):
    """A file, and which of its items `linmax explain` explains."""

    id: Annotated[
        str | None,
        typer.Option("--id-column", help="The column of ids.", show_default="id, if there is one"),
    ] = None
    item: Annotated[str | None, typer.Option("--id", help="The id of the item.")] = None
    row: Annotated[
        int | None, typer.Option("--row", min=1, help="The number of the item; the first is 1.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class PanelOptions(ColumnOptions):
    """A panel for `linmax bounds`, and how its margin and noise are found."""

    panel: Annotated[
        Path | None,
        typer.Option(
            "--panel",
            metavar="FILE",
            help="Find margin and noise in a file of votes and labels instead (requires the extra sklearn).",
        ),
    ] = None
    first: Annotated[
        int | None,
        typer.Option("--first", min=1, help="With --panel: use only the first items.", show_default="20000"),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="With --panel: C of the SVM that finds u; a larger C means less noise.",
            show_default="1",
        ),
    ] = None

    def check_unused(self) -> None:
        """Refuse options that have no effect without --panel."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                name = field.name.replace("_", "-")
                text = "" if value is True else f" {','.join(value) if isinstance(value, list) else value}"
                raise ValueError(f"--{name}{text} requires --panel FILE")


def split_names(names: list[str] | None) -> list[str] | None:
    """Names given by a repeated option, or separated by commas.

    >>> split_names(["ann,bob", "eve"]), split_names(None)
    (['ann', 'bob', 'eve'], None)
    """
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]
