"""The contents of the tables of the HTML page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from linmax.evaluate.audit.sample import ItemRecord
from linmax.evaluate.findings.findings import NO_METRICS, Confusion, CoveragePoint, ExpertSummary, Findings
from linmax.report.sentences import gain_digits, interval, is_judged, result_of
from linmax.report.text import (
    DASH,
    breadth,
    count,
    decimal,
    finite,
    format_margin,
    label,
    listed,
    p_value,
    percent,
    points,
    things,
)

MAX_CLASSES = 20
"""Rows and columns of a confusion matrix."""
MAX_NAMES, MAX_GROUPS = 3, 4
"""Experts with the same vote, and classes voted for, in a table of items."""
COVERAGE_ROWS = (1.0, 0.9, 0.75, 0.5, 0.25, 0.1)
"""Fractions of the items in the table of coverage."""


class KeyFigure(NamedTuple):
    """A number at the top of the page.

    Attributes
    ----------
    value, name, note : str
        The number, what it is, and how it was measured.
    """

    value: str
    name: str
    note: str


class Column(NamedTuple):
    """A column of the table of experts.

    Attributes
    ----------
    name : str
        The heading.
    text : callable
        Returns the text of an expert.
    """

    name: str
    text: Callable[[Any], str]


class Cell(NamedTuple):
    """A cell of a confusion matrix.

    Attributes
    ----------
    text : str
        The number of items.
    share : float
        Its fraction of the row.
    wrong : bool
        Whether these are mistakes.
    """

    text: str
    share: float
    wrong: bool


class Matrix(NamedTuple):
    """A confusion matrix.

    Attributes
    ----------
    classes : list of str
        The classes.
    rows : list of tuple
        For each class: its name, its cells, its number of items and its accuracy.
    worst : list of tuple
        The most frequent mistakes: truth, prediction, number of items, and fraction of the truth.
    omitted : int
        Items of other classes.
    width : float
        The width of the column of names, in ems.
    """

    classes: list[str]
    rows: list[tuple[str, list[Cell], str, str]]
    worst: list[tuple[str, str, int, str]]
    omitted: int
    width: float


class ItemRow(NamedTuple):
    """An item of a stream.

    Attributes
    ----------
    name, guess, truth, margin : str
        The item, its prediction, its label and its margin.
    votes : list of (str, str)
        The classes that experts have voted for, and these experts.
    """

    name: str
    guess: str
    truth: str
    margin: str
    votes: list[tuple[str, str]]


def key_figures(findings: Findings) -> list[KeyFigure]:
    """Return the four numbers at the top of the page.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    if not findings.trials:
        classes = things(len(findings.classes), "class", "classes")
        return [
            KeyFigure(count(findings.items), "items", f"{count(findings.unlabelled)} without a label"),
            KeyFigure(count(len(findings.experts)), "experts", ""),
            KeyFigure(count(len(findings.classes)), classes.split("\u00a0")[1], ""),
            KeyFigure("0", "labelled items", ""),
        ]
    linmax = result_of(findings, "linmax")
    late = linmax.accuracy_last_half if linmax else None
    figures = [
        KeyFigure(
            percent(linmax.accuracy) if linmax else DASH,
            "accuracy",
            f"{percent(late)} over the last half" if finite(late) else "",
        )
    ]
    for baseline in ("plurality", "best expert"):
        name = f"points above the {baseline}"
        found = (one for one in findings.comparisons if (one.baseline, one.part) == (baseline, "all"))
        gain = next((one.gain for one in found), None)
        if gain is None or not gain.trials:
            figures.append(KeyFigure(DASH, name, "not compared"))
        elif not is_judged(findings):
            figures.append(KeyFigure(DASH, name, "not judged"))
        else:
            note = f"{interval(gain)}, {p_value(gain.p_value)}"
            figures.append(KeyFigure(points(gain.gain, gain_digits(gain)), name, note))
    half = coverage_at(findings.coverage, 0.5)
    if half is None:
        figures.append(KeyFigure(count(findings.trials), "labelled items", f"of {count(findings.items)}"))
    else:
        name = f"accuracy on the surest {percent(half.answered, 0)}"
        figures.append(
            KeyFigure(percent(half.accuracy), name, f"with margins from {format_margin(half.margin)}")
        )
    return figures


