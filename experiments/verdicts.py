"""From figures to verdicts: the rules, once for all experiments."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import TypeVar

from experiments.interface import Judgement, Verdict
from experiments.statistics import Interval

Key = TypeVar("Key", bound=Hashable)


def measured(
    claim: str,
    source: str,
    paper: Interval,
    found: Interval,
    *,
    in_order: bool,
    digits: int = 1,
    reference: Interval | None = None,
) -> Verdict:
    """A printed figure against ours: reproduced when they agree, else in order only, if at least that holds.

    >>> measured("error", "Table I", Interval(2.0, 0.1), Interval(2.1, 0.1), in_order=True).judgement
    'reproduced'
    >>> measured("error", "Table I", Interval(2.0, 0.1), Interval(1.1, 0.1), in_order=True)[4:]
    ('reproduced in order only', 'lower than printed, by 6.4 joint intervals')
    """
    if found.agrees(paper):
        return Verdict(claim, source, paper.text(digits), found.text(digits), "reproduced")
    side = "lower" if found.mean < paper.mean else "higher"
    why = f"{side} than printed, by {found.distance(paper):.1f} joint intervals"
    if reference is not None:
        close = "also" if reference.agrees(found) else "instead"
        why += f"; a careful independent implementation {close} got {reference.text(digits)}"
    judgement: Judgement = "reproduced in order only" if in_order else "not reproduced"
    return Verdict(claim, source, paper.text(digits), found.text(digits), judgement, why)


def stated(
    claim: str,
    source: str,
    found: str,
    *,
    holds: bool,
    in_order: bool = False,
    paper: str = "",
    why: str = "",
) -> Verdict:
    """A sentence of a paper: reproduced when it holds here; in order only, when a weaker form of it does."""
    judgement: Judgement = (
        "reproduced" if holds else "reproduced in order only" if in_order else "not reproduced"
    )
    return Verdict(claim, source, paper or "as said", found, judgement, why)


def lost(claim: str, source: str, paper: str, found: str, why: str) -> Verdict:
    """A figure about data that nobody has any more."""
    return Verdict(claim, source, paper, found, "data lost", why)


def ordered(who: Key, paper: Mapping[Key, Interval], found: Mapping[Key, Interval]) -> bool:
    """Does one stand among the others as printed? Whom the paper cannot tell apart may stand either way.

    >>> paper = {"a": Interval(1.0, 0.1), "b": Interval(1.1, 0.1), "c": Interval(3.0, 0.1)}
    >>> ordered("a", paper, {"a": Interval(5.0), "b": Interval(4.0), "c": Interval(6.0)})
    True
    >>> ordered("c", paper, {"a": Interval(5.0), "b": Interval(4.0), "c": Interval(4.5)})
    False
    """
    return all(
        (found[who].mean < found[other].mean) == (paper[who].mean < paper[other].mean)
        for other in paper
        if other != who and not paper[who].agrees(paper[other])
    )


def rising(levels: list[float]) -> bool:
    """Each more than the one before."""
    return all(one < other for one, other in pairwise(levels))
