"""Combine and Voted: vote with saved hypotheses of the member that makes the fewest mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.runtime.predictor import Predictor
from linmax.spec import Learner, short
from linmax.techniques.base import Committee, Technique
from linmax.techniques.voting import VotingPredictor
from linmax.validation import is_integer

CHOICES = ("best", "random")
MAX_COUNT = 100_000  # of hypotheses, trials and instances


@dataclass(frozen=True, repr=False)
class Combine(Committee):
    """V-Combine: predict with the sum of the scores of saved hypotheses of the leader and its current one.

    The leader is the member with the fewest mistakes so far. As long as it has made fewer mistakes than
    voting would have, it predicts alone. With members that recycle this is VR-Combine.

    Parameters
    ----------
    members
        Rules, or techniques around them; they may differ in rule, technique and experts.
    hypotheses
        How many hypotheses are saved, at equal spacing that doubles when all slots are full; 0 always follows
        the leader.
    window
        Width in trials of the window around each position in which the best hypothesis is searched for.
    recent
        How many of the latest instances measure the accuracy of a hypothesis; 0 counts its right predictions
        while it was current.
    patience
        Trials before voting may restart while the leader is ahead of it; doubled at each restart.
    choose
        "best", or "random" for hypotheses drawn uniformly from all past trials (Littlestone 1995).

    References
    ----------
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section V.B.
    Littlestone, Comparing several linear-threshold learning algorithms, 1995.

    Examples
    --------
    >>> from linmax import Averaged, Combine, Fusion, Perceptron, Winnow
    >>> from linmax.problems import majority
    >>> members = [Perceptron(), Winnow(1.1), Averaged(Perceptron()), Averaged(Winnow(1.5))]
    >>> [Fusion(B).learn(*majority(2000, noise=0.1)).mistakes for B in (*members, Combine(members))]
    [670, 504, 390, 330, 342]
    """

    hypotheses: int = field(default=20, kw_only=True)
    window: int = field(default=100, kw_only=True)
    recent: int = field(default=100, kw_only=True)
    patience: int = field(default=100, kw_only=True)
    choose: str = field(default="best", kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for members without a hypothesis of their own, and for numbers out of range."""
        super().__post_init__()
        for member in self.members:
            if member.ensemble:
                raise ValueError(
                    f"{self._name()} votes with hypotheses, and a committee has none (got {short(member)});"
                    " WeightedMajority takes any learner"
                )
        check_voting(self)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over the runs of the members."""
        return VotingPredictor(self, [runner.predictor_for(member) for member in self.members], runner)


def check_voting(learner: Any) -> None:
    """Raise a ValueError unless the numbers of `Combine` and `Voted` are in range."""
    name = learner._name()
    for parameter, least, typical in (
        ("hypotheses", 0, 20),
        ("window", 0, 100),
        ("recent", 0, 100),
        ("patience", 1, 100),
    ):
        value = getattr(learner, parameter)
        if not is_integer(value) or not least <= value <= MAX_COUNT:
            raise ValueError(
                f"{name} requires {least} <= {parameter} <= {MAX_COUNT} (got {value!r});"
                f" a typical value is {typical}"
            )
    if learner.choose not in CHOICES:
        raise ValueError(f'{name} requires choose="best" or choose="random" (got {learner.choose!r})')
    if learner.choose == "random" and not learner.hypotheses:
        raise ValueError(
            f'{name} with choose="random" requires hypotheses >= 1 (got 0); a typical value is 30'
        )


@dataclass(frozen=True, repr=False)
class Voted(Technique):
    """Predict with the sum of the scores of saved hypotheses and the current one.

    The same as `Combine` with a single member (V-B in Mesterharm & Hsu).

    Parameters
    ----------
    inner
        A rule, or a technique around one.
    hypotheses
        How many hypotheses are saved, at equal spacing that doubles when all slots are full; 0 always follows
        the leader.
    window
        Width in trials of the window around each position in which the best hypothesis is searched for.
    recent
        How many of the latest instances measure the accuracy of a hypothesis; 0 counts its right predictions
        while it was current.
    patience
        Trials before voting may restart while the leader is ahead of it; doubled at each restart.
    choose
        "best", or "random" for hypotheses drawn uniformly from all past trials (Littlestone 1995).

    References
    ----------
    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, section V.B.

    Examples
    --------
    >>> from linmax import Fusion, Voted, Winnow
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, noise=0.1)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Winnow(1.1), Voted(Winnow(1.1)))]
    [504, 399]
    """

    ensemble: ClassVar[bool] = True

    inner: Learner
    hypotheses: int = field(default=20, kw_only=True)
    window: int = field(default=100, kw_only=True)
    recent: int = field(default=100, kw_only=True)
    patience: int = field(default=100, kw_only=True)
    choose: str = field(default="best", kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for numbers out of range."""
        super().__post_init__()
        check_voting(self)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over one run."""
        one = Combine(
            (self.inner,), hypotheses=self.hypotheses, window=self.window, recent=self.recent,
            patience=self.patience, choose=self.choose,
        )  # fmt: skip
        predictor = one.predictor(runner)
        predictor.learner = self
        return predictor
