"""`linmax inspect`: what a model file, or a folder of models by key, contains, as tables or as JSON."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax import recommended, vr_combine
from linmax.cli.inputs import load_model
from linmax.cli.output import BLOCK, format_key, format_number, print_json, shorten, stdout_console
from linmax.fusion import Fusion
from linmax.fusion.model_file import VERSION
from linmax.streams.schema import short_list

MAX_ROWS = 20
"""Weights and members that are printed."""

MAX_NAMES = 12
"""Classes and experts that are printed."""

MAX_NUMBERS = 1 << 22
"""Numbers in a model above which its weights are not listed."""

MANIFEST = "manifest.json"
"""The file that every folder of models by key has."""

BAR = 20
"""Characters of the longest bar."""


def inspect(model: Path, *, json: bool) -> None:
    """Print what a model, or the models by key of a folder, have learned."""
    folder = store_folder(model)
    if folder is not None:
        from linmax.cli.models.inspect_store import inspect_store

        inspect_store(folder, json=json)
        return
    found = model_facts(load_model(model), model)
    if json:
        print_json(found)
    else:
        print_facts(found, stdout_console())


def store_folder(path: Path) -> Path | None:
    """The folder of models by key that a path names, or a file of which it names; None for other files."""
    if path.is_dir():
        if not (path / MANIFEST).exists():
            raise ValueError(
                f"{path} is a folder without models by key; name a model file, or the folder that linmax fuse"
                " --by has written"
            )
        return path
    named = path.name == MANIFEST or path.suffix == ".parquet"
    return path.parent if named and path.exists() and (path.parent / MANIFEST).exists() else None


def model_facts(fusion: Fusion, path: Path) -> dict[str, Any]:
    """What there is to print about a session in a file, with the keys of --json."""
    counted = fusion.trials - fusion.novel
    numbers = sum(array.size for array in fusion.state().values())
    weights = fusion.weights if numbers <= MAX_NUMBERS else {}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "format": VERSION,
        "learner": repr(fusion.learner),
        "called": short_name(fusion.learner),
        "classes": fusion.classes,
        "experts": fusion.experts,
        "attributes": [format_key(("attribute", name)) for name in fusion.names.attributes.names],
        "trials": fusion.trials,
        "mistakes": fusion.mistakes,
        "novel": fusion.novel,
        "accuracy": 1 - fusion.mistakes / counted if counted else None,
        "moves": fusion.moves,
        "ignored": fusion.ignored,
        "tickets": {
            "waiting": len(fusion.tickets),
            "expired": fusion.tickets.expired,
            "limit": fusion.tickets.limit,
        },
        "numbers": numbers,
        "weights": [
            {"name": format_key(key), "weight": weight}
            for key, weight in sorted(weights.items(), key=lambda one: -abs(one[1]))
        ],
        "members": [
            {"learner": name, "part": part}
            for name, part in sorted(fusion.members.items(), key=lambda one: -one[1])
        ],
        "notes": dict(flatten_notes(fusion.notes)),
    }


def short_name(learner: Any) -> str:
    """The name of a preset, or the learner's term."""
    presets = {"recommended()": recommended(), "vr_combine()": vr_combine()}
    return next((name for name, one in presets.items() if one == learner), repr(learner))


def flatten_notes(notes: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Notes as names and short values down to the second level, and the sizes of what is nested deeper.

    >>> flatten_notes({"run": {"file": "votes.csv", "rows": 7, "audit": {"a": 1, "b": 2}}, "by": [1, 2, 3]})
    [('run.file', 'votes.csv'), ('run.rows', '7'), ('run.audit', '2 entries'), ('by', '3 entries')]
    """
    found: list[tuple[str, str]] = []
    for name, value in notes.items():
        if isinstance(value, dict) and not prefix:
            found += flatten_notes(value, f"{shorten(name)}.")
        elif isinstance(value, dict | list):
            entries = f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
            found.append((prefix + shorten(name), entries))
        else:
            found.append((prefix + shorten(name), shorten(value)))
    return found


def print_facts(found: dict[str, Any], console: Console) -> None:
    """Print the facts, the largest weights and the members."""
    print_lines(_lines(found), console)
    if found["numbers"] > MAX_NUMBERS:
        console.print(f"\nThe weights are too many to list: the file has {found['numbers']} numbers.")
    elif found["weights"]:
        console.print()
        _print_largest(console, "weight", [(shorten(one["name"]), one["weight"]) for one in found["weights"]])
    if found["members"]:
        console.print()
        _print_largest(
            console, "member and its weight", [(one["learner"], one["part"]) for one in found["members"]]
        )


def print_lines(lines: list[tuple[str, str]], console: Console) -> None:
    """Print names in bold, each with a text."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="bold")
    grid.add_column(overflow="fold")
    for name, text in lines:
        grid.add_row(Text(name), Text(text))
    console.print(grid)


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    accuracy = "" if found["accuracy"] is None else f", accuracy {found['accuracy']:.1%}"
    novel = f", {found['novel']} novel labels" if found["novel"] else ""
    ignored = f", {found['ignored']} votes and labels ignored" if found["ignored"] else ""
    tickets = found["tickets"]
    lines = [
        ("file", f"{found['file']}, {format_bytes(found['bytes'])}, format {found['format']}"),
        ("learner", found["called"]),
        ("classes", _count_names(found["classes"])),
        ("experts", _count_names(found["experts"])),
    ]
    if found["attributes"]:
        lines.append(("attributes", _count_names(found["attributes"])))
    lines.append(("trials", f"{found['trials']}, {found['mistakes']} mistakes{accuracy}{novel}{ignored}"))
    lines.append(("updates", str(found["moves"])))
    if tickets["waiting"] or tickets["expired"]:
        lines.append(("tickets", f"{tickets['waiting']} waiting, {tickets['expired']} expired"))
    return [*lines, *((f"note {name}", text) for name, text in found["notes"].items())]


def _print_largest(console: Console, heading: str, pairs: list[tuple[str, float]]) -> None:
    """Print the largest values with bars."""
    block = BLOCK[console.options.ascii_only]
    largest = heapq.nlargest(MAX_ROWS, pairs, key=lambda pair: abs(pair[1]))
    unit = max((abs(value) for _, value in largest), default=0.0) or 1.0
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(heading, overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", style="cyan", no_wrap=True, width=BAR)
    for name, value in largest:
        table.add_row(Text(name), format_number(value), block * round(BAR * abs(value) / unit))
    console.print(table)
    if len(pairs) > len(largest):
        console.print(f"... and {len(pairs) - len(largest)} smaller ones.")


def _count_names(names: list[Any]) -> str:
    return f"{len(names)}: {short_list(names, MAX_NAMES)}" if names else "none yet"


def format_bytes(count: int) -> str:
    """A number of bytes with its unit.

    >>> format_bytes(999), format_bytes(1500), format_bytes(2_500_000)
    ('999 bytes', '1.5 kB', '2.5 MB')
    """
    for unit, size in (("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
