"""Numbers as floats within limits, so that kernels can multiply them without overflow."""

import sys
from enum import Enum
from math import copysign, inf, log10, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.encode import contiguous, row_blocks
from linmax.inputs.names import is_pandas_na
from linmax.validation import LARGEST_NUMBER, SMALLEST_NUMBER

Numbers = NDArray[np.float64]

SCALE = f"at most {LARGEST_NUMBER:g}".replace("+", "")
SCORE_TYPES = (float, int, np.integer, np.floating, np.bool_)


def limit_numbers(values: Numbers) -> Numbers | None:
    """Return the values with 0 for tiny ones (in a copy); None if one is NaN, infinite or too large.

    >>> limit_numbers(np.array([2.0, -1e-70]))
    array([2., 0.])
    >>> limit_numbers(np.array([2.0, -1e70])) is None, limit_numbers(np.array([np.nan])) is None
    (True, True)
    """
    tiny = False
    for rows in row_blocks(values):
        size = np.abs(values[rows])
        if not size.max(initial=0) <= LARGEST_NUMBER:  # also true of NaN
            return None
        if not tiny and size.min(initial=1) < SMALLEST_NUMBER:
            tiny = bool(np.count_nonzero(size < SMALLEST_NUMBER) > np.count_nonzero(size == 0))
    return np.where(np.abs(values) < SMALLEST_NUMBER, 0.0, values) if tiny else values


def limit_number(value: float) -> float | None:
    """Return one value, 0 if it is tiny; None if it is NaN, infinite or too large."""
    size = abs(value)
    if size >= SMALLEST_NUMBER:
        return value if size <= LARGEST_NUMBER else None
    return 0.0 if size == size else None


def first_invalid(values: Numbers) -> tuple[int, ...]:
    """Return the position of the first value that is NaN, infinite or too large."""
    return tuple(np.argwhere(~(np.abs(values) <= LARGEST_NUMBER))[0].tolist())


def to_floats(array: NDArray[Any]) -> Numbers:
    """Convert an array of numbers, or of objects that are numbers, to floats; missing values become NaN."""
    if array.dtype.kind == "O":
        try:
            return contiguous(array, np.float64)
        except (TypeError, ValueError, OverflowError):  # pandas' NA, a huge integer, or not a number
            return np.array([to_float(cell) for cell in array.ravel().tolist()], float).reshape(array.shape)
    with np.errstate(over="ignore"):  # a long double may become infinite, which is an error later
        return contiguous(array, np.float64)


def to_float(value: Any) -> float:
    """Convert one number; an integer beyond the range of floats becomes the largest float (too large, too).

    >>> to_float(3), to_float(None), to_float(-(10**400))
    (3.0, nan, -1.7976931348623157e+308)
    """
    if value is None or is_pandas_na(value):
        return nan
    try:
        return float(value)
    except OverflowError:
        return copysign(sys.float_info.max, 1 if value > 0 else -1)


def format_number(value: Any) -> str:
    """Format a number for a message, however many digits it has.

    >>> format_number(1e300), format_number(-(10**400)), format_number(np.float64(0.5))
    ('1e+300', '-1e+400', '0.5')
    """
    if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
        return f"{'-' * (value < 0)}1e+{int(log10(abs(value)))}"
    return str(value)


def too_large(value: Any) -> bool:
    """Whether a number is finite but too large."""
    return bool(LARGEST_NUMBER < abs(value) < inf)


class ItemError(ValueError):
    """What is wrong with one item of a batch.

    Parameters
    ----------
    item : object
        Its number in the batch.
    reason : str
        What is wrong.
    """

    def __init__(self, item: Any, reason: str) -> None:
        super().__init__(item, reason)  # the arguments, with which it is made again in another process
        self.item, self.reason = item, reason

    def __str__(self) -> str:
        return f"item {self.item}: {self.reason}"


def score_error(item: Any, expert: Any, label: Any, score: Any) -> ItemError:
    """Return the error for a score that is not a number, not finite or too large."""
    if not isinstance(score, SCORE_TYPES):
        hint, shown = "scores must be numbers (int or float)", repr(score)
    else:
        hint = f"scale scores to {SCALE}" if too_large(score) else "scores must be finite"
        shown = format_number(score)
    if isinstance(label, Enum):
        label = label.value
    return ItemError(item, f"expert {expert!r} gives {label!r} the score {shown}; {hint}")


def first_non_number(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Return the position of the first object that is neither a number nor missing; None if there is none."""
    wrong = {
        kind
        for kind in set(map(type, array.flat))
        if not issubclass(kind, (*SCORE_TYPES, type(None))) and kind.__name__ not in ("NAType", "NaTType")
    }
    if not wrong:
        return None
    first = next(i for i, cell in enumerate(array.flat) if type(cell) in wrong)
    return tuple(int(i) for i in np.unravel_index(first, array.shape))
