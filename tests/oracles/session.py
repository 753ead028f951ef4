"""A slow, obvious linear-max session: sources, one trial after the other, averages, recycling.

An item is `{"votes": {expert: {class: value}}, "attributes": {name: value}}`, either part may be missing.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np

from tests.oracles.rules import Rule, Vector

VoteMatrix = dict[Any, dict[Any, Any]]


def twin_of(it: Any) -> Any:
    """A copy of an object with copies of its lists, dictionaries and arrays, and of all that has a twin."""
    other = copy.copy(it)
    vars(other).update({name: _part(part) for name, part in vars(it).items()})
    return other


def _part(it: Any) -> Any:
    if hasattr(it, "twin"):
        return it.twin()
    if isinstance(it, list):
        return [one.twin() if hasattr(one, "twin") else one for one in it]
    return it.copy() if isinstance(it, dict | np.ndarray) else it


class Votes:
    """The votes as they come; a zero score counts as not given."""

    def __init__(self, as_: str = "raw") -> None:
        self.as_ = as_

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        given = {i: {c: v for c, v in vote.items() if v} for i, vote in item.get("votes", {}).items()}
        return {("vote", i): self.read(vote, classes) for i, vote in given.items()}

    def read(self, vote: Vector, classes: list[Any]) -> Vector:
        if self.as_ == "raw" or not vote:
            return vote
        if self.as_ == "onehot":
            return {max(sorted(vote, key=classes.index), key=vote.__getitem__): 1}
        if self.as_ == "softmax":
            return softmax(vote)
        values = list(vote.values())
        if len(values) == 1:
            return dict.fromkeys(vote, 1)
        below = {c: sum(b < v for b in values) for c, v in vote.items()}
        equal = {c: sum(b == v for b in values) - 1 for c, v in vote.items()}
        return {c: (below[c] + equal[c] / 2) / (len(values) - 1) for c in vote}

    def again(self, item: dict[str, Any], frozen: VoteMatrix, classes: list[Any]) -> VoteMatrix:
        """The sub-experts of a recycled item: the votes of its own trial."""
        return frozen

    def observe(self, item: dict[str, Any], y: Any) -> None:
        pass


class Recomputed(Votes):
    """A source whose old items vote with today's classes."""

    def again(self, item: dict[str, Any], frozen: VoteMatrix, classes: list[Any]) -> VoteMatrix:
        return self.sub_experts(item, classes)


class Thresholds(Recomputed):
    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        return {("threshold", c): {c: 1} for c in classes}


class Attributes(Recomputed):
    def __init__(self, complement: bool = False) -> None:
        self.complement = complement

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        given = item.get("attributes", {})
        if self.complement:
            first, second = classes
            return {("complement", a): {first: x, second: 1 - x} for a, x in given.items()}
        return {("attribute", a, c): {c: x} for a, x in given.items() for c in classes}


class Split(Votes):
    """One sub-expert per expert and class; the undivided experts come from Votes beside it."""

    def __init__(self, classes: list[Any] | None = None) -> None:
        self.classes = classes

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        chosen = classes if self.classes is None else self.classes
        given = item.get("votes", {})
        return {("split", i, c): {c: vote[c]} for i, vote in given.items() for c in chosen if vote.get(c)}


class PerClass(Recomputed):
    """Expert i says a: an attribute (i, a) with a weight for every class."""

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        said = {(i, a): x for i, vote in item.get("votes", {}).items() for a, x in vote.items()}
        return {("says", i, a, c): {c: x} for (i, a), x in said.items() for c in classes}


class Pairs(Votes):
    def __init__(self, memory: int = 5) -> None:
        self.memory = memory
        self.seen: dict[Any, list[Any]] = defaultdict(list)

    def pairs(self, item: dict[str, Any]) -> list[Any]:
        given = {(a, v) for a, v in item.get("attributes", {}).items() if v is not None}
        return [frozenset(pair) for pair in itertools.combinations(given, 2)]

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        votes = {}
        for pair in self.pairs(item):
            counts = Counter(self.seen[pair][-self.memory :])
            best = [c for c, count in counts.items() if count == max(counts.values())]
            votes[("pair", pair)] = {c: 1 / len(best) for c in best}
        return votes

    def observe(self, item: dict[str, Any], y: Any) -> None:
        for pair in self.pairs(item):
            self.seen[pair].append(y)


