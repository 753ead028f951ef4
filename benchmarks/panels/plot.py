"""The figures as a picture: who is how good, and how far linmax is from the best of each peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.panels.compare import mean
from benchmarks.panels.own import LINMAX

# Okabe & Ito's colours, which the colour-blind can tell apart; the marks do so without colour
MARKS = {
    LINMAX: {"color": "#0072B2", "marker": "o", "markersize": 8, "zorder": 4},
    "VW": {"color": "#D55E00", "marker": "s", "markersize": 6, "zorder": 3},
    "River": {"color": "#009E73", "marker": "^", "markersize": 7, "zorder": 3},
    "plurality": {"color": "#000000", "marker": "x", "markersize": 6, "zorder": 2},
}
APART = {"VW": -0.13, "River": 0.13}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Write a PNG, and an SVG beside it."""
    from matplotlib import rc_context  # takes a while to import
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "panels"}):  # the same figures give the same file
        whole = Figure(figsize=(11, 1.4 + 0.52 * len(rows)), dpi=120, layout="constrained")
        levels, differences = whole.subplots(1, 2, sharey=True)
        _levels(levels, rows)
        _differences(differences, rows)
        levels.set_yticks(range(len(rows)), [f"{row['panel']}\n{row['items']} items" for row in rows])
        levels.set_ylim(len(rows) - 0.5, -0.5)
        for axes in (levels, differences):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", color="#EEEEEE", zorder=0)
        whole.legend(*levels.get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _levels(axes: Any, rows: list[dict[str, Any]]) -> None:
    for name, style in MARKS.items():
        points = []
        for at, row in enumerate(rows):
            member = row["against"].get(name, {}).get("best", name)
            if member in row["accuracy"]:
                points.append((mean(row["accuracy"][member]), at))
        if points:
            label = name if name in (LINMAX, "plurality") else f"{name}, best member"
            axes.plot(*zip(*points, strict=True), linestyle="none", label=label, **style)
    axes.set_xlabel("part of right guesses in one pass, mean over random orders")


def _differences(axes: Any, rows: list[dict[str, Any]]) -> None:
    axes.axvline(0, color="#777777", linewidth=1)
    for library, shift in APART.items():
        for at, row in enumerate(rows):
            found = row["against"].get(library)
            if found:
                half = 100 * (found["half_width_95"] or 0.0)
                axes.errorbar(100 * found["mean"], at + shift, xerr=half, capsize=3, **MARKS[library])
    axes.set_xlabel("linmax minus the peer's best, in points (bars: 95 % t intervals)")
