"""Where commands write: what was asked for to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO

from rich.console import Console
from rich.text import Text

from linmax.evaluate.audit import Audit, Milestone
from linmax.streams import Stream


class Paper(Console):
    """A console whose reader may have had enough, which is for the command to say."""

    def on_broken_pipe(self) -> NoReturn:
        """Where rich would end the program with an error."""
        self.quiet = True
        raise BrokenPipeError


def out() -> Console:
    """Standard output."""
    return Paper(file=_safe(sys.stdout), highlight=False)


def err() -> Console:
    """Standard error."""
    return Console(file=_safe(sys.stderr), highlight=False)


def tell(sentence: str) -> None:
    """A line to standard error."""
    print(f"linmax: {sentence}", file=_safe(sys.stderr), flush=True)


def as_json(value: Any) -> None:
    """One JSON object to standard output, in many lines for eyes only; what is not a number is null."""
    from linmax.evaluate.findings import plain

    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(plain(value), indent=indent, allow_nan=False), flush=True)


def _safe(stream: TextIO) -> TextIO:
    """The same stream, which writes \\xe9 rather than fail where it has no é."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", "") == "strict":
        reconfigure(errors="backslashreplace")
    return stream


LONGEST = 48  # letters of a name in a table


def readable(key: Any) -> str:
    """The name of a weight, or of whom it belongs to.

    >>> readable("ann"), readable(("ann", "spam")), readable(("ann", "spam", "ham"))
    ('ann', 'ann: spam', 'ann: spam -> ham')
    >>> readable("threshold"), readable(("threshold", "spam")), readable(("attribute", "size", "ham"))
    ('(thresholds)', 'threshold of spam', 'size for ham')
    >>> readable(("pair", ("day", "mon"), ("who", "ann"))), readable(("attribute", ("day", "mon")))
    ('day=mon & who=ann', 'day=mon')
    >>> readable(None), readable(7)
    ('(none)', '7')
    """
    match key:
        case None:
            return "(none)"
        case "threshold":
            return "(thresholds)"
        case ("threshold", label):
            return f"threshold of {readable(label)}"
        case ("pair", one, other):
            return f"{_value(one)} & {_value(other)}"
        case ("attribute", name):
            return _value(name)
        case ("attribute", name, label):
            return f"{_value(name)} for {readable(label)}"
        case (first, *rest) if isinstance(key, tuple):
            return f"{readable(first)}: {' -> '.join(map(readable, rest))}"
    return str(key)


def brief(value: Any, most: int = LONGEST) -> str:
    """Any value in a few letters, all of them printable.

    >>> brief({"spam": 0.7, "ham": 0.25}), brief(None), brief(True), brief(0.123456789)
    ('spam 0.7, ham 0.25', '', 'True', '0.1235')
    >>> brief("two\\nlines"), len(brief("x" * 99))
    ('two\\\\nlines', 48)
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        text = ", ".join(f"{brief(name)} {brief(part)}" for name, part in list(value.items())[:most])
    elif isinstance(value, float):
        text = number(value)
    else:
        text = str(value)[: most + 1]
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= most else text[: most - 3] + "..."


def number(value: float) -> str:
    """A number in four digits.

    >>> number(0.5), number(-1234567.0), number(0.0)
    ('0.5', '-1.235e+06', '0')
    """
    return f"{value:.4g}"


def _value(name: Any) -> str:
    if isinstance(name, tuple) and len(name) == 2:
        return f"{name[0]}={name[1]}"
    return readable(name)


if TYPE_CHECKING:
    from linmax.streams import Stream


class Watch:
    """Is told how many rows are done, and shows it if there is a bar."""

    def __init__(self, stream: Stream, bar: Any = None, verb: str = "") -> None:
        self.stream, self.bar = stream, bar
        self.task = None if bar is None else bar.add_task(verb, total=self._total(), rows=0, rate=0)

    def _total(self) -> int | None:
        return self.stream.total if self.stream.size is None else self.stream.size

    def done(self, rows: int, verb: str | None = None) -> None:
        """So many rows are done by now."""
        if self.bar is None:
            return
        at = self.stream.done if self.stream.size is None else rows
        spent = self.bar.tasks[0].elapsed
        rate = round(rows / spent) if spent else 0
        told = {} if verb is None else {"description": verb}
        self.bar.update(self.task, completed=at, total=self._total(), rows=rows, rate=rate, **told)


@contextmanager
def progressing(stream: Stream, verb: str, *, quiet: bool = False) -> Iterator[Watch]:
    """A bar with the rate and the time left; none where standard error is not a terminal."""
    console = err()
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        yield Watch(stream)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]} rows, {task.fields[rate]} a second", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield Watch(stream, bar, verb)


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
