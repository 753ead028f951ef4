"""Mercer kernels: how near two instances are in a space that is never visited."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax import _jit
from linmax import spec as _registry
from linmax.experts.base import Capacity, Source, TrialData
from linmax.experts.shared import (
    Map,
    check_map,
    difference,
    map_of,
    plain,
    product,
    sets_of,
    sharing,
    statistic_of,
)
from linmax.experts.support_vectors import SupportVectorMemory
from linmax.kernels.forms import DualVotes, Rows
from linmax.kernels.forms.support_vectors import FACTORED, GAUSSIAN, GENERAL, OWN, PLAIN, POLYNOMIAL, Mercer
from linmax.spec import Term, show

Likeness = Callable[[np.ndarray, np.ndarray], float]


class _Mercer(Term, abstract=True):
    """A kernel that linmax brings along."""

    def mercer(self) -> Mercer:
        """As the form of a kernel sees it."""
        raise NotImplementedError


@dataclass(frozen=True, repr=False)
class Gaussian(_Mercer):
    """exp(-|u - v|^2 / (2 sigma)).

    >>> from linmax.experts import Gaussian, Kernel
    >>> Kernel(Gaussian(0.07))
    Kernel(Gaussian(0.07))
    """

    sigma: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a width that is none."""
        super().__post_init__()
        if not _number(self.sigma) or not 1e-12 <= self.sigma <= 1e12:
            raise ValueError(f"Gaussian needs sigma > 0, 1e-12 to 1e12 (got {self.sigma!r})")

    def mercer(self) -> Mercer:
        """exp(-a |u - v|^2), a = 1 / (2 sigma)."""
        return Mercer(GAUSSIAN, 1.0 / (2.0 * self.sigma), 0.0, 0)


