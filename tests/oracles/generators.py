"""Slow, obvious versions of what generates votes from attributes. Nothing here is shared with the library."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from typing import Any

import numpy as np

from tests.oracles.attributes import standardised, unit

Votes = dict[tuple[Any, int], float]  # by sub-expert and class


def neighbours(rows: np.ndarray, labels: list[int], memory: int, directions: bool) -> list[Votes]:
    """The votes of the nearest 1, 3 and 7 of the latest items, and the ratios of distances."""
    scaled: dict[int, np.ndarray] = {}
    stored: list[int] = []
    found: list[Votes] = []
    for t, y in enumerate(labels):
        row = standardised(rows[[*stored, t]])[-1:]  # items without a label are not counted
        scaled[t] = unit(row)[0] if directions else row[0]
        latest = stored[-memory:][::-1]
        far = {s: float(np.linalg.norm(scaled[t] - scaled[s])) for s in latest}
        nearest = sorted(latest, key=lambda s: round(far[s], 9))  # the latest first if they tie
        votes: Votes = {}
        for size in (1, 3, 7):
            chosen = nearest[:size]
            for s in chosen:
                votes[size, labels[s]] = votes.get((size, labels[s]), 0.0) + 1 / len(chosen)
        for c in {labels[s] for s in latest}:
            of_class = min(far[s] for s in latest if labels[s] == c)
            ratio = far[nearest[0]] / of_class if of_class > 1e-9 else 1.0
            if ratio > 1e-9:
                votes["distance", c] = ratio
        found.append(votes)
        if y >= 0:
            stored.append(t)
    return found


def value_tables(
    rows: list[dict[str, Any]], labels: list[int], order: int, memory: int, limit: int
) -> list[Votes]:
    """The most frequent of the last labels of each combination of values, by its columns."""
    past: dict[Any, list[int]] = defaultdict(list)
    found: list[Votes] = []
    columns: dict[str, int] = {}
    for row, y in zip(rows, labels, strict=True):
        nominal = {column: value for column, value in row.items() if isinstance(value, str)}
        for column in nominal:
            columns.setdefault(column, len(columns))
        votes: Votes = {}
        for chosen in itertools.combinations(sorted(nominal, key=columns.__getitem__), order):
            key = tuple((column, nominal[column]) for column in chosen)
            counts = Counter(past[key][-memory:]) if key in past else Counter()
            best = [c for c, count in counts.items() if count == max(counts.values())]
            votes |= {(chosen, c): 1 / len(best) for c in best}
            if y >= 0 and (key in past or len(past) < limit):
                past[key].append(y)
        found.append(votes)
    return found


def text_columns(text: str, words: tuple[int, ...], characters: tuple[int, ...], columns: int) -> set[int]:
    """The columns of a text, by FNV-1a."""
    split = re.findall(r"\w+|[^\w\s]", text.lower())
    spaced = (" " + " ".join(split) + " ").encode() if split else b" "
    runs = [(1, " ".join(split[i : i + n]).encode()) for n in words for i in range(len(split) - n + 1)]
    runs += [(2, spaced[i : i + n]) for n in characters for i in range(len(spaced) - n + 1)]
    found = set()
    for seed, run in runs:
        code = 2166136261 ^ seed
        for byte in run:
            code = (code ^ byte) * 16777619 % 2**32
        found.add((code ^ (code >> 16)) % columns)
    return found
