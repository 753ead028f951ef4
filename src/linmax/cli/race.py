"""Plurality, best expert and linmax side by side while they learn."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.table import Table

from linmax.cli.digits import Digits
from linmax.evaluate import Progress, progressive
from linmax.fusion import Fusion

RIVALS = ("plurality", "best expert", "linmax")
FRAMES = 90  # of the live table
WIDTHS = (16, 11, 13, 9)


def race(console: Console, fusion: Fusion, panel: Digits, seconds: float) -> Progress:
    """Learn the stream piece by piece; on a terminal as a live table, elsewhere as a line per doubling."""
    if console.is_terminal and not console.is_dumb_terminal:
        return _live(console, fusion, panel, seconds)
    console.print(_line("mistakes after", *RIVALS))
    progress = None
    for progress in pieces(fusion, panel, milestones(len(panel.labels))):
        console.print(_line(progress.trials, *(progress.mistakes[name] for name in RIVALS)))
    assert progress is not None
    console.print(_line("right", *(f"{right:.1%}" for right in accuracies(progress))))
    return progress


def _live(console: Console, fusion: Fusion, panel: Digits, seconds: float) -> Progress:
    stops = milestones(len(panel.labels))
    # frames come at geometric distances: most is learned at the beginning
    frames = sorted({*stops, *np.geomspace(1, len(panel.labels), FRAMES).astype(int).tolist()})
    progress = None
    with Live(console=console, auto_refresh=False) as live:
        for progress in pieces(fusion, panel, frames):
            live.update(board(progress, stops), refresh=True)
            time.sleep(seconds / len(frames))
    assert progress is not None
    return progress


def pieces(fusion: Fusion, panel: Digits, stops: list[int]) -> Iterator[Progress]:
    """Progress up to each stop."""
    progress = progressive(fusion, panel.votes[: stops[0]], panel.labels[: stops[0]])
    yield progress
    for start, stop in itertools.pairwise(stops):
        progress = progress + progressive(fusion, panel.votes[start:stop], panel.labels[start:stop])
        yield progress


def milestones(trials: int) -> list[int]:
    """1, 2, 4, 8 ... and the end.

    >>> milestones(10)
    [1, 2, 4, 8, 10]
    """
    return [*(1 << i for i in range((trials - 1).bit_length())), trials]


def board(progress: Progress, stops: list[int]) -> Table:
    """Mistakes at the stops behind and now; beneath, how many guesses were right."""
    right = [f"{value:.1%}" for value in accuracies(progress)]
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        show_footer=True,
        caption=f"best expert so far: {progress.leader}",
        caption_justify="left",
    )
    table.add_column("mistakes after", footer="right", justify="right", width=WIDTHS[0] - 2)
    for name, footer, width in zip(RIVALS, right, WIDTHS[1:], strict=True):
        style = "bold cyan" if name == "linmax" else ""
        table.add_column(
            name,
            footer=footer,
            justify="right",
            style=style,
            header_style=style,
            footer_style=style,
            width=width,
        )
    curves = progress.curves
    for stop in sorted({*(stop for stop in stops if stop < progress.trials), progress.trials}):
        table.add_row(str(stop), *(str(curves[name][stop - 1]) for name in RIVALS))
    return table


def accuracies(progress: Progress) -> list[float]:
    """The part of guesses that were right, of each of the three."""
    return [1 - progress.mistakes[name] / max(progress.trials, 1) for name in RIVALS]


def _line(*cells: object) -> str:
    return "".join(f"{cell:>{width}}" for cell, width in zip(map(str, cells), WIDTHS, strict=True))
