"""The contract of an update rule, its options, and how the rivals of a label are chosen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from linmax._jit import addresses, compilation
from linmax.spec import Learner, Term, check_source, register
from linmax.validation import check_choice, is_finite, is_integer, require

TOP, VIOLATORS, SOFTMAX, CYCLE = 0, 1, 2, 3
RIVALS = {"top": TOP, "violators": VIOLATORS, "softmax": SOFTMAX}
MOST_ROUNDS = 1000  # votes that contradict each other would cycle without end

# what `update` returns
STILL, MOVED, MOVED_AND_SETTLE, SETTLE_AND_REPEAT = 0, 1, 2, 3
ANSWERS = range(4)

# in `s`: the hypothesis is s[SCALE] w, the rule is called when the margin is at most s[SLACK] (during a call,
# that which the rival of this trial requires), and the rule's own numbers begin at s[OWN]
SCALE, SLACK, OWN = 0, 1, 2
SCALARS = 8

STARTS = ("zero", "equal")


@dataclass(frozen=True, repr=False)
class Cycle(Term):
    """Update against every rival that the label does not beat, in rounds, until a round changes nothing.

    Parameters
    ----------
    rounds : int, optional
        The largest number of rounds over all rivals. Default: until the label beats all rivals.

    References
    ----------
    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003, section 4.4.

    Examples
    --------
    >>> from linmax import Cycle, Perceptron
    >>> Perceptron(rivals=Cycle(1))
    Perceptron(rivals=Cycle(1))
    """

    rounds: int | None = None

    def __post_init__(self) -> None:
        """Refuse a number of rounds below one."""
        super().__post_init__()
        require(
            self.rounds is None or is_integer(self.rounds, 1),
            f"Cycle requires an integer rounds >= 1 or None (got {self.rounds!r}); None is usual",
        )


register("cycle")(Cycle)  # its name in texts and model files of earlier versions


class Step(NamedTuple):
    """What a rule does with z, if the kernel of `kernels/in_place.py` knows how to do it.

    It adds size z to the weights, or size z / sqrt(initial + the sum of z^2 so far) if it adapts. If it
    multiplies, it adds z to theta, and w is exp(size theta), as in `linmax.rules.winnow`.
    """

    size: float
    adapts: bool = False
    initial: float = 1.0
    multiplies: bool = False


def rivals_code(rivals: str | Cycle) -> tuple[int, int]:
    """Return a kernel's number for the choice of rivals, and the largest number of rounds."""
    if isinstance(rivals, Cycle):
        return CYCLE, rivals.rounds or MOST_ROUNDS
    return RIVALS[rivals], 1


