"""What a pass over a stream has shown, as plain values: for tables, pages and machines."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linmax.evaluate.audit import Item, Milestone
from linmax.evaluate.compare import Gain


class Standing(NamedTuple):
    """One contender over the stream."""

    name: str  # "linmax", "plurality", "best expert" or "best in hindsight"
    who: str  # which expert, or what else there is to say
    trials: int  # over which this was counted: less than all, where only a sample was looked at
    mistakes: int
    accuracy: float
    last_half: float | None  # accuracy since the middle of the stream


class Versus(NamedTuple):
    """linmax against another, over a part of the stream."""

    other: str  # "plurality" or "best expert"
    who: str
    part: str  # "all" or "last half"
    gain: Gain


class Expert(NamedTuple):
    """One expert."""

    name: Any
    accuracy: float | None  # of its votes, when it speaks
    speaks: float  # on this part of the trials
    right: float  # of all trials; silence is not right
    trust: float  # its share of what draws linmax to the truth
    hears: str  # how linmax understands it: "as it says", "otherwise" or "not at all"
    square_loss: float | None  # of an expert that gives probabilities
    log_loss: float | None
    without: float | None  # accuracy of linmax when it is left out
    costs: float | None  # how much accuracy that loses; below 0 it is better without
    cost: float | None  # what the user says it costs to ask


class Curves(NamedTuple):
    """Mistakes after so many items."""

    items: list[int]
    trials: list[int]
    linmax: list[int]
    plurality: list[int]
    best: list[int]  # of whichever expert had fewest by then
    experts: list[list[int]]  # of each expert, in the order of `Findings.experts`


class Shares(NamedTuple):
    """Whom linmax trusted when: shares that add up to 1 over the experts."""

    items: list[int]
    experts: list[list[float]]  # of each expert, in the order of `Findings.experts`


class Confusion(NamedTuple):
    """What was guessed (columns) for which truth (rows)."""

    classes: list[Any]  # those with most items, in the order of the session
    table: list[list[int]]
    others: int  # trials that are left out, because a class of theirs is


class Agreement(NamedTuple):
    """How often two experts say the same when both speak; None where they never do."""

    experts: list[Any]
    table: list[list[float | None]]


class Coverage(NamedTuple):
    """What happens if linmax answers only where it leads by enough."""

    answered: float  # part of the items
    accuracy: float
    margin: float  # the least lead that is answered


@dataclass(frozen=True)
class Findings:
    """All of it."""

    file: str  # its name
    learner: str
    source: str  # what was read, in a sentence
    items: int
    trials: int  # items whose label was known, and known to be a class
    unlabelled: int
    novel: int  # labels that nobody had named before
    again: bool  # whether these items had been learned before
    sampled: int  # trials behind all that is only looked at in a sample
    classes: list[Any]
    standings: list[Standing]
    versus: list[Versus]
    experts: list[Expert]  # the most trusted first
    curves: Curves
    shares: Shares
    confusion: Confusion
    agreement: Agreement
    coverage: list[Coverage]
    hardest: list[Item]
    next_labels: list[Item]
    milestones: list[Milestone]
    promise: str  # mistakes against the bound, in a sentence
    members: dict[str, float]  # of a committee: the part of each in a guess
    oddities: list[str] = field(default_factory=list)  # what looks odd in the file
    remarks: list[str] = field(default_factory=list)  # what there is to know about these figures

    def as_json(self) -> dict[str, Any]:
        """As values that JSON has: what is not a number is null.

        >>> from linmax.evaluate.findings import plain
        >>> plain({"a": float("nan"), 1: (True, b"x")})
        {'a': None, '1': [True, "b'x'"]}
        """
        found: dict[str, Any] = plain(vars(self))
        return found


def plain(value: Any) -> Any:
    """A value as JSON has it."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value)
