"""Against whom the truth is compared when a rule moves."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax import _jit
from linmax.spec import Learner, Term, register

TOP, VIOLATORS, SOFTMAX, CYCLE = 0, 1, 2, 3
MOST_ROUNDS = 1000  # votes that contradict each other would cycle for ever

_codes = {"top": TOP, "violators": VIOLATORS, "softmax": SOFTMAX}


@register("cycle")
@dataclass(frozen=True, repr=False)
class _Cycle(Term):
    """Visit every rival and move on each that is not beaten, until a round moves nothing (2003, section 4.4).

    >>> from linmax import Perceptron, cycle
    >>> Perceptron(rivals=cycle(1))
    Perceptron(rivals=cycle(1))
    """

    rounds: int | None = None  # None: until all are beaten

    def __post_init__(self) -> None:
        """Refuse a number of rounds below one."""
        super().__post_init__()
        if self.rounds is not None and (
            not isinstance(self.rounds, int) or isinstance(self.rounds, bool) or self.rounds < 1
        ):
            raise ValueError(f"cycle needs rounds >= 1 or None (got {self.rounds!r})")


cycle = _Cycle


def check_rivals(rule: str, rivals: str | _Cycle) -> None:
    """Refuse a way of choosing rivals that does not exist."""
    if not (isinstance(rivals, _Cycle) or (isinstance(rivals, str) and rivals in _codes)):
        raise ValueError(
            f'{rule} needs rivals "top", "violators", "softmax" or cycle(rounds) (got {rivals!r})'
        )


def code(rivals: str | _Cycle) -> tuple[int, int]:
    """The kernel's number for a way of choosing rivals, and how many rounds it may take."""
    if isinstance(rivals, _Cycle):
        return CYCLE, rivals.rounds or MOST_ROUNDS
    return _codes[rivals], 1


STILL, MOVED, MOVED_AND_SETTLE, SETTLE_AND_ASK_AGAIN = 0, 1, 2, 3
SCALE, SLACK, OWN = (
    0,
    1,
    2,
)  # s[SCALE] w is the hypothesis; s[SLACK] see below; from s[OWN] on a rule's own numbers
SCALARS = 8


@dataclass(frozen=True, kw_only=True, repr=False)
class Rule(Learner, abstract=True):
    """How weights move on `z = x^y - x^rival`.

    A rule of your own is one file: subclass this, decorate with `@dataclass(frozen=True)` and
    `@linmax.register("MyRule")`, and write `update`. It is compiled; it then works with every source of
    experts, every technique and every check.

    `update(p, s, theta, w, index, value, margin)` is told z as its non-zero coordinates (`index`, `value`)
    and the margin `w . z` it had. It changes `theta` and `w` on those coordinates only, sets `s[SCALE]` if
    the hypothesis is `w` times a scale, and returns MOVED or STILL. `p` are the numbers of `parameters()`,
    `s` those of `scalars()`.

    >>> from dataclasses import dataclass
    >>> import linmax
    >>> from linmax.rules import MOVED, Rule
    >>> @linmax.register("Half")
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

    slack: float = 0.0  # also move when the margin is at most this (nonconservative, 2003 section 4.4)
    rivals: str | cycle = "top"  # "top", "violators", "softmax" or cycle(rounds)
    ties: bool = False  # also move when y wins only by the order of the classes
    experts: Any = field(
        default=None, repr=False
    )  # the source of sub-experts, set with `.on(...)`; None: votes and thresholds

    joins: ClassVar[bool] = False  # must be told when a sub-expert speaks for the first time
    asks_margin: ClassVar[bool] = True  # False: `update` makes no use of the margin, and is given 0
    claims: ClassVar[frozenset[str]] = frozenset(
        {"conservative", "permutes"}
    )  # the mathematical checks that apply

    def __post_init__(self) -> None:
        """Refuse parameters out of range."""
        super().__post_init__()
        need(
            self.slack == math.inf or (is_number(self.slack) and self.slack >= 0),
            f"{self._name()} needs slack >= 0 (got {self.slack!r}); 0 moves on mistakes only",
        )
        need(isinstance(self.ties, bool), f"{self._name()} needs ties True or False (got {self.ties!r})")
        check_rivals(self._name(), self.rivals)
        for part in getattr(self.experts, "parts", ()):
            part.check_rule(self)
        self.check()

    def __repr__(self) -> str:
        made = super().__repr__()
        return made if self.experts is None else f"{made}.on({self.experts!r})"

    def check(self) -> None:
        """Raise a ValueError of one sentence when a parameter is out of range."""

    def parameters(self) -> tuple[float | Callable[[float], float], ...]:
        """The numbers (or functions of one number) that `update` finds in `p`."""
        return (0.0,)

    def scalars(self) -> tuple[float, ...]:
        """What `s[OWN:]` holds at the start."""
        return ()

    def threshold(self) -> float:
        """The margin at or under which the rule is asked to move although the guess was right."""
        if self.slack > 0:
            return self.slack
        if self.rivals == "softmax":
            return math.inf  # shares of all rivals: there is something to learn from right guesses, too
        return 0.0 if self.ties else -math.inf

    def first(self) -> float:
        """The `theta` an expert that starts at equal weight begins with; 0 when all start at nothing."""
        return 0.0

    @staticmethod
    def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
        """Move by z."""
        raise NotImplementedError

    @staticmethod
    def join(p: Any, s: Any, theta: Any, w: Any, index: Any) -> None:
        """These sub-experts speak for the first time; `theta` holds where they begin."""
        for i in index:
            w[i] = theta[i]

    @staticmethod
    def settle(p: Any, s: Any, theta: Any, w: Any, spoken: Any) -> None:
        """Rebuild `w` and `s` from `theta`, in the order of the coordinates."""


def need(condition: bool, sentence: str) -> None:
    """A ValueError of one sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


def is_number(value: Any) -> bool:
    """A finite number, not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_start(rule: str, start: str) -> None:
    """`start` is "zero" or "equal"."""
    need(start in ("zero", "equal"), f'{rule} needs start="zero" or start="equal" (got {start!r})')


ANSWERS = range(4)


def rehearse(rule: Rule) -> None:
    """Let a user's rule move once over three sub-experts; what goes wrong is a ValueError of one sentence."""
    if type(rule).__module__.startswith("linmax.") and type(rule) is not Rule:
        return
    name = type(rule).__name__
    try:
        with _jit.interpreted():
            p = _jit.parameters(rule.parameters())
            s = np.zeros(SCALARS)
            s[SCALE], s[SLACK] = 1.0, rule.threshold()
            s[OWN : OWN + len(rule.scalars())] = rule.scalars()
            theta, w, spoken = np.full(3, float(rule.first())), np.zeros(3), np.ones(3, dtype=np.uint8)
            rule.join(p, s, theta, w, np.arange(3))
            answer = rule.update(p, s, theta, w, np.arange(2), np.array([1.0, -1.0]), 0.0)
            rule.settle(p, s, theta, w, spoken)
    except NotImplementedError:
        raise ValueError(f"{name} has no update; write how its weights move") from None
    except Exception as error:
        raise ValueError(f"{name} fails when it is tried: {type(error).__name__}: {error}") from None
    if answer not in ANSWERS:
        raise ValueError(f"{name}.update must return MOVED, STILL or MOVED_AND_SETTLE (got {answer!r})")
    if not (np.isfinite(w).all() and np.isfinite(theta).all()):
        raise ValueError(f"{name}.update makes weights that are not finite ({w.tolist()})")
