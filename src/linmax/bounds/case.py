"""`Case`: a comparator measured on data, which is all that a mistake bound depends on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from linmax.svm import Instances

LARGEST_WEIGHT = 1e100
"""The squares of larger weights of a comparator could overflow."""


@dataclass(frozen=True, eq=False)
class Case:
    """A comparator u of margin delta on n sub-experts, its noise, and the size of the z = x^y - x^rival.

    delta <= u . z on every trial and for every rival, except for the noise;
    hinge = sum over trials of max over rivals (delta - u . z)_+

    What is not given takes its worst value: without u it is some comparator with sum |u| = 1, and without
    `length` all n sub-experts may be in z.

    Parameters
    ----------
    n : int
        The number of sub-experts.
    delta : float
        The margin of u.
    u : array-like, optional
        The weights of the comparator; the non-zero ones are enough.
    hinge : float, default=0.0
        The noise, in the units of u . z.
    squares : float, optional
        The sum of the squared hinges; None if unknown. It is needed by PA-II with noise.
    largest : float, default=1.0
        max |z|_inf.
    length : float, optional
        max |z|_2; None is sqrt(n) times `largest`.
    instances : sparse array of shape (rows, n), optional
        The z themselves, one per row, for norms other than these two.

    Examples
    --------
    A panel of 3 among 100 experts that always vote:

    >>> from linmax import Perceptron, Winnow
    >>> from linmax.bounds import Case, bound
    >>> case = Case(n=100, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> round(bound(Perceptron(), case)), round(bound(Winnow.for_margin(1 / 3), case))
    (300, 62)
    """

    n: int
    delta: float
    u: Any = None
    hinge: float = 0.0
    squares: float | None = None
    largest: float = 1.0
    length: float | None = None
    instances: Any = None

    def __post_init__(self) -> None:
        """Check the fields, and convert u to an array."""
        if not (isinstance(self.n, int | np.integer) and self.n >= 1):
            raise ValueError(f"Case requires n >= 1 sub-experts (got {self.n!r})")
        for name in ("delta", "largest", "length"):
            value = getattr(self, name)
            if not (value is None or (math.isfinite(value) and value > 0)):
                raise ValueError(f"Case requires {name} > 0 (got {value!r})")
        for name in ("hinge", "squares"):
            value = getattr(self, name)
            if not (value is None or (math.isfinite(value) and value >= 0)):
                raise ValueError(f"Case requires {name} >= 0 (got {value!r}); 0 means no noise")
        if self.u is None:
            return
        u = np.asarray(self.u, dtype=np.float64)
        if u.ndim != 1 or len(u) > self.n or not (np.abs(u) <= LARGEST_WEIGHT).all() or not u.any():
            raise ValueError(
                f"Case requires u of at most n={self.n} weights, not all 0 and none beyond {LARGEST_WEIGHT:g}"
                f" (got {self.u!r})"
            )
        object.__setattr__(self, "u", u)

    @classmethod
    def of(cls, u: Any, instances: Any, margin: float | None = None) -> Case:
        """Measure u on instances.

        Parameters
        ----------
        u : array-like of shape (n,)
            The weights of the comparator.
        instances : Instances or matrix of shape (rows, n)
            The result of `linmax.svm.instances`, or a matrix with one z per row, each a trial of its own.
        margin : float, optional
            The margin delta; by default the smallest u . z, which must then be positive.

        Returns
        -------
        case : Case
            The case; the hinge of a trial is that of its worst rival.

        Examples
        --------
        >>> import numpy as np
        >>> from linmax.bounds import Case
        >>> z = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]])
        >>> case = Case.of([1, 1, 1], z[:3])
        >>> case.n, case.delta, case.hinge, case.instance_norm(2)
        (3, 1.0, 0.0, 1.73)
        >>> Case.of([1, 1, 1], z, margin=1).hinge
        2.0
        """
        z, trial = instance_rows(instances)
        u = np.asarray(u, dtype=np.float64)
        if u.shape != (z.shape[1],):
            raise ValueError(f"u requires {z.shape[1]} weights, one per sub-expert (got shape {u.shape})")
        margins = trial_margins(u, z, trial)
        delta = float(margins.min()) if margin is None else margin
        if margin is None and delta <= 0:
            raise ValueError(
                f"u has no margin: it is wrong on {int((margins <= 0).sum())} of {len(margins)} trials;"
                " pass margin=, or use tightest(learner, u, instances)"
            )
        hinge = np.maximum(delta - margins, 0.0)
        squared_norms = np.asarray(z.multiply(z).sum(axis=1)).ravel()
        return cls(
            n=z.shape[1],
            delta=delta,
            u=u,
            hinge=float(hinge.sum()),
            squares=float(hinge @ hinge),
            largest=float(abs(z).max()) or 1.0,  # any size is valid if every z is 0
            length=math.sqrt(squared_norms.max()) or 1.0,
            instances=z,
        )

    def instance_norm(self, p: float) -> float:
        """Return the largest |z|_p; without `instances`, the bound |z|_2^(2/p) |z|_inf^(1 - 2/p).

        Parameters
        ----------
        p : float
            The norm, p >= 2.

        Returns
        -------
        norm : float
            The largest norm of a z.

        Examples
        --------
        >>> from linmax.bounds import Case
        >>> Case(n=16, delta=0.1).instance_norm(2), Case(n=16, delta=0.1).instance_norm(4)
        (4.0, 2.0)
        """
        if self.instances is not None:
            powers = abs(self.instances / self.largest).power(p).sum(axis=1)
            return float(self.largest * np.max(powers) ** (1.0 / p))
        length = math.sqrt(self.n) * self.largest if self.length is None else self.length
        return float(length ** (2.0 / p) * self.largest ** (1.0 - 2.0 / p))

    def comparator_norm(self, q: float) -> float:
        """Return |u|_q; without u it is 1, its largest value when sum |u| = 1.

        Parameters
        ----------
        q : float
            The norm, q >= 1.

        Returns
        -------
        norm : float
            The norm of u.

        Examples
        --------
        >>> from linmax.bounds import Case
        >>> Case(n=16, delta=0.1, u=[0.5, -0.5]).comparator_norm(1)
        1.0
        >>> Case(n=16, delta=0.1, u=[3, 4]).comparator_norm(2)
        5.0
        """
        return 1.0 if self.u is None else float(np.linalg.norm(self.u, q))

    def relative_entropy(self, doubled: bool = False) -> float:
        """Return RE(u || equal weights) = ln n + sum |u| ln |u| of u scaled to sum |u| = 1.

        Parameters
        ----------
        doubled : bool, default=False
            Use ln 2n: the weights are on the votes and their negatives.

        Returns
        -------
        entropy : float
            The relative entropy.

        Examples
        --------
        >>> import math
        >>> from linmax.bounds import Case
        >>> case = Case(n=12, delta=0.1, u=[1, 1, 1])
        >>> math.exp(case.relative_entropy()), math.exp(case.relative_entropy(doubled=True))
        (4.0, 8.0)
        """
        negative_entropy = 0.0
        if self.u is not None:
            share = np.abs(self.u[self.u != 0]) / self.comparator_norm(1)
            negative_entropy = float(share @ np.log(share))
        return math.log(2 * self.n if doubled else self.n) + negative_entropy


def trial_margins(u: np.ndarray, z: Any, trial: np.ndarray) -> np.ndarray:
    """Return, for each trial, by how much u prefers the label to its best rival."""
    smallest = np.full(int(trial.max()) + 1, np.inf)
    np.minimum.at(smallest, trial, z @ u)
    margins: np.ndarray = smallest[np.isfinite(smallest)]  # without trials that have no rival
    return margins


def instance_rows(instances: Any) -> tuple[Any, np.ndarray]:
    """Return the z as a sparse matrix, and the trial of each row."""
    if isinstance(instances, Instances):
        z, trial = instances.z, instances.trial
    else:
        from scipy import sparse  # slow to import

        z = sparse.csr_array(instances, dtype=np.float64)
        trial = np.arange(z.shape[0])
    if z.shape[0] == 0:
        raise ValueError("Case requires instances (got none): the data need labels and two classes")
    return z, trial
