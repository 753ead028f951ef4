"""Charts of the experts for the HTML page: bars of their contributions, and a matrix of their agreement."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from linmax.evaluate.findings.findings import Agreement, ExpertSummary, Findings
from linmax.report.charts.svg import FAINT, INK, MUTED, WIDE, Size, render_svg
from linmax.report.text import breadth, finite, fitted, label, percent, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BARS = 30
"""Experts in the chart of contributions."""
MAX_AGREEMENT = 60
"""Experts in the matrix of agreement."""
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
SHADES = ("#f1f6fa", "#dbe9f4", "#bfd9ec", "#99c4e2", "#6aabd5", "#3a8ec4", "#0d6ba6", "#064a78")
NEVER_TOGETHER = "#f0efec"
NUMBER_WIDTH = 34.0
"""Cells at least so wide have a number."""


def contributions(findings: Findings, size: Size) -> str:
    """Draw the share of each expert in the trust and, if it was measured, the accuracy drop without it.

    Parameters
    ----------
    findings : Findings
        The results of a run.
    size : Size
        The size of the figure.

    Returns
    -------
    svg : str
        The figure; empty if no expert is trusted.
    """
    experts = findings.experts[:MAX_BARS]
    if not any(finite(expert.trust) and expert.trust > 0.0 for expert in experts):
        return ""
    ablated = any(finite(expert.accuracy_drop) for expert in experts)
    wide = size is WIDE
    longest, value, title, pitch = (206, 58, 30, 22) if wide else (106, 42, 38, 18)
    names = [fitted(label(expert.name), longest, size.font) for expert in experts]
    margin = 10 + size.font * max(map(breadth, names))
    height = title + pitch * len(experts) + 6

    def draw(figure: Figure) -> str:
        figure.subplots_adjust(
            left=margin / size.width, right=1.0, top=1 - title / height, bottom=6 / height, wspace=0.06
        )
        first, *rest = figure.subplots(1, 1 + ablated, sharey=True, squeeze=False)[0]
        room = value / (first.get_position().width * size.width)
        _bars(first, experts, "share of the trust", lambda one: one.trust, percent, BLUE, room)
        for axes in rest:
            heading = "accuracy drop without it (points)" if wide else "accuracy drop\nwithout it"
            _bars(
                axes, experts, heading, lambda one: one.accuracy_drop, lambda it: points(it, 2), ORANGE, room
            )
            axes.tick_params(labelleft=False)
        first.set_yticks(range(len(experts)), names, color=INK)
        first.set_ylim(len(experts) - 0.5, -0.5)
        best = ", ".join(f"{label(one.name)} {percent(one.trust, 0)}" for one in experts[:5])
        return f"Bars of the contribution of each expert. The largest shares of the trust: {best}."

    return render_svg(size.width, height, size.font, draw)


def _bars(
    axes: Axes,
    experts: list[ExpertSummary],
    title: str,
    measure: Callable[[ExpertSummary], float | None],
    shown: Callable[[float], str],
    color: str,
    room: float,
) -> None:
    """Draw a bar and a number for each expert; numbers take the fraction `room` of the width on each side."""
    found = [
        (row, float(it)) for row, one in enumerate(experts) if (it := measure(one)) is not None and finite(it)
    ]
    rows, values = [row for row, _ in found], [it for _, it in found]
    bars = axes.barh(
        rows, values, height=0.55, color=[color if it >= 0.0 else GREY for it in values], clip_on=False
    )
    axes.bar_label(bars, [shown(it) for it in values], padding=5, color=MUTED)
    low, high = min([0.0, *values]), max([0.0, *values])
    sides = 1 + (low < 0.0)
    pad = room * ((high - low) or 1.0) / (1.0 - sides * room)
    axes.set_xlim(low - pad * (low < 0.0), high + pad)
    axes.set_xticks([])
    axes.axvline(0.0, color=FAINT, linewidth=1.0)
    axes.set_title(title, color=MUTED, fontweight="normal")


def agreement(found: Agreement, size: Size) -> str:
    """Draw a shaded cell for each pair of experts, by how often they vote for the same class.

    A name is written where its row ends and its column begins.

    Parameters
    ----------
    found : Agreement
        How often experts agree.
    size : Size
        The size of the figure.

    Returns
    -------
    svg : str
        The figure; empty if no two experts vote on the same item.
    """
    n = min(len(found.experts), MAX_AGREEMENT)
    cells = {
        (i, j): value
        for i in range(n)
        for j in range(i)
        if finite(value := found.table[i][j] if i < len(found.table) and j < len(found.table[i]) else None)
    }
    values = {pair: float(value) for pair, value in cells.items() if value is not None}
    if n < 2 or not values:
        return ""
    wide = size is WIDE
    across = min((size.width - (190.0 if wide else 110.0)) / (n - 1), 64.0)
    down = min(max(across, size.font + 1.0), 30.0 if wide else 22.0)
    legend = 44.0 if wide else 66.0
    height = legend + down * n
    bounds = _shade_bounds(min(values.values()))
    shades = {pair: _shade(value, bounds) for pair, value in values.items()}

    def draw(figure: Figure) -> str:
        axes = figure.add_axes((0.0, 0.0, 1.0, 1 - legend / height))
        axes.set(xlim=(0, size.width / across), ylim=(n, 0), xticks=[], yticks=[])
        for shade, color in enumerate([*SHADES, NEVER_TOGETHER]):
            pairs = [(i, j) for i in range(n) for j in range(i) if shades.get((i, j), len(SHADES)) == shade]
            _fill_cells(axes, pairs, color, min(1.0 / across, 0.125), 1.0 / down)
        for i in range(n):
            name = fitted(label(found.experts[i]), size.width - i * across - 6.0, size.font)
            axes.text(i + 5.0 / across, i + 0.5, name, verticalalignment="center_baseline")
        for (i, j), value in values.items() if across >= NUMBER_WIDTH else ():
            axes.text(
                j + 0.5, i + 0.5, f"{100 * value:.0f}", color="white" if shades[i, j] >= 5 else INK,
                horizontalalignment="center", verticalalignment="center_baseline",
            )  # fmt: skip
        _shade_legend(figure, bounds, wide)
        (i, j), most = max(values.items(), key=lambda entry: entry[1])
        pair = f"{label(found.experts[j])} and {label(found.experts[i])}"
        return f"How often {n} experts agree, in pairs. Most often: {pair}, {percent(most, 0)}."

    return render_svg(size.width, height, size.font, draw)


def _fill_cells(axes: Axes, pairs: list[tuple[int, int]], color: str, gap_x: float, gap_y: float) -> None:
    """Fill the cells of one colour as a single path, which keeps the SVG small."""
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    cells = [Rectangle((j, i), 1 - gap_x, 1 - gap_y) for i, j in pairs]
    if cells:
        path = Path.make_compound_path(
            *(cell.get_transform().transform_path(cell.get_path()) for cell in cells)
        )
        axes.add_patch(PathPatch(path, facecolor=color, linewidth=0, clip_on=False))


def _shade_bounds(least: float) -> list[float]:
    """Return the smallest value of each shade."""
    step = next(width for width in (0.025, 0.05, 0.1, 0.125) if 1.0 - width * len(SHADES) <= least + 1e-9)
    return [1.0 - step * (len(SHADES) - i) for i in range(len(SHADES))]


def _shade(value: float, bounds: list[float]) -> int:
    return max(0, min(len(SHADES) - 1, math.floor((value - bounds[0]) / (bounds[1] - bounds[0]) + 1e-9)))


def _shade_legend(figure: Any, bounds: list[float], wide: bool) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=color, label=f"{100 * bound:.4g} %")
        for color, bound in zip(SHADES, bounds, strict=True)
    ]
    figure.legend(
        handles=handles, ncols=len(handles) if wide else len(handles) // 2,
        title="both vote for the same class, from", alignment="right" if wide else "left",
        loc="upper right" if wide else "upper left", bbox_to_anchor=(1.0, 1.0) if wide else (0.0, 1.0),
        borderpad=0.0, borderaxespad=0.0, handlelength=1.4, handletextpad=0.4, columnspacing=0.9,
    )  # fmt: skip
