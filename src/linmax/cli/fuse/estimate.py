"""An estimate without labels as text: what stands against it first, then the figures."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.fuse.summary import to_plain_text
from linmax.cli.output import shorten
from linmax.evaluate.without_labels import UnlabelledEstimate
from linmax.report.estimate import (
    estimate_account,
    estimate_answer,
    name_item,
    warning_sentences,
)
from linmax.report.text import percent

MAX_EXPERTS = 20
"""Experts in the table."""
MAX_CLASSES = 10
"""Classes in the table."""
TEXT_COLUMNS = {"expert", "class", "item", "estimated class", "why", "note"}


def print_estimate(console: Console, found: UnlabelledEstimate) -> None:
    """Print an estimate without labels.

    Parameters
    ----------
    console : rich.console.Console
        Where to print.
    found : UnlabelledEstimate
        The estimate.
    """
    console.print(
        Text(
            f"{found.items:,} items, {found.votes:,} votes, {len(found.experts):,} experts,"
            f" {len(found.classes):,} classes; no labels."
        ),
        soft_wrap=True,
    )
    for sentence in warning_sentences(found):
        console.print(Text(to_plain_text(sentence), style="yellow"), soft_wrap=True)
    console.print(Text(to_plain_text(estimate_answer(found)), style="bold"), soft_wrap=True)
    for sentence in estimate_account(found):
        console.print(Text(to_plain_text(sentence)), soft_wrap=True)
    if found.experts:
        console.print(_experts_table(found))
        if len(found.experts) > MAX_EXPERTS:
            more = len(found.experts) - MAX_EXPERTS
            console.print(Text(f"... and {more:,} more; --report and --json list all of them."))
    if found.classes:
        console.print(_classes_table(found))
    if found.next_items:
        console.print(Text("Label these next", style="bold"))
        console.print(_items_table(found))


def _experts_table(found: UnlabelledEstimate) -> Table:
    judged = found.plurality is not None
    figures = ["at most" if found.upper_limit else "estimate", "interval"] if judged else []
    with_copies = any(one.copy_of is not None for one in found.experts)
    table = _new_table("expert", "votes", *figures, *["note"] * with_copies)
    for one in found.experts[:MAX_EXPERTS]:
        cells = [shorten(one.name, 30), f"{one.votes:,}"]
        if judged:
            known = one.accuracy is not None
            cells += [
                _percent(one.accuracy, 1),
                f"{_percent(one.low)} to {_percent(one.high)}" if known else "",
            ]
        if with_copies:
            cells.append("" if one.copy_of is None else f"votes like {shorten(one.copy_of, 30)}")
        table.add_row(*map(Text, cells))
    return table


def _classes_table(found: UnlabelledEstimate) -> Table:
    table = _new_table("class", "share of votes", *["estimated share"] * found.available)
    for one in sorted(found.classes, key=lambda one: -one.vote_share)[:MAX_CLASSES]:
        cells = [shorten(one.name, 30), _percent(one.vote_share, 1)]
        cells += [_percent(one.share, 1)] * found.available
        table.add_row(*map(Text, cells))
    if len(found.classes) > MAX_CLASSES:
        table.add_row(Text(f"... and {len(found.classes) - MAX_CLASSES:,} more"))
    return table


def _items_table(found: UnlabelledEstimate) -> Table:
    table = _new_table("item", *["estimated class"] * found.available, "why")
    for one in found.next_items:
        cells = [shorten(name_item(one, found.unit), 30)]
        cells += [shorten(one.prediction, 24)] * found.available
        table.add_row(*map(Text, [*cells, one.reason]))
    return table


def _new_table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in TEXT_COLUMNS else "right")
    return table


def _percent(part: float | None, digits: int = 0) -> str:
    return "" if part is None else to_plain_text(percent(part, digits))