@dataclass(frozen=True, kw_only=True, repr=False)
class Rule(Learner, abstract=True):
    """How weights are updated along `z = x^y - x^rival`.

    To define a rule, subclass this, decorate the class with `@dataclass(frozen=True, repr=False)` and
    `@linmax.register`, and write `update`. It is compiled, and works with every source of experts, every
    technique and every check.

    Parameters
    ----------
    slack : float, default 0
        Also update when the prediction is right with a margin of at most this (ICML 2003, section 4.4).
    rivals : str or Cycle, default "top"
        The classes that the label is compared with: "top", the best other class; "violators", all classes
        that score at least as much, in equal shares; "softmax", all classes in the shares of the softmax of
        their scores; or `Cycle(rounds)`, one after the other.
    ties : bool, default False
        Also update when the label is predicted only because it comes first among equal scores.
    experts : Source, optional
        The source of sub-experts, set with `.on(...)`. Default: votes and thresholds.

    Attributes
    ----------
    joins : bool
        Whether `join` must be called when a sub-expert votes for the first time.
    asks_margin : bool
        Whether `update` uses the margin; if not, it is given 0.
    fixed_margin : bool
        Whether `update` has a margin of its own, which the costs of mistakes cannot scale.
    claims : frozenset of str
        The mathematical checks that the rule has to pass.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import linmax
    >>> from linmax.rules import MOVED, Rule
    >>> @linmax.register
    ... @dataclass(frozen=True, repr=False)
    ... class Half(Rule):
    ...     '''The Perceptron with steps of a half.'''
    ...     @staticmethod
    ...     def update(p, s, theta, w, index, value, margin):
    ...         for i, z in zip(index, value):
    ...             theta[i] += 0.5 * z
    ...             w[i] = theta[i]
    ...         return MOVED
    >>> linmax.Fusion(Half()).learn([["a", "b"], ["b", "a"]], ["b", "b"]).mistakes
    2
    """

    slack: float = 0.0
    rivals: str | Cycle = "top"
    ties: bool = False
    experts: Any = field(default=None, repr=False)

    joins: ClassVar[bool] = False
    asks_margin: ClassVar[bool] = True
    fixed_margin: ClassVar[bool] = False
    claims: ClassVar[frozenset[str]] = frozenset({"conservative", "permutes"})

    def __post_init__(self) -> None:
        """Refuse parameters out of range."""
        super().__post_init__()
        name = self._name()
        require(
            self.slack == math.inf or (is_finite(self.slack) and self.slack >= 0),
            f"{name} requires slack >= 0 (got {self.slack!r}); 0 updates on mistakes only",
        )
        require(isinstance(self.ties, bool), f"{name} requires ties to be True or False (got {self.ties!r})")
        require(
            isinstance(self.rivals, Cycle) or (isinstance(self.rivals, str) and self.rivals in RIVALS),
            f'{name} requires rivals "top", "violators", "softmax" or Cycle(rounds) (got {self.rivals!r})',
        )
        if self.experts is not None:
            check_source(name, self.experts)
            for part in self.experts.parts:
                part.check_rule(self)
        self.check()

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if self.experts is None else f"{text}.on({self.experts!r})"

    def check(self) -> None:
        """Raise a ValueError of one sentence if a parameter is out of range."""

    def parameters(self) -> tuple[float | Callable[[float], float], ...]:
        """Return the numbers, or functions of one number, that `update` finds in `p`."""
        return (0.0,)

    def scalars(self) -> tuple[float, ...]:
        """Return what `s[OWN:]` holds at the start."""
        return ()

    def step(self) -> Step | None:
        """Return the step, if `update` does what `Step` describes; it is then rarely called, or never."""
        return None

    def threshold(self) -> float:
        """Return the largest margin at which the rule is called although the prediction was right."""
        if self.slack > 0:
            return self.slack
        if self.rivals == "softmax":
            return math.inf  # z is not 0 when the prediction is right
        return 0.0 if self.ties else -math.inf

    def first(self) -> float:
        """Return the `theta` that an expert starts with; 0 if it starts with weight 0."""
        return 0.0

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """Update the weights along z.

        Parameters
        ----------
        p : ndarray
            The numbers of `parameters()`.
        s : ndarray
            `s[SCALE]` is the scale of the hypothesis, `s[OWN:]` are the numbers of `scalars()`.
        theta, w : ndarray
            State and weights of all sub-experts; only the coordinates in `index` may change.
        index, value : ndarray
            The non-zero coordinates of z.
        margin : float
            `s[SCALE] w . z` before the update.

        Returns
        -------
        int
            MOVED, STILL (nothing changed), MOVED_AND_SETTLE (`settle` must be called) or SETTLE_AND_REPEAT
            (nothing changed: `settle` must be called, and then `update` again with margin 0).
        """
        raise NotImplementedError

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """Set `w` of sub-experts that vote for the first time; `theta` holds their first value."""
        for i in index:
            w[i] = theta[i]

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Recompute `w` and `s` from `theta`, in the order of the coordinates."""


def check_start(rule: str, start: str) -> None:
    """Require `start` "zero" or "equal"."""
    check_choice(rule, "start", start, STARTS)


def try_rule(rule: Rule) -> None:
    """Try a user's rule on three sub-experts, as Python; raise a ValueError of one sentence if it fails."""
    if type(rule).__module__.startswith("linmax.") and type(rule) is not Rule:
        return
    name = type(rule).__name__
    try:
        with compilation.interpreted():
            p = addresses.parameters(rule.parameters())
            s = np.zeros(SCALARS)
            s[SCALE], s[SLACK] = 1.0, rule.threshold()
            s[OWN : OWN + len(rule.scalars())] = rule.scalars()
            theta, w, spoken = np.full(3, float(rule.first())), np.zeros(3), np.ones(3, dtype=np.uint8)
            rule.join(p, s, theta, w, np.arange(3))
            answer = rule.update(p, s, theta, w, np.arange(2), np.array([1.0, -1.0]), 0.0)
            rule.settle(p, s, theta, w, spoken)
    except NotImplementedError:
        raise ValueError(
            f"{name} has no update; define update(p, s, theta, w, index, value, margin)"
        ) from None
    except Exception as error:
        raise ValueError(f"{name} fails in a trial update: {type(error).__name__}: {error}") from None
    require(
        answer in ANSWERS,
        f"{name}.update must return MOVED, STILL, MOVED_AND_SETTLE or SETTLE_AND_REPEAT (got {answer!r})",
    )
    require(
        bool(np.isfinite(w).all() and np.isfinite(theta).all()),
        f"{name}.update makes weights that are not finite (got {w.tolist()}); check it for overflow",
    )


def describes_update(rule: type[Rule]) -> bool:
    """Tell whether `step` describes the `update` of a class: a subclass may have replaced only that."""
    step, *others = (
        next(i for i, one in enumerate(rule.__mro__) if name in vars(one))
        for name in ("step", "update", "join", "settle", "parameters", "scalars")
    )
    return step <= min(others)
