"""What stands in the tables of a page, as text."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from linmax._files import write_atomic
from linmax.evaluate.audit import Item
from linmax.evaluate.findings import Confusion, Coverage, Expert, Findings
from linmax.report import text as headline
from linmax.report import text as numbers
from linmax.report.charts import NAMED, coverage, mistakes, trust_over_time
from linmax.report.charts_experts import MOST_BARS as CONTRIBUTING
from linmax.report.charts_experts import MOST_IN_AGREEMENT as AGREEING
from linmax.report.charts_experts import agreement, contributions
from linmax.report.svg import NARROW, WIDE
from linmax.report.text import (
    DASH,
    breadth,
    chance,
    count,
    decimal,
    figures,
    finite,
    label,
    lead,
    listed,
    percent,
    points,
    span,
    standing,
    things,
)

CLASSES = 20  # rows and columns of a confusion matrix
NAMES, GROUPS = 3, 4  # of those who voted alike, and of the classes voted for
PARTS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)  # of the items, that a table of coverage shows


class Figure(NamedTuple):
    """One of the key figures."""

    value: str
    name: str
    note: str


class Column(NamedTuple):
    """A column of figures."""

    name: str
    text: Callable[[Any], str]


class Cell(NamedTuple):
    """A number with a shade: the part of its row, and whether it counts mistakes."""

    text: str
    share: float
    wrong: bool


class Matrix(NamedTuple):
    """A confusion matrix to be shown."""

    classes: list[str]
    rows: list[tuple[str, list[Cell], str, str]]  # truth, counts, all of them, part that is right
    worst: list[tuple[str, str, int, str]]  # truth, guess, how often, part of the truth
    left_out: int
    width: float  # of the column of names, in ems


class Row(NamedTuple):
    """One item of a stream."""

    name: str
    guess: str
    truth: str
    margin: str
    votes: list[tuple[str, str]]  # what was said, and by whom


def key_figures(findings: Findings) -> list[Figure]:
    """Four numbers to remember."""
    if not findings.trials:
        named = things(len(findings.classes), "class", "classes")
        return [
            Figure(count(findings.items), "items", f"{count(findings.unlabelled)} without a label"),
            Figure(count(len(findings.experts)), "experts", ""),
            Figure(count(len(findings.classes)), named.split("\u00a0")[1], ""),
            Figure("0", "labels to check by", ""),
        ]
    linmax = standing(findings, "linmax")
    late = linmax.last_half if linmax else None
    found = [
        Figure(
            percent(linmax.accuracy) if linmax else DASH,
            "right",
            f"{percent(late)} over the last half" if finite(late) else "",
        )
    ]
    for other, name in (
        ("plurality", "points on the plurality"),
        ("best expert", "points on the best expert"),
    ):
        gain = next((one.gain for one in findings.versus if (one.other, one.part) == (other, "all")), None)
        if gain is None or not gain.trials:
            found.append(Figure(DASH, name, "not compared"))
        else:
            told = f"{span(gain)}, {chance(gain.p)}"
            found.append(Figure(points(gain.gain, figures(gain)), name, told))
    half = surest(findings.coverage, 0.5)
    if half is None:
        found.append(Figure(count(findings.trials), "labelled items", f"of {count(findings.items)}"))
    else:
        note = f"where linmax leads by {lead(half.margin)} or more"
        found.append(Figure(percent(half.accuracy), f"right on the surest {percent(half.answered, 0)}", note))
    return found


def surest(points_: list[Coverage], part: float) -> Coverage | None:
    """The point of a curve that is nearest to this part of the items."""
    near = min(points_, key=lambda one: abs(one.answered - part), default=None)
    return near if near is not None and abs(near.answered - part) < 0.05 else None


def covered(points_: list[Coverage]) -> list[tuple[str, str, str]]:
    """A few points of the curve: items answered, accuracy, lead."""
    found = [one for part in PARTS if (one := surest(points_, part)) is not None]
    return [
        (percent(one.answered, 0), percent(one.accuracy), lead(one.margin)) for one in dict.fromkeys(found)
    ]


def columns(findings: Findings) -> list[Column]:
    """What there is to say of experts, but for name and trust; nothing that nobody has."""
    found = [
        Column("right when it speaks", lambda one: percent(one.accuracy)),
        Column("speaks", lambda one: percent(one.speaks)),
    ]
    more: list[tuple[str, str, Callable[[float | None], str]]] = [
        ("costs", "points lost without it", points),
        ("cost", "costs to ask", decimal),
        ("square_loss", "square loss", decimal),
        ("log_loss", "log loss", decimal),
    ]
    for field, name, shown in more:
        if any(finite(getattr(one, field)) for one in findings.experts):
            found.append(Column(name, _shower(field, shown)))
    return found


def _shower(field: str, shown: Callable[[float | None], str]) -> Callable[[Expert], str]:
    return lambda one: shown(getattr(one, field))


def heard(experts: list[Expert], most: int = 8) -> list[tuple[str, str]]:
    """How the experts that are trusted most are understood, and which of them so."""
    found: dict[str, list[Any]] = {}
    for one in experts[:most]:
        found.setdefault(one.hears, []).append(one.name)
    return [(how or "unknown", listed(names, most)) for how, names in found.items()]


def matrix(confusion: Confusion) -> Matrix | None:
    """A confusion matrix of the classes with most items; None where there is nothing to confuse."""
    table, k = confusion.table, len(confusion.classes)
    items = [sum(row) for row in table]
    if k < 2 or not sum(items):
        return None
    kept = sorted(sorted(range(k), key=lambda c: -items[c])[:CLASSES])
    shown = {c: label(confusion.classes[c], 40) for c in kept}
    rows = []
    for y in kept:
        cells = [
            Cell(count(table[y][c]) if table[y][c] else "", table[y][c] / (items[y] or 1), c != y)
            for c in kept
        ]
        right = percent(table[y][y] / items[y]) if items[y] else DASH
        rows.append((shown[y], cells, count(items[y]), right))
    pairs = sorted(
        ((table[y][c], y, c) for y in kept for c in kept if y != c and table[y][c]),
        key=lambda pair: -pair[0],
    )
    worst = [(shown[y], shown[c], times, percent(times / items[y])) for times, y, c in pairs[:5]]
    inside = sum(table[y][c] for y in kept for c in kept)
    width = min(8.5, max(map(breadth, shown.values())) + 0.5)
    return Matrix(list(shown.values()), rows, worst, confusion.others + sum(items) - inside, round(width, 1))


def rows(items: list[Item], experts: list[Expert]) -> list[Row]:
    """Items that are worth a look; of those who voted alike, the most trusted are named."""
    rank = {one.name: at for at, one in enumerate(experts)}
    return [
        Row(
            f"line {count(item.line)}" if item.id is None else label(item.id, 40),
            DASH if item.guess is None else label(item.guess, 40),
            DASH if item.truth is None else label(item.truth, 40),
            lead(item.margin),
            grouped(dict(sorted(item.votes.items(), key=lambda vote: rank.get(vote[0], len(rank))))),
        )
        for item in items
    ]


def grouped(votes: dict[Any, Any]) -> list[tuple[str, str]]:
    """What was said and by whom, the largest group first.

    >>> grouped({"ann": "spam", "eve": "ham", "bob": {"spam": 0.7, "ham": 0.3}, "joe": None})
    [('spam', 'ann, bob'), ('ham', 'eve')]
    """
    groups: dict[str, list[Any]] = {}
    for expert, vote in votes.items():
        said = _said(vote)
        if said is not None:
            groups.setdefault(said, []).append(expert)
    found = sorted(groups.items(), key=lambda group: -len(group[1]))
    shown = [(said, listed(who, NAMES, 28)) for said, who in found[:GROUPS]]
    if len(found) > GROUPS:
        others = sum(len(who) for _, who in found[GROUPS:])
        told = things(len(found) - GROUPS, "other class", "other classes")
        shown.append((told, things(others, "expert")))
    return shown


def _said(vote: Any) -> str | None:
    """The class that a vote is for; None for silence."""
    if isinstance(vote, dict):
        scores = {c: score for c, score in vote.items() if finite(score)}
        return label(max(scores, key=lambda c: scores[c]), 40) if scores else None
    silent = (
        vote is None or (isinstance(vote, str) and not vote) or (isinstance(vote, float) and vote != vote)
    )
    return None if silent else label(vote, 40)


TEMPLATE = "page.html.jinja"
EXPERTS = 40  # rows of a table before the rest is folded away
ITEMS = 10  # likewise
MEMBERS = 12  # members of a committee that are listed


def write_page(findings: Findings, path: str | os.PathLike[str]) -> None:
    """Write the page into a file, wholly or not at all."""
    write_atomic(Path(path), page(findings).encode("utf-8", "replace"))


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
        "key_figures": key_figures(findings),
        "figures": _figures(findings),
        "columns": columns(findings),
        "first": experts[:EXPERTS],
        "rest": experts[EXPERTS:],
        "largest": max([1e-9, *(one.trust for one in experts if numbers.finite(one.trust))]),
        "heard": heard(experts),
        "matrix": matrix(findings.confusion),
        "covered": covered(findings.coverage),
        "hardest": rows(findings.hardest, experts),
        "next_labels": rows(findings.next_labels, experts),
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
