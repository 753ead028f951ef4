"""A contest as a table, or as values for machines."""

from __future__ import annotations

import math
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.comparing import Outcome
from linmax.cli.naming import brief
from linmax.evaluate.contest import Place
from linmax.evaluate.paired import Gain

WIDE = 120  # letters in a line, from which on everything is one table


def as_values(outcome: Outcome) -> dict[str, Any]:
    """All of it, the most accurate first."""
    contest = outcome.contest
    return {
        "file": outcome.file,
        "complete": outcome.complete,
        "items": contest.items,
        "trials": contest.trials,
        "unlabelled": contest.unlabelled,
        "novel": contest.novel,
        "against": contest.names[0],
        "places": contest.places(),
    }


def show(outcome: Outcome, console: Console) -> None:
    """Print mistakes and gains: as one table, or as two where lines are short."""
    contest = outcome.contest
    places = contest.places()
    first = contest.names[0]
    cost = "us an item" if console.options.ascii_only else "µs an item"
    counts = ("mistakes", "right", "last half", cost)
    gains = ("gain", "95 %", "p")
    console.print(Text(f"{outcome.file}: {_counted(outcome)}", style="bold"))
    if console.width >= WIDE:
        _table(
            console, (*counts, *gains), [(one, (*_told(one), *_gained(one.gain))) for one in places], first
        )
    else:
        _table(console, counts, [(one, _told(one)) for one in places], first)
        _table(console, gains, [(one, _gained(one.gain)) for one in places if one.gain], first)
    console.print(
        Text(
            f"gain: how many more in a hundred are right than of {first}, with a 95 % interval;"
            " p: how likely so lopsided a result is among equals (McNemar's test)."
        )
    )


def _table(
    console: Console, head: tuple[str, ...], rows: list[tuple[Place, tuple[str, ...]]], first: str
) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("learner", overflow="fold")
    for heading in head:
        table.add_column(heading, justify="right", no_wrap=True)
    for place, cells in rows:
        name = f"{place.name}: {brief(place.who)}" if place.who else place.name
        table.add_row(*map(Text, (name, *cells)), style="bold cyan" if place.name == first else "")
    console.print(table)


def _told(place: Place) -> tuple[str, ...]:
    cost = "" if place.microseconds is None else f"{place.microseconds:.2f}"
    return str(place.mistakes), _part(place.accuracy), _part(place.last_half), cost


def _gained(gain: Gain | None) -> tuple[str, str, str]:
    if gain is None:
        return "", "", ""
    interval = f"{100 * gain.low:+.2f} to {100 * gain.high:+.2f}"
    return f"{100 * gain.gain:+.2f}", interval, "< 0.001" if gain.p < 0.001 else f"{gain.p:.3f}"


def _part(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2%}"


def _counted(outcome: Outcome) -> str:
    contest = outcome.contest
    told = f"{contest.trials} trials"
    if contest.unlabelled:
        told += f", {contest.unlabelled} items without a label"
    if contest.novel:
        told += f", {contest.novel} novel labels"
    return told if outcome.complete else f"{told}, and not all of it"
