"""Slow and obvious versions of what the generated problems promise: one trial, one loop."""

from collections.abc import Sequence
from itertools import combinations


def plurality_smallest_class(named: Sequence[int]) -> int:
    """2008: the class named most often, a tie goes to the smallest class in it."""
    best = -1
    for c in sorted(set(named)):
        if best < 0 or list(named).count(c) > list(named).count(best):
            best = c
    return best


def plurality_lowest_expert(named: Sequence[int]) -> int:
    """2003: the class named most often, a tie goes to what the lowest expert in it names."""
    most = max(list(named).count(c) for c in named)
    for c in named:
        if list(named).count(c) == most:
            return c
    raise AssertionError("somebody is always in the tie")


def panel_label(said: Sequence[int], signs: Sequence[int]) -> int:
    """Lecture: sign(u . x) with x = -1 or +1 where an expert said 0 or 1, given back as 0 or 1."""
    total = 0
    for word, sign in zip(said, signs, strict=False):
        total += sign * (1 if word == 1 else -1)
    assert total != 0
    return 1 if total > 0 else 0


def deciding_sets(votes: Sequence[Sequence[int]], labels: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Every set of so many experts whose plurality is the label on all these trials."""
    return [
        chosen
        for chosen in combinations(range(len(votes[0])), size)
        if all(
            plurality_smallest_class([row[i] for i in chosen]) == y
            for row, y in zip(votes, labels, strict=True)
        )
    ]


def shared_label(x: Sequence[float]) -> int:
    """2006, first dataset: the binary number x1 x2 x3 x4, a bit being 1 where x is."""
    return int("".join("1" if bit == 1 else "0" for bit in x[:4]), 2)


def disjoint_labels(x: Sequence[float]) -> list[int]:
    """2006, second dataset: every r with x_{4r+1} = ... = x_{4r+4} = 1."""
    return [r for r in range(16) if all(x[4 * r + i] == 1 for i in range(4))]


def penguin_label(x: Sequence[float]) -> int:
    """2006, third dataset: the last class where the last four are ones, the binary number elsewhere."""
    return 15 if all(x[60 + i] == 1 for i in range(4)) else shared_label(x)