class ResultRow(NamedTuple):
    """A predictor in the table of results.

    Attributes
    ----------
    name, detail : str
        The predictor, and the learner or expert.
    is_linmax : bool
        Whether it is linmax.
    cells : list of str
        The texts of the columns of `result_table`.
    """

    name: str
    detail: str
    is_linmax: bool
    cells: list[str]


def result_table(findings: Findings) -> tuple[list[str], list[ResultRow]]:
    """Return the headings and the rows of the table of results.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    metrics = {one.name: one.metrics for one in findings.baselines} | {"linmax": findings.metrics}
    headings = ["accuracy", "last half", "mistakes", "items", "balanced accuracy", "macro F1", "kappa"]
    ordered = findings.metrics.mean_absolute_error is not None
    rows = []
    for one in findings.results:
        own = metrics.get(one.name, NO_METRICS)
        cells = [percent(one.accuracy), percent(one.accuracy_last_half), count(one.mistakes)]
        cells += [count(one.trials), percent(own.balanced_accuracy), decimal_places(own.macro_f1)]
        cells.append(decimal_places(own.kappa))
        if ordered:
            cells.append(decimal(own.mean_absolute_error))
        rows.append(
            ResultRow(label(one.name), label(one.detail) if one.detail else "", one.name == "linmax", cells)
        )
    return headings + ["mean absolute error"] * ordered, rows


def decimal_places(value: float | None) -> str:
    """Format a number between -1 and 1 with three decimals.

    Parameters
    ----------
    value : float or None
        The number.

    Examples
    --------
    >>> decimal_places(0.5), decimal_places(-0.0012), decimal_places(None)
    ('0.500', '−0.001', '–')
    """
    return f"{value:.3f}".replace("-", "\u2212") if value is not None and finite(value) else DASH


def calibration_rows(findings: Findings) -> list[tuple[str, str, str, str]]:
    """Return the calibration of linmax and of the votes: name, calibration error, log loss, Brier score.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    found = findings.calibration
    if found is None:
        return []
    pairs = [("linmax", found.linmax), ("shares of the votes", found.plurality)]
    return [
        (name, decimal_places(one.ece), decimal_places(one.log_loss), decimal_places(one.brier))
        for name, one in pairs
        if one is not None
    ]


def coverage_at(curve: list[CoveragePoint], answered: float) -> CoveragePoint | None:
    """Return the point of a coverage curve that is nearest to a fraction of the items; None if none is near.

    Parameters
    ----------
    curve : list of CoveragePoint
        The curve.
    answered : float
        The fraction of the items.
    """
    near = min(curve, key=lambda one: abs(one.answered - answered), default=None)
    return near if near is not None and abs(near.answered - answered) < 0.05 else None


def coverage_rows(curve: list[CoveragePoint]) -> list[tuple[str, str, str]]:
    """Return some points of a coverage curve: items answered, accuracy, smallest margin.

    Parameters
    ----------
    curve : list of CoveragePoint
        The curve.
    """
    found = [one for answered in COVERAGE_ROWS if (one := coverage_at(curve, answered)) is not None]
    return [
        (percent(one.answered, 0), percent(one.accuracy), format_margin(one.margin))
        for one in dict.fromkeys(found)
    ]


def expert_columns(findings: Findings) -> list[Column]:
    """Return the columns of the table of experts after name and trust, without those that would be empty.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    """
    columns = [
        Column("accuracy", lambda one: percent(one.accuracy)),
        Column("vote rate", lambda one: percent(one.vote_rate)),
    ]
    optional: list[tuple[str, str, Callable[[float | None], str]]] = [
        ("accuracy_drop", "accuracy drop without it", points),
        ("price", "price", decimal),
        ("square_loss", "square loss", decimal),
        ("log_loss", "log loss", decimal),
    ]
    for field, name, shown in optional:
        if any(finite(getattr(one, field)) for one in findings.experts):
            columns.append(Column(name, _formatter(field, shown)))
    return columns


def _formatter(field: str, shown: Callable[[float | None], str]) -> Callable[[ExpertSummary], str]:
    return lambda one: shown(getattr(one, field))


