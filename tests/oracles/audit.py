"""What an audit should count, said in the slow and obvious way: loops over whole lists."""

from __future__ import annotations

from collections import Counter
from typing import Any


def counted(
    guesses: list[Any],
    rows: list[dict[str, Any]],
    labels: list[Any],
    known: list[set[Any]],
    classes: list[Any],
) -> dict[str, Any]:
    """Everything after each item; `known` has the classes that were known when an item was guessed."""
    experts = list(dict.fromkeys(name for row in rows for name in row))
    right: Counter[str] = Counter()
    both: Counter[str] = Counter()
    spoke: Counter[str] = Counter()
    confusion: Counter[tuple[Any, Any]] = Counter()
    trials = 0
    history = []
    for guess, row, truth, names in zip(guesses, rows, labels, known, strict=True):
        if truth is not None and truth in names:
            trials += 1
            confusion[truth, guess] += 1
            votes = Counter(row.values())
            most = max(votes.values(), default=0)
            plurality = next((name for name in classes if votes[name] == most), None)
            said = {"linmax": guess, "plurality": plurality, **row}
            for name in ("linmax", "plurality", *experts):
                hit = name in said and said[name] == truth
                right[name] += hit
                both[name] += hit and guess == truth
                spoke[name] += name in row
        history.append((trials, dict(right)))
    return {
        "experts": experts, "trials": trials, "right": right, "both": both, "spoke": spoke,
        "confusion": confusion, "history": history,
    }  # fmt: skip
