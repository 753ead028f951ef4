"""A comparator seen on data: all that a mistake bound asks about."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linmax.svm import Instances


@dataclass(frozen=True, eq=False)
class Case:
    """A comparator u of margin delta on n sub-experts, its noise, and how large the z = x^y - x^rival are.

    delta <= u . z on every trial and for every rival, but for the noise;
    hinge = sum over trials of max over rivals (delta - u . z)_+

    What is not given is taken at its worst: without u it is some comparator with sum |u| = 1, and without a
    length all n sub-experts may be in z. As a calculator, for a panel of 3 among 100 who always vote:

    >>> from linmax import Perceptron, Winnow
    >>> from linmax.bounds import Case, bound
    >>> case = Case(n=100, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> round(bound(Perceptron(), case)), round(bound(Winnow.for_margin(1 / 3), case))
    (300, 62)
    """

    n: int
    delta: float
    u: Any = None  # its non-zero weights are enough
    hinge: float = 0.0  # in the units of u . z, as delta is
    squares: float | None = None  # the sum of the squared hinges; None: not known, unless the hinge is 0
    largest: float = 1.0  # max |z|_inf
    length: float | None = None  # max |z|_2; None: sqrt(n) times the largest
    instances: Any = None  # the z themselves, one a row, for the other norms

    def __post_init__(self) -> None:
        """Refuse what is no case, and make u an array."""
        if not (isinstance(self.n, int | np.integer) and self.n >= 1):
            raise ValueError(f"Case needs n >= 1 sub-experts (got {self.n!r})")
        for name in ("delta", "largest", "length"):
            value = getattr(self, name)
            if not (value is None or (math.isfinite(value) and value > 0)):
                raise ValueError(f"Case needs {name} > 0 (got {value!r})")
        for name in ("hinge", "squares"):
            value = getattr(self, name)
            if not (value is None or (math.isfinite(value) and value >= 0)):
                raise ValueError(f"Case needs {name} >= 0 (got {value!r}); 0 is no noise")
        if self.u is None:
            return
        u = np.asarray(self.u, dtype=np.float64)
        if u.ndim != 1 or len(u) > self.n or not np.isfinite(u).all() or not u.any():
            raise ValueError(f"Case needs u of at most n={self.n} finite weights, not all 0 (got {self.u!r})")
        object.__setattr__(self, "u", u)

    @classmethod
    def of(cls, u: Any, instances: Any, margin: float | None = None) -> Case:
        """The case of u on `linmax.svm.instances`, or on a matrix with one z a row (dense or sparse).

        Without a margin it is the smallest u . z, which must then be positive. The hinge of a trial is its
        worst rival's; each row of a bare matrix is a trial of its own.

        >>> import numpy as np
        >>> from linmax.bounds import Case
        >>> z = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
        >>> case = Case.of([1, 1, 1], z[:3])
        >>> case.n, case.delta, case.hinge, case.size(2)
        (3, 1.0, 0.0, 1.73)
        >>> Case.of([1, 1, 1], z, margin=1).hinge
        2.0
        """
        z, trial = rows(instances)
        u = np.asarray(u, dtype=np.float64)
        if u.shape != (z.shape[1],):
            raise ValueError(f"u needs {z.shape[1]} weights, one per sub-expert (got shape {u.shape})")
        worst = leads(u, z, trial)
        delta = float(worst.min()) if margin is None else margin
        if margin is None and delta <= 0:
            raise ValueError(
                f"u has no margin, being wrong on {int((worst <= 0).sum())} of {len(worst)} trials;"
                " pass margin=, or let tightest(learner, u, instances) choose"
            )
        hinge = np.maximum(delta - worst, 0.0)
        squared = np.asarray(z.multiply(z).sum(axis=1)).ravel()
        return cls(
            n=z.shape[1],
            delta=delta,
            u=u,
            hinge=float(hinge.sum()),
            squares=float(hinge @ hinge),
            largest=float(abs(z).max()) or 1.0,  # silence fits any size
            length=math.sqrt(squared.max()) or 1.0,
            instances=z,
        )

    def size(self, p: float) -> float:
        """The largest |z|_p, for p >= 2; without the instances at most |z|_2^(2/p) |z|_inf^(1 - 2/p).

        >>> from linmax.bounds import Case
        >>> Case(n=16, delta=0.1).size(2), Case(n=16, delta=0.1).size(4)
        (4.0, 2.0)
        """
        if self.instances is not None:
            powers = abs(self.instances / self.largest).power(p).sum(axis=1)
            return float(self.largest * np.max(powers) ** (1.0 / p))
        length = math.sqrt(self.n) * self.largest if self.length is None else self.length
        return float(length ** (2.0 / p) * self.largest ** (1.0 - 2.0 / p))

    def weight(self, q: float) -> float:
        """|u|_q; without u at most 1, as then sum |u| = 1.

        >>> from linmax.bounds import Case
        >>> Case(n=16, delta=0.1, u=[0.5, -0.5]).weight(1), Case(n=16, delta=0.1, u=[3, 4]).weight(2)
        (1.0, 5.0)
        """
        return 1.0 if self.u is None else float(np.linalg.norm(self.u, q))

    def surprise(self, doubled: bool = False) -> float:
        """RE(u || equal weights) = ln n + sum |u| ln |u|, as sum |u| = 1; with votes and opposites ln 2n.

        >>> import math
        >>> from linmax.bounds import Case
        >>> case = Case(n=12, delta=0.1, u=[1, 1, 1])
        >>> math.exp(case.surprise()), math.exp(case.surprise(doubled=True))
        (4.0, 8.0)
        """
        least = 0.0
        if self.u is not None:
            share = np.abs(self.u[self.u != 0]) / self.weight(1)
            least = float(share @ np.log(share))
        return math.log(2 * self.n if doubled else self.n) + least


def leads(u: np.ndarray, z: Any, trial: np.ndarray) -> np.ndarray:
    """By how much u prefers the truth to its best rival, trial by trial."""
    worst = np.full(int(trial.max()) + 1, np.inf)
    np.minimum.at(worst, trial, z @ u)
    heard: np.ndarray = worst[np.isfinite(worst)]  # a trial without rivals has nothing to say
    return heard


def rows(instances: Any) -> tuple[Any, np.ndarray]:
    """The z as a sparse matrix, and the trial of each row."""
    if isinstance(instances, Instances):
        z, trial = instances.z, instances.trial
    else:
        from scipy import sparse  # it takes a while to import

        z = sparse.csr_array(instances, dtype=np.float64)
        trial = np.arange(z.shape[0])
    if z.shape[0] == 0:
        raise ValueError("a case needs instances (got none); are there two classes and any labels?")
    return z, trial
