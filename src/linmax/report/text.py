"""The answer in plain words: is linmax better, by how much, and is that real?"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from typing import Any

from linmax.evaluate.compare import Gain
from linmax.evaluate.findings import Findings, Standing, Versus

DID = {"better": "beat", "worse": "did worse than", "no difference seen": "cannot be told apart from"}
MEANS = {
    "better": "a real gain",
    "worse": "a real loss",
    "no difference seen": "no more than chance may do",
}


def answer(findings: Findings) -> str:
    """One sentence.

    >>> from linmax.evaluate.compare import gain
    >>> one, other = gain(1000, 60, 30), gain(1000, 30, 60)
    >>> print(compared([Versus("plurality", "", "all", one), Versus("best expert", "ann", "all", other)]))
    linmax beat the plurality of the experts, but did worse than the best of them.
    """
    if not findings.trials:
        return "No item has a label that can be checked, so nothing can be said about who is right."
    found = [one for one in findings.versus if one.part == "all" and one.gain.trials]
    if found:
        return compared(found)
    return f"linmax was right on {percent(_linmax(findings))} of {things(findings.trials, 'item')}."


def compared(found: list[Versus]) -> str:
    """What the tests say of linmax against the others, in one sentence."""
    did = [DID[one.gain.verdict] for one in found]
    others = [_other(one.other) for one in found]
    if len(set(did)) == 1:
        if len(found) > 1 and found[0].gain.verdict == "no difference seen":
            return f"linmax {did[0]} {' or '.join(others)}."
        return f"linmax {did[0]} {'both ' * (len(found) == 2)}{' and '.join(others)}."
    parts = [f"{verb} {other}" for verb, other in zip(did, others, strict=True)]
    return f"linmax {', but '.join(parts)}."


def account(findings: Findings) -> list[str]:
    """The figures behind the answer, in a few sentences."""
    if not findings.trials:
        return [_unlabelled(findings)]
    how = "all learned before" if findings.again else "each guessed before its label was seen"
    opening = (
        f"Over {things(findings.trials, 'labelled item')}, {how},"
        f" linmax was right on {percent(_linmax(findings))}."
    )
    sentences = [opening] if finite(_linmax(findings)) else []
    if findings.novel:
        more = things(findings.novel, "more item")
        had = "has a label" if findings.novel == 1 else "have labels"
        sentences.append(f"{more} {had} that nobody had named before, where nobody could be right.")
    known: set[str] = set()  # who was named before
    for part, begin in (("all", "That is"), ("last half", "Over the last half of the stream it is")):
        found = [one for one in findings.versus if one.part == part and one.gain.trials]
        if found:
            told = []
            for one in found:
                interval = "95\u00a0% interval " * (not known)
                told.append(_measured(one, interval, known))
                known.add(one.who)
            sentences.append(f"{begin} {' and '.join(told)}.")
    if len(findings.classes) == 1:
        sentences.append("There is only one class: everyone who names it is right.")
    return sentences


def span(gain: Gain) -> str:
    """The interval of a gain, in percentage points.

    >>> from linmax.evaluate.compare import gain
    >>> span(gain(1000, 60, 30))
    '+1.1 to +4.9'
    """
    digits = figures(gain)
    return f"{points(gain.low, digits)} to {points(gain.high, digits)}"


def figures(gain: Gain) -> int:
    """Digits after the point that a gain is worth."""
    return 1 if gain.high - gain.low > 0.003 else 2


def standing(findings: Findings, name: str) -> Standing | None:
    """The contender of this name."""
    return next((one for one in findings.standings if one.name == name), None)


def _linmax(findings: Findings) -> float | None:
    found = standing(findings, "linmax")
    return None if found is None else found.accuracy


def _measured(one: Versus, naming: str, known: set[str]) -> str:
    gain, other = one.gain, _other(one.other)
    if one.other == "best expert" and one.who not in known | {""}:
        other = f"{other}, {label(one.who, 40)}"
    size = points(abs(gain.gain), figures(gain), sign=False)
    if gain.better == gain.worse:
        place = f"level with {other}"
    else:
        place = f"{size}\u00a0points {'above' if gain.gain > 0 else 'below'} {other}"
    return f"{place} ({naming}{span(gain)}, {chance(gain.p)}: {MEANS[gain.verdict]})"


def _other(other: str) -> str:
    return {"plurality": "the plurality of the experts", "best expert": "the best of them"}.get(other, other)


def _unlabelled(findings: Findings) -> str:
    if not findings.items:
        return "There are no items."
    told = f"{things(findings.items, 'item')} {'was' if findings.items == 1 else 'were'} read."
    if findings.next_labels:
        return f"{told} A few labels would tell more; which ones first is said below."
    return told


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
