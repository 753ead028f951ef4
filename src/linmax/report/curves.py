"""Mistakes so far as curves, named where they end."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from linmax.evaluate import Progress
from linmax.fusion.saving import write

# Okabe & Ito's colours, which the colour-blind can tell apart; widths and dashes do so without colour
STYLES: dict[str, dict[str, Any]] = {
    "linmax": {"color": "#0072B2", "linewidth": 2.8, "zorder": 4},
    "plurality": {"color": "#D55E00", "linewidth": 1.8, "linestyle": (0, (6, 2)), "zorder": 3},
    "best expert": {"color": "#000000", "linewidth": 1.8, "linestyle": (0, (1.5, 1.5)), "zorder": 3},
}
FAINT = "#BBBBBB"
SMALL = "#777777"
ROOM = 1.45  # the frame ends at this multiple of the highest of the three main curves
LINE, COLUMN = (
    0.045,
    0.034,
)  # the least distance of names at the right and at the top, as parts of the frame's


def draw(progress: Progress, path: str | os.PathLike[str], *, title: str) -> None:
    """Write a PNG of the mistakes that linmax, the plurality and the best expert in hindsight made by when.

    Every expert is a faint line; those who soon leave the frame at its top are named there.
    """
    from matplotlib.figure import Figure  # takes a while to import

    figure = Figure(figsize=(9, 5.2), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    trials = np.arange(1, progress.trials + 1)
    curves = progress.curves
    top = ROOM * max(int(curve[-1]) for curve in curves.values()) if progress.trials else 1.0
    top = max(top, 1.0)
    for curve in progress.expert_curves.T:
        axes.plot(trials, curve, color=FAINT, linewidth=0.9, zorder=1)
    for name, curve in curves.items():
        axes.plot(trials, curve, **STYLES[name])
    axes.set(xlim=(0, max(progress.trials, 1)), ylim=(0, top))
    axes.set_xlabel("items seen")
    axes.set_ylabel("mistakes so far")
    figure.suptitle(title, x=0.01, horizontalalignment="left", fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#EEEEEE", zorder=0)
    _name_at_the_right(axes, progress, top)
    _name_at_the_top(axes, progress, top)
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})
    write(Path(path), content.getvalue())


def _name_at_the_right(axes: Any, progress: Progress, top: float) -> None:
    """Where a curve ends inside the frame, its name and its mistakes, moved apart to be readable."""
    ends = {name: curve[-1] for name, curve in progress.curves.items() if len(curve)}
    for expert, end in zip(progress.experts, (~progress.each).sum(axis=0).tolist(), strict=True):
        if end <= top and expert != progress.leader:
            ends[str(expert)] = end
    heights = apart([end / top for end in ends.values()], LINE)
    for (name, end), place in zip(ends.items(), heights, strict=True):
        main = name in STYLES
        color = STYLES[name]["color"] if main else SMALL
        who = f"{name}: {progress.leader}" if name == "best expert" else name
        axes.annotate(
            f"{who}, {end}", xy=(1.0, end / top), xytext=(1.03, place), verticalalignment="center",
            fontsize=10.5 if main else 8, fontweight="bold" if name == "linmax" else "normal",
            **thread(color),
        )  # fmt: skip


def _name_at_the_top(axes: Any, progress: Progress, top: float) -> None:
    """Where a curve leaves the frame, its name, slanted and moved apart along the upper edge."""
    leaving = {
        str(expert): float(np.argmax(curve > top)) / progress.trials
        for expert, curve in zip(progress.experts, progress.expert_curves.T, strict=True)
        if len(curve) and curve[-1] > top
    }
    for (name, exit_), place in zip(leaving.items(), apart(list(leaving.values()), COLUMN), strict=True):
        axes.annotate(
            name, xy=(exit_, 1.0), xytext=(place, 1.03), rotation=40, rotation_mode="anchor", fontsize=8,
            **thread(SMALL),
        )  # fmt: skip


def thread(color: str) -> dict[str, Any]:
    """A name in the colour of its curve, tied to it by a thin line."""
    line = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0}
    return {
        "color": color, "arrowprops": line, "annotation_clip": False,
        "xycoords": "axes fraction", "textcoords": "axes fraction",
    }  # fmt: skip


def apart(heights: list[float], least: float) -> list[float]:
    """Heights moved as little as need be to lie at least so far apart, in their old order.

    >>> apart([0.5, 0.5, 0.1], 0.1)
    [0.45, 0.55, 0.1]
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[tuple[float, list[int]]] = []  # the middle of each, and who is in it
    for i in order:
        groups.append((heights[i], [i]))
        while len(groups) > 1:
            (below, lower), (above, upper) = groups[-2:]
            if above - below >= least * (len(lower) + len(upper)) / 2 - 1e-12:
                break
            together = lower + upper
            groups[-2:] = [(sum(heights[j] for j in together) / len(together), together)]
    placed = [0.0] * len(heights)
    for middle, group in groups:
        for rank, i in enumerate(group):
            placed[i] = middle + least * (rank - (len(group) - 1) / 2)
    return placed
