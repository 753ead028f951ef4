"""An estimate without labels in sentences, and as an HTML page or a section of another page."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.without_labels.unlabelled_estimate import (
    ASSUMPTION,
    TOO_HIGH,
    ItemToLabel,
    UnlabelledEstimate,
)
from linmax.report.page import template
from linmax.report.text import DASH, SPACE, label, percent, things
from linmax.validation import require_extra

SHOWN_EXPERTS = 40
"""Experts before the others are folded away."""
SHOWN_CLASSES = 20
"""Classes in the table, those with the most votes."""


def write_estimate_page(found: UnlabelledEstimate, path: str | os.PathLike[str]) -> None:
    """Write the page into a file, atomically.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.
    path : path-like
        The file.
    """
    write_atomic(Path(path), estimate_page(found).encode("utf-8", "replace"))


def estimate_page(found: UnlabelledEstimate) -> str:
    """Return a page without scripts that needs no other file.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.

    Returns
    -------
    html : str
        The page; equal estimates give equal text.

    Examples
    --------
    >>> from linmax.evaluate.without_labels import estimate
    >>> "No estimate can be given" in estimate_page(estimate([["a", "b"], ["b", "b"]]))
    True
    """
    return str(template("estimate_page.html.jinja").render(_context(found)).lstrip())


def estimate_section(found: UnlabelledEstimate) -> Any:
    """Return the estimate as a section for another page that has the same style sheet.

    Parameters
    ----------
    found : UnlabelledEstimate
        The estimate.

    Returns
    -------
    html : markupsafe.Markup
        The section, with the id "estimate"; a template does not escape it again.
    """
    markupsafe = require_extra("markupsafe", "cli", "writing an HTML report")
    return markupsafe.Markup(template("estimate_section.html.jinja").render(_context(found)))


def _context(found: UnlabelledEstimate) -> dict[str, Any]:
    """Return all variables of the templates."""
    from linmax import __version__

    classes = sorted(found.classes, key=lambda one: -one.vote_share)
    return {
        "estimate": found,
        "version": __version__,
        "answer": estimate_answer(found),
        "warnings": warning_sentences(found),
        "account": estimate_account(found),
        "first": found.experts[:SHOWN_EXPERTS],
        "rest": found.experts[SHOWN_EXPERTS:],
        "classes": classes[:SHOWN_CLASSES],
        "omitted_classes": max(0, len(classes) - SHOWN_CLASSES),
        "next_items": [(name_item(one, found.unit), one) for one in found.next_items],
        "dash": DASH,
    }


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
