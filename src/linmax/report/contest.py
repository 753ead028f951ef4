"""The mistakes of several learners as curves, named where they end."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from linmax.fusion.saving import write
from linmax.report.curves import LINE, STYLES, apart, thread

COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe & Ito's; the others are in STYLES
DASHES: tuple[Any, ...] = ("solid", (0, (8, 2, 1.5, 2)), (0, (4, 1.5)), (0, (1, 1)))  # where colours end
LONGEST = 40  # letters of a name
TALL = 0.28  # inches of a name


def draw_contest(
    items: list[int], curves: dict[str, list[int]], path: str | os.PathLike[str], *, title: str
) -> None:
    """Write a PNG of the mistakes that everyone had made by when; the first curve is the thickest."""
    from matplotlib.figure import Figure  # takes a while to import

    figure = Figure(figsize=(10, max(5.2, TALL * len(curves))), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    top = max([1.0, *(1.05 * curve[-1] for curve in curves.values() if curve)])
    styles = {name: _style(name, at) for at, name in enumerate(curves)}
    for name, curve in curves.items():
        axes.plot([0, *items], [0, *curve], **styles[name])
    axes.set(xlim=(0, max([1, *items])), ylim=(0, top))
    axes.set_xlabel("items seen")
    axes.set_ylabel("mistakes so far")
    figure.suptitle(_literal(title), x=0.01, horizontalalignment="left", fontsize=12)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#EEEEEE", zorder=0)
    ends = [curve[-1] if curve else 0 for curve in curves.values()]
    least = max(LINE, 0.045 * 5.2 / figure.get_figheight())
    for (name, end), place in zip(
        zip(curves, ends, strict=True), apart([end / top for end in ends], least), strict=True
    ):
        axes.annotate(
            _literal(f"{name if len(name) <= LONGEST else name[: LONGEST - 3] + '...'}, {end}"),
            xy=(1.0, end / top), xytext=(1.03, place), verticalalignment="center", fontsize=9.5,
            fontweight="bold" if name == next(iter(curves)) else "normal", **thread(styles[name]["color"]),
        )  # fmt: skip
    content = io.BytesIO()
    figure.savefig(content, format="png", metadata={"Software": None})
    write(Path(path), content.getvalue())


def _style(name: str, at: int) -> dict[str, Any]:
    if name in STYLES:
        return STYLES[name]
    return {
        "color": COLOURS[at % len(COLOURS)],
        "linestyle": DASHES[at // len(COLOURS) % len(DASHES)],
        "linewidth": 1.8 if at else 2.8,
        "zorder": 3 if at else 4,
    }


def _literal(text: str) -> str:
    """Text in which no dollar begins a formula."""
    return text.replace("$", r"\$")
