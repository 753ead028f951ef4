"""The rules that turn figures into outcomes, for all experiments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import TypeVar

from experiments.interface import Judgement, Outcome
from experiments.statistics import Interval

Key = TypeVar("Key", bound=Hashable)


def figure_outcome(
    claim: str,
    source: str,
    paper: Interval,
    found: Interval,
    *,
    in_order: bool,
    digits: int = 1,
    reference: Interval | None = None,
) -> Outcome:
    """Compare a printed figure with ours: reproduced if they agree, or in order only.

    >>> figure_outcome("error", "Table I", Interval(2.0, 0.1), Interval(2.1, 0.1), in_order=True).judgement
    'reproduced'
    >>> figure_outcome("error", "Table I", Interval(2.0, 0.1), Interval(1.1, 0.1), in_order=True)[4:]
    ('reproduced in order only', 'lower than printed, by 6.4 joint intervals')
    """
    if found.agrees(paper):
        return Outcome(claim, source, paper.text(digits), found.text(digits), "reproduced")
    side = "lower" if found.mean < paper.mean else "higher"
    why = f"{side} than printed, by {found.distance(paper):.1f} joint intervals"
    if reference is not None:
        close = "also" if reference.agrees(found) else "instead"
        why += f"; an independent implementation {close} got {reference.text(digits)}"
    judgement: Judgement = "reproduced in order only" if in_order else "not reproduced"
    return Outcome(claim, source, paper.text(digits), found.text(digits), judgement, why)


def statement_outcome(
    claim: str,
    source: str,
    found: str,
    *,
    holds: bool,
    in_order: bool = False,
    paper: str = "",
    why: str = "",
) -> Outcome:
    """Judge a statement of a paper: reproduced if it holds, in order only if a weaker form holds."""
    judgement: Judgement = (
        "reproduced" if holds else "reproduced in order only" if in_order else "not reproduced"
    )
    return Outcome(claim, source, paper or "as stated", found, judgement, why)


def lost_data_outcome(claim: str, source: str, paper: str, found: str, why: str) -> Outcome:
    """Return the outcome for a figure whose data are lost."""
    return Outcome(claim, source, paper, found, "data lost", why)


def same_order_as_paper(who: Key, paper: Mapping[Key, Interval], found: Mapping[Key, Interval]) -> bool:
    """Return whether one is ordered among the others as printed, ignoring insignificant differences.

    >>> paper = {"a": Interval(1.0, 0.1), "b": Interval(1.1, 0.1), "c": Interval(3.0, 0.1)}
    >>> same_order_as_paper("a", paper, {"a": Interval(5.0), "b": Interval(4.0), "c": Interval(6.0)})
    True
    >>> same_order_as_paper("c", paper, {"a": Interval(5.0), "b": Interval(4.0), "c": Interval(4.5)})
    False
    """
    return all(
        (found[who].mean < found[other].mean) == (paper[who].mean < paper[other].mean)
        for other in paper
        if other != who and not paper[who].agrees(paper[other])
    )


def increasing(levels: list[float]) -> bool:
    """Return whether each level is larger than the one before."""
    return all(one < other for one, other in pairwise(levels))
