"""An estimate without labels as an HTML page, or as a section of another page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.without_labels import UnlabelledEstimate
from linmax.report.estimate_sentences import (
    estimate_account,
    estimate_answer,
    name_item,
    warning_sentences,
)
from linmax.report.page import template
from linmax.report.text import DASH
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
