"""Figures on quality: accuracies, and differences to the best member of each library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.quality.compare import Row, mean
from benchmarks.quality.linmax_methods import LINMAX, MIXTURE

# Okabe & Ito's colours, which are distinguishable with colour blindness; the markers work without colour
MARKS = {
    LINMAX: {"color": "#0072B2", "marker": "o", "markersize": 8, "zorder": 4},
    MIXTURE: {"color": "#0072B2", "marker": "o", "markersize": 8, "zorder": 4, "fillstyle": "none"},
    "VW": {"color": "#D55E00", "marker": "s", "markersize": 6, "zorder": 3},
    "River": {"color": "#009E73", "marker": "^", "markersize": 7, "zorder": 3},
    "untaught": {"color": "#000000", "marker": "x", "markersize": 6, "zorder": 2},
}
CALLED = {"untaught": "plurality, or commonest label", "VW": "VW, best member", "River": "River, best member"}
APART = {"VW": -0.13, "River": 0.13}
PICTURES = {"panels": ("panel", "models"), "streams": ("stream", "generated")}


def draw(results: dict[str, Any], path: Path) -> None:
    """Draw two figures, each as PNG and SVG."""
    for name, kinds in PICTURES.items():
        rows = [row for row in results["problems"] if row["kind"] in kinds]
        if rows:
            picture(rows, path.with_name(f"{path.stem}-{name}.png"))


def picture(rows: list[Row], path: Path) -> None:
    """Write a PNG and an SVG."""
    from matplotlib import rc_context  # slow to import
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": path.stem}):  # the same figures give the same file
        whole = Figure(figsize=(11, 1.4 + 0.52 * len(rows)), dpi=120, layout="constrained")
        levels, differences = whole.subplots(1, 2, sharey=True)
        _levels(levels, rows)
        _differences(differences, rows)
        levels.set_yticks(range(len(rows)), [f"{row['name']}\n{row['items']} items" for row in rows])
        levels.set_ylim(len(rows) - 0.5, -0.5)
        for axes in (levels, differences):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="x", color="#EEEEEE", zorder=0)
        whole.legend(*levels.get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
        whole.savefig(path, metadata={"Software": None})
        whole.savefig(path.with_suffix(".svg"), metadata={"Date": None})


def _levels(axes: Any, rows: list[Row]) -> None:
    for name, style in MARKS.items():
        points = [(mean(row, _member(row, name)), at) for at, row in enumerate(rows) if _member(row, name)]
        if points:
            label = CALLED.get(name, name)
            axes.plot(*zip(*points, strict=True), linestyle="none", label=label, **style)
    axes.set_xlabel("part of right guesses in one pass, mean over random orders")


def _member(row: Row, name: str) -> str:
    """Return the learner that represents a name in a row, or an empty text."""
    if name == "untaught":
        return "plurality" if row["form"] == "votes" else "commonest so far"
    if name in (LINMAX, MIXTURE):
        return name if name in row["mistakes"] else ""
    return str(row["against"][name]["best"]) if name in row["against"] else ""


def _differences(axes: Any, rows: list[Row]) -> None:
    axes.axvline(0, color="#777777", linewidth=1)
    for library, shift in APART.items():
        for at, row in enumerate(rows):
            found = row["against"].get(library)
            if found:
                half = 100 * (found["half_width_95"] or 0.0)
                axes.errorbar(100 * found["mean"], at + shift, xerr=half, capsize=3, **MARKS[library])
    axes.set_xlabel("linmax minus the peer's best, in points (95 % t)")
