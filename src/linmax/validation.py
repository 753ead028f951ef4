"""Checks of parameters, of numbers and of arrays from model files, and of optional dependencies."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np

LARGEST_NUMBER = 1e60
"""The largest absolute value of a score or an attribute; products of several of them stay finite."""

SMALLEST_NUMBER = 1e-60
"""Scores and attributes with a smaller absolute value are read as 0."""

DISTRIBUTIONS = {"sklearn": "scikit-learn", "river": "River", "prometheus_client": "prometheus-client"}


class DataWarning(NamedTuple):
    """Something in the data that a user should know before believing a result.

    Attributes
    ----------
    code : str
        A fixed name, such as "sorted-by-label"; `docs/warnings.md` lists all of them.
    severity : {"grave", "note"}
        With a grave warning there is no verdict.
    text : str
        One sentence, without a full stop.
    """

    code: str
    severity: Literal["grave", "note"]
    text: str


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float (a bool is neither).

    >>> is_number(3), is_number(0.5), is_number(True), is_number("3")
    (True, True, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether a value is an int or a float (not a bool) that a float can hold.

    >>> is_finite(3), is_finite(float("inf")), is_finite(10**400)
    (True, False, False)
    """
    return is_number(value) and abs(value) <= sys.float_info.max


def is_integer(value: Any, least: int | None = None, most: int | None = None) -> bool:
    """Whether a value is an int (not a bool) with least <= value <= most.

    >>> is_integer(3, 1, 5), is_integer(0, 1), is_integer(True), is_integer(3.0)
    (True, False, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return (least is None or value >= least) and (most is None or value <= most)


def require(condition: bool, message: str) -> None:
    """Raise a ValueError with this message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def check_integer(owner: str, name: str, value: Any, least: int) -> None:
    """Require an integer parameter with value >= least.

    >>> check_integer("majority", "trials", -3, 0)
    Traceback (most recent call last):
    ValueError: majority requires an integer trials >= 0 (got -3)
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{owner} requires an integer {name} >= {least} (got {value!r})")


def check_probability(owner: str, name: str, value: float) -> None:
    """Require a parameter in [0, 1].

    >>> check_probability("majority", "noise", 1.5)
    Traceback (most recent call last):
    ValueError: majority requires 0 <= noise <= 1 (got 1.5)
    """
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ValueError(f"{owner} requires 0 <= {name} <= 1 (got {value!r})")


def check_choice(owner: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Require one of a few texts.

    >>> check_choice("Kernel", "drop", "newest", ("oldest", "smallest"))
    Traceback (most recent call last):
    ValueError: Kernel requires drop "oldest" or "smallest" (got 'newest')
    """
    if value not in choices:
        *others, last = [f'"{choice}"' for choice in choices]
        raise ValueError(f"{owner} requires {name} {', '.join(others)} or {last} (got {value!r})")


def check_panel_size(owner: str, name: str, value: int, experts: int) -> None:
    """Require 1 <= value <= experts, both integers.

    >>> check_panel_size("majority", "relevant", 30, 20)
    Traceback (most recent call last):
    ValueError: majority requires relevant <= experts (got relevant=30, experts=20)
    """
    check_integer(owner, name, value, 1)
    check_integer(owner, "experts", experts, 1)
    if value > experts:
        raise ValueError(f"{owner} requires {name} <= experts (got {name}={value}, experts={experts})")


def check_array(
    state: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kind: Any,
    low: int | None = None, high: int | None = None, *, finite: bool = True,
) -> None:  # fmt: skip
    """Check an array of a loaded state, because kernels do no checks.

    Parameters
    ----------
    state : dict of str to ndarray
        The arrays of a model file.
    name : str
        The array to check.
    shape : tuple of int
        The shape it must have.
    kind : dtype
        The type it must have.
    low, high : int, optional
        Values must be in low <= value < high. Both are given, or neither.
    finite : bool, default True
        Whether floating-point values must be finite.

    Raises
    ------
    ValueError
        If the array differs. The message names the array.
    """
    array = state[name]
    require(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if low is not None and high is not None and array.size:
        require(bool(array.min() >= low) and bool(array.max() < high), f"{name} has values out of range")
    if finite and np.issubdtype(kind, np.floating):
        require(bool(np.isfinite(array).all()), f"{name} has numbers that are not finite")


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


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count_noun(1, "key"), count_noun(1200, "key")
    ('1 key', '1,200 keys')
    """
    return f"{number:,} {noun}{'s' * (number != 1)}"
