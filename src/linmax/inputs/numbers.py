"""How large and how small numbers may be, so that kernels can multiply them without a thought."""

import sys
from enum import Enum
from math import copysign, inf, log10, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.encode import blocks, plainly
from linmax.inputs.names import is_pandas_na

Numbers = NDArray[np.float64]

LARGEST = 1e60
SMALLEST = 1e-60  # whatever is smaller is read as 0
SCALE = "at most 1e60"
NUMBERS = (float, int, np.integer, np.floating, np.bool_)  # what may be a score


def within(values: Numbers) -> Numbers | None:
    """The values, with 0 for tiny ones (in a copy); None if one is NaN, infinite or too large.

    >>> within(np.array([2.0, -1e-70]))
    array([2., 0.])
    >>> within(np.array([2.0, -1e70])) is None, within(np.array([np.nan])) is None
    (True, True)
    """
    tiny = False
    for rows in blocks(values):
        size = np.abs(values[rows])
        if not size.max(initial=0) <= LARGEST:  # nor is NaN
            return None
        if not tiny and size.min(initial=1) < SMALLEST:
            tiny = bool(np.count_nonzero(size < SMALLEST) > np.count_nonzero(size == 0))
    return np.where(np.abs(values) < SMALLEST, 0.0, values) if tiny else values


def beyond(values: Numbers) -> tuple[int, ...]:
    """Where the first value is that is NaN, infinite or too large."""
    return tuple(np.argwhere(~(np.abs(values) <= LARGEST))[0].tolist())


def floats(array: NDArray[Any]) -> Numbers:
    """An array of numbers, or of objects that are, as floats in rows; what is missing is NaN."""
    if array.dtype.kind == "O":
        try:
            return plainly(array, np.float64)
        except (TypeError, ValueError, OverflowError):  # pandas' NA, a huge integer, or no number at all
            return np.array([number(cell) for cell in array.ravel().tolist()], float).reshape(array.shape)
    with np.errstate(over="ignore"):  # of long doubles: infinite then, and refused
        return plainly(array, np.float64)


def number(value: Any) -> float:
    """One number as a float; an integer beyond all floats is the largest float, which is too large as well.

    >>> number(3), number(None), number(-(10**400))
    (3.0, nan, -1.7976931348623157e+308)
    """
    if value is None or is_pandas_na(value):
        return nan
    try:
        return float(value)
    except OverflowError:
        return copysign(sys.float_info.max, 1 if value > 0 else -1)


def fitting(value: float) -> float | None:
    """The same for one value: itself, 0 if it is tiny, None if it is NaN, infinite or too large."""
    size = abs(value)
    if size >= SMALLEST:
        return value if size <= LARGEST else None
    return 0.0 if size == size else None


def shown(value: Any) -> str:
    """A number in a sentence, however many digits it has.

    >>> shown(1e300), shown(-(10**400)), shown(np.float64(0.5))
    ('1e+300', '-1e+400', '0.5')
    """
    if isinstance(value, int) and abs(value) > LARGEST:
        return f"{'-' * (value < 0)}1e+{int(log10(abs(value)))}"
    return str(value)


def huge(value: Any) -> bool:
    """Whether a number is finite, but too large."""
    return bool(LARGEST < abs(value) < inf)


def score_error(item: Any, expert: Any, label: Any, score: Any) -> ValueError:
    """Say what is wrong with a score."""
    if not isinstance(score, NUMBERS):
        cure, said = "scores must be numbers (int or float)", repr(score)
    else:
        cure, said = f"scale scores to {SCALE}" if huge(score) else "scores must be finite", shown(score)
    if isinstance(label, Enum):
        label = label.value
    return ValueError(f"item {item}: expert {expert!r} gives {label!r} the score {said}; {cure}")


def odd_score(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Where an array of objects first has one that is neither a number nor missing."""
    odd = {
        kind
        for kind in set(map(type, array.flat))
        if not issubclass(kind, (*NUMBERS, type(None))) and kind.__name__ not in ("NAType", "NaTType")
    }
    if not odd:
        return None
    first = next(i for i, cell in enumerate(array.flat) if type(cell) in odd)
    return tuple(int(i) for i in np.unravel_index(first, array.shape))
