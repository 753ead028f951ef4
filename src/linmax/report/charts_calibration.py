"""The reliability diagram of the HTML page: accuracy by confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from linmax.evaluate.findings import CalibrationSummary
from linmax.report.line_chart import STYLES, Line, line_chart
from linmax.report.svg import FAINT, Size, render_svg
from linmax.report.text import percent
from linmax.validation import require_extra

if TYPE_CHECKING:
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
