"""Figure 5 as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.figure_5_2008 import Curve
from linmax.report.curves import apart

# Okabe & Ito's colours, which the colour-blind can tell apart; dashes do so without colour
STYLES: dict[str, dict[str, Any]] = {
    "best B": {"color": "#D55E00", "linestyle": (0, (1.5, 1.5))},
    "best R": {"color": "#999999", "linestyle": (0, (1.5, 1.5)), "linewidth": 1.2},
    "best A": {"color": "#009E73", "linestyle": (0, (6, 2))},
    "V-Combine": {"color": "#999999", "linestyle": (0, (6, 2)), "linewidth": 1.2},
    "best AR": {"color": "#CC79A7", "linestyle": (0, (6, 2, 1.5, 2))},
    "VR-Combine": {"color": "#0072B2", "linewidth": 2.4},
    "optimum": {"color": "#000000", "linewidth": 1.2},
}
LINE = 0.05  # the least distance of names at the right, as a part of the frame's height


def draw(found: dict[str, Curve], path: Path, *, title: str) -> None:
    """Write a PNG, and an SVG beside it."""
    from matplotlib import rc_context  # takes a while to import
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "figure 5", "svg.fonttype": "none"}):  # same curves, same file
        whole = Figure(figsize=(8.5, 5), dpi=120, layout="constrained")
        axes = whole.add_subplot()
        top = 1.05 * max(curve.level.mean for curve in found.values())
        trials = len(next(iter(found.values())).points)
        for key, curve in found.items():
            axes.plot(np.arange(1, trials + 1), curve.points, **{"linewidth": 1.8} | STYLES[key])
        axes.set(xlim=(0, trials), ylim=(0, top), xlabel="trials", ylabel="mistakes so far")
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#EEEEEE", zorder=0)
        _names(axes, found, top)
        whole.suptitle(title, x=0.01, horizontalalignment="left", fontsize=12)
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _names(axes: Any, found: dict[str, Curve], top: float) -> None:
    """Where a curve ends its name and its mistakes, moved apart to be readable."""
    ends = [curve.level.mean / top for curve in found.values()]
    for (key, curve), end, place in zip(found.items(), ends, apart(ends, LINE), strict=True):
        color = STYLES[key]["color"] if key not in ("best R", "V-Combine") else "#666666"
        who = key if curve.who == key else f"{key}: {curve.who}"
        line = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 0}
        axes.annotate(
            f"{who}, {curve.level.mean:.0f}", xy=(1.0, end), xytext=(1.03, place), color=color,
            xycoords="axes fraction", textcoords="axes fraction", annotation_clip=False, arrowprops=line,
            verticalalignment="center", fontsize=10, fontweight="bold" if key == "VR-Combine" else "normal",
        )  # fmt: skip
