"""A panel of yes-or-no experts whose majority is always right."""

from collections.abc import Sequence

import numpy as np

from linmax.problems._demands import seats, whole
from linmax.problems._panel import Panel
from linmax.problems.majority import majority


def panel(
    trials: int, experts: int = 100, size: int = 3, *, signs: Sequence[int] | None = None, seed: int = 0
) -> Panel:
    """Experts say -1 or +1 at random, given as the classes 0 and 1; the first ``size`` of them decide.

    label = sign(u . x),  u = 1 on the panel and 0 elsewhere,  margin 1/size under sum |u| = 1

    ``signs`` such as ``(1, -1, -1)`` puts signs into u: a -1 marks a member who counts for the opposite of
    what he says, so that no non-negative weights are right. Its length is then the size.

    Schapire, COS 511: Theoretical Machine Learning, lecture 15, 2008, section 2 (signs: section 5).

    >>> votes, labels = panel(4, experts=6)
    >>> votes
    array([[1, 1, 0, 0, 1, 1],
           [0, 0, 1, 0, 1, 1],
           [1, 0, 0, 1, 0, 0],
           [1, 1, 1, 1, 0, 0]], dtype=int32)
    >>> labels
    array([1, 0, 0, 1])
    >>> votes, labels = panel(1000, signs=(1, -1, -1))
    >>> [round(float((votes[:, i] == labels).mean()), 2) for i in range(5)]
    [0.74, 0.25, 0.24, 0.51, 0.48]
    """
    whole("panel", "trials", trials, 0)
    if signs is not None:
        wrong = [sign for sign in signs if sign not in (-1, 1)]
        if wrong:
            raise ValueError(f"panel needs signs that are 1 or -1 (got {wrong[0]})")
        size = len(signs)
    seats("panel", "size" if signs is None else "len(signs)", size, experts)
    if size % 2 == 0:
        raise ValueError(f"panel needs an odd size, which rules out ties (got {size})")
    whole("panel", "seed", seed, 0)

    votes, labels = majority(trials, size, experts, classes=2, seed=seed)
    if signs is not None:
        contrary = np.flatnonzero(np.asarray(signs) == -1)
        votes[:, contrary] = 1 - votes[:, contrary]  # what he says is as uniform as what he counts for
    return Panel(votes, labels)
