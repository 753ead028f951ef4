"""Line charts of the HTML page: mistakes, trust and coverage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linmax.evaluate.findings.findings import CoveragePoint, Findings
from linmax.report.charts.line_chart import HEADROOM, OTHER_STYLES, STYLES, THIN, Line, line_chart
from linmax.report.charts.svg import WIDE, Size, render_svg
from linmax.report.text import breadth, count, fitted, label, percent
from linmax.validation import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED_EXPERTS = 8
"""Experts with a name in the chart of trust."""
TITLE_HEIGHT, LABEL_HEIGHT, GAP = 30, 46, 48
"""Pixels above, below and between the axes of a figure."""

MAX_LINES = 200
"""Experts with a line of their own: the most trusted ones."""


def mistakes(findings: Findings, size: Size) -> str:
    """Draw the mistakes over the stream, and below how many fewer they are than those of the plurality.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    size : Size
        The size of the figure.

    Returns
    -------
    svg : str
        The figure; empty if there is too little to draw.
    """
    curves = findings.curves
    if len(curves.trials) < 2 or curves.trials[-1] < 2 or len(curves.linmax) != len(curves.trials):
        return ""
    trials = np.array([0, *curves.trials], float)
    values: dict[str, Sequence[float]] = {"linmax": curves.linmax}
    if findings.experts:
        values |= {"plurality": curves.plurality, "best expert": curves.best}
    main = {
        name: np.array([0, *line], float) for name, line in values.items() if len(line) == len(trials) - 1
    }
    top = max(1.0, HEADROOM * max(float(line[-1]) for line in main.values()))
    leads = {name: main["plurality"] - line for name, line in main.items()} if "plurality" in main else {}
    heights = (300, 120) if size is WIDE else (220, 100)

    def draw(figure: Figure) -> str:
        upper, *lower = _rows(figure, size, heights[: 1 + bool(leads)])
        lines = [
            Line(trials, np.array([0, *each], float), THIN)
            for each in curves.experts[:MAX_LINES]
            if len(each) == len(curves.trials)
        ]
        lines += [
            Line(trials, line, STYLES[name], _end_text(findings, name, count(line[-1]), size))
            for name, line in main.items()
        ]
        line_chart(upper, lines, y_limits=(0.0, top), title="Mistakes so far")
        for axes in lower:
            low, high = min(map(np.min, leads.values())), max(1.0, *map(np.max, leads.values()))
            room = 0.06 * (high - low)
            line_chart(
                axes,
                [Line(trials, y, STYLES[name], f"{name} {_signed(y[-1])}") for name, y in leads.items()],
                y_limits=(low - room, high + room),
                title="Mistakes fewer than the plurality" if size is WIDE else "Fewer than the plurality",
            )
            axes.locator_params(axis="y", nbins=4)
            upper.tick_params(labelbottom=False)
        for axes in (upper, *lower):
            axes.locator_params(axis="x", nbins=6 if size is WIDE else 3)
        seen = "items seen" if findings.trials == findings.items else "labelled items seen"
        (upper, *lower)[-1].set_xlabel(seen, loc="right")
        ends = ", ".join(f"{name} {count(line[-1])}" for name, line in main.items())
        return f"Curves of the mistakes after so many items. After {count(trials[-1])} items: {ends}."

    return render_svg(size.width, _height(heights[: 1 + bool(leads)]), size.font, draw)


def trust_over_time(findings: Findings, size: Size) -> str:
    """Draw the trust in each expert over the stream; those trusted most at the end have names.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    size : Size
        The size of the figure.

    Returns
    -------
    svg : str
        The figure; empty if there is too little to draw.
    """
    items, shares = findings.trust_history
    shares = [line for line in shares[:MAX_LINES] if len(line) == len(items)]
    if len(items) < 2 or not shares or items[0] < 1 or items[-1] <= items[0]:
        return ""
    values = [np.nan_to_num(np.array(line, float), nan=0.0) for line in shares]
    heights = (320,) if size is WIDE else (250,)

    def draw(figure: Figure) -> str:
        (axes,) = _rows(figure, size, heights)
        named = list(zip(findings.experts, values, OTHER_STYLES, strict=False))[:NAMED_EXPERTS]
        lines = [Line(items, line, THIN) for line in values[len(named) :]]
        for expert, line, style in named:
            share = percent(float(line[-1]), 0)
            room = size.names - 24 - size.font * breadth(f" {share}")
            name = fitted(label(expert.name), room, size.font)
            lines.append(Line(items, line, style, f"{name} {share}"))
        highest = max(0.01, *(float(line.max()) for line in values))
        lowest = min(0.0, *(float(line.min()) for line in values))
        line_chart(axes, lines, y_limits=(lowest, 1.04 * highest), title="Share of the trust")
        _percent_axis(axes.yaxis)
        _binary_log_axis(axes, 8 if size is WIDE else 4)
        axes.set_xlabel("items seen (logarithmic)" if size is WIDE else "items seen (log)", loc="right")
        ends = ", ".join(f"{label(expert.name)} {percent(float(line[-1]), 0)}" for expert, line, _ in named)
        return f"Lines of the share of each expert in the trust over the stream. At the end: {ends}."

    return render_svg(size.width, _height(heights), size.font, draw)


def coverage(points: list[CoveragePoint]) -> str:
    """Draw the accuracy if linmax answers only the items with the largest margins.

    Parameters
    ----------
    points : list of CoveragePoint
        The points of the curve.

    Returns
    -------
    svg : str
        The figure; empty if there is too little to draw.
    """
    points = sorted((one for one in points if 0.0 < one.answered <= 1.0), key=lambda one: one.answered)
    if len(points) < 2:
        return ""
    answered = [one.answered for one in points]
    accuracy = [one.accuracy for one in points]
    low = max(0.0, min(accuracy) - 0.25 * (max(accuracy) - min(accuracy)) - 0.01)
    size, heights = Size(430, 50, 20, 12.5), (240,)

    def draw(figure: Figure) -> str:
        (axes,) = _rows(figure, size, heights)
        line_chart(
            axes,
            [Line(answered, accuracy, STYLES["linmax"])],
            y_limits=(low, min(1.0, max(accuracy) + 0.02)),
            title="Accuracy on the items answered",
        )
        axes.set_xlim(0.0, 1.0)
        axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0])
        _percent_axis(axes.xaxis)
        _percent_axis(axes.yaxis)
        axes.set_xlabel("items answered, those with the largest margins first", loc="right")
        return (
            "Curve of the accuracy by the fraction of the items answered:"
            f" {percent(accuracy[0])} on the first {percent(answered[0], 0)},"
            f" {percent(accuracy[-1])} on {percent(answered[-1], 0)}."
        )

    return render_svg(size.width, _height(heights), size.font, draw)


def _height(heights: tuple[int, ...]) -> int:
    """Return the height of a figure whose axes have these heights."""
    return TITLE_HEIGHT + sum(heights) + (len(heights) - 1) * GAP + LABEL_HEIGHT


def _rows(figure: Figure, size: Size, heights: tuple[int, ...]) -> list[Axes]:
    """Add axes of these heights, one below the other, with margins for titles, numbers and names."""
    height = _height(heights)
    figure.subplots_adjust(
        left=size.margin / size.width,
        right=1 - size.names / size.width,
        top=1 - TITLE_HEIGHT / height,
        bottom=LABEL_HEIGHT / height,
        hspace=GAP * len(heights) / sum(heights),
    )
    axes = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)
    return list(axes[:, 0])


def _percent_axis(axis: Any) -> None:
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")
    if axis.axis_name == "y":
        axis.set_major_locator(ticker.MaxNLocator(6, steps=(1, 2, 2.5, 5, 10)))
    axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")


def _binary_log_axis(axes: Axes, ticks: int) -> None:
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(ticker.LogLocator(base=2, numticks=ticks))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: count(value))


def _end_text(findings: Findings, name: str, end: str, size: Size) -> str:
    detail = next((one.detail for one in findings.results if one.name == name), "")
    if name != "best expert" or not detail or size is not WIDE:
        return f"{name} {end}"
    room = size.names - 28 - size.font * breadth(f"best expert:  {end}")
    return f"best expert: {fitted(label(detail), room, size.font)} {end}"


def _signed(number: float) -> str:
    return f"+{count(number)}" if number > 0 else count(number)
