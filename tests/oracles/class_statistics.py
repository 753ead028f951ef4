"""Slow, obvious class-dependent features (2006), as a source of a session's oracle."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.oracles.session import Recomputed, VoteMatrix
from tests.oracles.sharing import MAPS

Sets = dict[str, Any]


class Shared(Recomputed):
    """Sub-expert (map, attribute) or (map, set, attribute) votes phi(x, p) for the classes that share it."""

    def __init__(self, map_: str = "product", statistic: str | None = None, sets: Sets | None = None) -> None:
        self.name, (self.phi, usual) = map_, MAPS[map_]
        self.first = (statistic or usual) == "first"
        self.sets = sets
        self.seen: dict[Any, list[dict[Any, float]]] = defaultdict(list)  # the instances of every class

    def statistic_of(self, r: Any, a: Any) -> float:
        values = [cells.get(a, 0.0) for cells in self.seen[r]]
        return values[0] if self.first else sum(values) / len(values)

    def sub_experts(self, item: dict[str, Any], classes: list[Any]) -> VoteMatrix:
        given = item.get("attributes", {})
        known = [r for r in classes if r in self.seen]  # a class nobody has seen has no features
        attributes = {**given, **{a: 0 for r in known for cells in self.seen[r] for a in cells}}
        votes: VoteMatrix = {}
        for a in attributes:
            features = {r: self.phi(given.get(a, 0.0), self.statistic_of(r, a)) for r in known}
            if self.sets is None:
                votes["shared", self.name, a] = features
            for name, members in (self.sets or {}).items():
                votes["shared", self.name, name, a] = {r: x for r, x in features.items() if r in members}
        return votes

    def observe(self, item: dict[str, Any], y: Any) -> None:
        self.seen[y].append(dict(item.get("attributes", {})))
