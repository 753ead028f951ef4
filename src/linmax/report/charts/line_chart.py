"""`line_chart`: lines with a text where each ends; and mistakes as PNG files."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax._files import write_atomic
from linmax.evaluate import Progress
from linmax.report.charts.svg import FAINT, GRID
from linmax.report.text import count
from linmax.validation import require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

# the colours of Okabe and Ito, which colour-blind readers can distinguish; widths and dashes work without
# colour
STYLES: dict[str, dict[str, Any]] = {
    "linmax": {"color": "#0072B2", "linewidth": 2.8, "zorder": 4},
    "plurality": {"color": "#D55E00", "linewidth": 1.8, "linestyle": (0, (6, 2)), "zorder": 3},
    "best expert": {"color": "#000000", "linewidth": 1.8, "linestyle": (0, (1.5, 1.5)), "zorder": 3},
}
OTHER_STYLES: tuple[dict[str, Any], ...] = tuple(
    {"color": color, "linestyle": dashes, "linewidth": 2.0, "zorder": 3}
    for dashes in ("-", (0, (6, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
    for color in ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
)
THIN = {"color": FAINT, "linewidth": 0.8, "zorder": 1}
TEXT_COLORS = {"#D55E00": "#B04D00", "#E69F00": "#8A5F00", "#56B4E9": "#2B7BA8", "#CC79A7": "#A8467B"}
"""Letters need more contrast than lines."""
HEADROOM = 1.45
"""The frame ends at this multiple of the highest of the main curves."""
POINTS_PER_INCH = 72
LONGEST_NAME = 40
"""Characters of a name in a PNG file."""


class Line(NamedTuple):
    """A line of a chart.

    Attributes
    ----------
    x, y : ndarray
        The points.
    style : dict
        Colour, width and dashes, as `matplotlib.axes.Axes.plot` takes them.
    text : str
        What is written at the end of the line; may be empty.
    """

    x: Any
    y: Any
    style: dict[str, Any]
    text: str = ""


def line_chart(axes: Axes, lines: list[Line], *, y_limits: tuple[float, float], title: str = "") -> None:
    """Draw lines on axes, each with a text where it ends.

    Lines end where they leave the frame at its top, and have their texts there. Texts are moved apart so that
    they do not overlap, and each is connected to its line.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
        The axes.
    lines : list of Line
        The lines.
    y_limits : (float, float)
        The bottom and the top of the frame.
    title : str
        The title of the axes.
    """
    ticker = require_extra("matplotlib.ticker", "cli", "drawing charts")
    bottom, top = y_limits
    exits: list[tuple[Line, float]] = []
    for line in lines:
        x, y = clip_above(np.asarray(line.x, float), np.asarray(line.y, float), top)
        axes.plot(x, y, clip_on=False, **line.style)
        if line.text and len(x) and line.y[-1] > top:
            exits.append((line, float(x[-1])))
    axes.set(ylim=(bottom, max(top, bottom + 1e-9)), xmargin=0)
    axes.autoscale(axis="x", tight=True)
    axes.set_title(title)
    axes.grid(axis="y", color=GRID, linewidth=1.0)
    axes.axhline(max(0.0, bottom), color=FAINT, linewidth=1.0, zorder=0.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(ticker.MaxNLocator(6, integer=True, steps=(1, 2, 2.5, 5, 10)))
        axis.set_major_formatter(lambda value, _: count(value))
    ends = [line for line in lines if line.text and line.y[-1] <= top]
    _write_at_right(axes, ends, [(float(line.y[-1]) - bottom) / max(top - bottom, 1e-9) for line in ends])
    left, right = axes.get_xlim()
    _write_at_top(axes, [line for line, _ in exits], [(x - left) / max(right - left, 1e-9) for _, x in exits])


def _write_at_right(axes: Axes, lines: list[Line], heights: list[float]) -> None:
    """Write the texts of lines to the right of the axes; heights are fractions of the height of the axes."""
    from matplotlib.transforms import offset_copy

    figure: Any = axes.figure
    font = 0.95 * _font_size()
    distance = (font + 5.0) / (axes.get_position().height * figure.get_figheight() * POINTS_PER_INCH)
    beside = offset_copy(axes.transAxes, figure, 18, 0, units="points")
    places = spread(heights, distance)
    raised = max(0.0, -min(places, default=0.0) - distance / 2)  # keep the lowest text inside the figure
    for line, height, place in zip(lines, heights, places, strict=True):
        axes.annotate(
            _literal(line.text), xy=(1.0, height), xytext=(1.0, place + raised), textcoords=beside,
            fontsize=font, verticalalignment="center_baseline", **_connection(axes, line, (0.0, 0.5)),
        )  # fmt: skip


def _write_at_top(axes: Axes, lines: list[Line], positions: list[float]) -> None:
    """Write the texts of lines above the axes, slanted; positions are fractions of the width of the axes."""
    from matplotlib.transforms import offset_copy

    figure: Any = axes.figure
    font = 0.8 * _font_size()
    distance = 2.0 * font / (axes.get_position().width * figure.get_figwidth() * POINTS_PER_INCH)
    above = offset_copy(axes.transAxes, figure, 0, 12, units="points")
    for line, position, place in zip(lines, positions, spread(positions, distance), strict=True):
        axes.annotate(
            _literal(line.text), xy=(position, 1.0), xytext=(place, 1.0), textcoords=above,
            fontsize=font, rotation=40, rotation_mode="anchor", **_connection(axes, line, (0.0, 0.0)),
        )  # fmt: skip


def _connection(axes: Axes, line: Line, corner: tuple[float, float]) -> dict[str, Any]:
    """Return the options of a text that is connected to its line, from a corner of the text."""
    color = line.style["color"]
    arrow = {
        "arrowstyle": "-",
        "color": color,
        "linewidth": 0.8,
        "shrinkA": 1,
        "shrinkB": 1,
        "relpos": corner,
    }
    return {
        "xycoords": axes.transAxes,
        "annotation_clip": False,
        "color": TEXT_COLORS.get(color, color),
        "fontweight": "bold" if line.style["linewidth"] > 2.5 else "normal",
        "arrowprops": arrow,
    }


def _font_size() -> float:
    return float(require_extra("matplotlib", "cli", "drawing charts").rcParams["font.size"])


def _literal(text: str) -> str:
    """Escape dollars, which would begin a formula, unless formulas are switched off."""
    parse_math = require_extra("matplotlib", "cli", "drawing charts").rcParams["text.parse_math"]
    return text.replace("$", r"\$") if parse_math else text


def spread(heights: list[float], distance: float) -> list[float]:
    """Move heights as little as possible so that they are at least `distance` apart, in the same order.

    Parameters
    ----------
    heights : list of float
        The wanted heights, as fractions of a frame.
    distance : float
        The smallest distance.

    Returns
    -------
    places : list of float
        The heights.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.1], 0.1)
    [0.45, 0.55, 0.1]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[tuple[float, list[int]]] = []  # the middle of each group, and its members
    for i in order:
        groups.append((heights[i], [i]))
        while len(groups) > 1:
            (below, lower), (above, upper) = groups[-2:]
            if above - below >= distance * (len(lower) + len(upper)) / 2 - 1e-12:
                break
            merged = lower + upper
            groups[-2:] = [(sum(heights[j] for j in merged) / len(merged), merged)]
    places = [0.0] * len(heights)
    for middle, group in groups:
        for rank, i in enumerate(group):
            places[i] = middle + distance * (rank - (len(group) - 1) / 2)
    return places


