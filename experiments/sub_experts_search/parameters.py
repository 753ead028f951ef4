"""A bank of recycled rules all of whose parameters are searched while it learns: tried, and not kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from linmax import Alma, Averaged, Fusion, Perceptron, Recycled, Winnow


class Range(NamedTuple):
    """The values of a parameter that are searched: offset + least, ..., offset + most, by a factor.

    Parameters
    ----------
    name : str
        The parameter.
    factor : float
        The factor between neighbours.
    least, most : float
        The range, without the offset.
    offset : float
        What is subtracted before a value is multiplied.
    zero : bool
        Whether 0 is the neighbour below `least`.
    """

    name: str
    factor: float
    least: float
    most: float
    offset: float = 0.0
    zero: bool = False

    def neighbours(self, value: Any) -> list[Any]:
        """Return the next larger and the next smaller value, as far as they are in the range."""
        size = value - self.offset
        if size == 0:
            return [type(value)(self.offset + self.least)]
        sizes = [size * self.factor, size / self.factor]
        if self.zero and sizes[1] < self.least:
            sizes[1] = 0.0
        kept = [one for one in sizes if self.least <= one <= self.most or (self.zero and one == 0)]
        return [type(value)(self.offset + one) for one in kept]


RANGES: dict[type, tuple[Range, ...]] = {
    Winnow: (Range("alpha", 1.5, 0.001, 6.0, offset=1.0), Range("slack", 2.5, 0.01, 0.5, zero=True)),
    Perceptron: (Range("slack", 2.5, 1.0, 200.0, zero=True),),
    Alma: (Range("p", 1.5, 2.0, 20.0), Range("alpha", 1.25, 0.4, 1.0)),
    Recycled: (Range("size", 2.0, 25, 400), Range("updates", 2.0, 1, 20)),
}
PERIOD = 64  # trials between two changes of the bank
REPLAYED = 400  # the latest trials, from which a new member learns before it votes


def neighbours(learner: Any) -> list[Any]:
    """Return the learners that differ in one parameter, of a rule or of its recycling."""
    found = [
        replace(learner, **{one.name: value})
        for one in RANGES[type(learner)]
        for value in one.neighbours(getattr(learner, one.name))
    ]
    if isinstance(learner, Recycled):
        found += [replace(learner, inner=rule) for rule in neighbours(learner.inner)]
    return found


class Member:
    """A recycled rule, and the same averaged, with their weights."""

    def __init__(self, learner: Any, k: int, logs: Sequence[float] = (0.0, 0.0)) -> None:
        self.learner = learner
        self.sessions = [Fusion(one, classes=range(k)) for one in (learner, Averaged(learner))]
        self.logs = np.array(logs)

    def learn(self, votes: Any, labels: Any) -> np.ndarray:
        """Return the predictions of both, one row each."""
        return np.array([session.learn(votes, labels).guesses for session in self.sessions])


def searched_mistakes(
    learners: Sequence[Any],
    votes: Any,
    labels: Any,
    k: int,
    *,
    multiplier: float,
    period: int | None = PERIOD,
) -> int:
    """Return the mistakes of Weighted Majority over a bank that is searched; without a period it is fixed.

    After every period the member with the least weight is replaced by a neighbour of the best one that was
    not there before. The newcomer learns from the latest trials and starts at the mean weight.
    """
    bank = [Member(one, k) for one in learners]
    rng, seen, mistakes = np.random.default_rng(0), set(learners), 0
    period = len(labels) if period is None else period
    for begin in range(0, len(labels), period):
        end = min(begin + period, len(labels))
        guesses = np.vstack([member.learn(votes[begin:end], labels[begin:end]) for member in bank])
        logs = np.concatenate([member.logs for member in bank])
        for column, y in zip(guesses.T, labels[begin:end].tolist(), strict=True):
            support = np.bincount(column, weights=np.exp(logs - logs.max()), minlength=k)
            mistakes += int(support.argmax()) != y
            logs -= math.log(multiplier) * (column != y)
        for member, pair in zip(bank, logs.reshape(-1, 2), strict=True):
            member.logs = pair.copy()
        weights = [float(np.logaddexp(*member.logs)) for member in bank]
        best, worst = int(np.argmax(weights)), int(np.argmin(weights))
        choice = [one for one in neighbours(bank[best].learner) if one not in seen]
        if end < len(labels) and best != worst and choice:
            born = choice[rng.integers(len(choice))]
            seen.add(born)
            others = np.delete(logs.reshape(-1, 2), worst, axis=0)
            bank[worst] = Member(
                born, k, [np.logaddexp.reduce(others, axis=None) - math.log(others.size)] * 2
            )
            bank[worst].learn(*(part[max(0, end - REPLAYED) : end] for part in (votes, labels)))
    return mistakes
