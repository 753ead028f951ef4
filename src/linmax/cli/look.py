"""`linmax look`: how files are read, before anything is learned from them."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.fuse.fuse import print_warnings
from linmax.cli.inputs import choose_order
from linmax.cli.options.files import FilesOptions
from linmax.cli.output import print_json, shorten, stdout_console
from linmax.evaluate.findings.findings import to_json
from linmax.panels.panel import Panel
from linmax.panels.roles.column_role import ColumnRole

MAX_COLUMNS = 60
"""Columns in the table; --json lists all."""
STYLES = {
    "label": "bold green",
    "expert": "bold cyan",
    "score": "cyan",
    "vote": "bold cyan",
    "confidence": "cyan",
}


def look(read: FilesOptions, *, json: bool = False, console: Console | None = None) -> bool:
    """Print the role of every column, what may be wrong, and the command to copy; tell if there is one."""
    console = console or stdout_console()
    panel = read.open()
    if panel.reading.problem is None:
        panel.warnings += choose_order(panel, None, False, planned=True).warnings
    command = panel.command(list(read.paths))
    if json:
        print_json(to_json({**panel.as_json(), "command": command}))
        return panel.reading.problem is None
    console.print(Text(_headline(panel), style="bold"), soft_wrap=True)
    for join in panel.joins:
        if not join.left_only and not join.right_only:  # there is a warning otherwise
            console.print(Text(f"{join}."), soft_wrap=True)
    console.print(_table(panel))
    if len(panel.reading.roles) > MAX_COLUMNS:
        console.print(
            Text(f"... and {len(panel.reading.roles) - MAX_COLUMNS} more columns; --json lists all.")
        )
    if panel.classes.names and panel.reading.problem is None:
        console.print(Text(_classes(panel)), soft_wrap=True)
    print_warnings(console, panel.warnings)
    if panel.reading.problem is not None:
        console.print(Text(f"Problem: {panel.reading.problem}.", style="bold red"), soft_wrap=True)
    if panel.reading.problem is None or panel.reading.suggestion:
        console.print(Text("To learn from it:"))
        console.print(Text(f"  {command}", style="bold"), soft_wrap=True)
    panel.close()
    return panel.reading.problem is None


def describe_role(one: ColumnRole) -> str:
    """The role of a column in a few words.

    >>> describe_role(ColumnRole("gpt4_bug", "score", "", "gpt4", "bug"))
    'score of gpt4 for bug'
    """
    if one.role == "score" and one.expert is not None:
        return f"score of {shorten(one.expert, 40)} for {shorten(one.label, 40)}"
    if one.role == "confidence":
        return f"confidence of {shorten(one.expert, 40)}"
    return one.role


def _headline(panel: Panel) -> str:
    table = panel.table
    packed = f" ({table.compression})" if table.compression else ""
    rows = f"{table.data.num_rows:,} rows" if table.complete else f"the first {table.data.num_rows:,} rows"
    shape = "one row per vote" if panel.reading.shape == "long" else "one row per item"
    items = (
        f", {panel.chunk.items:,} items" if panel.chunk is not None and panel.reading.shape == "long" else ""
    )
    return f"{panel.file}: {table.format}{packed}, {rows}, {shape}{items}"


def _table(panel: Panel) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading, width in (("column", 24), ("role", 22), ("type", 9), ("examples", 28), ("why", 30)):
        table.add_column(heading, max_width=width, overflow="fold")
    ordered = sorted(panel.reading.roles, key=lambda one: one.role in ("ignored", "time"))
    shown = panel.reading.roles if len(ordered) <= MAX_COLUMNS else ordered[:MAX_COLUMNS]
    for one in shown:
        profile = panel.profiles[one.name]
        examples = Text(shorten(", ".join(profile.examples), 28))
        cells = (Text(shorten(one.name, 60)), Text(describe_role(one)), profile.type, examples, one.reason)
        style = STYLES.get(one.role, "dim" if one.role in ("ignored", "time") else "")
        table.add_row(*cells, style=style)
    return table


def _classes(panel: Panel) -> str:
    names = panel.classes.names
    shown = ", ".join(shorten(name, 20) for name in names[:10])
    return f"{len(names)} class{'es' * (len(names) != 1)}: {shown}{', ...' * (len(names) > 10)}"
