"""Slow, obvious learners over probabilities: the stack, the temperature, and naive Bayes.

Everything is a dict by class, or a list by member; numpy only inverts the stack's curvature.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tests.oracles.committees import Committee, Item, Member
from tests.oracles.majorities import Mixture, Still, log_softmax
from tests.oracles.rules import Vector

Logs = dict[Any, float]


class Stacked(Mixture):
    """scores = sum of v_m x_m, x the members' log-probabilities; v is the maximum a posteriori, nearly.

    The curvature is inverted anew on every trial, where the library updates its inverse.
    """

    def __init__(
        self,
        members: Sequence[Any],
        classes: Iterable[Any] = (),
        *,
        prior: float = 0.02,
        forget: float = 1e-4,
    ) -> None:
        super().__init__(members, classes)
        self.prior, self.forget = prior, forget
        self.v = [1 / len(self.members)] * len(self.members)
        self.P = prior * np.eye(len(self.members))

    def told(self, item: Item) -> list[Logs]:
        return [{c: max(p, -20.0) for c, p in member.items()} for member in super().told(item)]

    def scores(self, item: Item) -> Vector:
        told = self.told(item)
        return log_softmax({c: sum(v * x[c] for v, x in zip(self.v, told, strict=True)) for c in told[0]})

    def step(self, item: Item, y: Any, novel: bool) -> None:
        x, p = self.told(item), {c: math.exp(s) for c, s in self.scores(item).items()}
        for member in self.members:
            member.trial(item, y)
        if novel:
            return
        at = {c: np.array([row[c] for row in x]) for c in p}
        mean = sum(p[c] * at[c] for c in p)
        counted = [c for c in p if p[c] >= 1e-3 or len(p) == 2]
        curvature = sum(p[c] * np.outer(at[c] - mean, at[c] - mean) for c in counted)
        self.P = np.linalg.inv(np.linalg.inv(self.P) + curvature)
        self.v = list(np.array(self.v) + self.P @ (at[y] - mean))
        self.P = (1 - self.forget) * self.P + self.forget * self.prior * np.eye(len(x))


class Tempered(Committee):
    """The scores of one member times exp(u)."""

    def __init__(self, members: Sequence[Any], classes: Iterable[Any] = ()) -> None:
        super().__init__(members, classes)
        self.u = self.curvature = 0.0

    def scores(self, item: Item) -> Vector:
        scores = self.members[0].scores(item)
        return {c: math.exp(self.u) * float(s - max(scores.values())) for c, s in scores.items()}

    def step(self, item: Item, y: Any, novel: bool) -> None:
        x = self.scores(item)
        self.members[0].trial(item, y)
        if novel:
            return
        p = {c: math.exp(s) for c, s in log_softmax(x).items()}
        mean = sum(p[c] * x[c] for c in x)
        self.curvature += sum(p[c] * (x[c] - mean) ** 2 for c in x)
        step = 0.1 * (x[y] - mean) / (1 + 0.1 * self.curvature)
        self.u += min(max(step, -0.5), 0.5)


class NaiveBayes(Committee):
    """Everything that was ever said is kept, and counted when it is needed."""

    def __init__(self, classes: Iterable[Any] = (), *, of: str = "tables", shrink: float = 5.0) -> None:
        self.of, self.shrink = of, shrink
        self.said: list[tuple[dict[Any, Logs], Any]] = []  # what each expert said, and the truth
        super().__init__([Member(Still())], classes)  # it keeps the books

    @staticmethod
    def parts(item: Item) -> dict[Any, Logs]:
        """Each expert's scores above 0, adding up to 1."""
        given = {i: {c: x for c, x in vote.items() if x > 0} for i, vote in item.get("votes", {}).items()}
        return {i: {c: x / sum(v.values()) for c, x in v.items()} for i, v in given.items() if v}

    def count(self, i: Any, truth: Any, label: Any) -> float:
        """How often i (None: anybody) said a label (None: anything) when a truth (None: any) was the case."""
        return sum(
            part
            for votes, y in self.said
            for who, vote in votes.items()
            for c, part in vote.items()
            if i in (None, who) and truth in (None, y) and label in (None, c)
        )

    def hits(self, i: Any) -> float:
        return sum(
            vote.get(y, 0) for votes, y in self.said for who, vote in votes.items() if i in (None, who)
        )

    def scores(self, item: Item) -> Vector:
        known = self.members[0].look(item)[0]
        others = max(len(known) - 1, 1)
        scores = {c: math.log(1 + sum(y == c for _, y in self.said)) for c in known}
        for i, vote in self.parts(item).items():
            adds: Logs = defaultdict(float)
            for a, part in vote.items():
                if self.of == "accuracies":
                    pooled = (10 * 0.6 + self.hits(None)) / (10 + self.count(None, None, None))
                    accuracy = (self.shrink * pooled + self.hits(i)) / (
                        self.shrink + self.count(i, None, None)
                    )
                    adds[a] += part * math.log(accuracy * others / (1 - accuracy))
                    continue
                for j in known:
                    first = 0.6 if j == a else 0.4 / others
                    pooled = (10 * first + self.count(None, j, a)) / (10 + self.count(None, j, None))
                    p = (self.shrink * pooled + self.count(i, j, a)) / (self.shrink + self.count(i, j, None))
                    adds[j] += part * math.log(p)
            for c in known:
                scores[c] += adds[c] - max(adds[j] for j in known)
        return scores

    def step(self, item: Item, y: Any, novel: bool) -> None:
        self.members[0].trial(item, y)
        if not novel:
            self.said.append((self.parts(item), y))
