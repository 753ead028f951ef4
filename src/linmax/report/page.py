"""One page of HTML with everything that was found: no network, no scripts."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from linmax.evaluate.findings import Findings
from linmax.fusion.saving import write
from linmax.report import content, headline, numbers
from linmax.report.agreement import MOST as AGREEING
from linmax.report.agreement import agreement
from linmax.report.bars import MOST as CONTRIBUTING
from linmax.report.bars import contributions
from linmax.report.canvas import NARROW, WIDE
from linmax.report.figures import NAMED, coverage, mistakes, trust_over_time
from linmax.report.names import label

TEMPLATE = "page.html.jinja"
EXPERTS = 40  # rows of a table before the rest is folded away
ITEMS = 10  # likewise
MEMBERS = 12  # members of a committee that are listed


def write_page(findings: Findings, path: str | os.PathLike[str]) -> None:
    """Write the page into a file, wholly or not at all."""
    write(Path(path), page(findings).encode("utf-8", "replace"))


def page(findings: Findings) -> str:
    """The page: the same findings give the same text.

    >>> from linmax.evaluate.findings import Agreement, Confusion, Curves, Findings, Shares
    >>> nothing = Findings(
    ...     "votes.csv", "Winnow(1.2)", "", 0, 0, 0, 0, False, 0, [], [], [], [],
    ...     Curves([], [], [], [], [], []), Shares([], []), Confusion([], [], 0), Agreement([], []),
    ...     [], [], [], [], "", {},
    ... )
    >>> "There are no items." in page(nothing)
    True
    """
    return str(_template().render(_told(findings)).lstrip())


@cache
def _template() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("linmax", "report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(label=label, percent=numbers.percent, count=numbers.count, things=numbers.things)
    return templates.get_template(TEMPLATE)


def _told(findings: Findings) -> dict[str, Any]:
    """Everything that the page says."""
    from linmax import __version__

    experts = findings.experts
    return {
        "findings": findings,
        "version": __version__,
        "answer": headline.answer(findings),
        "account": " ".join(headline.account(findings)),
        "key_figures": content.key_figures(findings),
        "figures": _figures(findings),
        "columns": content.columns(findings),
        "first": experts[:EXPERTS],
        "rest": experts[EXPERTS:],
        "largest": max([1e-9, *(one.trust for one in experts if numbers.finite(one.trust))]),
        "heard": content.heard(experts),
        "matrix": content.matrix(findings.confusion),
        "covered": content.covered(findings.coverage),
        "hardest": content.rows(findings.hardest, experts),
        "next_labels": content.rows(findings.next_labels, experts),
        "few": ITEMS,
        "members": _members(findings.members),
        "undrawn": max(0, len(experts) - CONTRIBUTING),
        "agreeing": min(len(findings.agreement.experts), AGREEING),
        "named": min(NAMED, len(experts)),
    }


def _figures(findings: Findings) -> dict[str, tuple[Any, ...]]:
    """Each figure for a wide and for a narrow screen, or once for both; none where nothing can be drawn."""
    from markupsafe import Markup

    sizes = (WIDE, NARROW) if findings.trials else ()  # without a label nobody is known to be right
    drawn = {
        "mistakes": [mistakes(findings, size) for size in sizes],
        "trust": [trust_over_time(findings, size) for size in sizes],
        "contributions": [contributions(findings, size) for size in sizes],
        "agreement": [agreement(findings.agreement, size) for size in (WIDE, NARROW)],
        "coverage": [coverage(findings.coverage) for _ in sizes[:1]],
    }
    return {name: tuple(Markup(svg) for svg in svgs if svg) for name, svgs in drawn.items()}


def _members(members: dict[str, float]) -> tuple[list[tuple[str, float]], int]:
    """Those with the largest parts, and how many more there are."""
    parts = [(str(name), part) for name, part in members.items() if numbers.finite(part)]
    parts.sort(key=lambda entry: -entry[1])
    return parts[:MEMBERS], max(0, len(parts) - MEMBERS)
