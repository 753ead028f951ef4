"""The source Kernel (the dual Perceptron), and the Mercer kernels Gaussian, Polynomial and Linear."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit import addresses
from linmax.experts.base import Capacity, Source, TrialData
from linmax.experts.shared import (
    Map,
    check_map,
    default_statistic,
    find_map,
    read_sets,
    sharing,
)
from linmax.experts.support_vectors import SupportVectorMemory
from linmax.kernels.forms import DualVotes, Rows
from linmax.kernels.forms.shared import difference, plain, product
from linmax.kernels.forms.support_vectors import FACTORED, GAUSSIAN, GENERAL, OWN, PLAIN, POLYNOMIAL, Mercer
from linmax.spec import Term, find, show
from linmax.validation import check_choice, is_integer, is_number

DROPS = ("oldest", "smallest")
MAX_DIGITS = 150  # of a polynomial kernel's values, so that sums of many stay finite
MAX_BUDGET = 10**9
NO_BUDGET = 2**62


class MercerKernel(Term, abstract=True):
    """A kernel function of linmax."""

    def mercer(self) -> Mercer:
        """Return the kernel function as compiled code reads it."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Gaussian(MercerKernel):
    """The kernel exp(-|u - v|^2 / (2 sigma)).

    Parameters
    ----------
    sigma : float, default 1.0
        The width, 1e-12 to 1e12.

    Examples
    --------
    >>> from linmax.experts import Gaussian, Kernel
    >>> Kernel(Gaussian(0.07))
    Kernel(Gaussian(0.07))
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        """Check the width."""
        super().__post_init__()
        if not is_number(self.sigma) or not 1e-12 <= self.sigma <= 1e12:
            raise ValueError(f"Gaussian requires 1e-12 <= sigma <= 1e12 (got {self.sigma!r}); 1 is usual")

    def mercer(self) -> Mercer:
        """exp(-a |u - v|^2), a = 1 / (2 sigma)."""
        return Mercer(GAUSSIAN, 1.0 / (2.0 * self.sigma), 0.0, 0)


@dataclass(frozen=True, repr=False)
class Polynomial(MercerKernel):
    """The kernel (u . v + offset)^degree.

    Parameters
    ----------
    degree : int, default 2
        The degree, 1 to 20.
    offset : float, default 1.0
        The offset, 0 to 1e12.

    Examples
    --------
    >>> from linmax.experts import Kernel, Polynomial
    >>> Kernel(Polynomial(2, 1.0))
    Kernel(Polynomial(2, 1.0))
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        """Check the degree and the offset."""
        super().__post_init__()
        if not is_integer(self.degree, 1, 20):
            raise ValueError(
                f"Polynomial requires an integer degree from 1 to 20 (got {self.degree!r}); 2 is usual"
            )
        if not is_number(self.offset) or not 0 <= self.offset <= 1e12:
            raise ValueError(f"Polynomial requires 0 <= offset <= 1e12 (got {self.offset!r}); 1 is usual")

    def mercer(self) -> Mercer:
        """(u . v + a)^b."""
        return Mercer(POLYNOMIAL, float(self.offset), float(self.degree), 0)


@dataclass(frozen=True, repr=False)
class Linear(MercerKernel):
    """The kernel u . v, with which hypotheses are the same as without a kernel.

    Examples
    --------
    >>> from linmax.experts import Kernel, Linear
    >>> Kernel(Linear())
    Kernel(Linear())
    """

    def mercer(self) -> Mercer:
        """(u . v + 0)^1."""
        return Mercer(POLYNOMIAL, 0.0, 1.0, 0)


