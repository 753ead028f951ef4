"""The figures on growth as a page of Markdown, and what they say in a few lines."""

from __future__ import annotations

from typing import Any

from benchmarks.growth.slopes import verdict
from benchmarks.growth.words import HEAD, KERNELS, LONG, WHY
from benchmarks.markdown import table, us


def page(results: dict[str, Any]) -> str:
    """The whole part."""
    parts = [HEAD, summary(results["axes"]), "\n"]
    for name, axis in results["axes"].items():
        parts += [f"### Against {name}\n\n", lines(axis), "\n", WHY[name]]
    long = results["long"]
    figures = (long["trials"], long["mb_after_a_tenth"], long["mb_at_the_end"])
    parts += [
        LONG,
        "In {:,} trials the process held {:.0f} MB after a tenth and {:.0f} MB at the end.\n\n".format(
            *figures
        ),
    ]
    return "".join([*parts, KERNELS])


def summary(axes: dict[str, Any]) -> str:
    """A line per axis and learner: the slopes and what they say."""
    rows = [["against", "learner", "slope of time", "", "slope of memory", ""]]
    for name, axis in axes.items():
        for learner, one in axis["learners"].items():
            cells = [name, learner]
            for slope in (one["slope"], one["slope of memory"]):
                cells += ["" if slope is None else f"{slope:.2f}", verdict(slope, axis["expected"])]
            rows.append(cells)
    return table(rows)


def lines(axis: dict[str, Any]) -> str:
    """A line per value: microseconds of wall and CPU time, and megabytes."""
    learners = axis["learners"]
    head = [axis["title"]]
    for learner in learners:
        head += [f"{learner}, us wall (CPU, least .. most)", "MB"]
    rows = [head]
    values = sorted({value for one in learners.values() for value in one["values"]})
    for value in values:
        cells = [f"{value:,}"]
        for one in learners.values():
            if value not in one["values"]:
                cells += ["", ""]
                continue
            at = one["values"].index(value)
            wall, cpu = one["wall"][at], one["cpu"][at]
            cells.append(f"{us(wall[0])} ({us(cpu[0])}, {us(cpu[1])} .. {us(cpu[2])})")
            cells.append(f"{one['megabytes'][at]:.3g}")
        rows.append(cells)
    return table(rows)


def found(results: dict[str, Any]) -> list[str]:
    """What a reader wants to know first."""
    said = []
    for name, axis in results["axes"].items():
        slopes = [
            f"{learner} {one['slope']:.2f}"
            for learner, one in axis["learners"].items()
            if one["slope"] is not None
        ]
        said.append(f"time against {name}: slope of {', '.join(slopes)}")
    long = results["long"]
    grown = long["mb_at_the_end"] - long["mb_after_a_tenth"]
    return [*said, f"memory over {long['trials']:,} trials grew by {grown:.1f} MB"]
