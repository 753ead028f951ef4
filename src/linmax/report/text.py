"""Texts for people: names that fit into their place, and numbers."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 80
"""Characters of a name."""
EAST_ASIAN_WIDTHS = {"W": 1.05, "F": 1.05}
"""Widths of East Asian characters, in ems."""
THIN, BROAD = frozenset("iljtfrI.,;:'|!()[] -"), frozenset("mwMWGOQD@%<>=+~#&…")
JOINERS = "\u200c\u200d"
"""Invisible characters that some scripts need."""
DASH = "\u2013"
MINUS = "\u2212"
SPACE = "\u00a0"
"""A space at which no line is broken."""


def label(value: Any, longest: int = LONGEST_NAME) -> str:
    """Return a name in one printable line; text from right to left is isolated from its surroundings.

    Parameters
    ----------
    value : object
        The name.
    longest : int
        The largest number of characters.

    Examples
    --------
    >>> label("ham\\n and\\t eggs"), label(""), label(None), label(3.0), label("a\\x00\\u202eb")
    ('ham and eggs', '(empty)', '(none)', '3.0', 'a b')
    >>> label("x" * 500, longest=7)
    'xxx…xxx'
    """
    if value is None:
        return "(none)"
    text = str(value)[: 50 * LONGEST_NAME]
    text = " ".join("".join(map(_printable, text)).split())
    text = shorten(text, longest)
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text):
        return f"\u2068{text}\u2069"
    return text or "(empty)"


def _printable(letter: str) -> str:
    category = unicodedata.category(letter)
    if category in ("Cc", "Zl", "Zp"):
        return " "
    if category == "Cf":
        return letter if letter in JOINERS else ""
    return "\ufffd" if category == "Cs" or ord(letter) & 0xFFFE == 0xFFFE else letter


def shorten(text: str, longest: int) -> str:
    """Replace the middle of a text that is too long: similar names often differ at their ends.

    Parameters
    ----------
    text : str
        The text.
    longest : int
        The largest number of characters.

    Examples
    --------
    >>> shorten("gemini-1.5-pro-002", 11)
    'gemin…o-002'
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def breadth(text: str) -> float:
    """Estimate the width of a text in ems, in the font of any browser.

    Parameters
    ----------
    text : str
        The text.

    Examples
    --------
    >>> breadth("linmax"), breadth("iii"), breadth("漢字")
    (3.42, 0.99, 2.1)
    """
    return round(sum(map(_breadth, text)), 6)


def _breadth(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    wide = EAST_ASIAN_WIDTHS.get(unicodedata.east_asian_width(letter))
    if wide is not None:
        return wide
    if letter in THIN:
        return 0.33
    return 0.9 if letter in BROAD else 0.7 if letter.isupper() else 0.62


def fitted(text: str, room: float, size: float) -> str:
    """Shorten a text in its middle to a width in pixels.

    Parameters
    ----------
    text : str
        The text.
    room : float
        The largest width.
    size : float
        The font size.

    Examples
    --------
    >>> fitted("gemini-1.5-pro-002", room=80, size=10)
    'gemini-…ro-002'
    """
    longest = len(text)
    while longest > 3 and breadth(shorten(text, longest)) * size > room:
        longest -= 1
    return shorten(text, longest)


def listed(names: Iterable[Any], most: int, longest: int = 40) -> str:
    """Return some names, and the number of those that are omitted.

    Parameters
    ----------
    names : iterable
        The names.
    most : int
        The number of names to show.
    longest : int
        Characters of a name.

    Examples
    --------
    >>> listed(["ann", "bob", "eve", "joe"], most=2), listed(["ann"], most=2)
    ('ann, bob and 2 more', 'ann')
    """
    names = list(names)
    most = len(names) if len(names) <= most + 1 else most
    shown = ", ".join(label(name, longest) for name in names[:most])
    return shown if len(names) == most else f"{shown} and {len(names) - most:,} more"


def finite(value: Any) -> bool:
    """Return whether a value is a finite number.

    Parameters
    ----------
    value : object
        The value.
    """
    return isinstance(value, int | float) and math.isfinite(value)


def percent(part: float | None, digits: int = 1) -> str:
    """Format a fraction of 1; only 0 and 1 themselves are shown as 0 % and 100 %.

    Parameters
    ----------
    part : float or None
        The fraction.
    digits : int
        The number of decimals.

    Examples
    --------
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
    """Format a difference of two fractions in percentage points.

    Parameters
    ----------
    difference : float or None
        The difference.
    digits : int
        The number of decimals.
    sign : bool
        Whether to write a plus.

    Examples
    --------
    >>> points(0.0123), points(-0.0123), points(0.00001), points(0.0123, sign=False)
    ('+1.2', '−1.2', '0.0', '1.2')
    """
    if difference is None or not finite(difference):
        return DASH
    rounded = round(100.0 * difference, digits)
    mark = "" if rounded == 0 else MINUS if rounded < 0 else "+" * sign
    return f"{mark}{abs(rounded):.{digits}f}"


def count(number: float) -> str:
    """Format a number of things; fractions, which ties of the plurality make, are rounded.

    Parameters
    ----------
    number : float
        The number.

    Examples
    --------
    >>> count(12032), count(0), count(-3), count(86.83)
    ('12,032', '0', '−3', '87')
    """
    return f"{round(number):,}".replace("-", MINUS) if finite(number) else DASH


def decimal(number: float | None, digits: int = 3) -> str:
    """Format a number of any size.

    Parameters
    ----------
    number : float or None
        The number.
    digits : int
        The number of significant digits.

    Examples
    --------
    >>> decimal(0.123456), decimal(1234567.0), decimal(-2.0), decimal(float("inf")), decimal(None)
    ('0.123', '1.23e+06', '−2', '∞', '–')
    """
    if number is None or number != number:
        return DASH
    if math.isinf(number):
        return "∞" if number > 0 else f"{MINUS}∞"
    return f"{number:.{digits}g}".replace("-", MINUS)


def format_margin(margin: float) -> str:
    """Format a margin.

    Parameters
    ----------
    margin : float
        The margin.

    Examples
    --------
    >>> format_margin(0.8851), format_margin(0.0), format_margin(12345.0), format_margin(float("nan"))
    ('0.885', '0.000', '1.23e+04', '–')
    """
    return f"{margin:.3f}" if finite(margin) and 0.0 <= margin < 1000.0 else decimal(margin)


def p_value(p: float) -> str:
    """Format the p-value of a test.

    Parameters
    ----------
    p : float
        The p-value.

    Examples
    --------
    >>> p_value(0.00004), p_value(0.0123), p_value(0.43), p_value(1.0)
    ('p\\xa0<\\xa00.001', 'p\\xa0=\\xa00.012', 'p\\xa0=\\xa00.43', 'p\\xa0=\\xa01')
    """
    if not finite(p):
        return f"p{SPACE}unknown"
    if p < 0.001:
        return f"p{SPACE}<{SPACE}0.001"
    return f"p{SPACE}={SPACE}{p:.2g}"


def things(number: int, one: str, many: str = "") -> str:
    """Format a number with its noun.

    Parameters
    ----------
    number : int
        The number.
    one, many : str
        The noun in the singular and the plural; the plural is formed with -s by default.

    Examples
    --------
    >>> things(1, "item"), things(1200, "item"), things(2, "class", "classes")
    ('1\\xa0item', '1,200\\xa0items', '2\\xa0classes')
    """
    return f"{count(number)}{SPACE}{one if number == 1 else many or one + 's'}"
