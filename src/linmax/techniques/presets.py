"""Committees that are ready made."""

from __future__ import annotations

from linmax.experts import PerClass, Thresholds, Votes
from linmax.rules.alma import Alma
from linmax.rules.logistic import Logistic
from linmax.rules.perceptron import Perceptron
from linmax.rules.winnow import Winnow
from linmax.spec import Learner, ready_made
from linmax.techniques.combine import Combine
from linmax.techniques.mixture import Mixture, Stacked
from linmax.techniques.naive_bayes import NaiveBayes
from linmax.techniques.wrappers import Averaged, Recycled, Tempered

ALPHAS = (1.01, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.55, 1.6)


@ready_made
def standard_bank() -> list[Learner]:
    """The 62 algorithms of 2008: Winnow, Perceptron and ALMA with many parameters, then each averaged.

    >>> from linmax import standard_bank
    >>> bank = standard_bank()
    >>> len(bank), bank[0], bank[-1]
    (62, Winnow(1.01), Averaged(Alma(9.0, 1.0)))
    """
    plain = _plain()
    return [*plain, *map(Averaged, plain)]


@ready_made
def vr_combine(*, size: int = 100, updates: int | None = 5, hypotheses: int = 20) -> Combine:
    """VR-Combine, the system of 2008: voting over the standard bank with every member recycled.

    >>> from linmax import Fusion, vr_combine
    >>> from linmax.problems import majority
    >>> Fusion(vr_combine()).learn(*majority(1000, noise=0.05)).mistakes
    105
    """
    plain = [Recycled(rule, size=size, updates=updates) for rule in _plain()]
    return Combine((*plain, *map(Averaged, plain)), hypotheses=hypotheses)


@ready_made
def recommended() -> Mixture:
    """What `Fusion()` is: a committee for any panel, chosen on many at once.

    Seven members that are good at different things: small and large steps of logistic regression (drift; many
    weak experts), an averaged Perceptron with a margin (large panels), logistic regression on what each
    expert says (confused experts), and two counters (experts who speak seldom). They are stacked and they
    are mixed, and of both again a mixture is taken. All begin with the plurality. docs/recommended.md
    tells why these.

    >>> from linmax import Fusion
    >>> from linmax.problems import majority
    >>> Fusion().learn(*majority(1000, noise=0.1)).mistakes
    168
    """
    plain = Votes() + Thresholds()
    bank = (
        Logistic(0.01, start="equal").on(plain),
        Logistic(0.1, start="equal").on(plain),
        Averaged(Logistic(1.0, start="equal").on(plain)),
        Tempered(Averaged(Perceptron(slack=20.0, start="equal").on(plain))),
        Logistic(0.3, decay="adagrad", start="equal").on(Votes() + PerClass() + Thresholds()),
        NaiveBayes("tables"),
        NaiveBayes("accuracies"),
    )
    return Mixture((Stacked(bank), Mixture(bank)))


def _plain() -> list[Learner]:
    return [*map(Winnow, ALPHAS), Perceptron(), *(Alma(2.0 + i / 2) for i in range(15))]