@dataclass(frozen=True, repr=False)
class Kernel(Source):
    """The dual Perceptron: support vectors vote by their similarity to the item in an implicit feature space.

    score(r) = sum over support vectors j and sets of r of alpha_j K(phi(x, p_r), z_j)

    A support vector is an instance of a trial on which the learner erred, as it was at that trial. Only
    `Perceptron` can learn on this source.

    Parameters
    ----------
    kernel : Gaussian, Polynomial, Linear, function or str, default Gaussian()
        The Mercer kernel K(u, v), or a function of two vectors, which is saved by the name it is registered
        under with `linmax.register`.
    map : str or function, default "plain"
        The map phi(x, p) of `Shared`. "plain" compares items themselves, with one hypothesis per class (the
        multi-vector method of the paper); "difference" compares x - p with one hypothesis for all classes
        (Eq. 11 of the paper). Their sum is the hybrid.
    sets : dict, optional
        Groups of classes with a hypothesis each, as in `Shared`.
    budget : int, optional
        The largest number of support vectors. Default: no limit.
    drop : {"oldest", "smallest"}, default "oldest"
        Which support vector is dropped when the budget is used up: the oldest, or the one that contributes
        least.

    Notes
    -----
    The key of a weight is ``(label, number of the support vector, class or set)``, where the label names
    kernel and map.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman (2006). Online multiclass learning by interclass
    hypothesis sharing.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Gaussian, Kernel
    >>> rng = np.random.default_rng(0)
    >>> points = rng.uniform(-1, 1, (500, 2))
    >>> ring = (np.hypot(*points.T) < 0.7).tolist()  # no line separates inside from outside
    >>> Fusion(Perceptron().on(Kernel(Gaussian(0.05)))).learn(attributes=points, labels=ring).mistakes
    42
    """

    kernel: Any = field(default_factory=Gaussian)
    map: str | Map = "plain"
    sets: Any = field(default=None, kw_only=True)
    budget: int | None = field(default=None, kw_only=True)
    drop: str = field(default="oldest", kw_only=True)

    needs: ClassVar[str] = "rows"
    always_active: ClassVar[bool] = True
    once_positional: ClassVar[tuple[str, ...]] = ("sets",)

    def __post_init__(self) -> None:
        """Check the kernel, the map, the sets and the budget."""
        super().__post_init__()
        check_map(self.map, "Kernel")
        check_mercer(self.kernel)  # as Python: what fails there is not compiled
        find_mercer(self.kernel)
        object.__setattr__(self, "sets", read_sets(self.sets, "Kernel"))
        if self.budget is not None and not is_integer(self.budget, 1, MAX_BUDGET):
            raise ValueError(
                f"Kernel requires 1 <= budget <= {MAX_BUDGET} or None (got {self.budget!r}); 1000 is usual"
            )
        check_choice("Kernel", "drop", self.drop, DROPS)

    def __repr__(self) -> str:
        arguments = [show(self.kernel)]
        arguments += [show(self.map)] if self.map != "plain" else []
        arguments += [f"sets={self.sets!r}"] if self.sets is not None else []
        arguments += [f"budget={self.budget}"] if self.budget is not None else []
        arguments += [f"drop={self.drop!r}"] if self.drop != "oldest" else []
        return f"Kernel({', '.join(arguments)})"

    def check_rows(self, rows: Any) -> None:
        """Raise a ValueError if values of a polynomial kernel could overflow."""
        if not isinstance(self.kernel, Polynomial) or rows is None:
            return
        values = rows.values if isinstance(rows, Rows) else rows.value
        size = float(np.abs(values).max(initial=0.0)) * math.sqrt(max(1, _row_length(rows)))
        length = size * size if find_map(self.map, "Kernel") is product else 2.0 * size
        digits = self.kernel.degree * math.log10(max(1.0, length * length + self.kernel.offset))
        if digits > MAX_DIGITS:
            raise ValueError(
                f"{self.kernel!r} of attributes as large as {np.abs(values).max():.3g} exceeds"
                f" 1e{MAX_DIGITS}; scale attributes to about 1"
            )

    def check_rule(self, rule: Any) -> None:
        """Raise a ValueError unless the rule adds z, which is what has a dual form, once per trial."""
        if type(rule).__name__ != "Perceptron":
            raise ValueError(
                f"only Perceptron can learn on a Kernel (got {type(rule).__name__}); use Perceptron().on(...)"
            )
        if not isinstance(rule.rivals, str):
            raise ValueError(f'Kernel requires rivals "top", "violators" or "softmax" (got {rule.rivals!r})')

    @property
    def way(self) -> int:
        """How instances are compared: PLAIN, FACTORED or GENERAL."""
        phi = find_map(self.map, "Kernel")
        if phi is plain:
            return PLAIN
        return FACTORED if phi is difference and isinstance(self.kernel, Gaussian) else GENERAL

    @property
    def each(self) -> bool:
        """Whether each class has a hypothesis; one for all could not separate them under the plain map."""
        return self.sets is None and self.way == PLAIN

    @property
    def label(self) -> str:
        """The kernel and the map."""
        name = f"{show(self.kernel)} of {show(self.map)}".replace("'", "")
        return name if self.sets is None else f"{name} in sets"

    @property
    def single_item(self) -> bool:
        """Not supported: every item changes the arrays of the memory."""
        return False

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One coefficient per support vector and set."""
        return (capacity.stored, capacity.classes if self.each else len(self.sets or (1,)))

    def new_memory(self) -> SupportVectorMemory:
        """Return a memory without support vectors."""
        sets = None if self.each else len(self.sets or (1,))
        return SupportVectorMemory(self.way, default_statistic(self.map), sets, self.budget)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the attributes, the support vectors, and what it takes to compare them."""
        mercer = find_mercer(self.kernel)
        memory.start_trials(mercer)
        return DualVotes(
            data.rows, sharing(self.sets, names.classes, capacity.classes, each=self.each),
            memory.statistics.struct(), memory.supports, memory.scratch, mercer,
            addresses.reach(find_map(self.map, "Kernel"), addresses.FEATURE), self.way, int(self.each),
            int(self.sets is None and not self.each),
            NO_BUDGET if self.budget is None else self.budget, int(self.drop == "smallest"),
        )  # fmt: skip

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by support vector, in order of insertion, and class or set."""
        label = self.label
        sets = names.classes.names if self.each else [name for name, _ in self.sets or ()] or [None]
        for j, born in enumerate(memory.supports.born[: memory.count].tolist()):
            for s, name in enumerate(sets):
                yield ((label, born, name) if name is not None else (label, born)), (j, s)

    def owner(self, key: Any) -> Any:
        """Return the support vector."""
        return key[:2]


def find_mercer(given: Any) -> Mercer:
    """Return a kernel that is given as a MercerKernel, as a function of two vectors, or by name."""
    if isinstance(given, MercerKernel):
        return given.mercer()
    found = find(given) if isinstance(given, str) else given
    if not inspect.isfunction(found) or len(inspect.signature(found).parameters) != 2:
        raise ValueError(
            "Kernel requires Gaussian(sigma), Polynomial(degree), Linear(), or a function of two vectors"
            f" or its registered name (got {given!r})"
        )
    return Mercer(OWN, 0.0, 0.0, addresses.reach(found, addresses.MERCER))


def check_mercer(given: Any) -> None:
    """Require of a function, on a few vectors, K(u, v) = K(v, u) and K(u, u) >= 0."""
    found = find(given) if isinstance(given, str) else given
    if not inspect.isfunction(found):
        return
    try:
        u, v = np.array([1.0, 0.5, 0.0]), np.array([-0.25, 2.0, 1.0])
        uv, vu, uu = float(found(u, v)), float(found(v, u)), float(found(u, u))
        longer = float(found(np.append(u, 0.0), np.append(v, 0.0)))
    except Exception as error:
        raise ValueError(f"Kernel requires a function of two vectors; the given one fails: {error}") from None
    if longer != uv:
        raise ValueError(
            f"Kernel requires a K(u, v) that zeros at the end of u and v do not change, because attributes"
            f" may be added later (got {uv} and {longer})"
        )
    if not np.isfinite([uv, vu, uu]).all() or abs(uv - vu) > 1e-9 * (1 + abs(uv)) or uu < 0:
        raise ValueError(
            f"Kernel requires K(u, v) = K(v, u), finite, and K(u, u) >= 0 (got {uv}, {vu} and {uu})"
        )


def _row_length(rows: Any) -> int:
    """Return the largest number of attributes of a row."""
    return int(rows.values.shape[1] if isinstance(rows, Rows) else np.diff(rows.indptr).max(initial=0))
