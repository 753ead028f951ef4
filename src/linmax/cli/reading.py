"""How a file of votes is to be read: the same options for every command that reads one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from linmax.streams import Stream

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="CSV, TSV, JSONL, Parquet, Arrow, svmlight or numpy, plain, .gz or .zst; - is standard input.",
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="The column of labels.", show_default="truth, label, gold or target"),
]
Id = Annotated[
    str | None, typer.Option("--id", help="The column of ids.", show_default="id, if there is one")
]
Attributes = Annotated[
    list[str] | None,
    typer.Option("--attributes", metavar="COLUMN", help="A column of attributes; repeat it, or A,B,C."),
]
Experts = Annotated[
    list[str] | None,
    typer.Option(
        "--experts",
        metavar="COLUMN",
        help="A column that votes; repeat it, or A,B,C.",
        show_default="all others",
    ),
]
Shape = Annotated[str | None, typer.Option("--shape", help="wide, scores or long.", show_default="found out")]
Fold = Annotated[bool, typer.Option("--fold", help="Take blanks around votes and labels away, and capitals.")]


class Reading(NamedTuple):
    """A file, and which columns are what; None is to be found out."""

    path: Path
    label: str | None = None
    id: str | None = None
    attributes: list[str] | None = None
    experts: list[str] | None = None
    shape: str | None = None
    fold: bool = False

    def open(self) -> Stream:
        """The stream of its items."""
        from linmax.streams import open_stream

        return open_stream(
            str(self.path) if str(self.path) == "-" else self.path,
            label=self.label,
            id=self.id,
            attributes=listed(self.attributes) or (),
            experts=listed(self.experts),
            shape=self.shape,
            fold=self.fold,
        )


def listed(names: list[str] | None) -> list[str] | None:
    """Names that were repeated, or written with commas.

    >>> listed(["ann,bob", "eve"]), listed(None)
    (['ann', 'bob', 'eve'], None)
    """
    if not names:
        return None
    return [part.strip() for name in names for part in name.split(",") if part.strip()]
