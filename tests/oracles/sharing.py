"""Slow, obvious hypothesis sharing (2006): the mixing algorithm of Figure 3, and its dual with a kernel.

What votes is a list of sources, each a pair (sets, map) or, for `KernelOracle`, a triple (sets, map, kernel):

    sets    ALL: one vector for all classes; EACH: one per class; a set of classes; or a list of such sets
    map     "plain", "product", "ternary", "distance", "difference"; or a pair (function of an attribute x_i
            and a statistic p_i, "first" or "mean")
    kernel  "linear", ("gaussian", sigma), ("polynomial", degree, offset), or a function of two vectors

So `[(ALL, "product")]` is the single-vector method, `[(EACH, "plain")]` the multi-vector method, and both
together the hybrid. Numbers are floats or, with `exact=True`, integers and fractions: then all is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

ALL, EACH = "all", "each"
Class = Hashable
Vector = list[Any]


def ternary(x: Any, p: Any) -> int:
    """Eq. 10; the limits are fractions when p is, and the floats nearest to them agree with a rounded p."""
    often, rarely = (Fraction(1, 5), Fraction(1, 50)) if isinstance(p, Fraction) else (0.2, 0.02)
    if x == 1 and p >= often:
        return 2
    if x == 1 and p <= rarely:
        return -1
    return 0


MAPS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "plain": (lambda x, p: x, "none"),
    "product": (lambda x, p: x * p, "first"),  # Eq. 4
    "ternary": (ternary, "mean"),  # Eq. 10
    "distance": (lambda x, p: abs(x - p), "mean"),
    "difference": (lambda x, p: x - p, "mean"),  # inside Eq. 11
}


def dot(u: Vector, v: Vector) -> Any:
    return sum((a * b for a, b in zip(u, v, strict=True)), 0)


def gaussian(sigma: Any) -> Callable[[Vector, Vector], float]:
    return lambda u, v: math.exp(-sum((a - b) ** 2 for a, b in zip(u, v, strict=True)) / (2 * sigma))


def polynomial(degree: int, offset: Any) -> Callable[[Vector, Vector], Any]:
    return lambda u, v: (dot(u, v) + offset) ** degree


KERNELS: dict[str, Callable[..., Any]] = {
    "linear": lambda: dot,
    "gaussian": gaussian,
    "polynomial": polynomial,
}


def kernel_of(kernel: Any) -> Callable[[Vector, Vector], Any]:
    if callable(kernel):
        return kernel  # type: ignore[no-any-return]
    name, *parameters = (kernel,) if isinstance(kernel, str) else kernel
    return KERNELS[name](*parameters)  # type: ignore[no-any-return]


class Statistics:
    """The first item of every class, and the mean of all its items."""

    def __init__(self) -> None:
        self.first: dict[Class, Vector] = {}
        self.total: dict[Class, Vector] = {}
        self.count: dict[Class, int] = {}

    def observe(self, x: Vector, y: Class) -> None:
        self.first.setdefault(y, x)
        total = self.total.get(y, [0] * len(x))
        self.total[y] = [a + b for a, b in zip(total, x, strict=True)]
        self.count[y] = self.count.get(y, 0) + 1

    def of(self, r: Class, which: str, exact: bool) -> Vector | None:
        if r not in self.count:
            return None
        if which == "first":
            return self.first[r]
        count = self.count[r]
        return [Fraction(a) / count if exact else a / count for a in self.total[r]]


class Support(NamedTuple):
    coefficient: Any
    members: Any  # of its set: ALL, or a frozenset of classes
    z: Vector  # the features as they were then


class Oracle:
    """What both algorithms have in common: known classes, statistics, the trial."""

    def __init__(self, sources: Sequence[Any], *, classes: Iterable[Class] = (), exact: bool = False) -> None:
        self.sources = [tuple(source) for source in sources]
        self.classes = list(classes)
        self.exact = exact
        self.statistics = Statistics()
        self.trials = self.mistakes = self.novel = 0

    # what the two algorithms do differently
    def part(self, source: int, members: Any, phi: Vector) -> Any:
        """What the hypothesis of a source and a set gives to these features."""
        raise NotImplementedError

    def add(self, source: int, members: Any, step: Any, phi: Vector) -> None:
        """Move that hypothesis by step times these features."""
        raise NotImplementedError

    def moved(self) -> None:
        """After a move."""

    # one trial
    def read(self, x: Iterable[Any]) -> Vector:
        if not self.exact:
            return [float(a) for a in x]
        return [int(a) if a == int(a) else Fraction(a) for a in x]

    def sets(self, source: int, r: Class) -> list[Any]:
        """The sets of a source that r belongs to."""
        which = self.sources[source][0]
        if isinstance(which, str):
            return [ALL] if which == ALL else [frozenset([r])]
        sets = which if isinstance(which, list) else [which]
        return [frozenset(members) for members in sets if r in members]

    def features(self, source: int, x: Vector, r: Class) -> Vector | None:
        """phi(x, r); None as long as it needs an item of r and none has come."""
        given = self.sources[source][1]
        function, which = MAPS[given] if isinstance(given, str) else given
        if which == "none":
            return x
        p = self.statistics.of(r, which, self.exact)
        return None if p is None else [function(a, b) for a, b in zip(x, p, strict=True)]

    def scores(self, x: Iterable[Any]) -> dict[Class, Any]:
        x = self.read(x)
        return {r: self.score(x, r) for r in self.classes}

    def score(self, x: Vector, r: Class) -> Any:
        """Eq. 7: the sum over tau of tau(r) <w^tau, phi^tau(x, r)>."""
        total: Any = 0
        for source in range(len(self.sources)):
            phi = self.features(source, x, r)
            if phi is not None:
                for members in self.sets(source, r):
                    total += self.part(source, members, phi)
        return total

    def predict(self, x: Iterable[Any]) -> Class | None:
        scores = self.scores(x)
        return max(self.classes, key=scores.__getitem__) if scores else None  # max takes the first of a tie

    def learn(self, x: Iterable[Any], y: Class, *, imposed: Class | None = None) -> Class | None:
        """One trial; `imposed` takes the place of its own guess, so that two programs move alike."""
        x = self.read(x)
        guess = self.predict(x) if imposed is None else imposed
        self.trials += 1
        if y not in self.classes:
            self.novel += 1
            self.classes.append(y)
        elif guess != y:
            self.mistakes += 1
            self.move(x, y, guess)
        self.statistics.observe(x, y)
        return guess

    def move(self, x: Vector, y: Class, rival: Class) -> None:
        """w^tau += tau(y) phi^tau(x, y) - tau(rival) phi^tau(x, rival), for all tau."""
        for source in range(len(self.sources)):
            for r, step in ((y, 1), (rival, -1)):
                phi = self.features(source, x, r)
                if phi is not None:
                    for members in self.sets(source, r):
                        self.add(source, members, step, phi)
        self.moved()

    def run(self, xs: Iterable[Any], ys: Iterable[Class], imposed: Iterable[Any] | None = None) -> list[Any]:
        """The guesses, each made before its label; `imposed` has a guess, or None, for every trial."""
        xs, ys = list(xs), list(ys)
        guesses = [None] * len(ys) if imposed is None else list(imposed)
        return [self.learn(x, y, imposed=g) for x, y, g in zip(xs, ys, guesses, strict=True)]


class MixingOracle(Oracle):
    """Figure 3: `weights[source, members]` is the vector of a set; members is ALL or a frozenset."""

    def __init__(self, sources: Sequence[Any], **options: Any) -> None:
        super().__init__(sources, **options)
        self.weights: dict[tuple[int, Any], Vector] = {}

    def part(self, source: int, members: Any, phi: Vector) -> Any:
        return dot(self.weights.get((source, members), [0] * len(phi)), phi)

    def add(self, source: int, members: Any, step: Any, phi: Vector) -> None:
        w = self.weights.get((source, members), [0] * len(phi))
        self.weights[source, members] = [a + step * b for a, b in zip(w, phi, strict=True)]


class KernelOracle(Oracle):
    """The dual: `supports[source]` lists what was added, oldest first, with the features frozen as they were.

    Each source keeps at most `budget` supports. After a move the oldest go (`drop="oldest"`), or those of the
    smallest |coefficient| sqrt(K(z, z)), the oldest among equals (`drop="smallest"`).
    """

    def __init__(
        self,
        sources: Sequence[Any],
        kernel: Any = "linear",
        *,
        budget: int | None = None,
        drop: str = "oldest",
        **options: Any,
    ) -> None:
        super().__init__(sources, **options)
        self.kernels = [kernel_of(source[2] if len(source) > 2 else kernel) for source in self.sources]
        self.budget, self.drop = budget, drop
        self.supports: list[list[Support]] = [[] for _ in self.sources]

    def part(self, source: int, members: Any, phi: Vector) -> Any:
        K = self.kernels[source]
        return sum((s.coefficient * K(phi, s.z) for s in self.supports[source] if s.members == members), 0)

    def add(self, source: int, members: Any, step: Any, phi: Vector) -> None:
        self.supports[source].append(Support(step, members, phi))

    def moved(self) -> None:
        for supports, K in zip(self.supports, self.kernels, strict=True):
            while self.budget is not None and len(supports) > self.budget:
                sizes = [abs(s.coefficient) * math.sqrt(K(s.z, s.z)) for s in supports]
                supports.pop(0 if self.drop == "oldest" else sizes.index(min(sizes)))


METHODS = ("multi", "single", "hybrid")


def three_methods(xs: Any, ys: Any) -> dict[str, np.ndarray]:
    """Is each guess a mistake, for the multi-vector, single-vector and hybrid methods with Eq. 4?

    Many streams at once: `xs` is (streams, trials, attributes), `ys` (streams, trials); so are the answers.
    On whole numbers all is exact, so that they are those of `MixingOracle`.
    """
    xs = np.concatenate([np.asarray(xs, dtype=np.float64)] * 3)
    appearing = [list(dict.fromkeys(list(y))) for y in ys]
    ys = np.array([[order.index(r) for r in y] for order, y in zip(appearing, ys, strict=True)] * 3)
    runs, trials, n = xs.shape
    k, each = int(ys.max()) + 1, np.arange(runs)
    method = np.repeat(METHODS, runs // 3)[:, None]
    first, known = np.zeros((runs, k, n)), np.zeros((runs, k), dtype=bool)
    common, own = np.zeros((runs, n)), np.zeros((runs, k, n))  # the vectors; one of them may stay 0
    wrong = np.zeros((runs, trials), dtype=bool)
    for t in range(trials):
        x, y = xs[:, t], ys[:, t]
        scores = (np.matmul(first, (common * x)[:, :, None]) + np.matmul(own, x[:, :, None]))[:, :, 0]
        guess = np.where(known, scores, -np.inf).argmax(axis=1)
        wrong[:, t] = (guess != y) & known[each, y]
        z = x * wrong[:, t, None]
        common += (method != "multi") * z * (first[each, y] - first[each, guess])
        own[each, y] += (method != "single") * z
        own[each, guess] -= (method != "single") * z
        novel = each[~known[each, y]]
        first[novel, y[novel]] = x[novel]
        known[each, y] = True
    return dict(zip(METHODS, np.split(wrong, 3), strict=True))
