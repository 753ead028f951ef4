"""What a state from a file must be like: kernels trust it blindly, so nobody else may."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np


def check_array(
    state: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kind: Any,
    low: int | None = None, high: int | None = None, *, finite: bool = True,
) -> None:  # fmt: skip
    """An array of this shape and type, with numbers in low <= x < high."""
    array = state[name]
    require(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if low is not None and high is not None and array.size:
        require(bool(array.min() >= low) and bool(array.max() < high), f"{name} has values out of range")
    if finite and np.issubdtype(kind, np.floating):
        require(bool(np.isfinite(array).all()), f"{name} has numbers that are not finite")


def require(condition: bool, what: str) -> None:
    """A ValueError that says what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(what)


def check_integer(who: str, name: str, value: int, least: int) -> None:
    """Demand a whole number that is large enough.

    >>> check_integer("majority", "trials", -3, 0)
    Traceback (most recent call last):
    ValueError: majority needs a whole number trials >= 0 (got -3)
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{who} needs a whole number {name} >= {least} (got {value})")


def check_probability(who: str, name: str, value: float) -> None:
    """Demand a probability.

    >>> check_probability("majority", "noise", 1.5)
    Traceback (most recent call last):
    ValueError: majority needs 0 <= noise <= 1 (got 1.5)
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{who} needs 0 <= {name} <= 1 (got {value})")


def check_panel_size(who: str, name: str, value: int, experts: int) -> None:
    """Demand that those who decide are among the experts.

    >>> check_panel_size("majority", "relevant", 30, 20)
    Traceback (most recent call last):
    ValueError: majority needs relevant <= experts (got relevant=30, experts=20)
    """
    check_integer(who, name, value, 1)
    check_integer(who, "experts", experts, 1)
    if value > experts:
        raise ValueError(f"{who} needs {name} <= experts (got {name}={value}, experts={experts})")


DISTRIBUTIONS = {"sklearn": "scikit-learn", "river": "River"}


def require_extra(module_name: str, extra: str, purpose: str) -> ModuleType:
    """Import a module of an optional dependency.

    Parameters
    ----------
    module_name : str
        The module to import, for example "sklearn.svm".
    extra : str
        The extra of linmax that installs it.
    purpose : str
        What needs the module; the error message begins with it.

    Returns
    -------
    module : module
        The imported module.

    Raises
    ------
    ImportError
        If the distribution is not installed. The message is one sentence with the command that installs it.

    Examples
    --------
    >>> require_extra("dosk", "dask", "linmax.scale")
    Traceback (most recent call last):
    ImportError: linmax.scale requires dosk, which is not installed: pip install 'linmax[dask]'
    """
    package = module_name.partition(".")[0]
    try:
        importlib.import_module(package)
    except ImportError as error:
        name = DISTRIBUTIONS.get(package, package)
        raise ImportError(
            f"{purpose} requires {name}, which is not installed: pip install 'linmax[{extra}]'"
        ) from error
    return importlib.import_module(module_name)
