"""Presets: the committees of the papers, and the default."""

from __future__ import annotations

from functools import reduce
from operator import add

from linmax.experts import PerClass, RandomFeatures, ScaledAttributes, Source, Thresholds, Votes
from linmax.experts.generated import GeneratedSource
from linmax.rules.alma import Alma
from linmax.rules.logistic import Logistic
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.winnow import Winnow
from linmax.spec import Learner, preset
from linmax.techniques.combine import Combine
from linmax.techniques.mixture import Mixture, Stacked
from linmax.techniques.naive_bayes import NaiveBayes
from linmax.techniques.regression import LeastSquares, SquaredHinge
from linmax.techniques.wrappers import Averaged, Recycled, Tempered

ALPHAS = (1.01, 1.03, 1.05, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.55, 1.6)


@preset
def standard_bank() -> list[Learner]:
    """Return the 62 algorithms of 2008: Winnow, Perceptron and ALMA with many parameters, then each averaged.

    References
    ----------
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section VII.

    Examples
    --------
    >>> from linmax import standard_bank
    >>> bank = standard_bank()
    >>> len(bank), bank[0], bank[-1]
    (62, Winnow(1.01), Averaged(Alma(9.0)))
    """
    plain = _plain()
    return [*plain, *map(Averaged, plain)]


@preset
def vr_combine(*, size: int = 100, updates: int | None = 5, hypotheses: int = 20) -> Combine:
    """Return VR-Combine, the system of 2008: voting over the standard bank with every member recycled.

    Parameters
    ----------
    size
        How many instances each member recycles.
    updates
        How many updates an instance may cause; None means no limit.
    hypotheses
        How many hypotheses vote.

    References
    ----------
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section VI.

    Examples
    --------
    >>> from linmax import Fusion, vr_combine
    >>> from linmax.problems import majority
    >>> Fusion(vr_combine()).learn(*majority(1000, noise=0.05)).mistakes
    105
    """
    plain = [Recycled(rule, size=size, updates=updates) for rule in _plain()]
    return Combine((*plain, *map(Averaged, plain)), hypotheses=hypotheses)


@preset
def recommended(
    *,
    votes: bool = True,
    attributes: bool = False,
    readings: bool = False,
    experts: Source | None = None,
) -> Mixture:
    """Return the default of `Fusion`: a committee for any panel of votes, for attributes, or for both.

    On votes it has seven members: logistic regression with small and large steps (drift; many weak experts),
    an averaged Perceptron with a margin (large panels), logistic regression on what each expert says
    (confused experts), and two counters (experts who vote rarely). On attributes, which are standardised
    on-line, it has seven: logistic regression and a squared hinge loss with a step per weight, least squares
    with a variance per attribute and with all covariances, the passive-aggressive rule, an averaged
    Perceptron, and, if there are few attributes, a squared hinge loss on random features of them, which is
    nearly a kernel. With both, one more member reads both.

    The members are stacked and they are mixed, and the results of both are mixed again. On votes all start at
    the plurality. docs/recommended.md has the measurements behind this choice.

    Parameters
    ----------
    votes
        Whether there are members that read votes.
    attributes
        Whether there are members that read attributes.
    readings
        Whether three more members read scores as one-hot votes, with a softmax, and as ranks. For experts
        that give scores on different scales; votes for one class are the same in all readings.
    experts
        A source that one more member reads, such as that of `linmax.experts.standard`; another member reads
        those of its parts that generate votes.

    Examples
    --------
    >>> from linmax import Fusion
    >>> from linmax.problems import majority
    >>> Fusion().learn(*majority(1000, noise=0.1)).mistakes
    168
    """
    if not votes and not attributes:
        raise ValueError("recommended needs votes=True or attributes=True; at least one must be read")
    if readings and not votes:
        raise ValueError("recommended(readings=True) needs votes=True; readings are of scores")
    bank = (*(_on_votes() if votes else ()), *(_on_attributes() if attributes else ()))
    if votes and attributes:
        joint = PerClass() + ScaledAttributes(unit=True)
        bank += (Logistic(1.0, decay="adagrad", initial=0.01).on(joint),)
    if readings:
        scales = ("onehot", "softmax", "rank")
        bank += tuple(Logistic(0.1, start="equal").on(Votes(as_=scale) + Thresholds()) for scale in scales)
    if experts is not None:
        bank += (Logistic(1.0, decay="adagrad", initial=0.01, start="equal").on(experts),)
        generated = [part for part in experts.parts if isinstance(part, GeneratedSource)]
        if generated:
            bank += (Logistic(0.1, start="equal").on(reduce(add, generated)),)
    return Mixture((Stacked(bank), Mixture(bank)))


def _on_votes() -> tuple[Learner, ...]:
    plain = Votes() + Thresholds()
    return (
        Logistic(0.01, start="equal").on(plain),
        Logistic(0.1, start="equal").on(plain),
        Averaged(Logistic(1.0, start="equal").on(plain)),
        Tempered(Averaged(Perceptron(slack=20.0, start="equal").on(plain))),
        Logistic(0.3, decay="adagrad", start="equal").on(Votes() + PerClass() + Thresholds()),
        NaiveBayes("tables"),
        NaiveBayes("accuracies"),
    )


def _on_attributes() -> tuple[Learner, ...]:
    unit = ScaledAttributes(unit=True)
    return (
        Logistic(1.0, decay="adagrad", initial=0.01).on(unit),
        Tempered(SquaredHinge()),
        Tempered(LeastSquares("diagonal")),
        Tempered(PassiveAggressive(kind="PA").on(ScaledAttributes())),
        Tempered(Averaged(Perceptron().on(unit))),
        Tempered(LeastSquares("matrix")),
        Tempered(SquaredHinge().on(RandomFeatures(128))),
    )


def _plain() -> list[Learner]:
    return [*map(Winnow, ALPHAS), Perceptron(), *(Alma(2.0 + i / 2) for i in range(15))]
