"""Numbers as a reader wants them; what is not a number is a dash."""

from __future__ import annotations

import math
from typing import Any

DASH = "\u2013"
MINUS = "\u2212"
SPACE = "\u00a0"  # which no line is broken at


def finite(value: Any) -> bool:
    """Whether there is a number to show."""
    return isinstance(value, int | float) and math.isfinite(value)


def percent(part: float | None, digits: int = 1) -> str:
    """A part of 1; what is not quite all or nothing does not look so.

    >>> percent(0.7613), percent(0.99999), percent(1.0), percent(0.0001), percent(None)
    ('76.1\\xa0%', '>\\xa099.9\\xa0%', '100\\xa0%', '<\\xa00.1\\xa0%', '–')
    """
    if part is None or not finite(part):
        return DASH
    if part in (0.0, 1.0):
        return f"{part:.0%}".replace("%", f"{SPACE}%")
    least = 10.0**-digits / 100.0
    if 0.0 < part < least / 2:
        return f"<{SPACE}{100 * least:.{digits}f}{SPACE}%"
    if 1.0 - least / 2 < part < 1.0:
        return f">{SPACE}{100 * (1.0 - least):.{digits}f}{SPACE}%"
    return f"{100 * part:.{digits}f}{SPACE}%".replace("-", MINUS)


def points(difference: float | None, digits: int = 1, *, sign: bool = True) -> str:
    """A difference of two parts of 1, in percentage points.

    >>> points(0.0123), points(-0.0123), points(0.00001), points(0.0123, sign=False)
    ('+1.2', '−1.2', '0.0', '1.2')
    """
    if difference is None or not finite(difference):
        return DASH
    rounded = round(100.0 * difference, digits)
    mark = "" if rounded == 0 else MINUS if rounded < 0 else "+" * sign
    return f"{mark}{abs(rounded):.{digits}f}"


def count(number: float) -> str:
    """A number of things.

    >>> count(12032), count(0), count(-3)
    ('12,032', '0', '−3')
    """
    return f"{int(number):,}".replace("-", MINUS) if finite(number) else DASH


def decimal(number: float | None, digits: int = 3) -> str:
    """A number of no particular size.

    >>> decimal(0.123456), decimal(1234567.0), decimal(-2.0), decimal(float("inf")), decimal(None)
    ('0.123', '1.23e+06', '−2', '∞', '–')
    """
    if number is None or number != number:
        return DASH
    if math.isinf(number):
        return "∞" if number > 0 else f"{MINUS}∞"
    return f"{number:.{digits}g}".replace("-", MINUS)


def lead(margin: float) -> str:
    """How far a guess is ahead.

    >>> lead(0.8851), lead(0.0), lead(12345.0), lead(float("nan"))
    ('0.885', '0.000', '1.23e+04', '–')
    """
    return f"{margin:.3f}" if finite(margin) and 0.0 <= margin < 1000.0 else decimal(margin)


def chance(p: float) -> str:
    """The p of a test.

    >>> chance(0.00004), chance(0.0123), chance(0.43), chance(1.0)
    ('p\\xa0<\\xa00.001', 'p\\xa0=\\xa00.012', 'p\\xa0=\\xa00.43', 'p\\xa0=\\xa01')
    """
    if not finite(p):
        return f"p{SPACE}unknown"
    if p < 0.001:
        return f"p{SPACE}<{SPACE}0.001"
    return f"p{SPACE}={SPACE}{p:.2g}"


def things(number: int, one: str, many: str = "") -> str:
    """So many of something.

    >>> things(1, "item"), things(1200, "item"), things(2, "class", "classes")
    ('1\\xa0item', '1,200\\xa0items', '2\\xa0classes')
    """
    return f"{count(number)}{SPACE}{one if number == 1 else many or one + 's'}"
