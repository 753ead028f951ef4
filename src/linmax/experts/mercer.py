"""Mercer kernels: how near two instances are in a space that is never visited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linmax import _jit, _registry
from linmax.forms.supports import GAUSSIAN, OWN, POLYNOMIAL, Mercer
from linmax.terms import Term

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
