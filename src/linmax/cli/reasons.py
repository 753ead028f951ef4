"""An explained item, as tables."""

from __future__ import annotations

from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.explaining import Reasons
from linmax.cli.naming import brief, number

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
