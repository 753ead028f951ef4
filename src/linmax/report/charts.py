"""Mistakes so far as curves, named where they end."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax._files import write_atomic
from linmax.evaluate import Progress
from linmax.evaluate.findings import Coverage, Findings
from linmax.report.svg import FAINT, INK, SMALL, WIDE, Sheet, Size, sheet
from linmax.report.text import breadth, count, fitted, label, percent

# Okabe & Ito's colours, which the colour-blind can tell apart; widths and dashes do so without colour
STYLES: dict[str, dict[str, Any]] = {
    "linmax": {"color": "#0072B2", "linewidth": 2.8, "zorder": 4},
    "plurality": {"color": "#D55E00", "linewidth": 1.8, "linestyle": (0, (6, 2)), "zorder": 3},
    "best expert": {"color": "#000000", "linewidth": 1.8, "linestyle": (0, (1.5, 1.5)), "zorder": 3},
}
CURVE_FAINT = "#BBBBBB"
CURVE_SMALL = "#777777"
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
        axes.plot(trials, curve, color=CURVE_FAINT, linewidth=0.9, zorder=1)
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
    write_atomic(Path(path), content.getvalue())


def _name_at_the_right(axes: Any, progress: Progress, top: float) -> None:
    """Where a curve ends inside the frame, its name and its mistakes, moved apart to be readable."""
    ends = {name: curve[-1] for name, curve in progress.curves.items() if len(curve)}
    for expert, end in zip(progress.experts, (~progress.each).sum(axis=0).tolist(), strict=True):
        if end <= top and expert != progress.leader:
            ends[str(expert)] = end
    heights = apart([end / top for end in ends.values()], LINE)
    for (name, end), place in zip(ends.items(), heights, strict=True):
        main = name in STYLES
        color = STYLES[name]["color"] if main else CURVE_SMALL
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
            **thread(CURVE_SMALL),
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


STEPS = (1, 2, 2.5, 5, 10)  # between numbers along an axis
LETTERS = {"#D55E00": "#B04D00"}  # thin strokes need more contrast than lines
NAMED = 8  # lines of trust that have a name
# Okabe & Ito's colours but for yellow, which white swallows; dashes tell lines apart without colour
LINES: tuple[tuple[str, Any], ...] = (
    ("#0072B2", "-"),
    ("#D55E00", (0, (6, 2))),
    ("#009E73", "-"),
    ("#000000", (0, (1.5, 1.5))),
    ("#CC79A7", "-"),
    ("#E69F00", (0, (6, 2, 1.5, 2))),
    ("#56B4E9", "-"),
    ("#777777", (0, (4, 1.5))),
)


def mistakes(findings: Findings, size: Size) -> str:
    """How many mistakes everyone had made by when, and how far ahead of the plurality linmax was."""
    curves = findings.curves
    if len(curves.trials) < 2 or curves.trials[-1] < 2 or len(curves.linmax) != len(curves.trials):
        return ""
    trials = np.array([0, *curves.trials], float)
    lines = {"linmax": curves.linmax}
    if findings.experts:
        lines |= {"plurality": curves.plurality, "best expert": curves.best}
    main = {
        name: np.array([0, *line], float) for name, line in lines.items() if len(line) == len(curves.trials)
    }
    top = max(1.0, ROOM * max(float(line[-1]) for line in main.values()))
    ahead = "plurality" in main
    wide = size is WIDE
    tall, low, title = (300, 120, 24) if wide else (220, 100, 20)
    height = title + tall + 26 + (title + 22 + low if ahead else 0) + 20
    left, width = 46 if wide else 38, size.width - size.names - (46 if wide else 38)
    told = ", ".join(f"{name} {count(line[-1])}" for name, line in main.items())
    with sheet(size.width, height, size.text) as paper:
        paper.write(0, 9, "Mistakes so far", fontweight="bold")
        axes = _frame(paper, (left, title, width, tall), (0.0, trials[-1]), (0.0, top))
        for each in curves.experts:
            if len(each) == len(curves.trials):
                x, y = cut(trials, np.array([0, *each], float), top)
                axes.plot(x, y, color=FAINT, linewidth=0.8, zorder=1)
        for name, line in main.items():
            x, y = cut(trials, line, top)
            axes.plot(x, y, **STYLES[name])
        ends = {name: line[-1] / top for name, line in main.items()}
        texts = {name: _ending(findings, name, count(main[name][-1]), wide) for name in main}
        _name(paper, (left + width, title, tall), ends, texts, size)
        if ahead:
            axes.tick_params(labelbottom=False)
            _ahead(paper, (left, 2 * title + 26 + tall, width, low), trials, main, size)
        seen = "items seen" if findings.trials == findings.items else "labelled items seen"
        paper.write(left + width, height - 8, seen, color=SMALL, horizontalalignment="right")
    return paper.svg(
        f"Curves of the mistakes made after so many items. After {count(trials[-1])} items: {told}."
    )


def _ahead(
    paper: Sheet,
    place: tuple[float, float, float, float],
    trials: NDArray[np.float64],
    main: dict[str, NDArray[np.float64]],
    size: Size,
) -> None:
    """The same curves, as mistakes less than the plurality has."""
    left, top, width, height = place
    leads = {name: main["plurality"] - line for name, line in main.items()}
    least = min(float(lead.min()) for lead in leads.values())
    most = max(1.0, *(float(lead.max()) for lead in leads.values()))
    room = 0.06 * (most - least)
    least, most = least - room, most + room
    paper.write(0, top - 14, "Mistakes fewer than the plurality’s", fontweight="bold")  # noqa: RUF001
    axes = _frame(paper, place, (0.0, trials[-1]), (least, most), ticks=4)
    for name, lead in leads.items():
        axes.plot(trials, lead, **STYLES[name])
    ends = {name: (lead[-1] - least) / (most - least) for name, lead in leads.items()}
    texts = {name: f"{name} {_signed(lead[-1])}" for name, lead in leads.items()}
    _name(paper, (left + width, top, height), ends, texts, size)


def trust_over_time(findings: Findings, size: Size) -> str:
    """Whom linmax trusted when; those it trusts most at the end have names."""
    shares = findings.shares
    whole = [line for line in shares.experts if len(line) == len(shares.items)]
    if len(shares.items) < 2 or not whole or shares.items[0] < 1 or shares.items[-1] <= shares.items[0]:
        return ""
    wide = size is WIDE
    tall, title = (320, 24) if wide else (250, 20)
    left = 46 if wide else 36
    names = size.names if wide else size.names + 18
    width = size.width - names - left
    lines = [np.nan_to_num(np.array(line, float), nan=0.0) for line in whole]
    most = max(0.01, *(float(line.max()) for line in lines))
    least = min(0.0, *(float(line.min()) for line in lines))
    named = list(zip(findings.experts, lines, strict=False))[:NAMED]
    with sheet(size.width, title + tall + 44, size.text) as paper:
        paper.write(0, 9, "Share of the trust", fontweight="bold")
        axes = _frame(
            paper, (left, title, width, tall), (shares.items[0], shares.items[-1]), (least, 1.04 * most),
            form=_percent,
        )  # fmt: skip
        _decades(axes, shares.items[0], shares.items[-1], 8 if wide else 4)
        for line in lines[NAMED:]:
            axes.plot(shares.items, line, color=FAINT, linewidth=0.8, zorder=1)
        ends, texts, colors = {}, {}, {}
        for i, ((expert, line), (color, dashes)) in enumerate(zip(named, LINES, strict=False)):
            axes.plot(shares.items, line, color=color, linestyle=dashes, linewidth=2.0, zorder=3)
            ends[i] = (float(line[-1]) - least) / (1.04 * most - least)
            share = percent(float(line[-1]), 0)
            room = names - 22 - size.text * breadth(f" {share}")
            texts[i], colors[i] = f"{fitted(label(expert.name), room, size.text)} {share}", color
        _name(paper, (left + width, title, tall), ends, texts, size, colors)
        seen = "items seen, on a logarithmic scale" if wide else "items seen (log)"
        paper.write(left + width, title + tall + 35, seen, color=SMALL, horizontalalignment="right")
    told = ", ".join(f"{label(expert.name)} {percent(float(line[-1]), 0)}" for expert, line in named)
    return paper.svg(f"Lines of each expert’s share of the trust over the stream. At the end: {told}.")  # noqa: RUF001


def coverage(points: list[Coverage]) -> str:
    """How often linmax is right if it keeps to those items where it leads by enough."""
    points = sorted((one for one in points if 0.0 < one.answered <= 1.0), key=lambda one: one.answered)
    if len(points) < 2:
        return ""
    answered = [one.answered for one in points]
    right = [one.accuracy for one in points]
    least = max(0.0, min(right) - 0.25 * (max(right) - min(right)) - 0.01)
    most = min(1.0, max(right) + 0.02)
    with sheet(430, 318, 12.5) as paper:
        paper.write(0, 9, "Right, of those answered", fontweight="bold")
        axes = _frame(paper, (46, 32, 368, 240), (0.0, 1.0), (least, most), form=_percent)
        axes.set_xticks([0.0, 0.25, 0.5, 0.75, 1.0], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        axes.plot(answered, right, **STYLES["linmax"])
        paper.write(414, 309, "items answered, the surest first", color=SMALL, horizontalalignment="right")
    return paper.svg(
        "Curve of accuracy against the part of the items answered:"
        f" {percent(right[0])} of the surest {percent(answered[0], 0)},"
        f" {percent(right[-1])} of {percent(answered[-1], 0)}."
    )


def cut(
    x: NDArray[np.float64], y: NDArray[np.float64], top: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A line that rises, as far as it stays in its frame.

    >>> cut(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 4.0]), 3.0)
    (array([0. , 1. , 1.5]), array([0., 2., 3.]))
    """
    out = np.flatnonzero(y > top)
    if not len(out):
        return x, y
    i = int(out[0])
    if i == 0:
        return x[:0], y[:0]
    part = (top - y[i - 1]) / (y[i] - y[i - 1])
    return np.append(x[:i], x[i - 1] + part * (x[i] - x[i - 1])), np.append(y[:i], top)


