"""Reader of the real Calendar Apprentice files: a text table with a header line."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from linmax.problems.calendar import TARGETS, Calendar

NAMES = {
    "day": ("day", "day-of-week", "dow"),
    "duration": ("duration",),
    "location": ("location", "loc"),
    "start": ("start", "start-time", "time"),
}


def read(path: Path) -> Calendar:
    """Read one meeting per line, separated by tabs or commas; ? or an empty value is unknown.

    The columns day, duration, location and start (or day-of-week and start-time) are the targets, in any
    order; all others are attributes. The layout of the lost files is unknown, so this is a simple form to
    convert them to.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; convert it, for example with iconv") from None
    lines = list(csv.reader(text.splitlines(), delimiter="\t" if "\t" in text.split("\n")[0] else ","))
    if len(lines) < 2:
        raise ValueError(f"{path} requires a header line and at least one meeting (got {len(lines)} lines)")
    head = [name.strip().lower() for name in lines[0]]
    at = {target: _column(path, head, target) for target in TARGETS}
    meetings = [line for line in lines[1:] if any(value.strip() for value in line)]
    for number, line in enumerate(lines[1:], start=2):
        if line and len(line) != len(head):
            raise ValueError(
                f"{path}, line {number} has {len(line)} values but the header has {len(head)}; fix it"
            )
    values = np.array(
        [["" if value.strip() == "?" else value.strip() for value in line] for line in meetings]
    )
    others = [i for i in range(len(head)) if i not in at.values()]
    unlabelled = {target: np.flatnonzero(values[:, i] == "") for target, i in at.items()}
    for target, where in unlabelled.items():
        if len(where):
            raise ValueError(f"{path} has a meeting without {target} (number {where[0] + 1}); remove it")
    names = tuple(head[i] for i in others)
    return Calendar(names, values[:, others], {target: values[:, i] for target, i in at.items()})


def _column(path: Path, head: list[str], target: str) -> int:
    for name in NAMES[target]:
        if name in head:
            return head.index(name)
    raise ValueError(f"{path} has no column {target} (its names are {', '.join(head)}); add it")
