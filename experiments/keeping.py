"""Results as they are kept: a page of Markdown and the figures as JSON, and as tables for a terminal."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as Shown

from experiments.statistics import Interval


class Table(NamedTuple):
    """Lines of text under a head."""

    title: str
    head: list[str]
    lines: list[list[str]]
    note: str = ""


class Result(NamedTuple):
    """What an experiment found."""

    title: str
    source: str
    tables: list[Table]
    figures: dict[str, Any]  # the numbers behind the tables, for JSON
    seconds: float

    def page(self) -> str:
        """The whole as Markdown."""
        parts = [f"# {self.title}\n\nMade by `make reproduce`. {self.source}\n"]
        for table in self.tables:
            parts.append(f"\n## {table.title}\n\n")
            rule = ["---"] * len(table.head)
            parts += [f"| {' | '.join(line)} |\n" for line in (table.head, rule, *table.lines)]
            parts.append(f"\n{table.note}\n" if table.note else "")
        return "".join(parts)

    def keep(self, folder: Path, name: str) -> None:
        """Write the page, and the figures beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(self.page())
        kept = {"title": self.title, "source": self.source, "seconds": round(self.seconds), **self.figures}
        (folder / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")

    def show(self, console: Console) -> None:
        """As tables for a terminal."""
        for table in self.tables:
            shown = Shown(title=f"{self.title}: {table.title}")
            for heading in table.head:
                shown.add_column(heading, overflow="fold")
            for line in table.lines:
                shown.add_row(*line)
            console.print(shown)
            if table.note:
                console.print(table.note, "\n", soft_wrap=True, markup=False)


def text(found: Interval | None, digits: int = 1) -> str:
    """A mean ± half a confidence interval, where there is one."""
    if found is None:
        return ""
    mean, half = (f"{value:.{digits}f}" for value in found)
    return f"{mean} ± {half}" if math.isfinite(found.half) and found.half else mean


def claim(cell: dict[str, Any], value: str = "value", ci: str = "ci") -> Interval | None:
    """A figure of `expected.json`, if it is there; infinitely wide when its interval is not given."""
    if value not in cell:
        return None
    return Interval(cell[value], cell.get(ci, math.inf))


def verdict(found: Interval, said: Interval | None) -> str:
    """Whether two figures agree; one without an interval is taken to be as uncertain as the other."""
    if said is None:
        return ""
    half = said.half if math.isfinite(said.half) else found.half
    return "yes" if found.agrees(said.mean, half) else "no"
