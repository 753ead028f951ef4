"""Slow, obvious committees that do not add raw scores: random choice, Weighted Majority, the mixture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tests.oracles.committees import Combine, Committee, Item, Member, Saved
from tests.oracles.rules import Rule, Vector
from tests.oracles.session import Votes, best

# --- choose="random"


def uniform(seed: int, t: int, j: int) -> float:
    """A number in [0, 1) for slot j at trial t: the finaliser of splitmix64."""
    z = (seed * 0x9E3779B97F4A7C15 + t * 0xBF58476D1CE4E5B9 + j * 0x94D049BB133111EB) % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return ((z ^ z >> 31) >> 11) / 2**53


class RandomCombine(Combine):
    """The majority of h hypotheses drawn from all past trials (Littlestone 1995); slots j = 1..h."""

    def __init__(
        self, members: Sequence[Member], classes: Iterable[Any] = (), *, hypotheses: int = 30, seed: int = 0
    ) -> None:
        super().__init__(members, classes, hypotheses=hypotheses)
        self.seed = seed

    def scores(self, item: Item) -> Vector:
        mine: Vector = self.members[self.leader].scores(item)
        if not self.saved:
            return mine
        counts: Vector = dict.fromkeys(mine, 0)
        for it in self.saved:
            scores = self.members[it.member].scores(item, it.weights)
            self.note_gap(scores)
            if scores:
                counts[best(scores)] += 1
        return counts

    def step(self, item: Item, y: Any, novel: bool) -> None:
        self.leaders.append(self.leader)
        for member in self.members:
            member.trial(item, y)
        self.t += 1
        m = self.leader
        new = Saved(self.t, self.t, self.members[m].figure(0), m, self.members[m].weights())
        slots = self.saved or [new] * self.h  # 1/t is 1 at the first trial: it fills every slot
        self.saved = [
            new if uniform(self.seed, self.t, j) < 1 / self.t else old for j, old in enumerate(slots, 1)
        ]


# --- weights on members


def log_sum(logs: Iterable[float]) -> float:
    logs = list(logs)
    top = max(logs)
    return top + math.log(sum(math.exp(a - top) for a in logs))


class WeightedMajority(Committee):
    """A member loses a factor for every wrong guess, whether or not the whole was wrong (2003, 5.2)."""

    def __init__(self, members: Sequence[Any], multiplier: float = 1.5, classes: Iterable[Any] = ()) -> None:
        super().__init__(members, classes)
        self.multiplier = multiplier
        self.logs: dict[Any, float] = dict.fromkeys(range(len(self.members)), 0.0)

    def predictions(self, item: Item) -> dict[Any, Any]:
        """Who guesses what; who abstains is left out."""
        guesses = {m: best(member.scores(item)) for m, member in enumerate(self.members)}
        return {m: guess for m, guess in guesses.items() if guess is not None}

    def known(self, item: Item) -> list[Any]:
        return self.sessions()[0].look(item)[0]

    def with_newcomers(self, predictions: dict[Any, Any]) -> dict[Any, float]:
        """The log weights, newcomers included: they start at the mean of those who were there."""
        there = self.logs.values()
        mean = log_sum(there) - math.log(len(there)) if there else 0.0
        return {**self.logs, **{who: mean for who in predictions if who not in self.logs}}

    def scores(self, item: Item) -> Vector:
        predictions = self.predictions(item)
        logs = self.with_newcomers(predictions)
        scores: Vector = dict.fromkeys(self.known(item), 0)
        for who, guess in predictions.items():  # the heaviest who speaks has 1: else all could be too small
            scores[guess] += math.exp(logs[who] - max(logs[other] for other in predictions))
        return scores

    def step(self, item: Item, y: Any, novel: bool) -> None:
        predictions = self.predictions(item)
        self.logs = self.with_newcomers(predictions)
        for who, guess in predictions.items():
            if not novel and guess != y:
                self.logs[who] -= math.log(self.multiplier)
        for member in self.members:
            member.trial(item, y)


class WinnowSearch(WeightedMajority):
    """After 16, 32, ... trials, a copy of the heaviest member goes on with half the learning rate."""

    def __init__(
        self, members: Sequence[Member], slots: int, multiplier: float = 1.2, classes: Iterable[Any] = ()
    ) -> None:
        super().__init__(members, multiplier, classes)
        self.given, self.slots, self.labelled = len(self.members), slots, 0

    def step(self, item: Item, y: Any, novel: bool) -> None:
        super().step(item, y, novel)
        self.labelled += 1
        if self.labelled in [16 * 2**j for j in range(30)]:
            heaviest = max(self.logs, key=lambda m: (self.logs[m], -m))
            copy = self.members[heaviest].twin()
            copy.rule.alpha = math.sqrt(copy.rule.alpha)
            copy.rule.theta = {i: 2 * theta for i, theta in copy.rule.theta.items()}
            if len(self.members) < self.given + self.slots:
                self.members.append(copy)
                return
            copies = [m for m in range(self.given, len(self.members)) if m != heaviest]
            lightest = min(copies, key=lambda m: self.logs.get(m, -math.inf))
            self.members[lightest] = copy
            self.logs.pop(lightest, None)


class Still(Rule):
    """Never moves."""

    def update(self, z: Vector) -> bool:
        return False


class WeightedMajorityOfExperts(WeightedMajority):
    """The same over the experts themselves: each guesses its best class, of equals the first."""

    def __init__(self, multiplier: float = 1.5, sources: Any = None, classes: Iterable[Any] = ()) -> None:
        super().__init__([Member(Still(), sources or [Votes()])], multiplier, classes)  # it keeps the books
        self.logs = {}

    def predictions(self, item: Item) -> dict[Any, Any]:
        classes, parts = self.sessions()[0].look(item)
        x = {
            who: {c: vote[c] for c in classes if vote.get(c)} for part in parts for who, vote in part.items()
        }
        return {who: best(vote) for who, vote in x.items() if vote}


def log_softmax(scores: Vector) -> Vector:
    return {c: float(s) - log_sum(map(float, scores.values())) for c, s in scores.items()}


class Mixture(Committee):
    """p = sum of v_m p_m; who is wrong has v divided, and a share is spread evenly; scores are log p."""

    def __init__(
        self,
        members: Sequence[Any],
        classes: Iterable[Any] = (),
        *,
        multiplier: float = 1.2,
        share: float = 1e-4,
    ) -> None:
        super().__init__(members, classes)
        self.multiplier, self.share = multiplier, share
        self.logs = [-math.log(len(self.members))] * len(self.members)  # log v

    def told(self, item: Item) -> list[Vector]:
        return [log_softmax(member.scores(item)) for member in self.members]

    def scores(self, item: Item) -> Vector:
        told = self.told(item)
        return {c: log_sum(a + p[c] for a, p in zip(self.logs, told, strict=True)) for c in told[0]}

    def note_gap(self, scores: Vector) -> None:
        """While no member has an opinion all classes are alike, in any program."""
        if len(set(scores.values())) > 1:
            super().note_gap(scores)

    def step(self, item: Item, y: Any, novel: bool) -> None:
        wrong = [best(member.scores(item)) != y for member in self.members]
        for member in self.members:
            member.trial(item, y)
        if not novel:
            v = [math.exp(a) / self.multiplier**w for a, w in zip(self.logs, wrong, strict=True)]
            self.logs = [math.log((1 - self.share) * a / sum(v) + self.share / len(v)) for a in v]
