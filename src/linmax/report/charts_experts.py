"""What each expert contributes, as bars."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linmax._files import write_atomic
from linmax.evaluate.findings import Agreement, Expert, Findings
from linmax.report.charts import LINE, STYLES, apart, thread
from linmax.report.svg import FAINT, INK, SMALL, WIDE, Sheet, Size, sheet
from linmax.report.text import finite, fitted, label, percent, points

MOST_BARS = 30  # experts that are drawn
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def contributions(findings: Findings, size: Size) -> str:
    """Each expert's share of the trust and, where that was tried, the accuracy that is lost without it."""
    experts = findings.experts[:MOST_BARS]
    if not any(finite(expert.trust) and expert.trust > 0.0 for expert in experts):
        return ""
    tried = any(finite(expert.costs) for expert in experts)
    wide = size is WIDE
    pitch, bar, head = (22, 12, 30) if wide else (18, 9, 40)
    names = 210 if wide else 112
    value = 52 if wide else 36  # room for the number beside a bar
    gap = 24 if wide else 8
    room = (size.width - names - gap * (1 + tried)) / (1 + tried)
    with sheet(size.width, head + pitch * len(experts) + 4, size.text) as paper:
        for row, expert in enumerate(experts):
            y = head + pitch * (row + 0.5)
            name = fitted(label(expert.name), names - 4, size.text)
            paper.write(names, y, name, horizontalalignment="right")
        panel = _Panel(paper, experts, head, pitch, bar, value)
        left = float(names + gap)
        panel.draw(left, room, "share of the trust", lambda one: one.trust, lambda it: percent(it, 1), BLUE)
        if tried:
            title = "points lost without it" if wide else "points lost\nwithout it"
            panel.draw(
                left + room + gap, room, title, lambda one: one.costs, lambda it: points(it, 2), ORANGE
            )
    best = ", ".join(f"{label(one.name)} {percent(one.trust, 0)}" for one in experts[:5])
    return paper.svg(f"Bars of what each expert contributes. The largest shares of the trust: {best}.")


class _Panel:
    """One column of bars, with a number beside each."""

    def __init__(
        self, paper: Sheet, experts: list[Expert], head: float, pitch: float, bar: float, value: float
    ) -> None:
        self.paper, self.experts = paper, experts
        self.head, self.pitch, self.bar, self.value = head, pitch, bar, value

    def draw(
        self,
        left: float,
        room: float,
        title: str,
        measure: Callable[[Expert], float | None],
        shown: Callable[[float], str],
        color: str,
    ) -> None:
        """Bars to the right of a line and, for what is below 0, to its left."""
        found = [it if finite(it := measure(expert)) else None for expert in self.experts]
        sizes = [it for it in found if it is not None]
        most, least = max([0.0, *sizes]), min([0.0, *sizes])
        sides = 2 if least < 0.0 else 1
        unit = (room - sides * self.value) / ((most - least) or 1.0)
        zero = left + (self.value - least * unit if sides == 2 else 0.0)
        lines = title.split("\n")
        for i, line in enumerate(lines):
            y = self.head - 14 - (len(lines) - 1 - i) * (self.paper.size + 2.0)
            align = "left" if zero - left <= room / 2 else "right"
            self.paper.write(zero, y, line, color=SMALL, horizontalalignment=align)
        for sign, ink in ((1, color), (-1, GREY)):
            boxes = [
                (min(zero, zero + it * unit), self._y(row) - self.bar / 2, abs(it) * unit, self.bar)
                for row, it in enumerate(found)
                if it is not None and it * sign > 0.0
            ]
            self.paper.boxes(boxes, ink)
        bottom = self.head + self.pitch * len(self.experts)
        self.paper.line((zero, zero), (self.head, bottom), color=FAINT, linewidth=1.0)
        for row, it in enumerate(found):
            if it is not None:
                side, align = (5, "left") if it >= 0.0 else (-5, "right")
                x = zero + it * unit + side
                self.paper.write(
                    x, self._y(row), shown(it), color=SMALL, horizontalalignment=align,
                    fontsize=self.paper.size - 0.5,
                )  # fmt: skip

    def _y(self, row: int) -> float:
        return self.head + self.pitch * (row + 0.5)


MOST_IN_AGREEMENT = 60  # experts that are drawn
SHADES = ("#f1f6fa", "#dbe9f4", "#bfd9ec", "#99c4e2", "#6aabd5", "#3a8ec4", "#0d6ba6", "#064a78")
NONE = "#f0efec"  # they never speak on the same item
WRITTEN = 34.0  # pixels of a box that has room for its number


def agreement(found: Agreement, size: Size) -> str:
    """A shade for every two experts, by how often they say the same when both speak.

    A name stands where its row ends and its column begins: read to the left and downwards.
    """
    n = min(len(found.experts), MOST_IN_AGREEMENT)
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
    write_atomic(Path(path), content.getvalue())


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
