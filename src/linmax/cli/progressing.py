"""How far a file has been read, on standard error while somebody looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linmax.cli.consoles import err

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
