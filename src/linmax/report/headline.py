"""The answer in plain words: is linmax better, by how much, and is that real?"""

from __future__ import annotations

from linmax.evaluate.findings import Findings, Standing, Versus
from linmax.evaluate.paired import Gain
from linmax.report.names import label
from linmax.report.numbers import chance, finite, percent, points, things

DID = {"better": "beat", "worse": "did worse than", "no difference seen": "cannot be told apart from"}
MEANS = {
    "better": "a real gain",
    "worse": "a real loss",
    "no difference seen": "no more than chance may do",
}


def answer(findings: Findings) -> str:
    """One sentence.

    >>> from linmax.evaluate.paired import gain
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

    >>> from linmax.evaluate.paired import gain
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
