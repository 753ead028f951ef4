"""Combine: vote with hypotheses of whichever member has made the fewest mistakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from linmax.runtime.predictor import Predictor
from linmax.spec import Learner
from linmax.techniques.base import Committee, Technique
from linmax.techniques.voting import VotingPredictor

CHOICES = ("best", "random")
MOST = 100_000  # of anything that is counted here


@dataclass(frozen=True, repr=False)
class Combine(Committee):
    """V-Combine: save hypotheses of the leader along the way, and guess with the sum of their scores.

    The leader b* is the member with the fewest mistakes so far. Its hypothesis is saved `hypotheses` times at
    equal spacing g, which doubles when all are there; around each place the best is searched for in a window
    of up to `window` trials, by its accuracy on the `recent` latest instances (0: by its right guesses while
    it was current). b*'s current hypothesis votes too. As long as b* has made fewer mistakes than voting
    would have, b* guesses; after `patience` trials (twice as many after each restart) that restarts voting.
    Mesterharm & Hsu 2008, section V.B; with members that recycle it is VR-Combine. `hypotheses=0` always
    follows the leader.

    Members may differ in rule, technique and experts. `choose="random"` is the older baseline (Littlestone
    1995): the majority of hypotheses drawn from all past trials, 30 there.

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
        """Refuse members without a hypothesis of their own, and numbers out of range."""
        super().__post_init__()
        for member in self.members:
            if member.ensemble:
                raise ValueError(
                    f"{self._name()} votes with hypotheses, which a committee has not (got {member!r});"
                    " WeightedMajority takes any learner"
                )
        check_voting(self)

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over the runs of the members."""
        return VotingPredictor(self, [runner.predictor_for(member) for member in self.members], runner)


def check_voting(learner: Any) -> None:
    """The numbers of `Combine` and `Voted` are in range."""
    name = learner._name()
    for what, least, usual in (
        ("hypotheses", 0, 20),
        ("window", 0, 100),
        ("recent", 0, 100),
        ("patience", 1, 100),
    ):
        value = getattr(learner, what)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
            raise ValueError(f"{name} needs {least} <= {what} <= {MOST} (got {value!r}); {usual} is usual")
    if learner.choose not in CHOICES:
        raise ValueError(f'{name} needs choose="best" or choose="random" (got {learner.choose!r})')
    if learner.choose == "random" and not learner.hypotheses:
        raise ValueError(f'{name} with choose="random" needs hypotheses >= 1 (got 0); 30 is usual')


@dataclass(frozen=True, repr=False)
class Voted(Technique):
    """Vote with good hypotheses of the past and the current one: `Combine` with a single member.

    Mesterharm & Hsu 2008, section V.B (V-B). See `Combine` for the parameters.

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
        """Refuse numbers out of range."""
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
