"""Charts of probabilities and decisions: reliability, items answered, and coverage of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linmax.evaluate.findings.decisions import DecisionSummary
from linmax.evaluate.findings.findings import CalibrationSummary
from linmax.report.charts.line_chart import STYLES, Line, line_chart
from linmax.report.charts.svg import FAINT, Size, render_svg
from linmax.report.text import percent
from linmax.validation import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = Size(430, 50, 104, 12.5)
HEIGHT = 350
LARGEST_DOT = 70.0
"""The area of the dot of a bin with all items, in square pixels."""


def reliability(found: CalibrationSummary | None) -> str:
    """Draw the accuracy of predictions by their confidence; the diagonal is perfect calibration.

    Dots are the larger the more predictions they stand for.

    Parameters
    ----------
    found : CalibrationSummary or None
        The calibration of linmax and of the shares of the votes.

    Returns
    -------
    svg : str
        The figure; empty if there is too little to draw.
    """
    if found is None or len(found.linmax.bins) < 2:
        return ""
    curves = {"linmax": found.linmax, "plurality": found.plurality}
    names = {"linmax": "linmax", "plurality": "vote shares"}
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")

    def draw(figure: Figure) -> str:
        axes = figure.subplots()
        figure.subplots_adjust(
            left=SIZE.margin / SIZE.width,
            right=1 - SIZE.names / SIZE.width,
            top=1 - 30 / HEIGHT,
            bottom=46 / HEIGHT,
        )
        lines = []
        for name, one in curves.items():
            if one is not None and one.bins:
                x, y = [bin.confidence for bin in one.bins], [bin.accuracy for bin in one.bins]
                lines.append(Line(x, y, STYLES[name], names[name]))
                sizes = [8.0 + LARGEST_DOT * bin.items / one.items for bin in one.bins]
                style = STYLES[name]
                axes.scatter(x, y, sizes, color=style["color"], zorder=style["zorder"] + 1, clip_on=False)
        line_chart(axes, lines, y_limits=(0.0, 1.0), title="Accuracy at this confidence")
        axes.plot([0.0, 1.0], [0.0, 1.0], color=FAINT, linewidth=1.2, zorder=1)
        axes.set_xlim(0.0, 1.0)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(ticker.FixedLocator([0.0, 0.25, 0.5, 0.75, 1.0]))
            axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
        axes.set_xlabel("confidence of the prediction", loc="right")
        bins = "; ".join(
            f"{percent(bin.confidence, 0)} confidence, {percent(bin.accuracy, 0)} correct"
            for bin in found.linmax.bins
        )
        return f"Reliability diagram. linmax: {bins}."

    return render_svg(SIZE.width, HEIGHT, SIZE.font, draw)


DECISION_SIZE, DECISION_HEIGHT = Size(430, 50, 20, 12.5), 316


def answered_by_error(found: DecisionSummary | None) -> str:
    """Draw the share of items that are answered by the allowed share of wrong answers, and their error.

    Parameters
    ----------
    found : DecisionSummary or None
        What a run says about decisions.

    Returns
    -------
    svg : str
        The figure; empty if nothing is answered at two limits.
    """
    points = [] if found is None else [one for one in found.answers if one.probability is not None]
    if len(points) < 2:
        return ""
    x = [one.max_error for one in points]

    def draw(figure: Figure) -> str:
        axes = _axes(figure)
        lines = [
            Line(x, [one.answered for one in points], STYLES["linmax"]),
            Line(x, [one.error for one in points], STYLES["plurality"]),
        ]
        line_chart(axes, lines, y_limits=(0.0, 1.02), title="Items answered (blue), and errors among them")
        axes.set_xlim(0.0, max(x))
        _percent_axes(axes)
        axes.set_xlabel("allowed share of wrong answers", loc="right")
        ends = ", ".join(f"{percent(one.answered)} at {percent(one.max_error)}" for one in points)
        return f"Curve of the items answered by the allowed share of wrong answers: {ends}."

    return render_svg(DECISION_SIZE.width, DECISION_HEIGHT, DECISION_SIZE.font, draw)


def coverage_of_sets(found: DecisionSummary | None) -> str:
    """Draw the share of sets that had the label by the coverage that was asked for.

    Parameters
    ----------
    found : DecisionSummary or None
        What a run says about decisions.

    Returns
    -------
    svg : str
        The figure; empty without sets.
    """
    if found is None or len(found.sets) < 2:
        return ""
    x, y = [one.coverage for one in found.sets], [one.observed for one in found.sets]
    low = max(0.0, min(*x, *y) - 0.02)

    def draw(figure: Figure) -> str:
        axes = _axes(figure)
        line_chart(axes, [Line(x, y, STYLES["linmax"])], y_limits=(low, 1.0), title="Sets that had the label")
        axes.set_xlim(low, 1.0)
        axes.plot([low, 1.0], [low, 1.0], color=FAINT, linewidth=1.2, zorder=1)
        _percent_axes(axes)
        axes.set_xlabel("coverage asked for", loc="right")
        return (
            "Curve of the share of sets that had the label by the coverage asked for:"
            f" {percent(y[0])} at {percent(x[0])}, {percent(y[-1])} at {percent(x[-1])}."
        )

    return render_svg(DECISION_SIZE.width, DECISION_HEIGHT, DECISION_SIZE.font, draw)


def _axes(figure: Figure) -> Axes:
    axes: Axes = figure.subplots()
    figure.subplots_adjust(
        left=DECISION_SIZE.margin / DECISION_SIZE.width,
        right=1 - DECISION_SIZE.names / DECISION_SIZE.width,
        top=1 - 30 / DECISION_HEIGHT,
        bottom=46 / DECISION_HEIGHT,
    )
    return axes


def _percent_axes(axes: Axes) -> None:
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
