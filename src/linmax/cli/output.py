"""Consoles, JSON, names and numbers as text, and progress: results go to stdout, all else to stderr."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryFile
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from linmax.evaluate.audit.audit import Audit, Milestone
    from linmax.streams import Stream
    from linmax.validation import DataWarning

MAX_NAME = 48
"""Characters of a name in a table."""

BLOCK, RULE = ("█", "#"), ("─", "-")
"""What bars and lines are made of, in Unicode and in ASCII."""

MIN_TEXT = 20
"""Characters to which text in a table is wrapped at least."""

HEADINGS = ("items", "prediction", "truth", "linmax", "plurality", "best expert")
WIDTHS = (12, 16, 16, 10, 11, 13)


class PipeConsole(Console):
    """A console that raises BrokenPipeError when its reader closes the pipe, where rich would exit with 1.

    One that is `lasting` prints nothing from then on, and lets the command finish its files.
    """

    lasting = False

    def on_broken_pipe(self) -> None:
        """Leave the exit code to the command."""
        self.quiet = True
        if not self.lasting:
            raise BrokenPipeError
        discard_stdout()


def stdout_console(*, lasting: bool = False) -> Console:
    """A console for results; a lasting one is for commands that also write files."""
    console = PipeConsole(file=_escaping(sys.stdout), highlight=False)
    console.lasting = lasting
    return console


def discard_stdout() -> None:
    """Discard what could not be written; otherwise Python tries again at exit, and prints the error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stderr_console() -> Console:
    """A console for progress."""
    return Console(file=_escaping(sys.stderr), highlight=False)


def check_output(path: Path, action: str = "write") -> None:
    """Refuse a file that cannot be written, before any work is done for it.

    >>> check_output(Path("/nowhere/x.png"), "draw")
    Traceback (most recent call last):
    ValueError: cannot draw /nowhere/x.png: there is no folder /nowhere; create it first
    """
    if path.is_dir() or str(path) == "-":
        raise ValueError(f"cannot {action} {path}: it is not the name of a file; add one")
    if path.exists() and not path.is_file():  # a device
        return
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"cannot {action} {path}: there is no folder {path.parent}; create it first")
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(
            f"cannot {action} {path}: no file can be made in {folder} ({reason}); name another folder"
        ) from None


def print_message(text: str) -> None:
    """Print one line to standard error."""
    print(f"linmax: {text}", file=_escaping(sys.stderr), flush=True)


def print_warning_messages(warnings: Iterable[DataWarning]) -> None:
    """Print warnings on data to standard error, one line each, the grave ones first."""
    for one in sorted(warnings):
        print_message(f"{'warning' if one.severity == 'grave' else 'note'}: {one.text}")


def print_json(value: Any) -> None:
    """Print a value as JSON, indented only on a terminal; NaN and infinity become null."""
    from linmax.evaluate.findings.findings import to_json

    indent = 2 if sys.stdout.isatty() else None
    print(json.dumps(to_json(value), indent=indent, allow_nan=False), flush=True)


