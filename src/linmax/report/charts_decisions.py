"""The charts of decisions on the HTML page: items answered by the allowed error, and coverage of sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linmax.evaluate.decision_summary import DecisionSummary
from linmax.report.line_chart import STYLES, Line, line_chart
from linmax.report.svg import FAINT, Size, render_svg
from linmax.report.text import percent
from linmax.validation import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE, HEIGHT = Size(430, 50, 20, 12.5), 316


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

    return render_svg(SIZE.width, HEIGHT, SIZE.font, draw)


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

    return render_svg(SIZE.width, HEIGHT, SIZE.font, draw)


def _axes(figure: Figure) -> Axes:
    axes: Axes = figure.subplots()
    figure.subplots_adjust(
        left=SIZE.margin / SIZE.width,
        right=1 - SIZE.names / SIZE.width,
        top=1 - 30 / HEIGHT,
        bottom=46 / HEIGHT,
    )
    return axes


def _percent_axes(axes: Axes) -> None:
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.MaxNLocator(5, steps=(1, 2, 2.5, 5, 10)))
        axis.set_major_formatter(lambda value, _: f"{100 * value:.4g} %")
