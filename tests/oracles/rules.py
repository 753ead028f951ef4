"""Slow, obvious rules: every formula as it is written, over dictionaries.

Nothing here is shared with the library.  Numbers may be floats or, for Perceptron, Winnow,
BalancedWinnow and the theta of all additive rules, fractions: then every step is exact.
A vote matrix is `{sub_expert: {class: value}}`; a `z` is `{sub_expert: value}`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Number = float | int | Fraction
Vector = dict[Any, Any]


def dot(w: Vector, z: Vector) -> Any:
    return sum((w.get(i, 0) * value for i, value in z.items()), 0)


def norm(z: Vector, p: float = 2) -> float:
    return sum(abs(value) ** p for value in z.values()) ** (1 / p)


def sign(a: Any) -> int:
    return (a > 0) - (a < 0)


class Rule:
    """theta += z, w = theta: the Perceptron, and what all other rules are a variation of."""

    def __init__(
        self,
        *,
        slack: Number = 0,
        ties: bool = False,
        start: str = "zero",
        rivals: str = "top",
        rounds: Any = 1,
    ) -> None:
        self.slack, self.ties, self.start, self.rivals, self.rounds = slack, ties, start, rivals, rounds
        self.theta: Vector = {}  # one entry for each sub-expert that has spoken

    def twin(self) -> Any:
        """A copy that can go on by itself."""
        other = copy.copy(self)
        vars(other).update({name: dict(it) for name, it in vars(self).items() if isinstance(it, dict)})
        return other

    def first(self) -> Any:
        """The theta whose weight is 1, where all start equal."""
        return 1

    def add_sub_expert(self, i: Any, *, from_votes: bool = True) -> None:
        self.theta.setdefault(i, self.first() if self.start == "equal" and from_votes else 0)

    def weights(self) -> Vector:
        return dict(self.theta)

    def update(self, z: Vector) -> bool:
        """Move by z; false if there was no need to."""
        for i, value in z.items():
            self.theta[i] = self.theta.get(i, 0) + value
        return True

    def limit(self, z: Vector) -> Any:
        """The margin up to which the rule moves although the guess was right; None: never."""
        if self.slack > 0:
            return self.slack
        if self.rivals == "softmax":
            return math.inf
        return 0 if self.ties else None

    def close(self, margin: Any, z: Vector) -> bool:
        limit = self.limit(z)
        return limit is not None and margin <= limit


class Perceptron(Rule):
    pass


class Winnow(Rule):
    def __init__(self, alpha: Number = 1.2, **options: Any) -> None:
        super().__init__(**options)
        self.alpha = alpha

    def weights(self) -> Vector:
        top = max(self.theta.values(), default=0)  # cancels in the quotient, keeps floats finite
        power = {i: self.alpha ** (theta - top) for i, theta in self.theta.items()}
        total = sum(power.values())
        return {i: value / total for i, value in power.items()}


class AdaptiveWinnow(Rule):
    def __init__(self, rate: Number = 0.9, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.updates = rate, 0

    def update(self, z: Vector) -> bool:
        self.updates += 1
        eta = self.rate / math.sqrt(self.updates)
        return super().update({i: eta * value for i, value in z.items()})

    def weights(self) -> Vector:
        top = max(self.theta.values(), default=0)
        power = {i: math.exp(theta - top) for i, theta in self.theta.items()}
        total = sum(power.values())
        return {i: value / total for i, value in power.items()}


class BalancedWinnow(Rule):
    def __init__(self, alpha: Number = 1.2, **options: Any) -> None:
        super().__init__(**options)
        self.alpha = alpha

    def first(self) -> Any:
        return math.asinh(1) / math.log(self.alpha)  # sinh is 1 before the division

    def weights(self) -> Vector:
        top = max((abs(theta) for theta in self.theta.values()), default=0)
        up = {i: self.alpha ** (theta - top) for i, theta in self.theta.items()}
        down = {i: self.alpha ** (-theta - top) for i, theta in self.theta.items()}
        total = sum(up[i] + down[i] for i in up)  # twice the sum of cosh
        return {i: (up[i] - down[i]) / total for i in up}


LINKS = {"identity": lambda a: a, "sinh": math.sinh, "square": lambda a: a * abs(a)}


class QuasiAdditive(Rule):
    def __init__(self, link: str | Callable[[Any], Any] = "sinh", **options: Any) -> None:
        super().__init__(**options)
        self.link = LINKS[link] if isinstance(link, str) else link

    def weights(self) -> Vector:
        return {i: self.link(theta) for i, theta in self.theta.items()}


class PNorm(Rule):
    def __init__(self, p: Number = 2, **options: Any) -> None:
        super().__init__(**options)
        self.p = p

    def unscaled(self) -> Vector:
        """The weights up to a positive factor; exact for an integer p and rational theta."""
        return {i: sign(theta) * abs(theta) ** (self.p - 1) for i, theta in self.theta.items()}

    def weights(self) -> Vector:
        size = norm(self.theta, float(self.p)) ** (float(self.p) - 2)
        return {i: value / size if value else 0.0 for i, value in self.unscaled().items()}


class Alma(Rule):
    def __init__(self, p: float = 2, alpha: float = 1, **options: Any) -> None:
        super().__init__(**options)
        self.p, self.alpha, self.j = p, alpha, 1

    def weights(self) -> Vector:
        size = norm(self.theta, self.p) ** (self.p - 2)
        return {i: sign(a) * abs(a) ** (self.p - 1) / size if a else 0.0 for i, a in self.theta.items()}

    def limit(self, z: Vector) -> Any:
        if self.alpha >= 1:
            return super().limit(z)
        own = (1 - self.alpha) * (math.sqrt(8) / self.alpha) * math.sqrt(self.p - 1) / math.sqrt(self.j)
        return max(own * norm(z, self.p), self.slack)

    def update(self, z: Vector) -> bool:
        eta = math.sqrt(2) / (math.sqrt(self.p - 1) * math.sqrt(self.j))
        super().update({i: eta * value / norm(z, self.p) for i, value in z.items()})
        size = norm(self.theta, self.p)
        if size > 1:
            self.theta = {i: theta / size for i, theta in self.theta.items()}
        self.j += 1
        return True


class Romma(Rule):
    def __init__(self, aggressive: float | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.aggressive = aggressive

    def limit(self, z: Vector) -> Any:
        return super().limit(z) if self.aggressive is None else 1 - self.aggressive

    def close(self, margin: Any, z: Vector) -> bool:
        if self.aggressive is None:
            return super().close(margin, z)
        return margin < 1 - self.aggressive

    def update(self, z: Vector) -> bool:
        w = self.theta
        wz, zz, ww = dot(w, z), dot(z, z), dot(w, w)
        determinant = zz * ww - wz * wz
        parallel = determinant <= 1e-12 * zz * ww  # up to rounding
        if ww == 0 or parallel or wz >= zz * ww:  # the last only beyond a mistake: c would not be positive
            c, d = 0.0, 1 / zz
        else:
            c, d = (zz * ww - wz) / determinant, ww * (1 - wz) / determinant
        self.theta = {i: c * a + d * z.get(i, 0) for i, a in w.items()}
        return True


class PassiveAggressive(Rule):
    def __init__(self, C: float = 1, kind: str = "PA-I", **options: Any) -> None:
        super().__init__(**{"slack": 1, **options})  # what the hinge asks for
        self.C, self.kind = C, kind

    def update(self, z: Vector) -> bool:
        loss, zz = self.slack - dot(self.theta, z), dot(z, z)
        if loss <= 0:
            return False
        if self.kind == "PA":
            tau = loss / zz
        elif self.kind == "PA-I":
            tau = min(self.C, loss / zz)
        else:
            tau = loss / (zz + 1 / (2 * self.C))
        return super().update({i: tau * value for i, value in z.items()})


class Logistic(Rule):
    def __init__(
        self, eta: float = 0.1, decay: str = "constant", initial: float = 1.0, **options: Any
    ) -> None:
        super().__init__(**{"rivals": "softmax", "slack": math.inf, **options})
        self.eta, self.decay, self.initial, self.t = eta, decay, initial, 1
        self.squares: Vector = {}  # AdaGrad: 1 for a weight that starts at 1, plus all squares of its z

    def add_sub_expert(self, i: Any, *, from_votes: bool = True) -> None:
        super().add_sub_expert(i, from_votes=from_votes)
        self.squares.setdefault(i, self.theta[i])

    def update(self, z: Vector) -> bool:
        if self.decay == "adagrad":
            for i, value in z.items():
                self.squares[i] = self.squares.get(i, 0.0) + value**2
                step = self.eta / math.sqrt(self.initial + self.squares[i])
                self.theta[i] = self.theta.get(i, 0.0) + step * value
            return True
        eta = self.eta / math.sqrt(self.t) if self.decay == "sqrt" else self.eta
        self.t += 1
        return super().update({i: eta * value for i, value in z.items()})


class LinearThreshold:
    """The binary algorithm of 2003's theorem: sign of w.z, a tie is a mistake, theta moves on mistakes.

    `link` maps the whole theta to weights up to a positive factor, so that signs are exact.
    """

    def __init__(self, link: Callable[[Vector], Vector]) -> None:
        self.link, self.theta, self.mistakes = link, {}, 0

    def learn(self, z: Vector, label: int = 1) -> bool:
        wrong = bool(label * dot(self.link(self.theta), z) <= 0)
        if wrong:
            self.mistakes += 1
            for i, value in z.items():
                self.theta[i] = self.theta.get(i, 0) + label * value
        return wrong


def identity(theta: Vector) -> Vector:
    return theta


def powers(alpha: Fraction) -> Callable[[Vector], Vector]:
    """Winnow's link; sub-experts not yet in theta have weight alpha ** 0, so the caller names all of them."""
    return lambda theta: {i: alpha**a for i, a in theta.items()}


def differences(alpha: Fraction) -> Callable[[Vector], Vector]:
    return lambda theta: {i: alpha**a - alpha**-a for i, a in theta.items()}


def odd_powers(p: int) -> Callable[[Vector], Vector]:
    return lambda theta: {i: sign(a) * abs(a) ** (p - 1) for i, a in theta.items()}