def softmax(scores: Vector) -> Vector:
    top = max(scores.values())
    raised = {c: math.exp(s - top) for c, s in scores.items()}
    return {c: value / sum(raised.values()) for c, value in raised.items()}


def tally(w: Vector, x: VoteMatrix, classes: list[Any]) -> Vector:
    scores: Vector = dict.fromkeys(classes, 0)
    for i, vote in x.items():
        for c, value in vote.items():
            scores[c] += w.get(i, 0) * value
    return scores


def best(scores: Vector, but: Any = None) -> Any:
    """The best class, the first among equals; None when there is none."""
    return max((c for c in scores if c != but), key=scores.__getitem__, default=None)


def difference(x: VoteMatrix, y: Any, shares: Vector) -> Vector:
    """z = x^y - sum of shares_j x^j, without its zeros."""
    z = {i: vote.get(y, 0) - sum(p * vote.get(j, 0) for j, p in shares.items()) for i, vote in x.items()}
    return {i: value for i, value in z.items() if value != 0}


class Session:
    """`closest` is the smallest relative difference that decided anything so far (see tests)."""

    def __init__(
        self,
        rule: Rule,
        sources: Any = None,
        classes: Any = (),
        *,
        averaged: bool = False,
        recycled: tuple[int, int | None] | None = None,
        on_new_class: str = "add",
        costs: dict[tuple[Any, Any], Any] | None = None,
    ) -> None:
        self.costs, self.slack = costs, rule.slack
        self.rule, self.sources = rule, sources or [Votes(), Thresholds()]
        self.classes, self.averaged, self.recycled = list(classes), averaged, recycled
        self.on_new_class = on_new_class
        self.experts: list[Any] = []
        self.buffer: list[dict[str, Any]] = []  # {"item", "frozen", "y", "counter"}
        self.hypotheses: list[Vector] = []
        self.trials = self.mistakes = self.right = self.novel = 0
        self.smallest_gap = math.inf

    def twin(self) -> Any:
        """A copy that can go on by itself; hypotheses once held do not change."""
        other = twin_of(self)
        other.sources = copy.deepcopy(self.sources)
        other.buffer = [dict(entry) for entry in self.buffer]
        return other

    # the hypothesis
    def mean(self, hypotheses: list[Vector]) -> Vector:
        keys = {i for h in hypotheses for i in h}
        sums = {i: sum(h.get(i, 0) for h in hypotheses) for i in keys}
        share = Fraction(1, len(hypotheses))  # whole numbers stay exact
        return {
            i: float(share) * total if isinstance(total, float) else share * total
            for i, total in sums.items()
        }

    def weights(self) -> Vector:
        """What would guess now: for an average, the hypothesis after the last trial is one of them."""
        now = self.rule.weights()
        return self.mean([*self.hypotheses, now]) if self.averaged else now

    # one trial
    def trial(self, item: dict[str, Any], y: Any) -> Any:
        votes = item.get("votes", {})
        experts = list(dict.fromkeys([*self.experts, *votes]))  # in the order in which they were first met
        named = [c for i in experts for c, value in votes.get(i, {}).items() if value]
        if self.on_new_class == "ignore":
            votes = {i: {c: v for c, v in vote.items() if c in self.classes} for i, vote in votes.items()}
            item, named = {**item, "votes": votes}, []
            y = y if y in self.classes else None
        classes = list(dict.fromkeys([*self.classes, *named]))
        frozen = [source.sub_experts(item, classes) for source in self.sources]
        x = {i: vote for part in frozen for i, vote in part.items() if any(vote.values())}
        self.experts = experts  # in this order they name classes
        if y is None:  # predict only: what these votes named and who spoke is forgotten again
            return self.predict(x, classes)
        self.classes = classes
        self.add_sub_experts(x)
        if self.averaged:
            self.hypotheses.append(self.rule.weights())
            scores = tally(self.mean(self.hypotheses), x, classes)
        else:
            scores = tally(self.rule.weights(), x, classes)
        self.note_gap(scores)
        guess = best(scores)
        self.trials += 1
        entry = {"item": item, "frozen": frozen, "y": y, "counter": 0}
        self.buffer.append(entry)
        self.buffer = self.buffer[-self.recycled[0] :] if self.recycled else []
        if y not in classes:
            self.novel += 1
            self.classes.append(y)
        else:
            self.mistakes += guess != y
            self.right += guess == y
            if any(self.visit(x, y)) and self.recycled:
                entry["counter"] = 1
                self.passes(self.recycled[1])
        for source in self.sources:
            source.observe(item, y)
        return guess

    def add_sub_experts(self, x: VoteMatrix) -> None:
        for i in x:
            self.rule.add_sub_expert(i, from_votes=i[0] == "vote")

    def predict(self, x: VoteMatrix, classes: list[Any]) -> Any:
        before = self.rule.twin()
        self.add_sub_experts(x)
        scores = tally(self.weights(), x, classes)
        self.rule = before
        return best(scores)

    def passes(self, updates: int | None, most: int = 1000) -> None:
        for _ in range(most):
            moved = False
            for entry in self.buffer:
                if updates is None or entry["counter"] < updates:
                    x = self.old_votes(entry)
                    wrong, moves = self.visit(x, entry["y"])
                    entry["counter"] += wrong or moves
                    moved = moved or moves
            if not moved:
                return

    def old_votes(self, entry: dict[str, Any]) -> VoteMatrix:
        parts = zip(self.sources, entry["frozen"], strict=True)
        again = [source.again(entry["item"], frozen, self.classes) for source, frozen in parts]
        return {i: vote for part in again for i, vote in part.items() if i in self.rule.theta}

    # one visit to an instance, real or recycled
    def visit(self, x: VoteMatrix, y: Any) -> tuple[bool, bool]:
        """Guess, and move if the rule asks for it; was the guess wrong, did anything move?"""
        rule = self.rule
        scores = tally(rule.weights(), x, self.classes)
        self.note_gap(scores)
        wrong, rival = best(scores) != y, best(scores, but=y)
        if self.costs is not None and rival is not None:  # the rival that lacks most of the margin
            lacking = {j: scores[j] + self.ask(y, j) for j in self.classes if j != y}
            self.note_gap(lacking)
            rival = best(lacking)
            self.ask(y, rival)
        if rival is None or not (wrong or self.close(scores, x, y, rival)):
            return wrong, False
        if rule.rivals == "cycle":
            return wrong, self.cycle(x, y)
        shares = {rival: 1}
        violators = [j for j in self.classes if j != y and scores[j] >= scores[y]]
        if rule.rivals == "softmax":
            shares = softmax(scores)
        elif rule.rivals == "violators" and violators:
            shares = dict.fromkeys(violators, Fraction(1, len(violators)))
        return wrong, self.move(difference(x, y, shares))

    def ask(self, y: Any, j: Any) -> Any:
        """Let the rule ask for its slack, times what it costs to take y for j; the margin."""
        if self.costs is not None:
            self.rule.slack = self.slack * self.costs.get((y, j), 1)
        return self.rule.slack

    def close(self, scores: Vector, x: VoteMatrix, y: Any, j: Any) -> bool:
        margin, z = scores[y] - scores[j], difference(x, y, {j: 1})
        limit = self.rule.limit(z)
        if limit not in (None, 0, math.inf):
            self.smallest_gap = min(self.smallest_gap, abs(margin - limit) / abs(limit))
        return bool(margin <= self.rule.slack) if self.costs is not None else self.rule.close(margin, z)

    def cycle(self, x: VoteMatrix, y: Any) -> bool:
        """Every rival in turn, those that tie included, until a round moves nothing."""
        moved_at_all = False
        for _ in range(self.rule.rounds or 1000):
            moved = False
            for j in self.classes:
                self.ask(y, j)
                scores = tally(self.rule.weights(), x, self.classes)
                if j != y and (scores[y] <= scores[j] or self.close(scores, x, y, j)):
                    moved = self.move(difference(x, y, {j: 1})) or moved
                if j != y:
                    self.note_gap({y: scores[y], j: scores[j]})
            moved_at_all = moved_at_all or moved
            if not moved:
                break
        return moved_at_all

    def move(self, z: Vector) -> bool:
        return bool(z) and self.rule.update(z)

    def note_gap(self, scores: Vector) -> None:
        """Remember how near the two best scores were; two exact zeros are zero in any program."""
        first, *second = sorted(scores.values(), reverse=True)[:2] or [0]
        if second and (first or second[0]):
            self.smallest_gap = min(
                self.smallest_gap, abs(first - second[0]) / max(abs(first), abs(second[0]))
            )
