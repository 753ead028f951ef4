"""The results of a run in sentences: is linmax better than the experts, and is that significant?"""

from __future__ import annotations

from linmax.evaluate.findings import BaselineComparison, Findings, ModelResult
from linmax.evaluate.significance import BETTER, NO_DIFFERENCE, WORSE, Gain
from linmax.report.text import SPACE, finite, label, p_value, percent, points, things

VERBS = {
    BETTER: "is significantly more accurate than",
    WORSE: "is significantly less accurate than",
    NO_DIFFERENCE: "does not differ significantly from",
}
BASELINES = {"plurality": "the plurality of the experts", "best expert": "the best expert"}


def answer(findings: Findings) -> str:
    """Return the result of a run in one sentence.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if not findings.trials:
        return "No item has a label of a known class, so nothing can be said about accuracy."
    found = [one for one in findings.comparisons if one.part == "all" and one.gain.trials]
    if found:
        return compared(found)
    return f"linmax was correct on {percent(_accuracy(findings))} of {things(findings.trials, 'item')}."


def compared(found: list[BaselineComparison]) -> str:
    """Return the results of the tests against the baselines in one sentence.

    Parameters
    ----------
    found : list of BaselineComparison
        The comparisons.

    Examples
    --------
    >>> from linmax.evaluate.significance import gain
    >>> one = BaselineComparison("plurality", "", "all", gain(1000, 60, 30))
    >>> other = BaselineComparison("best expert", "ann", "all", gain(1000, 30, 60))
    >>> print(compared([one, other]))
    linmax is significantly more accurate than the plurality of the experts, but is significantly less
    accurate than the best expert.
    """
    verbs = [VERBS[one.gain.conclusion] for one in found]
    baselines = [BASELINES.get(one.baseline, one.baseline) for one in found]
    if len(set(verbs)) == 1:
        if found[0].gain.conclusion == NO_DIFFERENCE:
            return f"linmax {verbs[0]} {' or '.join(baselines)}."
        return f"linmax {verbs[0]} {'both ' * (len(found) == 2)}{' and '.join(baselines)}."
    parts = [f"{verb} {baseline}" for verb, baseline in zip(verbs, baselines, strict=True)]
    return f"linmax {', but '.join(parts)}."


def account(findings: Findings) -> list[str]:
    """Return the figures behind the answer, in a few sentences.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if not findings.trials:
        return [_without_labels(findings)]
    how = (
        "all of which were learned before"
        if findings.repeated
        else "each predicted before its label was seen"
    )
    sentences = []
    if finite(_accuracy(findings)):
        sentences.append(
            f"Over {things(findings.trials, 'labelled item')}, {how},"
            f" linmax was correct on {percent(_accuracy(findings))}."
        )
    named: set[str] = set()
    for part, begin in (("all", "That is"), ("last half", "Over the last half of the stream it is")):
        found = [one for one in findings.comparisons if one.part == part and one.gain.trials]
        texts = []
        for one in found:
            texts.append(_difference(one, f"95{SPACE}% interval " * (not named), named))
            named.add(one.detail)
        if texts:
            sentences.append(f"{begin} {' and '.join(texts)}.")
    if findings.novel:
        have, are = ("has a label", "is") if findings.novel == 1 else ("have labels", "are")
        sentences.append(
            f"{things(findings.novel, 'more item')} {have} never seen before, and {are} not counted."
        )
    if len(findings.classes) == 1:
        sentences.append("There is only one class, so every vote is correct.")
    return sentences


def _difference(one: BaselineComparison, interval_name: str, named: set[str]) -> str:
    """Return a difference with its interval and p-value; an expert is named the first time only."""
    gain, baseline = one.gain, BASELINES.get(one.baseline, one.baseline)
    if one.baseline == "best expert" and one.detail not in named | {""}:
        baseline = f"{baseline}, {label(one.detail, 40)}"
    size = points(abs(gain.gain), gain_digits(gain), sign=False)
    if gain.better == gain.worse:
        text = f"equal to {baseline}"
    else:
        text = f"{size}{SPACE}points {'above' if gain.gain > 0 else 'below'} {baseline}"
    significance = "not significant" if gain.conclusion == NO_DIFFERENCE else "significant"
    return f"{text} ({interval_name}{interval(gain)}, {p_value(gain.p_value)}: {significance})"


def _without_labels(findings: Findings) -> str:
    if not findings.items:
        return "There are no items."
    read = f"{things(findings.items, 'item')} {'was' if findings.items == 1 else 'were'} read."
    if findings.next_labels:
        return f"{read} The items listed below are the most useful ones to label."
    return read


def result_of(findings: Findings, name: str) -> ModelResult | None:
    """Return the result of one predictor.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    name : str
        "linmax", "plurality", "best expert" or "best in hindsight".
    """
    return next((one for one in findings.results if one.name == name), None)


def _accuracy(findings: Findings) -> float | None:
    found = result_of(findings, "linmax")
    return None if found is None else found.accuracy


def interval(gain: Gain) -> str:
    """Return the confidence interval of a difference, in percentage points.

    Parameters
    ----------
    gain : Gain
        The difference.

    Examples
    --------
    >>> from linmax.evaluate.significance import gain
    >>> interval(gain(1000, 60, 30))
    '+1.1 to +4.9'
    """
    digits = gain_digits(gain)
    return f"{points(gain.ci_low, digits)} to {points(gain.ci_high, digits)}"


def gain_digits(gain: Gain) -> int:
    """Return the number of decimals of a difference that its interval justifies.

    Parameters
    ----------
    gain : Gain
        The difference.
    """
    return 1 if gain.ci_high - gain.ci_low > 0.003 else 2
