"""The results on speed as Markdown, and their highlights."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table, us
from benchmarks.speed import prose
from benchmarks.speed.attributes import SINGLE as PERCEPTRON
from benchmarks.speed.faster_peers import SINGLES, cell_name, counterpart, faster, faster_table, ratio
from benchmarks.speed.linmax_methods import ONE, SINGLE

TYPICAL = (20, 5)
WIDE_SPREAD = 0.3  # of the median: cells with a wider spread are marked
Methods = dict[str, dict[str, Any]]


def page(results: dict[str, Any]) -> str:
    """Return the part as Markdown."""
    cells = results["votes"]
    parts = [
        prose.HEAD.format(rounds=results["rounds"]),
        *(f"Not measured: {why}.\n\n" for why in results["missing"]),
    ]
    for k in dict.fromkeys(cell["k"] for cell in cells):
        parts += [f"### Hard votes, k = {k}\n\n", votes([cell for cell in cells if cell["k"] == k]), "\n"]
    parts += [cell_in_full(cell) for cell in cells if (cell["n"], cell["k"]) == TYPICAL]
    parts += [prose.LOST, faster_table(cells), "\n"]
    parts += [prose.CALLED, prose.ATTRIBUTES]
    for one in results["attributes"]:
        parts += [
            f"**{one['set']}**: {one['attributes']} attributes, {one['nonzeros']:g} non-zero per row.\n\n"
        ]
        parts += [method_table(one["methods"], PERCEPTRON), "\n"]
    parts += [prose.C, in_c(results["c"]), "\n"] if results["c"] else []
    parts += [prose.ONE, one_by_one(results["one_by_one"]), "\n"]
    parts += [prose.DEFAULT, by_part(results["default"]), "\n"]
    parts += [prose.COMMITTEE, vr_combine_table(results["committee"])]
    return "".join(parts)


def votes(cells: list[dict[str, Any]]) -> str:
    """Return a table with a line per method and a column per number of experts."""
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
    return f"{wall} ({cpu}) {ratio_text(methods, name, counterpart(name))}{spread_mark(one)}"


def spread_mark(one: dict[str, Any]) -> str:
    """Return a mark if the rounds differ much."""
    middle, least, most = one["more"]["cpu"]
    return " ~" if most - least > WIDE_SPREAD * middle else ""


def cell_in_full(cell: dict[str, Any]) -> str:
    """Return one cell of the grid in full."""
    head = f"### One cell in full: n = {cell['n']}, k = {cell['k']}\n\n"
    return head + method_table(cell["methods"]) + "\n"


def method_table(methods: Methods, single: str | None = None) -> str:
    """Return a table with a line per method: spread, start-up, rows and mistakes."""
    head = [
        "",
        "wall, per row",
        "CPU, per row",
        "times linmax",
        "wall, total",
        "CPU, total",
        "start-up, ms",
    ]
    lines = [[*head, "rows", "mistakes", "mistakes in the first 1000"]]
    for name, one in methods.items():
        if "more" not in one:
            lines.append([name, str(one.get("left out", "")), *[""] * 8])
            continue
        figures = [with_range(one["more"][kind]) for kind in ("wall", "cpu")] + [
            ratio_text(methods, name, single or counterpart(name))
        ]
        figures += [us(one["whole"][kind][0]) for kind in ("wall", "cpu")]
        figures += [f"{one['start']['wall'][0] / 1e6:.3g}"]
        first = str(one["of the first"][0]) if "of the first" in one else ""
        lines.append([name, *figures, f"{one['rows']:,}", f"{one['mistakes']:,}", first])
    return table(lines)


def in_c(rows: list[dict[str, Any]]) -> str:
    """Return the table of ratios to C."""
    lines = [["rule", "experts", "C", "linmax, int8", "ratio", "linmax, int32", "ratio", "mistakes of both"]]
    for one in rows:
        line = [one["rule"], str(one["experts"]), f"{one['c_ns'][0]:.0f}"]
        for given in ("int8", "int32"):
            ratio = "{:.2f} ({:.2f} .. {:.2f})".format(*one[f"{given}_ratio"])
            line += [f"{one[f'{given}_ns'][0]:.0f}", ratio]
        lines.append([*line, " and ".join(f"{count:,}" for count in one["mistakes"])])
    return table(lines)


def one_by_one(rows: list[dict[str, Any]]) -> str:
    """Return the table of single calls."""
    lines = [["learner", "call", "wall (min .. max)", "CPU (min .. max)"]]
    for one in rows:
        spreads = ["{:.1f} ({:.1f} .. {:.1f})".format(*one[which]) for which in ("wall_us", "cpu_us")]
        lines.append([f"`{one['learner']}`", f"`{one['call']}`", *spreads])
    return table(lines)


def by_part(rows: list[dict[str, Any]]) -> str:
    """Return the table of the parts of the default."""
    return table([["part", "us"], *([one["part"], f"{one['us']:.1f}"] for one in rows)])


def vr_combine_table(rows: list[dict[str, Any]]) -> str:
    """Return the table of VR-Combine and its runs."""
    lines = [["what", "reference", "linmax", "times faster (min .. max)", "identical"]]
    for one in rows:
        figures = [f"{one[which][0]:.0f}" for which in ("plain_ms", "linmax_ms")]
        faster = "{:.2f} ({:.2f} .. {:.2f})".format(*one["times_faster"])
        lines.append([one["what"], *figures, faster, "yes" if one["same_bits"] else "NO"])
    return table(lines)


def ratio_text(methods: Methods, name: str, single: str) -> str:
    """Return a ratio as text."""
    value = ratio(methods, name, single)
    return f"x {value:.2g}" if value < 10 else f"x {float(f'{value:.2g}'):,.0f}"


def with_range(spread: list[float]) -> str:
    """Return the median with minimum and maximum as text."""
    middle, least, most = map(us, spread)
    return f"{middle} ({least} .. {most})"


def highlights(results: dict[str, Any]) -> list[str]:
    """Return the main results in a few lines."""
    lines = [f"not measured: {why}" for why in results["missing"]]
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
                lines.append(f"{cell_name(cell)}: {name} takes {value} times the CPU of {beside}")
    for one in results["c"]:
        if one["rule"] == "winnow":
            lines.append(f"Winnow at n = {one['experts']}: {one['int8_ratio'][0]:.2f} times C")
    for (name, beside), at in faster(results["votes"], SINGLES).items():
        lines.append(f"{name} is faster than {beside} at {at}")
    return lines
