"""Who agrees with whom: half a square of shades, with the names along its slope."""

from __future__ import annotations

import math

from linmax.evaluate.findings import Agreement
from linmax.report.canvas import INK, SMALL, WIDE, Sheet, Size, sheet
from linmax.report.names import fitted, label
from linmax.report.numbers import finite, percent

MOST = 60  # experts that are drawn
SHADES = ("#f1f6fa", "#dbe9f4", "#bfd9ec", "#99c4e2", "#6aabd5", "#3a8ec4", "#0d6ba6", "#064a78")
NONE = "#f0efec"  # they never speak on the same item
WRITTEN = 34.0  # pixels of a box that has room for its number


def agreement(found: Agreement, size: Size) -> str:
    """A shade for every two experts, by how often they say the same when both speak.

    A name stands where its row ends and its column begins: read to the left and downwards.
    """
    n = min(len(found.experts), MOST)
    table = {
        (i, j): value
        for i in range(n)
        for j in range(i)
        if finite(value := found.table[i][j] if i < len(found.table) and j < len(found.table[i]) else None)
    }
    if n < 2 or not table:
        return ""
    wide = size is WIDE
    names = 190.0 if wide else 110.0
    across = min((size.width - names) / (n - 1), 64.0)
    down = min(max(across, size.text + 1.0), 30.0 if wide else 22.0)
    head = 40.0 if wide else 56.0
    steps = _steps(min(value for value in table.values() if value is not None))
    width = size.width
    with sheet(width, head + down * n + 4, size.text) as paper:
        _legend(paper, steps, wide)
        for shade, color in enumerate([*SHADES, NONE]):
            boxes = [
                (j * across, head + i * down, across - min(1.0, across / 8), down - 1.0)
                for i in range(n)
                for j in range(i)
                if _shade(table.get((i, j)), steps) == shade
            ]
            paper.boxes(boxes, color)
        for i in range(n):
            y = head + (i + 0.5) * down
            room = width - i * across - 6.0
            paper.write(i * across + 5.0, y, fitted(label(found.experts[i]), room, size.text), color=INK)
            for j in range(i) if across >= WRITTEN else ():
                value = table.get((i, j))
                if value is not None:
                    dark = _shade(value, steps) >= 5
                    paper.write(
                        (j + 0.5) * across, y, f"{100 * value:.0f}", color="white" if dark else INK,
                        horizontalalignment="center",
                    )  # fmt: skip
    (i, j), most = max(table.items(), key=lambda entry: entry[1] or 0.0)
    pair = f"{label(found.experts[j])} and {label(found.experts[i])}"
    told = f"Most often: {pair}, {percent(most, 0)}."
    return paper.svg(f"Shades for how often {n} experts agree, two by two. {told}")


def _steps(least: float) -> list[float]:
    """Where each shade begins."""
    step = next(width for width in (0.025, 0.05, 0.1, 0.125) if 1.0 - width * len(SHADES) <= least + 1e-9)
    return [1.0 - step * (len(SHADES) - i) for i in range(len(SHADES))]


def _shade(value: float | None, steps: list[float]) -> int:
    if value is None:
        return len(SHADES)
    return max(0, min(len(SHADES) - 1, math.floor((value - steps[0]) / (steps[1] - steps[0]) + 1e-9)))


def _legend(paper: Sheet, steps: list[float], wide: bool) -> None:
    box = 56.0 if wide else paper.width / len(SHADES)
    left = paper.width - box * len(SHADES)
    top = 12.0 if wide else 26.0
    title = "both say the same, from … % on:"
    if wide:
        paper.write(left - 12, top + 4, title, color=SMALL, horizontalalignment="right")
    else:
        paper.write(0, 8, title, color=SMALL)
    for i, (color, step) in enumerate(zip(SHADES, steps, strict=True)):
        paper.boxes([(left + i * box, top, box - 1, 8)], color)
        text = f"{100 * step:.1f}".removesuffix(".0")
        paper.write(left + i * box, top + 18, text, color=SMALL, fontsize=paper.size - 0.5)
