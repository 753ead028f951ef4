"""The results on growth as Markdown, and their highlights."""

from __future__ import annotations

from typing import Any

from benchmarks.growth.prose import HEAD, KERNELS, LONG, WHY
from benchmarks.growth.slopes import describe_slope
from benchmarks.markdown import table, us


def page(results: dict[str, Any]) -> str:
    """Return the part as Markdown."""
    parts = [HEAD, slope_table(results["axes"]), "\n"]
    for name, axis in results["axes"].items():
        parts += [f"### Against {name}\n\n", lines(axis), "\n", WHY[name]]
    long = results["long"]
    figures = (long["trials"], long["mb_after_a_tenth"], long["mb_at_the_end"])
    parts += [
        LONG,
        "In {:,} trials the process used {:.0f} MB after a tenth and {:.0f} MB at the end.\n\n".format(
            *figures
        ),
    ]
    return "".join([*parts, KERNELS])


def slope_table(axes: dict[str, Any]) -> str:
    """Return a table of slopes with a line per axis and learner."""
    rows = [["against", "learner", "slope of time", "", "slope of memory", ""]]
    for name, axis in axes.items():
        for learner, one in axis["learners"].items():
            cells = [name, learner]
            for slope in (one["slope"], one["slope of memory"]):
                cells += ["" if slope is None else f"{slope:.2f}", describe_slope(slope, axis["expected"])]
            rows.append(cells)
    return table(rows)


def lines(axis: dict[str, Any]) -> str:
    """Return a table with a line per value: microseconds of wall and CPU time, and megabytes."""
    learners = axis["learners"]
    head = [axis["title"]]
    for learner in learners:
        head += [f"{learner}, us wall (CPU, min .. max)", "MB"]
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


def highlights(results: dict[str, Any]) -> list[str]:
    """Return the main results in a few lines."""
    texts = []
    for name, axis in results["axes"].items():
        slopes = [
            f"{learner} {one['slope']:.2f}"
            for learner, one in axis["learners"].items()
            if one["slope"] is not None
        ]
        texts.append(f"time against {name}: slope of {', '.join(slopes)}")
    long = results["long"]
    grown = long["mb_at_the_end"] - long["mb_after_a_tenth"]
    return [*texts, f"memory over {long['trials']:,} trials grew by {grown:.1f} MB"]
