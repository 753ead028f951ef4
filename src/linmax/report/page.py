"""The findings of a run as one self-contained HTML page."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.findings.findings import Findings
from linmax.report.charts.consultation import cost_accuracy
from linmax.report.charts.curves import NAMED_EXPERTS, coverage, mistakes, trust_over_time
from linmax.report.charts.experts import MAX_AGREEMENT, MAX_BARS, agreement, contributions
from linmax.report.charts.probabilities import answered_by_error, coverage_of_sets, reliability
from linmax.report.charts.svg import NARROW, WIDE
from linmax.report.decision_sentences import (
    answer_rows,
    describe_decisions,
    strategy_table,
    why_nothing_is_saved,
)
from linmax.report.page_tables import (
    calibration_rows,
    coverage_rows,
    expert_columns,
    item_rows,
    key_figures,
    matrix,
    readings,
    result_table,
)
from linmax.report.sentences import account, answer, describe_calibration, describe_droppable, is_judged
from linmax.report.text import count, finite, label, percent, things
from linmax.validation import require_extra

TEMPLATE = "page.html.jinja"
SHOWN_EXPERTS = 40
"""Experts before the others are folded away."""
SHOWN_ITEMS = 10
"""Items before the others are folded away."""
SHOWN_MEMBERS = 12
"""Members of an ensemble."""


def write_page(findings: Findings, path: str | os.PathLike[str]) -> None:
    """Write the page into a file, atomically.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    path : path-like
        The file.
    """
    write_atomic(Path(path), page(findings).encode("utf-8", "replace"))


def page(findings: Findings) -> str:
    """Return the page; equal findings give equal text.

    Parameters
    ----------
    findings : Findings
        The results of a run.

    Returns
    -------
    html : str
        A page without scripts that needs no other file.

    Examples
    --------
    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.evaluate import ResumableRun, summarize
    >>> from linmax.streams import open_stream
    >>> run = ResumableRun(Fusion(Winnow(1.5)), open_stream(io.BytesIO(b"ann,bob,truth\\n"), label="truth"))
    >>> for learned in run:
    ...     pass
    >>> "There are no items." in page(summarize(run.audit, run.fusion))
    True
    """
    return str(template(TEMPLATE).render(_context(findings)).lstrip())


@cache
def template(name: str) -> Any:
    """Return a template of this package, with the filters that write names and numbers."""
    jinja2 = require_extra("jinja2", "cli", "writing an HTML report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("linmax", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(label=label, percent=percent, count=count, things=things)
    return templates.get_template(name)


def _context(findings: Findings) -> dict[str, Any]:
    """Return all variables of the template."""
    from linmax import __version__

    experts = findings.experts
    headings, rows = result_table(findings)
    return {
        "findings": findings,
        "version": __version__,
        "answer": answer(findings),
        "account": " ".join(account(findings)),
        "judged": is_judged(findings),
        "grave": [one for one in findings.warnings if one.severity == "grave"],
        "minor": [one for one in findings.warnings if one.severity != "grave"],
        "result_headings": headings,
        "result_rows": rows,
        "calibration_text": describe_calibration(findings),
        "calibration_rows": calibration_rows(findings),
        "decision_sentences": describe_decisions(findings),
        "answer_rows": answer_rows(findings),
        "strategies": None if findings.consultations is None else strategy_table(findings.consultations),
        "no_saving": findings.consultations and why_nothing_is_saved(findings.consultations),
        "droppable": describe_droppable(findings),
        "key_figures": key_figures(findings),
        "charts": _charts(findings),
        "columns": expert_columns(findings),
        "first": experts[:SHOWN_EXPERTS],
        "rest": experts[SHOWN_EXPERTS:],
        "largest": max([1e-9, *(one.trust for one in experts if finite(one.trust))]),
        "readings": readings(experts),
        "matrix": matrix(findings.confusion),
        "coverage_rows": coverage_rows(findings.coverage),
        "hardest": item_rows(findings.hardest, experts, findings.unit),
        "next_labels": item_rows(findings.next_labels, experts, findings.unit),
        "shown_items": SHOWN_ITEMS,
        "members": _members(findings.members),
        "without_bar": max(0, len(experts) - MAX_BARS),
        "in_agreement": min(len(findings.agreement.experts), MAX_AGREEMENT),
        "named": min(NAMED_EXPERTS, len(experts)),
    }


def _charts(findings: Findings) -> dict[str, tuple[Any, ...]]:
    """Return each chart for wide and narrow screens, or once for both; none if nothing can be drawn."""
    markupsafe = require_extra("markupsafe", "cli", "writing an HTML report")
    sizes = (WIDE, NARROW) if findings.trials else ()  # without labels, nothing is known about accuracy
    charts = {
        "mistakes": [mistakes(findings, size) for size in sizes],
        "trust": [trust_over_time(findings, size) for size in sizes],
        "contributions": [contributions(findings, size) for size in sizes],
        "agreement": [agreement(findings.agreement, size) for size in (WIDE, NARROW)],
        "coverage": [coverage(findings.coverage) for _ in sizes[:1]],
        "calibration": [reliability(findings.calibration) for _ in sizes[:1]],
        "answers": [answered_by_error(findings.decisions) for _ in sizes[:1]],
        "sets": [coverage_of_sets(findings.decisions) for _ in sizes[:1]],
        "consult": [cost_accuracy(findings.consultations) for _ in sizes[:1]],
    }
    return {name: tuple(markupsafe.Markup(svg) for svg in svgs if svg) for name, svgs in charts.items()}


def _members(members: dict[str, float]) -> tuple[list[tuple[str, float]], int]:
    """Return the members with the largest shares, and the number of the others."""
    shares = [(str(name), share) for name, share in members.items() if finite(share)]
    shares.sort(key=lambda entry: -entry[1])
    return shares[:SHOWN_MEMBERS], max(0, len(shares) - SHOWN_MEMBERS)
