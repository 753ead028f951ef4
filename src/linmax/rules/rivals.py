"""Against whom the truth is compared when a rule moves."""

from __future__ import annotations

from dataclasses import dataclass

from linmax._registry import register
from linmax.terms import Term

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
