"""Curves of mistakes as in the papers, with labels at their ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from linmax.report.charts.line_chart import spread

# Okabe & Ito's colours, which are distinguishable with colour blindness
ORANGE, SKY, GREEN, BLUE, RED, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
BLACK, GREY = "#000000", "#777777"
DOTS, DASHES, DASH_DOT = (0, (1.5, 1.5)), (0, (6, 2)), (0, (6, 2, 1.5, 2))  # distinguishable without colour
LINE = 0.05  # smallest distance of labels at the right, relative to the height


def thin(curve: Any, points: int = 250) -> list[float]:
    """Return a curve at evenly spaced trials, including the last.

    >>> thin([1, 2, 3, 4, 5, 6], 3)
    [2, 4, 6]
    """
    whole = np.asarray(curve)
    at = np.linspace(len(whole) / points, len(whole), points).round().astype(int) - 1
    return whole[at].tolist() if len(whole) > points else whole.tolist()


def tidy(axes: Any) -> None:
    """Remove two spines and add a light grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#EEEEEE", zorder=0)


def plot(
    axes: Any,
    trials: int,
    curves: Mapping[str, tuple[str, list[float], dict[str, Any]]],
    *,
    small: bool = False,
) -> None:
    """Draw curves given as (label, points, style) over a number of trials."""
    top = 1.05 * max(max(points) for _, points, _ in curves.values()) or 1.0
    for _, points, style in curves.values():
        at = np.linspace(trials / len(points), trials, len(points))
        axes.plot([0, *at], [0, *points], **{"linewidth": 1.8} | style)
    axes.set(xlim=(0, trials), ylim=(0, top), xlabel="trials", ylabel="mistakes so far")
    tidy(axes)
    ends = [points[-1] / top for _, points, _ in curves.values()]
    for (label, _, style), end, place in zip(curves.values(), ends, spread(ends, LINE), strict=True):
        color = style["color"]
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0}
        axes.annotate(
            label, xy=(1.0, end), xytext=(1.03, place), color=color, xycoords="axes fraction",
            textcoords="axes fraction", annotation_clip=False, arrowprops=line,
            verticalalignment="center", fontsize=8 if small else 10,
            fontweight="bold" if style.get("linewidth", 0) > 2 else "normal",
        )  # fmt: skip


def plot_ratios(
    axes: Any,
    names: list[str],
    series: Mapping[str, list[tuple[float, float | None]]],
    *,
    label: str,
    limits: tuple[float, ...] = (),
) -> None:
    """Draw ratios with their intervals by problem, on a logarithmic scale, for up to three learners."""
    places = range(len(names))
    for (name, points), color, marker in zip(series.items(), (BLUE, RED, BLACK), "o^s", strict=False):
        means, halves = zip(*points, strict=True)
        axes.errorbar(
            places, means, [half or 0.0 for half in halves], color=color, marker=marker, linestyle="none",
            capsize=3, label=name,
        )  # fmt: skip
    axes.axhline(1.0, color=BLACK, linewidth=0.8)
    for limit in limits:
        axes.axhline(limit, color=BLACK, linewidth=0.6, linestyle=DOTS)
    axes.set_yscale("log", base=2)
    axes.set_ylabel(label)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xticks(list(places), names, rotation=60, ha="right", fontsize=8)
    axes.legend(frameon=False)
    tidy(axes)
