"""Progress while a stream is learned: a line after 1, 2, 4, 8 ... items, and a bar on a terminal."""

from __future__ import annotations

import time
from typing import Any, Self

from rich.console import Console
from rich.text import Text

from linmax.cli.naming import brief
from linmax.evaluate.audit import Audit, Milestone
from linmax.streams import Stream

HEADINGS = ("items", "last guess", "truth", "linmax", "plurality", "best expert")  # their mistakes so far
WIDTHS = (12, 16, 16, 10, 11, 13)


class Board:
    """What is seen of a pass: nothing when quiet, lines anywhere, a bar where somebody watches."""

    def __init__(self, console: Console, stream: Stream, *, quiet: bool) -> None:
        self.console, self.stream, self.quiet = console, stream, quiet
        self.panel = stream.layout.shape != "attributes"  # whether anybody votes
        self.shown = 0
        self.begun = time.perf_counter()
        watched = console.is_terminal and not console.is_dumb_terminal and not quiet
        self.bar = _bar(console) if watched else None
        self.task = self.bar.add_task("learning", total=None, rate="") if self.bar else None

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        if not self.quiet:
            self._line(*HEADINGS, title=True)
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar:
            self.bar.stop()

    def show(self, audit: Audit) -> None:
        """Lines for the milestones that lie behind, and the bar where it is."""
        for milestone in audit.milestones[self.shown :]:
            self._milestone(milestone)
        self.shown = len(audit.milestones)
        if self.bar and self.task is not None:
            size, total = self.stream.size, self.stream.total
            rate = audit.items / max(time.perf_counter() - self.begun, 1e-9)
            done, of = (audit.items, size) if size else (self.stream.done, total)
            self.bar.update(self.task, completed=done, total=of, rate=f"{rate:,.0f} items/s")

    def status(self, text: str, done: int, of: int) -> None:
        """The same bar for what comes after."""
        if self.bar and self.task is not None:
            self.bar.update(self.task, description=text, completed=done, total=of, rate="")

    def _milestone(self, at: Milestone) -> None:
        others = (f"{at.plurality:,}", f"{at.best:,}") if self.panel else ("", "")
        self._line(f"{at.items:,}", at.guess, at.truth, f"{at.linmax:,}", *others)

    def _line(self, *cells: Any, title: bool = False) -> None:
        if self.quiet:
            return
        parts = [f"{brief(cell, width - 1):>{width}}" for cell, width in zip(cells, WIDTHS, strict=True)]
        self.console.print(Text("".join(parts), style="bold" if title else ""), soft_wrap=True)


def _bar(console: Console) -> Any:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
