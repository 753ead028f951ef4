"""An estimate without labels in sentences: what stands against it first, then the figures."""

from __future__ import annotations

import math

from linmax.evaluate.without_labels.unlabelled_estimate import (
    ASSUMPTION,
    TOO_HIGH,
    ItemToLabel,
    UnlabelledEstimate,
)
from linmax.report.text import SPACE, label, percent, things

NO_LABELS = "There are no labels, so no accuracy can be measured."
LABEL_SOME = "Label the items listed below: the random ones measure accuracies without any assumption."


def estimate_answer(found: UnlabelledEstimate) -> str:
    """Return the main result of an estimate in one or two sentences.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.

    Examples
    --------
    >>> from linmax.evaluate.without_labels import estimate
    >>> print(estimate_answer(estimate([["a", "a"], ["a", "b"]])))
    There are no labels, so no accuracy can be measured. No estimate can be given either.
    """
    if not found.available:
        return f"{NO_LABELS} No estimate can be given either."
    begin = f"{NO_LABELS} ESTIMATE without labels:"
    if found.plurality is None:
        most = max(found.classes, key=lambda one: one.share or 0.0)
        return f"{begin} {percent(most.share, 0)} of the items are {label(most.name, 40)}."
    kind = "probably at most" if found.upper_limit else "about"
    share = f"{kind} {100.0 * found.plurality:.0f}{SPACE}%"
    items = things(found.items_with_votes, "item")
    return f"{begin} the plurality of the votes is correct on {share} of {items}."


def warning_sentences(found: UnlabelledEstimate) -> list[str]:
    """Return what to know before reading a figure, the gravest first.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.
    """
    return [f"{one.text}." for one in found.warnings]


def estimate_account(found: UnlabelledEstimate) -> list[str]:
    """Return the sentences behind the answer: agreement, assumption, and what to do next.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.
    """
    sentences = [agreement_sentence(found)]
    if found.available:
        sentences.append(ASSUMPTION)
    if found.plurality is not None:
        sentences.append(TOO_HIGH)
    if found.next_items:
        sentences.append(LABEL_SOME)
    return sentences


def agreement_sentence(found: UnlabelledEstimate) -> str:
    """Return Krippendorff's alpha with its usual reading.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.

    Examples
    --------
    >>> from linmax.evaluate.without_labels import estimate
    >>> print(agreement_sentence(estimate([["a"], ["b"]])))
    Krippendorff's alpha is not defined: no item has two votes, or all votes are for one class.
    """
    alpha = found.alpha
    if math.isnan(alpha.alpha):
        return "Krippendorff's alpha is not defined: no item has two votes, or all votes are for one class."
    ends = "" if math.isnan(alpha.low) else f" (95{SPACE}% interval {alpha.low:.2f} to {alpha.high:.2f})"
    return (
        f"Krippendorff's alpha is {alpha.alpha:.2f}{ends}, which is usually read as {alpha.reading}."
        " Agreement is not accuracy: experts can agree and be wrong."
    )


def name_item(one: ItemToLabel, unit: str = "line") -> str:
    """Return the id of an item, or its line or row, or its number.

    Parameters
    ----------
    one : ItemToLabel
        The item.
    unit : str
        What the line counts.
    """
    if one.id is not None:
        return label(one.id, 40)
    return f"item {one.item}" if one.line is None else f"{unit} {one.line}"
