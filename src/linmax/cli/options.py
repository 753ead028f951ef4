"""The options of the commands that read a file, each declared once, as fields of frozen dataclasses.

`expand_options` turns a command whose parameters are such dataclasses into one with an option per field.
Nothing here imports the packages that do the work, so that `linmax --help` is quick.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

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


@dataclass(frozen=True)
class ReadOptions:
    """A file, and what its columns are; None is detected."""

    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSONL, Parquet, Arrow, svmlight or numpy; also .gz, .zst; - is standard input.",
        ),
    ]
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

    def open(self) -> Stream:
        """Open the file as a stream of chunks."""
        from linmax.streams import open_stream

        return open_stream(
            str(self.path) if str(self.path) == "-" else self.path,
            label=self.label,
            id=self.id,
            attributes=split_names(self.attributes) or (),
            experts=split_names(self.experts),
            shape=self.shape,
            ignore_case=self.ignore_case,
        )


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


@dataclass(frozen=True)
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


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by one parameter per field.

    >>> @dataclass(frozen=True)
    ... class Size:
    ...     width: int = 3
    >>> @expand_options
    ... def draw(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> str(inspect.signature(draw))
    '(*, name: str, width: int = 3)'
    >>> draw(name="box", width=5)
    box Size(width=5)
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type[Any], dict[str, Any]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if not dataclasses.is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        fields = get_type_hints(hints[name], include_extras=True)
        groups[name] = (hints[name], fields)
        for field in dataclasses.fields(hints[name]):
            default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            parameters.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=fields[field.name]
                )
            )

    @functools.wraps(command)
    def expanded(**values: Any) -> None:
        made = {
            name: kind(**{field: values.pop(field) for field in fields if field in values})
            for name, (kind, fields) in groups.items()
        }
        command(**values, **made)

    expanded.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    expanded.__annotations__ = {one.name: one.annotation for one in parameters}
    del expanded.__wrapped__
    return expanded


def split_names(names: list[str] | None) -> list[str] | None:
    """Names given by a repeated option, or separated by commas.

    >>> split_names(["ann,bob", "eve"]), split_names(None)
    (['ann', 'bob', 'eve'], None)
    """
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]
