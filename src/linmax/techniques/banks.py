"""Committees that are ready made."""

from __future__ import annotations

from linmax.learner import Learner
from linmax.rules.alma import Alma
from linmax.rules.perceptron import Perceptron
from linmax.rules.winnow import Winnow
from linmax.techniques.averaged import Averaged
from linmax.techniques.combine import Combine
from linmax.techniques.recycled import Recycled

ALPHAS = (1.01, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.55, 1.6)


def standard_bank() -> list[Learner]:
    """The 62 algorithms of 2008: Winnow, Perceptron and ALMA with many parameters, then each averaged.

    >>> from linmax import standard_bank
    >>> bank = standard_bank()
    >>> len(bank), bank[0], bank[-1]
    (62, Winnow(1.01), Averaged(Alma(9.0, 1.0)))
    """
    plain = [*map(Winnow, ALPHAS), Perceptron(), *(Alma(2.0 + i / 2) for i in range(15))]
    return [*plain, *map(Averaged, plain)]


def vr_combine(**options: int) -> Combine:
    """VR-Combine, the system of 2008: voting over the standard bank with every member recycled.

    >>> from linmax import Fusion, vr_combine
    >>> from linmax.problems import majority
    >>> Fusion(vr_combine()).learn(*majority(1000, noise=0.05)).mistakes
    105
    """
    plain = [Recycled(member) for member in standard_bank()[:31]]
    return Combine((*plain, *map(Averaged, plain)), **options)  # type: ignore[arg-type]
