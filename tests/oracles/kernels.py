"""A slow, obvious dual Perceptron (2006) with a budget, averages and recycling.

Sources are triples (sets, map, kernel), as for `KernelOracle`. A support is one vector, as it was when it
was first moved on, with a coefficient for each set; moving on the same vector again changes its coefficients.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.oracles.sharing import Class, Oracle, Vector, kernel_of

Hypothesis = list[dict[int, dict[Any, Any]]]  # for each source, by the number of a support: its coefficients


@dataclass
class Held:
    """One support."""

    number: int  # the how-manieth it is
    z: Vector
    alpha: dict[Any, Any] = field(default_factory=dict)  # by set


@dataclass
class Entry:
    """An instance that may be recycled."""

    x: Vector
    y: Class
    counter: int = 0


class Dual(Oracle):
    """`recycled` is (size, updates); beyond `budget` the oldest support of a source goes, or the smallest.

    What a support is worth is the sum over sets of |coefficient| times sqrt(K(z, z)), the oldest among equals
    going first; one that is gone is gone from all averages, too. `closest` is the smallest relative
    difference that decided anything.
    """

    def __init__(
        self,
        sources: Sequence[Any],
        *,
        budget: int | None = None,
        drop: str = "oldest",
        averaged: bool = False,
        recycled: tuple[int, int | None] | None = None,
        rivals: str = "top",
        **options: Any,
    ) -> None:
        super().__init__(sources, **options)
        self.kernels = [kernel_of(source[2]) for source in self.sources]
        self.budget, self.drop, self.rivals = budget, drop, rivals
        self.averaged, self.recycled = averaged, recycled
        self.supports: list[list[Held]] = [[] for _ in self.sources]
        self.born = [0] * len(self.sources)
        self.past: list[Hypothesis] = []
        self.buffer: list[Entry] = []
        self.reading: Hypothesis | None = None  # what scores are read with; None: the supports as they are
        self.smallest_gap = math.inf

    # hypotheses
    def now(self) -> Hypothesis:
        return [{held.number: dict(held.alpha) for held in those} for those in self.supports]

    def mean(self, hypotheses: list[Hypothesis]) -> Hypothesis:
        """Over the supports that are still there."""
        means: Hypothesis = []
        for source, those in enumerate(self.supports):
            means.append({})
            for held in those:
                parts = [h[source].get(held.number, {}) for h in hypotheses]
                sums = {tau: sum(part.get(tau, 0) for part in parts) for tau in held.alpha}
                means[-1][held.number] = {tau: total / len(hypotheses) for tau, total in sums.items()}
        return means

    def part(self, source: int, members: Any, phi: Vector) -> Any:
        total: Any = 0
        for held in self.supports[source]:
            alpha = held.alpha if self.reading is None else self.reading[source][held.number]
            if alpha.get(members, 0) != 0:
                total += alpha[members] * self.kernels[source](phi, held.z)
        return total

    def add(self, source: int, members: Any, step: Any, phi: Vector) -> None:
        those = self.supports[source]
        held = next((held for held in those if held.z == phi), None)
        if held is None:
            self.born[source] += 1
            held = Held(self.born[source], phi)
            those.append(held)
        held.alpha[members] = held.alpha.get(members, 0) + step

    def moved(self) -> None:
        for those, K in zip(self.supports, self.kernels, strict=True):
            while self.budget is not None and len(those) > self.budget:
                sizes = [sum(map(abs, held.alpha.values())) * math.sqrt(K(held.z, held.z)) for held in those]
                if self.drop == "smallest":
                    self.note_gap(dict(enumerate([-size for size in sizes])), exact=True)
                those.pop(0 if self.drop == "oldest" else sizes.index(min(sizes)))

    # one trial
    def scores(self, x: Iterable[Any]) -> dict[Class, Any]:
        """As of now: for an average, the hypothesis after the last trial is one of them."""
        self.reading = self.mean([*self.past, self.now()]) if self.averaged else None
        scores = super().scores(x)
        self.reading = None
        return scores

    def learn(self, x: Iterable[Any], y: Class, *, imposed: Class | None = None) -> Class | None:
        x = self.read(x)
        scores = self.scores(x)
        self.note_gap(scores)
        guess = max(self.classes, key=scores.__getitem__) if scores else None
        if self.averaged:
            self.past.append(self.now())
        self.trials += 1
        entry = Entry(x, y)
        self.buffer = [*self.buffer, entry][-self.recycled[0] :] if self.recycled else []
        if y not in self.classes:
            self.novel += 1
            self.classes.append(y)
        else:
            self.mistakes += guess != y
            if any(self.visit(x, y)) and self.recycled:
                entry.counter = 1
                self.passes(self.recycled[1])
        self.statistics.observe(x, y)
        return guess

    def passes(self, updates: int | None, most: int = 1000) -> None:
        for _ in range(most):
            moved = False
            for entry in self.buffer:
                if updates is None or entry.counter < updates:
                    wrong, moves = self.visit(entry.x, entry.y)
                    entry.counter += wrong
                    moved = moved or moves
            if not moved:
                return

    def visit(self, x: Vector, y: Class) -> tuple[bool, bool]:
        """Guess with the hypothesis of now, and move if that is wrong; was it, and did anything move?"""
        scores = {r: self.score(x, r) for r in self.classes}
        self.note_gap(scores)
        rival = max(self.classes, key=scores.__getitem__)
        if rival == y:
            return False, False
        shares = {rival: 1}
        if self.rivals == "violators":
            those = [r for r in self.classes if r != y and scores[r] >= scores[y]]
            shares = dict.fromkeys(those, Fraction(1, len(those)))
        steps = [
            (source, *step)
            for source in range(len(self.sources))
            for step in self.steps(source, x, {y: 1, **{r: -share for r, share in shares.items()}})
        ]
        for source, members, step, phi in steps:
            self.add(source, members, step, phi)
        self.moved()
        return True, bool(steps)

    def steps(self, source: int, x: Vector, shares: dict[Class, Any]) -> list[tuple[Any, Any, Vector]]:
        """What z is made of, in the order of the classes; what cancels out is no part of it."""
        found: dict[Any, Any] = {}
        for r in self.classes:
            phi = self.features(source, x, r) if shares.get(r, 0) else None
            for members in self.sets(source, r) if phi is not None else ():
                found[members, tuple(phi)] = found.get((members, tuple(phi)), 0) + shares[r]
        return [(members, step, list(phi)) for (members, phi), step in found.items() if step]

    def note_gap(self, scores: dict[Any, Any], *, exact: bool = False) -> None:
        """Remember how near the two best were; two zeros, or two `exact` equals, are so in any program."""
        first, *second = sorted(scores.values(), reverse=True)[:2] or [0]
        if second and (first or second[0]) and not (exact and first == second[0]):
            size = max(abs(first), abs(second[0]), 1.0)  # sums that cancel leave rounding behind
            self.smallest_gap = min(self.smallest_gap, abs(first - second[0]) / size)

    def twin(self) -> Dual:
        """A copy that can go on by itself."""
        return copy.deepcopy(self, {id(h): h for h in self.past} | {id(K): K for K in self.kernels})