@dataclass(frozen=True, repr=False)
class Polynomial(_Mercer):
    """(u . v + offset) ^ degree.

    >>> from linmax.experts import Kernel, Polynomial
    >>> Kernel(Polynomial(2, 1.0))
    Kernel(Polynomial(2, 1.0))
    """

    degree: int = 2
    offset: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a degree that is none, and an offset that makes no kernel."""
        super().__post_init__()
        if not isinstance(self.degree, int) or isinstance(self.degree, bool) or not 1 <= self.degree <= 20:
            raise ValueError(f"Polynomial needs a whole degree from 1 to 20 (got {self.degree!r})")
        if not _number(self.offset) or not 0 <= self.offset <= 1e12:
            raise ValueError(f"Polynomial needs an offset from 0 to 1e12 (got {self.offset!r})")

    def mercer(self) -> Mercer:
        """(u . v + a) ^ b."""
        return Mercer(POLYNOMIAL, float(self.offset), float(self.degree), 0)


@dataclass(frozen=True, repr=False)
class Linear(_Mercer):
    """u . v: the same hypotheses as without a kernel.

    >>> from linmax.experts import Kernel, Linear
    >>> Kernel(Linear())
    Kernel(Linear())
    """

    def mercer(self) -> Mercer:
        """(u . v + 0) ^ 1."""
        return Mercer(POLYNOMIAL, 0.0, 1.0, 0)


def mercer_of(given: Any) -> Mercer:
    """A kernel of linmax, or a function of two vectors by name or as it is."""
    if isinstance(given, _Mercer):
        return given.mercer()
    found = _registry.find(given) if isinstance(given, str) else given
    if not inspect.isfunction(found) or len(inspect.signature(found).parameters) != 2:
        raise ValueError(
            "Kernel needs Gaussian(sigma), Polynomial(degree), Linear(), or a function of two vectors"
            f" or its registered name (got {given!r})"
        )
    return Mercer(OWN, 0.0, 0.0, _jit.reach(found, _jit.MERCER))


def check_likeness(given: Any) -> None:
    """Refuse a function that is no kernel on a few vectors: it must be symmetric, K(u, u) at least 0."""
    found = _registry.find(given) if isinstance(given, str) else given
    if not inspect.isfunction(found):
        return
    try:
        u, v = np.array([1.0, 0.5, 0.0]), np.array([-0.25, 2.0, 1.0])
        there, back, own = float(found(u, v)), float(found(v, u)), float(found(u, u))
        wider = float(found(np.append(u, 0.0), np.append(v, 0.0)))
    except Exception as error:
        raise ValueError(f"Kernel needs a function of two vectors: {error}") from None
    if wider != there:
        raise ValueError(
            f"Kernel needs K(u, v) that zeros at the end do not change (got {there} and {wider}):"
            " attributes may come later"
        )
    if not np.isfinite([there, back, own]).all() or abs(there - back) > 1e-9 * (1 + abs(there)) or own < 0:
        raise ValueError(
            f"Kernel needs K(u, v) = K(v, u), finite, and K(u, u) >= 0 (got {there}, {back} and {own})"
        )


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


DROPS = ("oldest", "smallest")
LARGEST = 150  # digits of a polynomial: sums of many must stay finite, too
MOST = 10**9  # supports in a budget
NO_BUDGET = 2**62


@dataclass(frozen=True, repr=False)
class Kernel(Source):
    """The dual Perceptron: instances it was wrong on vote for classes by how near they are to the new one.

    Fink, Shalev-Shwartz, Singer & Ullman 2006. `Kernel(Gaussian(0.07))` has a hypothesis per class (their
    multi-vector method), `Kernel(Gaussian(0.07), "difference")` one for all classes, which compares what sets
    an instance apart from its class, x - p (Eq. 11); their sum is the hybrid. Any map of `Shared` will do,
    and `sets` as there. `budget` bounds the supports: beyond it the "oldest" goes, or the one that
    contributes least ("smallest"). Only Perceptron can learn on it.

    >>> import numpy as np
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Gaussian, Kernel
    >>> rng = np.random.default_rng(0)
    >>> points = rng.uniform(-1, 1, (500, 2))
    >>> ring = (np.hypot(*points.T) < 0.7).tolist()  # no line tells inside from outside
    >>> Fusion(Perceptron().on(Kernel(Gaussian(0.05)))).learn(attributes=points, labels=ring).mistakes
    42
    """

    kernel: Any = field(default_factory=Gaussian)
    map: str | Map = "plain"
    sets: Any = None
    budget: int | None = field(default=None, kw_only=True)
    drop: str = field(default="oldest", kw_only=True)

    needs: ClassVar[str] = "rows"
    always_active: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse what is no kernel, no map, no sets or no budget."""
        super().__post_init__()
        check_map(self.map, "Kernel")
        mercer_of(self.kernel)
        check_likeness(self.kernel)
        object.__setattr__(self, "sets", sets_of(self.sets, "Kernel"))
        if self.budget is not None and (
            not isinstance(self.budget, int) or isinstance(self.budget, bool) or not 1 <= self.budget <= MOST
        ):
            raise ValueError(
                f"Kernel needs 1 <= budget <= {MOST} or None (got {self.budget!r}); 1000 is usual"
            )
        if self.drop not in DROPS:
            raise ValueError(f'Kernel needs drop "oldest" or "smallest" (got {self.drop!r})')

    def __repr__(self) -> str:
        told = [show(self.kernel)]
        told += [show(self.map)] if self.map != "plain" else []
        told += [f"sets={self.sets!r}"] if self.sets is not None else []
        told += [f"budget={self.budget}"] if self.budget is not None else []
        told += [f"drop={self.drop!r}"] if self.drop != "oldest" else []
        return f"Kernel({', '.join(told)})"

    def check_rows(self, rows: Any) -> None:
        """Refuse what a polynomial would make infinite."""
        if not isinstance(self.kernel, Polynomial) or rows is None:
            return
        values = rows.values if isinstance(rows, Rows) else rows.value
        size = float(np.abs(values).max(initial=0.0)) * math.sqrt(max(1, _width(rows)))
        length = size * size if map_of(self.map, "Kernel") is product else 2.0 * size
        reach = self.kernel.degree * math.log10(max(1.0, length * length + self.kernel.offset))
        if reach > LARGEST:
            raise ValueError(
                f"{self.kernel!r} of attributes as large as {np.abs(values).max():.3g} goes beyond"
                f" 1e{LARGEST}; scale attributes to about 1"
            )

    def check_rule(self, rule: Any) -> None:
        """Only a rule that adds z has a dual, and only where z is made once."""
        if type(rule).__name__ != "Perceptron":
            raise ValueError(f"only Perceptron() can learn on a Kernel (got {type(rule).__name__})")
        if not isinstance(rule.rivals, str):
            raise ValueError(f'a Kernel needs rivals "top", "violators" or "softmax" (got {rule.rivals!r})')

    @property
    def way(self) -> int:
        """How instances are compared."""
        phi = map_of(self.map, "Kernel")
        if phi is plain:
            return PLAIN
        return FACTORED if phi is difference and isinstance(self.kernel, Gaussian) else GENERAL

    @property
    def each(self) -> bool:
        """A hypothesis for each class: what is the same for all classes would not tell them apart."""
        return self.sets is None and self.way == PLAIN

    @property
    def label(self) -> str:
        """The kernel and the map; with sets their names follow."""
        name = f"{show(self.kernel)} of {show(self.map)}".replace("'", "")
        return name if self.sets is None else f"{name} in sets"

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """A coefficient per support and set."""
        return (room.stored, room.classes if self.each else len(self.sets or (1,)))

    def new_memory(self) -> SupportVectorMemory:
        """No support yet."""
        sets = None if self.each else len(self.sets or (1,))
        return SupportVectorMemory(self.way, statistic_of(None, self.map, "Kernel"), sets, self.budget)

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """Supports, and what it takes to compare a trial with them."""
        mercer = mercer_of(self.kernel)
        memory.make_current(mercer)
        return DualVotes(
            data.rows, sharing(self.sets, names.classes, room.classes, each=self.each),
            memory.portraits.portraits(), memory.supports, memory.scratch, mercer,
            _jit.reach(map_of(self.map, "Kernel"), _jit.FEATURE), self.way, int(self.each),
            int(self.sets is None and not self.each),
            NO_BUDGET if self.budget is None else self.budget, int(self.drop == "smallest"),
        )  # fmt: skip

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Coefficients by support (numbered as they came) and class or set."""
        label = self.label
        sets = names.classes.names if self.each else [name for name, _ in self.sets or ()] or [None]
        for j, born in enumerate(memory.supports.born[: memory.count].tolist()):
            for s, name in enumerate(sets):
                yield ((label, born, name) if name is not None else (label, born)), (j, s)

    def owner(self, key: Any) -> Any:
        """The support, whatever the set."""
        return key[:2]


def _width(rows: Any) -> int:
    """The most attributes a row has."""
    return int(rows.values.shape[1] if isinstance(rows, Rows) else np.diff(rows.indptr).max(initial=0))
