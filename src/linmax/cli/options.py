"""How a file of votes is to be read: the same options for every command that reads one."""

from __future__ import annotations

import inspect
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from linmax import parse
from linmax import spec as _registry
from linmax.fusion.model_file import is_model
from linmax.spec import Learner
from linmax.streams import Guesses, Layout
from linmax.streams.schema import split

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


class Orders(NamedTuple):
    """What is asked for, beside how to read the file."""

    learner: str | None = None
    seed: int = 0
    abstain: str | None = None
    start: Path | None = None  # the model to go on from
    again: bool = False  # learn rows that the model has learned before
    save: Path | None = None
    checkpoint: int = 0  # rows between savings
    labels: Path | None = None
    shuffle: int | None = None
    cost: list[str] | None = None
    output: Path | None = None
    report: Path | None = None
    json: bool = False


def check(reading: Reading, orders: Orders) -> None:
    """Refuse, before anything is read, what cannot be done at the end."""
    taken = {_place(path): "is read here" for path in (reading.path, orders.labels) if path is not None}
    for what, path in (("--save", orders.save), ("--report", orders.report), ("--output", orders.output)):
        if path is None:
            continue
        if not path.parent.is_dir():
            raise ValueError(f"cannot write {what} {path}: there is no folder {path.parent}; make it first")
        if path.is_dir() or str(path) == "-":
            raise ValueError(f"cannot write {what} {path}: it is not the name of a file; add one")
        if _place(path) in taken:
            raise ValueError(f"{what} {path} {taken[_place(path)]}; name another file")
        taken[_place(path)] = "is written twice"
    if orders.save is not None and orders.save.exists() and not is_model(orders.save):
        raise ValueError(f"--save {orders.save} is there and is no model; name another file, or remove it")
    if orders.output is not None:
        Guesses(orders.output)  # which knows the endings
    if orders.checkpoint and orders.save is None:
        raise ValueError(f"--checkpoint {orders.checkpoint} needs a model to write; name it with --save")
    for what, given in (("--learner", orders.learner), ("--abstain", orders.abstain)):
        if orders.start is not None and given is not None:
            raise ValueError(f"--from {orders.start} has its own {what[2:]}; leave out {what}")
    if orders.again and orders.start is None:
        raise ValueError("--again is for rows that a model has learned before; name the model with --from")


def _place(path: Path) -> Path:
    return path.resolve()


def costs(given: list[str]) -> dict[str, float]:
    """Costs such as "gpt=3.5".

    >>> costs(["gpt=3.5", "bert=0"])
    {'gpt': 3.5, 'bert': 0.0}
    """
    found = {}
    for one in given:
        name, _, number = one.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0.0 <= found[name] < float("inf"):
            raise ValueError(f"--cost is written EXPERT=NUMBER, such as gpt=3.5 (got {one!r})")
    return found


def check_costs(cost: dict[str, float], layout: Layout) -> None:
    """Refuse the cost of somebody who is not there, where the file says who is."""
    if layout.shape not in ("wide", "scores") or layout.open:
        return
    experts = {split(column)[0] if layout.shape == "scores" else column for column in layout.experts}
    for name in cost:
        if name not in experts:
            near = get_close_matches(name, sorted(experts), 1)
            cure = f"did you mean {near[0]!r}?" if near else f"name one of {', '.join(sorted(experts)[:6])}"
            raise ValueError(f"--cost: {layout.file} has no expert {name!r}; {cure}")


def learner_of(text: str, what: str = "learner") -> Any:
    """What a term says; one that does not fit is told how it is written.

    >>> learner_of("Averaged(Winnow(1.2))")
    Averaged(Winnow(1.2))
    >>> learner_of("Winnow(1.2, 3)")
    Traceback (most recent call last):
    ValueError: Winnow is written Winnow(alpha), and options by their names (got Winnow(1.2, 3))
    """
    try:
        made = parse(text)
    except ValueError as error:
        if "__init__()" not in str(error):
            raise
        name = str(error).partition(" ")[0]
        parameters = inspect.signature(_registry.find(name)).parameters.values()
        takes = ", ".join(one.name for one in parameters if one.kind is not one.KEYWORD_ONLY)
        raise ValueError(
            f"{name} is written {name}({takes}), and options by their names (got {text})"
        ) from None
    if not isinstance(made, Learner):
        raise ValueError(f"{text} is no {what}; write one like Winnow(1.2)")
    return made
