"""What is in a model: the facts of a session, as a page or as JSON."""

from __future__ import annotations

import heapq
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax import recommended, vr_combine
from linmax.cli.inputs import open_model as opened
from linmax.cli.output import as_json, brief, number, out, readable
from linmax.fusion import Fusion
from linmax.fusion.model_file import VERSION
from linmax.kernels.structs import MOVES
from linmax.streams.schema import several

TOP = 20  # weights and members that are shown
NUMBERS = 1 << 22  # in a model, above which its weights are not listed
NAMED = 12  # classes and experts that are shown
BAR = 20
BLOCK = ("█", "#")


def inspect(model: Path, *, json: bool) -> None:
    """Tell what a model has learned."""
    found = facts(opened(model), model)
    if json:
        as_json(found)
    else:
        show(found, out())


def facts(fusion: Fusion, path: Path) -> dict[str, Any]:
    """Everything there is to say about a session in a file."""
    counted = fusion.trials - fusion.novel
    numbers = sum(array.size for array in fusion.state().values())
    weights = fusion.weights if numbers <= NUMBERS else {}
    return {
        "file": str(path),
        "bytes": path.stat().st_size,
        "format": VERSION,
        "learner": repr(fusion.learner),
        "called": called(fusion.learner),
        "classes": fusion.classes,
        "experts": fusion.experts,
        "attributes": [readable(("attribute", name)) for name in fusion.names.attributes.names],
        "trials": fusion.trials,
        "mistakes": fusion.mistakes,
        "novel": fusion.novel,
        "accuracy": 1 - fusion.mistakes / counted if counted else None,
        "moves": int(fusion._council.facts()[MOVES]),
        "ignored": fusion.ignored,
        "tickets": {
            "waiting": len(fusion.tickets),
            "expired": fusion.tickets.expired,
            "limit": fusion.tickets.limit,
        },
        "numbers": numbers,
        "weights": [
            {"name": readable(key), "weight": weight}
            for key, weight in sorted(weights.items(), key=lambda one: -abs(one[1]))
        ],
        "members": [
            {"learner": name, "part": part}
            for name, part in sorted(fusion.members.items(), key=lambda one: -one[1])
        ],
        "notes": dict(noted(fusion.notes)),
    }


def called(learner: Any) -> str:
    """A learner by its short name, where it has one."""
    ready = {"recommended()": recommended(), "vr_combine()": vr_combine()}
    return next((name for name, one in ready.items() if one == learner), repr(learner))


def noted(notes: dict[str, Any], start: str = "") -> list[tuple[str, str]]:
    """Notes as names and short values, of what is nested two levels; of all below only how much there is.

    >>> noted({"run": {"file": "votes.csv", "rows": 7, "audit": {"a": 1, "b": 2}}, "by": [1, 2, 3]})
    [('run.file', 'votes.csv'), ('run.rows', '7'), ('run.audit', '2 entries'), ('by', '3 entries')]
    """
    found: list[tuple[str, str]] = []
    for name, value in notes.items():
        if isinstance(value, dict) and not start:
            found += noted(value, f"{brief(name)}.")
        elif isinstance(value, dict | list):
            found.append((start + brief(name), f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"))
        else:
            found.append((start + brief(name), brief(value)))
    return found


def show(found: dict[str, Any], console: Console) -> None:
    """Print the facts."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, style="bold")
    lines.add_column(overflow="fold")
    for name, text in _lines(found):
        lines.add_row(Text(name), Text(text))
    console.print(lines)
    if found["numbers"] > NUMBERS:
        console.print(f"\nIts weights are too many to list: the file has {found['numbers']} numbers.")
    elif found["weights"]:
        console.print()
        _ranked(console, "weight", [(brief(one["name"]), one["weight"]) for one in found["weights"]])
    if found["members"]:
        console.print()
        _ranked(console, "member, and its part", [(one["learner"], one["part"]) for one in found["members"]])


def _lines(found: dict[str, Any]) -> list[tuple[str, str]]:
    accuracy = "" if found["accuracy"] is None else f", {found['accuracy']:.1%} right"
    novel = f", {found['novel']} novel labels" if found["novel"] else ""
    ignored = f", {found['ignored']} votes and labels ignored" if found["ignored"] else ""
    tickets = found["tickets"]
    lines = [
        ("file", f"{found['file']}, {_size(found['bytes'])}, format {found['format']}"),
        ("learner", found["called"]),
        ("classes", _some(found["classes"])),
        ("experts", _some(found["experts"])),
        ("attributes", _some(found["attributes"])) if found["attributes"] else ("", ""),
        ("trials", f"{found['trials']}, {found['mistakes']} mistakes{accuracy}{novel}{ignored}"),
        ("moves", str(found["moves"])),
        ("tickets", f"{tickets['waiting']} waiting, {tickets['expired']} expired")
        if tickets["waiting"] or tickets["expired"]
        else ("", ""),
        *((f"note {name}", text) for name, text in found["notes"].items()),
    ]
    return [line for line in lines if line[0]]


def _ranked(console: Console, heading: str, pairs: list[tuple[str, float]]) -> None:
    """The largest of them, with bars."""
    block = BLOCK[console.options.ascii_only]
    top = heapq.nlargest(TOP, pairs, key=lambda pair: abs(pair[1]))
    unit = max((abs(value) for _, value in top), default=0.0) or 1.0
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(heading, overflow="fold")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("", style="cyan", no_wrap=True, width=BAR)
    for name, value in top:
        table.add_row(Text(name), number(value), block * round(BAR * abs(value) / unit))
    console.print(table)
    if len(pairs) > len(top):
        console.print(f"... and {len(pairs) - len(top)} more, none of them larger.")


def _some(names: list[Any]) -> str:
    return f"{len(names)}: {several(names, NAMED)}" if names else "none yet"


def _size(count: int) -> str:
    """Bytes for people.

    >>> _size(999), _size(1500), _size(2_500_000)
    ('999 bytes', '1.5 kB', '2.5 MB')
    """
    for unit, size in (("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