def clip_above(x: Floats, y: Floats, top: float) -> tuple[Floats, Floats]:
    """Cut a rising line where it leaves its frame.

    Clipping in the figure itself would need references inside the SVG, which collide on a page.

    Parameters
    ----------
    x, y : ndarray
        The points of the line.
    top : float
        The top of the frame.

    Examples
    --------
    >>> clip_above(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 4.0]), 3.0)
    (array([0. , 1. , 1.5]), array([0., 2., 3.]))
    """
    above = np.flatnonzero(y > top)
    if not len(above):
        return x, y
    i = int(above[0])
    if i == 0:
        return x[:0], y[:0]
    part = (top - y[i - 1]) / (y[i] - y[i - 1])
    return np.append(x[:i], x[i - 1] + part * (x[i] - x[i - 1])), np.append(y[:i], top)


def draw(progress: Progress, path: str | os.PathLike[str], *, title: str) -> None:
    """Write a PNG file with the mistakes of linmax, the plurality, the best expert and every expert.

    Parameters
    ----------
    progress : Progress
        The result of progressive validation.
    path : path-like
        The file.
    title : str
        The title of the picture.
    """
    trials, curves = np.arange(1, progress.trials + 1), progress.curves
    ends = progress.mistakes
    top = max(1.0, HEADROOM * max(ends.values()))
    lines = []
    for expert, curve in zip(progress.experts, progress.expert_curves.T, strict=True):
        named = len(curve) and expert != progress.best_expert
        lines.append(
            Line(trials, curve, {**THIN, "color": "#999999"}, f"{expert}, {curve[-1]}" if named else "")
        )
    for name, curve in curves.items():
        who = f"{name}: {progress.best_expert}" if name == "best expert" else name
        lines.append(Line(trials, curve, STYLES[name], f"{who}, {ends[name]}"))
    lines = [line for line in lines if len(line.y)]
    _write_png(path, title, lines, top, 5.2)


def draw_comparison(
    items: list[int], curves: dict[str, list[int]], path: str | os.PathLike[str], *, title: str
) -> None:
    """Write a PNG file with the mistakes of several learners; the first has the thickest line.

    Parameters
    ----------
    items : list of int
        Numbers of items.
    curves : dict of str to list of int
        The mistakes of each learner by then.
    path : path-like
        The file.
    title : str
        The title of the picture.
    """
    lines = []
    for i, (name, curve) in enumerate(curves.items()):
        style = STYLES.get(name, OTHER_STYLES[i % len(OTHER_STYLES)] | ({"linewidth": 2.8} if not i else {}))
        short = name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 3] + "..."
        lines.append(Line([0, *items], [0, *curve], style, f"{short}, {curve[-1] if curve else 0}"))
    top = max([1.0, *(1.05 * curve[-1] for curve in curves.values() if curve)])
    _write_png(path, title, lines, top, max(5.2, 0.28 * len(curves)))


def _write_png(
    path: str | os.PathLike[str], title: str, lines: list[Line], top: float, inches: float
) -> None:
    figures = require_extra("matplotlib.figure", "cli", "drawing charts")
    figure = figures.Figure(figsize=(10, inches), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    line_chart(axes, lines, y_limits=(0.0, top))
    axes.set(xlabel="items seen", ylabel="mistakes so far")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(_literal(title), x=0.01, horizontalalignment="left", fontsize=12)
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})
    write_atomic(Path(path), content.getvalue())