def readings(experts: list[ExpertSummary], most: int = 8) -> list[tuple[str, str]]:
    """Return how the votes of the most trusted experts are read, and which experts these are.

    Parameters
    ----------
    experts : list of ExpertSummary
        The experts, the most trusted first.
    most : int
        The number of experts.
    """
    found: dict[str, list[Any]] = {}
    for one in experts[:most]:
        found.setdefault(one.reading, []).append(one.name)
    return [(reading or "unknown", listed(names, most)) for reading, names in found.items()]


def matrix(confusion: Confusion) -> Matrix | None:
    """Return a confusion matrix of the classes with the most items; None with fewer than two classes.

    Parameters
    ----------
    confusion : Confusion
        Trials by truth and prediction.
    """
    table, k = confusion.table, len(confusion.classes)
    items = [sum(row) for row in table]
    if k < 2 or not sum(items):
        return None
    shown = sorted(sorted(range(k), key=lambda c: -items[c])[:MAX_CLASSES])
    names = {c: label(confusion.classes[c], 40) for c in shown}
    rows = []
    for y in shown:
        cells = [
            Cell(count(table[y][c]) if table[y][c] else "", table[y][c] / (items[y] or 1), c != y)
            for c in shown
        ]
        accuracy = percent(table[y][y] / items[y]) if items[y] else DASH
        rows.append((names[y], cells, count(items[y]), accuracy))
    pairs = sorted(
        ((table[y][c], y, c) for y in shown for c in shown if y != c and table[y][c]),
        key=lambda pair: -pair[0],
    )
    worst = [(names[y], names[c], times, percent(times / items[y])) for times, y, c in pairs[:5]]
    inside = sum(table[y][c] for y in shown for c in shown)
    width = min(8.5, max(map(breadth, names.values())) + 0.5)
    return Matrix(list(names.values()), rows, worst, confusion.omitted + sum(items) - inside, round(width, 1))


def item_rows(items: list[ItemRecord], experts: list[ExpertSummary], unit: str = "line") -> list[ItemRow]:
    """Return the rows of a table of items; of experts with the same vote, the most trusted come first.

    Parameters
    ----------
    items : list of ItemRecord
        The items.
    experts : list of ExpertSummary
        The experts, the most trusted first.
    unit : str
        What the numbers of items without an id count.
    """
    rank = {one.name: i for i, one in enumerate(experts)}
    return [
        ItemRow(
            f"{unit} {count(item.line)}" if item.id is None else label(item.id, 40),
            DASH if item.guess is None else label(item.guess, 40),
            DASH if item.truth is None else label(item.truth, 40),
            format_margin(item.margin),
            group_votes(dict(sorted(item.votes.items(), key=lambda vote: rank.get(vote[0], len(rank))))),
        )
        for item in items
    ]


def group_votes(votes: dict[Any, Any]) -> list[tuple[str, str]]:
    """Return the classes that experts have voted for, and these experts, the largest group first.

    Parameters
    ----------
    votes : dict
        The vote of each expert.

    Examples
    --------
    >>> group_votes({"ann": "spam", "eve": "ham", "bob": {"spam": 0.7, "ham": 0.3}, "joe": None})
    [('spam', 'ann, bob'), ('ham', 'eve')]
    """
    groups: dict[str, list[Any]] = {}
    for expert, vote in votes.items():
        choice = _choice(vote)
        if choice is not None:
            groups.setdefault(choice, []).append(expert)
    found = sorted(groups.items(), key=lambda group: -len(group[1]))
    shown = [(choice, listed(experts, MAX_NAMES, 28)) for choice, experts in found[:MAX_GROUPS]]
    if len(found) > MAX_GROUPS:
        others = sum(len(experts) for _, experts in found[MAX_GROUPS:])
        classes = things(len(found) - MAX_GROUPS, "other class", "other classes")
        shown.append((classes, things(others, "expert")))
    return shown


def _choice(vote: Any) -> str | None:
    """Return the class that a vote is for; None for an abstention."""
    if isinstance(vote, dict):
        scores = {c: score for c, score in vote.items() if finite(score)}
        return label(max(scores, key=lambda c: scores[c]), 40) if scores else None
    if vote is None or (isinstance(vote, str) and not vote) or (isinstance(vote, float) and vote != vote):
        return None
    return label(vote, 40)
