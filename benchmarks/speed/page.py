"""The figures on speed as a page of Markdown, and what they say in a few lines."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table, us
from benchmarks.speed import words
from benchmarks.speed.attributes import SINGLE as PERCEPTRON
from benchmarks.speed.losses import SINGLES, counterpart, faster, lost, ratio, where
from benchmarks.speed.own import ONE, SINGLE

TYPICAL = (20, 5)
LOOSE = 0.3  # of the median: rounds that lie farther apart are marked
Methods = dict[str, dict[str, Any]]


def page(results: dict[str, Any]) -> str:
    """The whole part."""
    cells = results["votes"]
    parts = [
        words.HEAD.format(rounds=results["rounds"]),
        *(f"Left out are {why}.\n\n" for why in results["missing"]),
    ]
    for k in dict.fromkeys(cell["k"] for cell in cells):
        parts += [f"### Hard votes, k = {k}\n\n", votes([cell for cell in cells if cell["k"] == k]), "\n"]
    parts += [detailed(cell) for cell in cells if (cell["n"], cell["k"]) == TYPICAL]
    parts += [words.LOST, lost(cells), "\n"]
    parts += [words.CALLED, words.ATTRIBUTES]
    for one in results["attributes"]:
        parts += [f"**{one['set']}**: {one['attributes']} attributes, {one['nonzeros']:g} not zero.\n\n"]
        parts += [detail(one["methods"], PERCEPTRON), "\n"]
    parts += [words.C, in_c(results["c"]), "\n"] if results["c"] else []
    parts += [words.ONE, one_by_one(results["one_by_one"]), "\n"]
    parts += [words.DEFAULT, by_part(results["default"]), "\n"]
    parts += [words.COMMITTEE, committee(results["committee"])]
    return "".join(parts)


def votes(cells: list[dict[str, Any]]) -> str:
    """A line per method, a column per number of experts."""
    names = list(dict.fromkeys(name for cell in cells for name in cell["methods"]))
    lines = [["", *(f"n = {cell['n']}" for cell in cells)]]
    for name in names:
        lines.append([name, *(_cell(cell["methods"], name) for cell in cells)])
    return table(lines)


def _cell(methods: Methods, name: str) -> str:
    one = methods.get(name, {})
    if "more" not in one:
        return str(one.get("left out", ""))
    wall, cpu = (us(one["more"][kind][0]) for kind in ("wall", "cpu"))
    return f"{wall} ({cpu}) {times(methods, name, counterpart(name))}{loose(one)}"


def loose(one: dict[str, Any]) -> str:
    """A mark where rounds differ much."""
    middle, least, most = one["more"]["cpu"]
    return " ~" if most - least > LOOSE * middle else ""


def detailed(cell: dict[str, Any]) -> str:
    """One cell of the grid in full."""
    head = f"### One cell in full: n = {cell['n']}, k = {cell['k']}\n\n"
    return head + detail(cell["methods"]) + "\n"


def detail(methods: Methods, single: str | None = None) -> str:
    """A line per method with spread, start, rows and mistakes."""
    head = [
        "",
        "wall, a row more",
        "CPU, a row more",
        "times linmax",
        "wall, whole",
        "CPU, whole",
        "start, ms",
    ]
    lines = [[*head, "rows", "mistakes in them", "mistakes in the first 1000"]]
    for name, one in methods.items():
        if "more" not in one:
            lines.append([name, str(one.get("left out", "")), *[""] * 8])
            continue
        figures = [ranged(one["more"][kind]) for kind in ("wall", "cpu")] + [
            times(methods, name, single or counterpart(name))
        ]
        figures += [us(one["whole"][kind][0]) for kind in ("wall", "cpu")]
        figures += [f"{one['start']['wall'][0] / 1e6:.3g}"]
        first = str(one["of the first"][0]) if "of the first" in one else ""
        lines.append([name, *figures, f"{one['rows']:,}", f"{one['mistakes']:,}", first])
    return table(lines)


def in_c(rows: list[dict[str, Any]]) -> str:
    """Three rules at two sizes."""
    lines = [["rule", "experts", "C", "linmax", "ratio (least .. most)", "mistakes of both"]]
    for one in rows:
        ratio = "{:.2f} ({:.2f} .. {:.2f})".format(*one["ratio"])
        same = " and ".join(f"{count:,}" for count in one["mistakes"])
        figures = [f"{one[which][0]:.0f}" for which in ("c_ns", "linmax_ns")]
        lines.append([one["rule"], str(one["experts"]), *figures, ratio, same])
    return table(lines)


def one_by_one(rows: list[dict[str, Any]]) -> str:
    """Calls of a session."""
    lines = [["learner", "call", "wall (least .. most)", "CPU (least .. most)"]]
    for one in rows:
        spreads = ["{:.1f} ({:.1f} .. {:.1f})".format(*one[which]) for which in ("wall_us", "cpu_us")]
        lines.append([f"`{one['learner']}`", f"`{one['call']}`", *spreads])
    return table(lines)


def by_part(rows: list[dict[str, Any]]) -> str:
    """The default's parts."""
    return table([["part", "us"], *([one["part"], f"{one['us']:.1f}"] for one in rows)])


def committee(rows: list[dict[str, Any]]) -> str:
    """VR-Combine, and its runs alone."""
    lines = [["what", "plain", "linmax", "times faster (least .. most)", "same bits"]]
    for one in rows:
        figures = [f"{one[which][0]:.0f}" for which in ("plain_ms", "linmax_ms")]
        faster = "{:.2f} ({:.2f} .. {:.2f})".format(*one["times_faster"])
        lines.append([one["what"], *figures, faster, "yes" if one["same_bits"] else "NO"])
    return table(lines)


def times(methods: Methods, name: str, single: str) -> str:
    """The ratio as it is written."""
    value = ratio(methods, name, single)
    return f"x {value:.2g}" if value < 10 else f"x {float(f'{value:.2g}'):,.0f}"


def ranged(spread: list[float]) -> str:
    """The median with the least and the most."""
    middle, least, most = map(us, spread)
    return f"{middle} ({least} .. {most})"


def found(results: dict[str, Any]) -> list[str]:
    """What a reader wants to know first."""
    said = [f"left out are {why}" for why in results["missing"]]
    for cell in results["votes"]:
        methods: Methods = cell["methods"]
        if (cell["n"], cell["k"]) != TYPICAL:
            continue
        for name, beside in (
            ("VW csoaa_ldf, file", SINGLE),
            ("River one against the rest", SINGLE),
            ("River one against the rest", ONE),
            ("scikit-learn SGDClassifier, chunks", SINGLE),
        ):
            if "more" in methods.get(name, {}):
                value = f"{ratio(methods, name, beside):,.3g}"
                said.append(f"{where(cell)}: {name} takes {value} times the CPU of {beside}")
    for one in results["c"]:
        if one["rule"] == "winnow":
            said.append(f"Winnow at n = {one['experts']}: {one['ratio'][0]:.2f} times plain C")
    for (name, beside), at in faster(results["votes"], SINGLES).items():
        said.append(f"{name} is faster than {beside} at {at}")
    return said