def _frame(
    paper: Sheet,
    place: tuple[float, float, float, float],
    x: tuple[float, float],
    y: tuple[float, float],
    *,
    form: Any = None,
    ticks: int = 6,
) -> Any:
    """Axes with quiet lines across."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axes = paper.axes(*place)
    axes.set(xlim=(x[0], max(x[1], x[0] + 1e-9)), ylim=(y[0], max(y[1], y[0] + 1e-9)))
    axes.xaxis.set_major_locator(MaxNLocator(6 if place[2] > 300 else 3, integer=True, steps=STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(ticks, integer=form is None, steps=STEPS))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(form or (lambda value, _: count(value))))
    axes.grid(axis="y")
    axes.axhline(max(0.0, y[0]), color=FAINT, linewidth=1.0, zorder=0.5)
    return axes


def _decades(axes: Any, first: float, last: float, most: int) -> None:
    """A logarithmic axis that reads in plain numbers."""
    axes.set_xscale("log")
    powers = np.arange(np.ceil(np.log2(first)), np.floor(np.log2(last)) + 1)
    step = max(1, int(np.ceil(len(powers) / most)))
    at = 2.0 ** powers[::-1][::step][::-1]
    axes.set_xticks(at, [count(one) for one in at])
    axes.set_xticks([], minor=True)
    axes.set_xlim(first, last)


def _name(
    paper: Sheet,
    place: tuple[float, float, float],
    ends: dict[Any, float],
    texts: dict[Any, str],
    size: Size,
    colors: dict[Any, str] | None = None,
) -> None:
    """Names at the right of a frame, moved apart to be readable and tied to their lines."""
    left, top, height = place
    least = (size.text + 4.0) / height
    for (name, end), at in zip(ends.items(), _inside(apart(list(ends.values()), least), least), strict=True):
        color = colors[name] if colors else STYLES[name]["color"]
        y, y_end = top + height * (1.0 - at), top + height * (1.0 - end)
        paper.line((left + 1, left + 14), (y_end, y), color=color, linewidth=1.0)
        paper.write(
            left + 18, y, texts[name], color=INK if colors else LETTERS.get(color, color),
            fontweight="bold" if name == "linmax" else "normal",
        )  # fmt: skip


def _inside(places: list[float], least: float) -> list[float]:
    """All of them higher, where the lowest has fallen out of the frame."""
    low = min(places, default=0.0)
    return [place + max(0.0, -low - least / 2) for place in places]


def _ending(findings: Findings, name: str, end: str, wide: bool) -> str:
    who = next((one.who for one in findings.standings if one.name == name), "")
    if name != "best expert" or not who or not wide:
        return f"{name} {end}"
    room = WIDE.names - 28 - WIDE.text * breadth(f"best expert:  {end}")
    return f"best expert: {fitted(label(who), room, WIDE.text)} {end}"


def _percent(value: float, _: Any = None) -> str:
    text = f"{100 * value:.1f}".removesuffix(".0")
    return f"{text} %"


def _signed(number: float) -> str:
    return f"+{count(number)}" if number > 0 else count(number)
