"""The figure on speed: a panel per number of classes, a line per method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# Okabe & Ito's colours, which are distinguishable with colour blindness; dashes and markers do without colour
LINES: dict[str, dict[str, Any]] = {
    "C Winnow": {"color": "#000000", "linestyle": ":", "marker": "x"},
    "linmax Winnow": {"color": "#0072B2", "marker": "o", "linewidth": 2.4},
    "linmax averaged": {"color": "#0072B2", "marker": "o", "linestyle": "--"},
    "linmax recycled": {"color": "#56B4E9", "marker": "o", "linestyle": "-."},
    "linmax default": {"color": "#56B4E9", "marker": "D"},
    "linmax Winnow, one by one": {
        "color": "#0072B2",
        "marker": "o",
        "linestyle": ":",
        "markerfacecolor": "w",
    },
    "VW oaa, file": {"color": "#E69F00", "marker": "s", "linestyle": "--"},
    "VW csoaa_ldf, file": {"color": "#D55E00", "marker": "s", "linewidth": 2},
    "VW csoaa_ldf, Python": {"color": "#D55E00", "marker": "s", "linestyle": ":", "markerfacecolor": "w"},
    "River one against the rest": {"color": "#009E73", "marker": "^"},
    "scikit-learn SGDClassifier, chunks": {"color": "#CC79A7", "marker": "v", "linestyle": "--"},
    "scikit-learn SGDClassifier, rows": {"color": "#CC79A7", "marker": "v"},
}


def draw(results: dict[str, Any], path: Path) -> None:
    """Write a PNG and an SVG."""
    from matplotlib import rc_context  # slow to import
    from matplotlib.figure import Figure

    cells = results["votes"]
    panels = list(dict.fromkeys(cell["k"] for cell in cells))
    with rc_context({"svg.hashsalt": "speed"}):  # the same figures give the same file
        whole = Figure(figsize=(3.1 * len(panels) + 0.6, 5.6), dpi=120, layout="constrained")
        axes = whole.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for one, k in zip(axes, panels, strict=True):
            _panel(one, [cell for cell in cells if cell["k"] == k])
            one.set(title=f"{k} classes", xlabel="experts")
        axes[0].set_ylabel("microseconds of CPU per row")
        handles, labels = axes[0].get_legend_handles_labels()
        whole.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _panel(axes: Any, cells: list[dict[str, Any]]) -> None:
    for name, style in LINES.items():
        points = [
            (cell["n"], cell["methods"][name]["more"]["cpu"][0] / 1e3)
            for cell in cells
            if "more" in cell["methods"].get(name, {})
        ]
        if points:
            axes.plot(*zip(*points, strict=True), label=name, markersize=5, **style)
    axes.set(xscale="log", yscale="log")
    counts = sorted({cell["n"] for cell in cells})
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.grid(color="#EEEEEE", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
