"""The options of the commands that read a file, each declared once, as fields of frozen dataclasses.

A command whose parameter is such a dataclass has an option per field. Nothing here imports the packages that
do the work, so that `linmax --help` is quick.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linmax.cli.options.decisions import Coverage, MaxError, Prices

if TYPE_CHECKING:
    from linmax.panels.panel import Panel

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
    str | None,
    typer.Option(
        "--labels",
        metavar="FILE",
        help="A file with the labels, joined by id; --label is its column.",
    ),
]
LabelsId = Annotated[
    str | None,
    typer.Option(
        "--labels-id",
        metavar="COLUMN",
        help="The column of ids in the file of labels.",
        show_default="inferred",
    ),
]
Shuffle = Annotated[
    int | None,
    typer.Option(
        "--shuffle",
        min=0,
        metavar="SEED",
        help="Shuffle the rows.",
        show_default="only rows that are sorted by label, with seed 0",
    ),
]

InOrder = Annotated[
    bool,
    typer.Option(
        "--in-order", help="Learn the rows in their order, also if they are sorted by label: no verdict then."
    ),
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a file are; None is inferred from names and contents."""

    label: Annotated[
        str | None,
        typer.Option("--label", help="The column of labels; '' if there is none.", show_default="inferred"),
    ] = None
    id: Annotated[
        str | None,
        typer.Option("--id", help="The column of ids; '' if there is none.", show_default="inferred"),
    ] = None
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attributes", metavar="COLUMN", help="A column of attributes, or 'x_*'; repeat it, or A,B,C."
        ),
    ] = None
    experts: Annotated[
        list[str] | None,
        typer.Option(
            "--experts",
            metavar="COLUMN",
            help="A column of votes, or 'gpt*'; repeat it, or A,B,C. In a long table: EXPERT,VOTE.",
            show_default="inferred",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="COLUMN", help="A column to ignore, or 'meta_*'; repeat it."),
    ] = None
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--classes",
            metavar="NAME",
            help="A class that is never a label; other votes that are never a label abstain.",
        ),
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            "--missing",
            metavar="TEXT",
            help="A cell that means a missing value, beside NA, nan, null and the like; repeat it, or A,B,C."
            " '' leaves out these.",
            show_default=False,
        ),
    ] = None
    shape: Annotated[
        str | None, typer.Option("--shape", help="wide, scores or long.", show_default="inferred")
    ] = None
    no_header: Annotated[
        bool, typer.Option("--no-header", help="The first row of a text file is data, too.")
    ] = False
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", help="Labels that differ by case only are one class.")
    ] = False
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="The encoding of a text file, such as cp1251.",
            show_default="UTF-8, UTF-16 or Windows-1252, by content",
        ),
    ] = None
    sheet: Annotated[
        str | None,
        typer.Option("--sheet", metavar="NAME", help="The sheet of a workbook.", show_default="the first"),
    ] = None

    def read(
        self,
        paths: Sequence[str],
        *,
        labels: str | None = None,
        labels_id: str | None = None,
        like: dict[str, Any] | None = None,
        needs_label: bool = True,
        abstain: str = "",
    ) -> Panel:
        """Read files, with the roles that the options give to columns; - is standard input."""
        from linmax.panels.panel import read_panel
        from linmax.panels.roles.column_role import PanelOptions

        options = PanelOptions(
            **self.panel_arguments(), labels=labels, labels_id=labels_id, like=like, needs_label=needs_label,
            abstain=abstain,
        )  # fmt: skip
        return read_panel(paths, options)

    def panel_arguments(self) -> dict[str, Any]:
        """Return what the options say about columns, as arguments of `PanelOptions`."""
        if self.shape not in (None, "wide", "scores", "long"):
            raise ValueError(f"--shape is wide, scores or long (got {self.shape!r})")
        experts = split_names(self.experts)
        return {
            "label": self.label,
            "id": self.id,
            "experts": None if experts is None else tuple(experts),
            "attributes": tuple(split_names(self.attributes) or ()),
            "ignore": tuple(split_names(self.ignore) or ()),
            "classes": tuple(split_names(self.classes) or ()),
            "missing": missing_texts(self.missing or []),
            "shape": self.shape,
            "header": not self.no_header,
            "ignore_case": self.ignore_case,
            "encoding": self.encoding or "",
            "sheet": self.sheet or "",
        }

    @property
    def names_columns(self) -> bool:
        """Whether an option says which columns are read."""
        return any((self.attributes, self.experts, self.ignore, self.shape))


@dataclass(frozen=True, kw_only=True)
class ReadOptions(ColumnOptions):
    """A file, and what its columns are."""

    path: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, JSON, Excel, Parquet, Arrow, svmlight or numpy, perhaps packed; - is standard input.",
        ),
    ]


