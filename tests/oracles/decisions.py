"""Slow and obvious versions of what is learned from probabilities and labels."""

from __future__ import annotations

import math
from typing import Any

Numbers = list[float]


def softmax(scores: Numbers) -> Numbers:
    top = max(scores)
    e = [math.exp(s - top) for s in scores]
    return [x / sum(e) for x in e]


class CalibrationMap:
    """Two experts: the softmax, and a scaled softmax with a share of the uniform distribution."""

    def __init__(self) -> None:
        self.u = self.u_curvature = self.v_curvature = 0.0
        self.v = -3.0
        self.losses = [0.0, 0.0]

    def parts(self, scores: Numbers) -> tuple[Numbers, Numbers]:
        k, e = len(scores), 1 / (1 + math.exp(-self.v))
        scaled = softmax([math.exp(self.u) * (s - max(scores)) for s in scores])
        return softmax(scores), [(1 - e) * r + e / k for r in scaled]

    def probabilities(self, scores: Numbers) -> Numbers:
        posterior = softmax([-loss for loss in self.losses])
        raw, mapped = self.parts(scores)
        return [posterior[0] * q + posterior[1] * r for q, r in zip(raw, mapped, strict=True)]

    def learn(self, scores: Numbers, y: int) -> None:
        raw, mapped = self.parts(scores)
        k, e = len(scores), 1 / (1 + math.exp(-self.v))
        x = [math.exp(self.u) * (s - max(scores)) for s in scores]
        r = softmax(x)
        part = (1 - e) * r[y] / mapped[y]
        mean = sum(p * z for p, z in zip(r, x, strict=True))
        self.u_curvature += part * sum(p * (z - mean) ** 2 for p, z in zip(r, x, strict=True))
        self.u += max(-0.5, min(0.5, part * (x[y] - mean) / (0.1 + self.u_curvature)))
        slope = e * (1 - e) * (1 / k - r[y]) / mapped[y]
        self.v_curvature += slope**2
        self.v += max(-0.5, min(0.5, slope / (1 + self.v_curvature)))
        for i, p in enumerate((raw[y], mapped[y])):
            self.losses[i] -= math.log(max(p, 1e-15))


class Sets:
    """Adaptive conformal inference at one level."""

    def __init__(self, coverage: float) -> None:
        self.coverage = self.theta = coverage
        self.misses = 0

    def of(self, p: Numbers) -> set[int]:
        return {c for c in range(len(p)) if sum(q for q in p if q > p[c]) <= self.theta}

    def learn(self, p: Numbers, y: int) -> None:
        miss = y not in self.of(p)
        self.misses += miss
        self.theta = max(0.0, self.theta + 0.02 * (miss - (1 - self.coverage)))


def binomial_tail(wrong: int, items: int, p: float) -> float:
    return math.fsum(math.comb(items, i) * p**i * (1 - p) ** (items - i) for i in range(wrong + 1))


def loosest_doubt(doubts: Numbers, wrong: list[bool], max_error: float, confidence: float) -> float | None:
    """The fallback procedure over 84 edges of doubt, from the strictest one."""
    level, loosest = 0.0, None
    for b in range(83, -1, -1):
        for multiple, share in ((4.0, 0.2), (1.0, 0.6), (0.25, 0.2)):
            first = min(j for j in range(84) if 2 ** (-j / 4) <= multiple * max_error or j == 83)
            level += share * (1 - confidence) if first == b else 0.0
        there = [w for d, w in zip(doubts, wrong, strict=True) if d <= 2 ** (-b / 4)]
        if there and binomial_tail(sum(there), len(there), max_error) <= level:
            loosest = 2 ** (-b / 4)
        else:
            level = 0.0
    return loosest


def page_hinkley(losses: list[int]) -> list[tuple[int, int, float, float]]:
    """Alarms: when, since when, and the error before and after."""
    found, start, total, zero = [], 0, 0.0, 0
    for end in range(32, len(losses) + 1, 32):
        past = losses[start:end]
        mean = sum(past) / len(past)
        deviation = max(math.sqrt(mean * (1 - mean)), 0.1)
        total += sum((loss - mean) / deviation - 0.1 for loss in losses[end - 32 : end])
        if total <= 0:
            total, zero = 0.0, end
        elif total > 50 and len(past) >= 100 and zero > start:
            before, after = losses[start:zero], losses[zero:end]
            found.append((end, zero, sum(before) / len(before), sum(after) / len(after)))
            start, total = zero, 0.0
            zero = end
    return found


def cheapest(p: Numbers, costs: Any) -> set[int]:
    """All classes of least expected cost."""
    expected = [sum(p[y] * costs[y][c] for y in range(len(p))) for c in range(len(p))]
    return {c for c in range(len(p)) if expected[c] <= min(expected) + 1e-12}
