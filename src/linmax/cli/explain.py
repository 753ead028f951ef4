"""An explained item, as tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.inputs import demand, demand_acquaintance, within
from linmax.cli.inputs import open_model as opened
from linmax.cli.options import Reading
from linmax.cli.output import brief, number, readable
from linmax.evaluate.counts import margins
from linmax.fusion import Explanation
from linmax.streams import Piece, Stream
from linmax.streams.late_labels import written
from linmax.streams.schema import shown

CLASSES, EXPERTS, MEMBERS = 5, 20, 10  # that are shown


def show(found: Reasons, console: Console) -> None:
    """Print the guess, the scores, who brought it about and, of a committee, its members."""
    named = "" if found.id is None else f", id {brief(found.id)}"
    truth = "unknown" if found.truth is None else brief(found.truth)
    guess = "nothing" if found.guess is None else brief(found.guess)
    console.print(
        Text(f"{found.file}, item {found.row} (row {found.line}{named})", style="bold"), soft_wrap=True
    )
    console.print(Text(f"{found.model} guesses {guess}; the truth is {truth}."), soft_wrap=True)
    if found.runner_up is not None and found.margin is not None:
        console.print(Text(f"Runner-up is {brief(found.runner_up)}, and the margin is {found.margin:.2f}."))
    if found.scores:
        _table(
            console,
            ("class", "score"),
            [(brief(label), number(score)) for label, score in found.scores[:CLASSES]],
            len(found.scores) - CLASSES,
        )
    if found.parts:
        _parts(console, found)
    if found.members:
        _table(
            console,
            ("member", "part", "guesses"),
            [(name, f"{part:.1%}", brief(guess)) for name, part, guess in found.members[:MEMBERS]],
            len(found.members) - MEMBERS,
        )


def _parts(console: Console, found: Reasons) -> None:
    """Who said what, and what that added."""
    two = found.runner_up is not None
    head = ("expert", "says", f"for {brief(found.guess)}")
    rows: list[tuple[str, ...]] = []
    for part in found.parts[:EXPERTS]:
        row = (brief(part.name), brief(part.says), _signed(part.guess))
        rows.append((*row, _signed(part.rival or 0.0), _signed(part.difference)) if two else row)
    scores = dict(found.scores)
    total: tuple[str, ...] = ("all together", "", _signed(scores.get(found.guess, 0.0)))
    if two:
        lead = scores[found.guess] - scores[found.runner_up]
        total = (*total, _signed(scores[found.runner_up]), _signed(lead))
        head = (*head, f"for {brief(found.runner_up)}", "difference")  # type: ignore[assignment]
    _table(console, head, rows, len(found.parts) - EXPERTS, total)


def _table(
    console: Console,
    head: tuple[str, ...],
    rows: list[Any],
    more: int,
    total: tuple[str, ...] | None = None,
) -> None:
    """A table, with how many rows it leaves out."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for at, heading in enumerate(head):
        left = at == 0 or heading in ("says", "guesses")
        table.add_column(Text(heading), overflow="fold", justify="left" if left else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    if more > 0:
        table.add_row(f"... and {more} more")
    if total is not None:
        table.add_section()
        table.add_row(*map(Text, total))
    console.print(table)


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


class Wanted(NamedTuple):
    """Which item: by its id, or by its number from 1 on."""

    id: str | None = None
    row: int | None = None


class Part(NamedTuple):
    """What one owner of sub-experts said, and added."""

    name: str
    says: Any  # None: nothing, or it does not speak for itself
    guess: float  # what it added to the score of the guess
    rival: float | None
    difference: float


@dataclass(frozen=True)
class Reasons:
    """An item, and what was made of it."""

    model: str
    file: str
    row: int  # from 1 on
    line: int
    id: Any
    guess: Any
    truth: Any
    runner_up: Any
    margin: float | None
    scores: list[tuple[Any, float]]  # the highest first
    parts: list[Part]  # the largest difference first
    members: list[tuple[str, float, Any]]  # learner, part and guess, the largest part first

    def as_json(self) -> dict[str, Any]:
        """As values that JSON has."""
        scores = [{"class": label, "score": score} for label, score in self.scores]
        members = [{"learner": name, "part": part, "guess": guess} for name, part, guess in self.members]
        return {**vars(self), "scores": scores, "members": members}


def explain(model: Path, reading: Reading, wanted: Wanted) -> Reasons:
    """Find the item, and ask the model."""
    if (wanted.id is None) == (wanted.row is None):
        raise ValueError("explain needs one item: name it with --id or count to it with --row, not both")
    fusion = opened(model)
    with reading.open() as stream:
        piece = find(stream, wanted)
        file = stream.layout.file
        demand(fusion, piece, str(model), file)
        votes = piece.item(0)
        columns = getattr(piece.votes, "column_names", votes)
        demand_acquaintance(fusion, list(columns), str(model), file)
        with within(file, piece):
            why = fusion.explain_one(
                votes if piece.votes is not None else None, attributes=piece.traits_at(0)
            )
    traits = {("attribute", name): value for name, value in (piece.traits_at(0) or {}).items()}
    return reasons(str(model), file, piece, votes | traits, why)


def find(stream: Stream, wanted: Wanted) -> Piece:
    """The item that is asked for, as a piece of its own."""
    file = stream.layout.file
    if wanted.row is not None:
        for piece in stream:
            if wanted.row <= piece.first + piece.items:
                return piece.part(wanted.row - 1 - piece.first, wanted.row - piece.first)
        raise ValueError(f"{file} has {stream.rows} items and no item {wanted.row}; count from 1 on")
    if stream.layout.id is None:
        raise ValueError(f"{file} has no column of ids; name it with --id-column, or count with --row")
    found: Piece | None = None
    for piece in stream:
        for t, name in enumerate(piece.ids or ()):
            if name is not None and written(name) == wanted.id:
                if found is not None:
                    raise ValueError(
                        f"{file} has the id {shown(wanted.id)} in items {found.first + 1} and"
                        f" {piece.first + t + 1}; choose one with --row"
                    )
                found = piece.part(t, t + 1)
    if found is None:
        raise ValueError(f"{file} has no item with the id {shown(wanted.id)}; ids are compared as written")
    return found


def reasons(model: str, file: str, piece: Piece, said: dict[Any, Any], why: Explanation) -> Reasons:
    """An explanation in order: who decided comes first."""
    scores = sorted(why.scores.items(), key=lambda one: (one[0] != why.guess, -one[1]))
    rival = scores[1][0] if len(scores) > 1 else None
    board = np.array([[score for _, score in scores]])
    lead = margins(board, np.array([len(scores)], np.int32), np.zeros(1, np.int32))[0]
    parts = [
        Part(
            readable(owner),
            _python(said.get(owner)),
            row.get(why.guess, 0.0),
            None if len(scores) < 2 else row.get(rival, 0.0),
            row.get(why.guess, 0.0) - row.get(rival, 0.0),
        )
        for owner, row in why.contributions.items()
    ]
    return Reasons(
        model, file, piece.first + 1, int(piece.lines[0]), None if piece.ids is None else piece.ids[0],
        why.guess, None if piece.labels is None else piece.labels.tolist()[0], rival, float(lead), scores,
        sorted(parts, key=lambda part: -abs(part.difference)),
        sorted(((name, *told) for name, told in why.members.items()), key=lambda one: -one[1]),
    )  # fmt: skip


def _python(vote: Any) -> Any:
    """A vote without numpy's types."""
    if isinstance(vote, dict):
        return {_python(name): score for name, score in vote.items()}
    return vote.item() if isinstance(vote, np.generic) else vote
