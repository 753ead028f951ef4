"""The figure on growth: a panel per axis, time above and memory below, on logarithmic scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Okabe & Ito's colours, which are distinguishable with colour blindness; the markers work without colour
STYLES: list[dict[str, Any]] = [
    {"color": "#0072B2", "marker": "o"},
    {"color": "#D55E00", "marker": "s"},
    {"color": "#009E73", "marker": "^"},
]


def draw(results: dict[str, Any], path: Path) -> None:
    """Write a PNG and an SVG."""
    from matplotlib import rc_context  # slow to import
    from matplotlib.figure import Figure

    axes = results["axes"]
    with rc_context({"svg.hashsalt": "growth"}):  # the same figures give the same file
        whole = Figure(figsize=(3.2 * len(axes), 6.4), dpi=120, layout="constrained")
        panels = whole.subplots(2, len(axes), sharex="col", squeeze=False)
        for at, (name, axis) in enumerate(axes.items()):
            above, below = panels[0, at], panels[1, at]
            above.set_title(name)
            below.set_xlabel(axis["title"], fontsize=8)
            for style, (learner, one) in zip(STYLES, axis["learners"].items(), strict=False):
                costs = [cpu[0] / 1e3 for cpu in one["cpu"]]
                _line(above, one["values"], costs, one["slope"], learner, style)
                _line(below, one["values"], one["megabytes"], one["slope of memory"], learner, style)
            _finish(above)
            _finish(below)
        panels[0, 0].set_ylabel("microseconds of CPU per trial")
        panels[1, 0].set_ylabel("megabytes of the session's arrays")
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _line(
    axes: Any, values: list[int], costs: list[float], slope: float | None, learner: str, style: dict[str, Any]
) -> None:
    label = learner if slope is None else f"{learner}: slope {slope:.2f}"
    axes.plot(values, costs, label=label, markersize=4.5, **style)


def _finish(axes: Any) -> None:
    axes.set(xscale="log", yscale="log")
    low, high = axes.get_ylim()
    shown = max(high, low * 10)  # so that a flat line looks flat
    axes.set_ylim(low / 1.3, shown * (shown / low) ** 0.35)  # room for the legend above the lines
    axes.legend(frameon=False, fontsize=7.5, loc="upper left")
    axes.grid(color="#EEEEEE", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