def _escaping(stream: TextIO) -> TextIO:
    """The same stream, which writes \\xe9 where its encoding has no é instead of raising."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None and getattr(stream, "errors", "") == "strict":
        reconfigure(errors="backslashreplace")
    return stream


def print_table(
    console: Console,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[str],
    styles: Sequence[str] = (),
) -> None:
    """Print a table whose columns with the headings in `left` are text, and the others numbers.

    Text in the last column is wrapped at the width of the console. rich's own tables look the same, and take
    many more Python calls.
    """
    room = max(console.width - sum(_widths(headings, rows)[:-1]) - 2 * len(headings), MIN_TEXT)
    lines = [(tuple(headings), "bold")]
    for row, style in zip_longest(rows, styles[: len(rows)], fillvalue=""):
        parts = wrap(row[-1], room) if len(row[-1]) > room and headings[-1] in left else row[-1:]
        lines += [((*row[:-1], parts[0]), style)]
        lines += [(("",) * (len(row) - 1) + (part,), style) for part in parts[1:]]
    widths = _widths(headings, [cells for cells, _ in lines])
    text = Text("\n")
    for i, (cells, style) in enumerate(lines):
        padded = (
            cell + " " * (width - _cells(cell)) if heading in left else " " * (width - _cells(cell)) + cell
            for cell, width, heading in zip(cells, widths, headings, strict=True)
        )
        text.append(f" {'  '.join(padded)}".rstrip() + "\n", style)
        if not i:
            line = RULE[console.options.ascii_only]
            text.append(f" {line * (sum(widths) + 2 * len(widths) - 2)}\n")
    console.print(text, soft_wrap=True)


def _widths(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_cells, column)) for column in zip(headings, *rows, strict=True)]


def _cells(text: str) -> int:
    """The columns of a terminal that a text takes; an East Asian character takes two."""
    return len(text) if text.isascii() else cell_len(text)


def format_key(key: Any) -> str:
    """The key of a weight or of a contribution as text.

    >>> format_key("ann"), format_key(("ann", "spam")), format_key(("ann", "spam", "ham"))
    ('ann', 'ann: spam', 'ann: spam -> ham')
    >>> format_key("threshold"), format_key(("threshold", "spam")), format_key(("attribute", "size", "ham"))
    ('(thresholds)', 'threshold of spam', 'size for ham')
    >>> format_key(("pair", ("day", "mon"), ("who", "ann"))), format_key(("attribute", ("day", "mon")))
    ('day=mon & who=ann', 'day=mon')
    >>> format_key(("expert", "threshold")), format_key(("expert", "threshold", "spam", "ham"))
    ('threshold', 'threshold: spam -> ham')
    >>> format_key(None), format_key(7)
    ('(none)', '7')
    """
    match key:
        case None:
            return "(none)"
        case "threshold":
            return "(thresholds)"
        case ("expert", name, *rest):  # an expert with a reserved name
            classes = " -> ".join(map(format_key, rest))
            return f"{name}: {classes}" if rest else str(name)
        case ("threshold", label):
            return f"threshold of {format_key(label)}"
        case ("pair", one, other):
            return f"{_format_attribute(one)} & {_format_attribute(other)}"
        case ("attribute", name):
            return _format_attribute(name)
        case ("attribute", name, label):
            return f"{_format_attribute(name)} for {format_key(label)}"
        case (first, *rest) if isinstance(key, tuple):
            return f"{format_key(first)}: {' -> '.join(map(format_key, rest))}"
    return str(key)


def _format_attribute(name: Any) -> str:
    if isinstance(name, tuple) and len(name) == 2:
        return f"{name[0]}={name[1]}"
    return format_key(name)


def shorten(value: Any, most: int = MAX_NAME) -> str:
    """Any value in a few printable characters.

    >>> shorten({"spam": 0.7, "ham": 0.25}), shorten(None), shorten(True), shorten(0.123456789)
    ('spam 0.7, ham 0.25', '', 'True', '0.1235')
    >>> shorten("two\\nlines"), len(shorten("x" * 99))
    ('two\\\\nlines', 48)
    """
    if value is None:
        return ""
    if isinstance(value, dict):
        text = ", ".join(f"{shorten(name)} {shorten(part)}" for name, part in list(value.items())[:most])
    elif isinstance(value, float):
        text = format_number(value)
    else:
        text = str(value)[: most + 1]
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= most else text[: most - 3] + "..."


def format_number(value: float) -> str:
    """A number in four digits.

    >>> format_number(0.5), format_number(-1234567.0), format_number(0.0)
    ('0.5', '-1.235e+06', '0')
    """
    return f"{value:.4g}"


class ProgressBar:
    """The number of rows done so far, shown as a bar if there is one."""

    def __init__(self, stream: Stream, bar: Any = None, description: str = "") -> None:
        self.stream, self.bar = stream, bar
        self.task = None if bar is None else bar.add_task(description, total=self._total(), rows=0, rate=0)

    def _total(self) -> int | None:
        return self.stream.bytes_total if self.stream.rows_total is None else self.stream.rows_total

    def update(self, rows: int, description: str | None = None) -> None:
        """Show how many rows are done."""
        if self.bar is None:
            return
        completed = self.stream.bytes_read if self.stream.rows_total is None else rows
        elapsed = self.bar.tasks[0].elapsed
        rate = round(rows / elapsed) if elapsed else 0
        changed = {} if description is None else {"description": description}
        self.bar.update(self.task, completed=completed, total=self._total(), rows=rows, rate=rate, **changed)


@contextmanager
def progress_bar(stream: Stream, description: str, *, quiet: bool = False) -> Iterator[ProgressBar]:
    """A bar with the rate and the remaining time, if standard error is a terminal."""
    console = stderr_console()
    if quiet or not console.is_terminal or console.is_dumb_terminal:
        yield ProgressBar(stream)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]} rows, {task.fields[rate]} per second", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield ProgressBar(stream, bar, description)


@contextmanager
def task_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar of finished tasks for each step of a job, if standard error is a terminal."""
    console = stderr_console()
    if not console.is_terminal or console.is_dumb_terminal:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield show


class MilestoneTable:
    """The progress of `linmax fuse`: a line per milestone, and a bar on a terminal; nothing when quiet."""

    def __init__(self, console: Console, stream: Stream, *, quiet: bool) -> None:
        self.console, self.stream, self.quiet = console, stream, quiet
        self.has_votes = stream.schema.shape != "attributes"
        self.printed = 0
        self.started = time.perf_counter()
        on_terminal = console.is_terminal and not console.is_dumb_terminal and not quiet
        self.bar = _transient_bar(console) if on_terminal else None
        self.task = self.bar.add_task("learning", total=None, rate="") if self.bar else None

    def __enter__(self) -> Self:
        if self.bar:
            self.bar.start()
        if not self.quiet:
            self._print_line(*HEADINGS, style="bold")
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar:
            self.bar.stop()

    def update(self, audit: Audit) -> None:
        """Print the milestones that were passed since the last call, and move the bar."""
        for milestone in audit.milestones[self.printed :]:
            self._print_milestone(milestone)
        self.printed = len(audit.milestones)
        if self.bar and self.task is not None:
            rows, total = self.stream.rows_total, self.stream.bytes_total
            rate = audit.items / max(time.perf_counter() - self.started, 1e-9)
            completed, of = (audit.items, rows) if rows else (self.stream.bytes_read, total)
            self.bar.update(self.task, completed=completed, total=of, rate=f"{rate:,.0f} items/s")

    def update_status(self, description: str, completed: int, total: int) -> None:
        """Use the bar for a step after learning."""
        if self.bar and self.task is not None:
            self.bar.update(self.task, description=description, completed=completed, total=total, rate="")

    def _print_milestone(self, at: Milestone) -> None:
        others = (f"{at.plurality:,}", f"{at.best:,}") if self.has_votes else ("", "")
        self._print_line(f"{at.items:,}", at.guess, at.truth, f"{at.linmax:,}", *others)

    def _print_line(self, *cells: Any, style: str = "") -> None:
        if self.quiet:
            return
        parts = [f"{shorten(cell, width - 1):>{width}}" for cell, width in zip(cells, WIDTHS, strict=True)]
        self.console.print(Text("".join(parts), style=style), soft_wrap=True)


def _transient_bar(console: Console) -> Any:
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
