"""What each expert contributes, as bars."""

from __future__ import annotations

from collections.abc import Callable

from linmax.evaluate.findings import Expert, Findings
from linmax.report.canvas import FAINT, SMALL, WIDE, Sheet, Size, sheet
from linmax.report.names import fitted, label
from linmax.report.numbers import finite, percent, points

MOST = 30  # experts that are drawn
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def contributions(findings: Findings, size: Size) -> str:
    """Each expert's share of the trust and, where that was tried, the accuracy that is lost without it."""
    experts = findings.experts[:MOST]
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
