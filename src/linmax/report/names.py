"""Names of experts and classes as a page shows them: whatever they are, on one line and of some length."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

LONGEST = 80  # letters of a name
WIDTHS = {"W": 1.05, "F": 1.05}  # of East Asian letters, in ems
THIN, BROAD = frozenset("iljtfrI.,;:'|!()[] -"), frozenset("mwMWGOQD@%")
JOINERS = "\u200c\u200d"  # which some scripts cannot do without


def label(value: Any, longest: int = LONGEST) -> str:
    """A name that cannot leave its place: no control characters, no line breaks, right-to-left kept apart.

    >>> label("ham\\n and\\t eggs"), label(""), label(None), label(3.0), label("a\\x00\\u202eb")
    ('ham and eggs', '(empty)', '(none)', '3.0', 'a b')
    >>> label("x" * 500, longest=7)
    'xxx…xxx'
    """
    if value is None:
        return "(none)"
    text = str(value)[: 50 * LONGEST]
    text = " ".join("".join(map(_printable, text)).split())
    text = halved(text, longest)
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text):
        return f"\u2068{text}\u2069"  # isolated: what stands beside it keeps its order
    return text or "(empty)"


def _printable(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Zl", "Zp"):
        return " "
    if kind == "Cf":
        return letter if letter in JOINERS else ""
    return "\ufffd" if kind == "Cs" or ord(letter) & 0xFFFE == 0xFFFE else letter


def halved(text: str, longest: int) -> str:
    """The beginning and the end of a text that is too long: names of a family often differ at their ends."""
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


def breadth(text: str) -> float:
    """About how wide a text is, in ems, in whatever font a browser takes.

    >>> breadth("linmax"), breadth("iii"), breadth("漢字")
    (3.42, 0.99, 2.1)
    """
    return round(sum(map(_breadth, text)), 6)


def _breadth(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0.0
    wide = WIDTHS.get(unicodedata.east_asian_width(letter))
    if wide is not None:
        return wide
    if letter in THIN:
        return 0.33
    return 0.9 if letter in BROAD else 0.7 if letter.isupper() else 0.62


def fitted(text: str, room: float, size: float) -> str:
    """A text shortened in its middle to so many pixels, in letters of this size.

    >>> fitted("gemini-1.5-pro-002", room=80, size=10)
    'gemini-…ro-002'
    """
    longest = len(text)
    while longest > 3 and breadth(halved(text, longest)) * size > room:
        longest -= 1
    return halved(text, longest)


def listed(names: Iterable[Any], most: int, longest: int = 40) -> str:
    """Some names in a sentence, and how many more there are.

    >>> listed(["ann", "bob", "eve", "joe"], most=2), listed(["ann"], most=2)
    ('ann, bob and 2 more', 'ann')
    """
    names = list(names)
    most = len(names) if len(names) <= most + 1 else most
    shown = ", ".join(label(name, longest) for name in names[:most])
    return shown if len(names) == most else f"{shown} and {len(names) - most:,} more"
