"""Tables of the mistakes of all learners."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, stdev

from benchmarks.quality.compare import AS_FILED, Row

HINDSIGHT = ("best expert",)
WIDE = 6  # problems beside each other in a table


def mistake_tables(rows: list[Row], title: str) -> list[str]:
    """Return tables with a line per learner and a column per problem."""
    return [_table(part, title, "mistakes", _whole) for part in grouped(rows)]


def late_tables(rows: list[Row], title: str) -> list[str]:
    """Return the same tables for the second half."""
    return [_table(part, title, "late", _mean) for part in grouped(rows)]


def grouped(rows: list[Row]) -> list[list[Row]]:
    """Group problems that fit into one table: of one kind, and not too many."""
    forms = list(dict.fromkeys(row["form"] == "votes" for row in rows))
    groups = [[row for row in rows if (row["form"] == "votes") == votes] for votes in forms]
    return [group[at : at + WIDE] for group in groups for at in range(0, len(group), WIDE)]


def _table(rows: list[Row], title: str, key: str, text: Callable[[dict[str, int]], str]) -> str:
    methods = list(dict.fromkeys(name for row in rows for name in row[key]))
    head = [title, *(f"{row['name']}, {_items(row, key)} items" for row in rows)]
    lines = [head, ["---", *("---:" for _ in rows)]]
    fewest = [
        min(mean_mistakes(of) for name, of in row[key].items() if name not in HINDSIGHT) for row in rows
    ]
    for name in methods:
        line = [name]
        for row, least in zip(rows, fewest, strict=True):
            of = row[key].get(name)
            said = text(of) if of else ""
            line.append(
                f"**{said}**" if of and name not in HINDSIGHT and mean_mistakes(of) == least else said
            )
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _items(row: Row, key: str) -> int:
    items = int(row["items"])
    return items - items // 2 if key == "late" else items


def _shuffled(of: dict[str, int]) -> list[int]:
    return [mistakes for order, mistakes in of.items() if order != AS_FILED]


def mean_mistakes(of: dict[str, int]) -> float:
    """Return the mean mistakes over the random orders."""
    return fmean(_shuffled(of))


def _mean(of: dict[str, int]) -> str:
    return f"{mean_mistakes(of):.1f}"


def _whole(of: dict[str, int]) -> str:
    found = _shuffled(of)
    spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
    filed = f"; {of[AS_FILED]}" if AS_FILED in of else ""
    return f"{fmean(found):.1f}{spread}{filed}"
