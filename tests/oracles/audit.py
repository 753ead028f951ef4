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
    heard: Counter[str] = Counter()
    trials = 0
    shared = shared_both = 0.0
    history: list[Any] = []
    before: list[Any] = []
    predictions: list[dict[str, Any]] = []
    for guess, row, truth, names in zip(guesses, rows, labels, known, strict=True):
        if truth is not None and truth in names:
            trials += 1
            confusion[truth, guess] += 1
            votes = Counter(row.values())
            most = max(votes.values(), default=0)
            plurality = next((name for name in classes if votes[name] == most), None)
            tied = [name for name in names if votes[name] == most]
            share = (truth in tied) / len(tied)
            shared, shared_both = shared + share, shared_both + share * (guess == truth)
            said = {
                "linmax": guess, "frequent": _most_frequent(before), "last": before[-1] if before else None,
                "plurality": plurality, **row,
            }  # fmt: skip
            predictions.append({"truth": truth, "tied": tied, **said})
            for name in ("linmax", "frequent", "last", "plurality", *experts):
                hit = name in said and said[name] == truth
                right[name] += hit
                both[name] += hit and guess == truth
                spoke[name] += name in row
                heard[name] += name in row and guess == truth
        if truth is not None:
            before.append(truth)
        history.append((trials, dict(right), shared, dict(spoke)))
    return {
        "experts": experts, "trials": trials, "right": right, "both": both, "spoke": spoke,
        "confusion": confusion, "history": history, "heard": heard, "shared": [shared, shared_both],
        "predictions": predictions,
    }  # fmt: skip


def _most_frequent(labels: list[Any]) -> Any:
    """The label with the most occurrences; of several, the one that had so many first."""
    counts: Counter[Any] = Counter()
    leader = None
    for label in labels:
        counts[label] += 1
        if leader is None or counts[label] > counts[leader]:
            leader = label
    return leader