@dataclass(frozen=True, kw_only=True)
class FilesOptions(ColumnOptions):
    """One or several files, and what their columns are."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="CSV, JSON, Excel, Parquet, Arrow, svmlight or numpy, perhaps packed; - is standard input."
            " Several files, such as one per model, or votes and labels, are joined.",
        ),
    ]
    labels: Labels = None
    labels_id: LabelsId = None

    def open(
        self, like: dict[str, Any] | None = None, *, needs_label: bool = True, abstain: str = ""
    ) -> Panel:
        """Read the files."""
        return self.read(
            self.paths, labels=self.labels, labels_id=self.labels_id, like=like, needs_label=needs_label,
            abstain=abstain,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class FilesAndLearners(FilesOptions):
    """One or several files, what their columns are, and learners."""

    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... [LEARNER]...",
            help="Files as for fuse, then learners such as 'Averaged(Winnow(1.2))'; gains are relative to the"
            " first. Without learners: recommended() and others.",
        ),
    ]


@dataclass(frozen=True)
class FuseOptions:
    """What `linmax fuse` does with a file."""

    learner: Learner = None
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML report: report.html.")] = None
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Write the model, for predict, explain and --from; with --by, a folder."),
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
        typer.Option(
            "--relearn",
            help="With --from: also learn rows that the model has already learned. With --by: begin again.",
        ),
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
    shuffle: Shuffle = None
    in_order: InOrder = False
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost", metavar="EXPERT=NUMBER", help="The price of one vote of an expert; repeat it."
        ),
    ] = None
    prices: Prices = None
    abstain: Annotated[
        str | None,
        typer.Option(
            "--abstain",
            metavar="VOTE",
            help="The vote that means no vote; 'none' if every vote counts.",
            show_default="-1, and an empty cell",
        ),
    ] = None
    max_error: MaxError = None
    coverage: Coverage = None
    mistake_costs: Annotated[
        Path | None,
        typer.Option(
            "--mistake-costs",
            metavar="FILE",
            help="Predict the class of least expected cost; a CSV file with the columns truth, guess, cost.",
        ),
    ] = None
    cost_margins: Annotated[
        bool,
        typer.Option(
            "--cost-margins",
            help="Multiply the slack of the learner's rules by the costs, which changes its updates.",
        ),
    ] = False
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            min=0,
            max=2**63 - 1,
            help="The seed of learners that use random numbers.",
            show_default="0",
        ),
    ] = None
    json: Json = False


@dataclass(frozen=True)
class CompareOptions:
    """What `linmax compare` compares, and how."""

    shuffle: Shuffle = None
    in_order: InOrder = False
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE.png", help="Draw the mistakes of all as curves.")
    ] = None
    cache: Annotated[
        Path | None,
        typer.Option("--cache", metavar="FOLDER", help="Keep the result of each learner, by content."),
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
class BoundsOptions(ColumnOptions):
    """A panel for `linmax bounds`, and how its margin and noise are found."""

    panel: Annotated[
        str | None,
        typer.Option(
            "--panel",
            metavar="FILE",
            help="Find margin and noise in a file of votes and labels instead (requires the extra sklearn).",
        ),
    ] = None
    first: Annotated[
        int | None,
        typer.Option("--first", min=1, help="With a file: use only the first items.", show_default="20000"),
    ] = None
    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            help="With a file: C of the SVM that finds u; a larger C means less noise.",
            show_default="1",
        ),
    ] = None
    certify: Annotated[
        bool,
        typer.Option(
            "--certify",
            help="Run RULE on FILE and write a certificate of its mistakes and its bound to -o.",
        ),
    ] = False
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="With --certify: the file of the certificate."),
    ] = None

    def check_unused(self) -> None:
        """Refuse options that have no effect without --panel."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                name = field.name.replace("_", "-")
                text = "" if value is True else f" {','.join(value) if isinstance(value, list) else value}"
                requirement = "--certify" if field.name == "output" else "--panel FILE"
                raise ValueError(f"--{name}{text} requires {requirement}")


def split_names(names: list[str] | None) -> list[str] | None:
    """Names given by a repeated option, or separated by commas.

    >>> split_names(["ann,bob", "eve"]), split_names(None)
    (['ann', 'bob', 'eve'], None)
    """
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def missing_texts(given: list[str]) -> tuple[str, ...]:
    """The cells that mean a missing value: those given and the usual ones; without these if '' is given.

    >>> missing_texts(["", "?"]), "NA" in missing_texts(["?"])
    (('', '?'), True)
    """
    from linmax.panels.roles.profile import MISSING

    usual = ("",) if "" in map(str.strip, given) else MISSING
    return tuple(dict.fromkeys((*usual, *(split_names(given) or ()))))
