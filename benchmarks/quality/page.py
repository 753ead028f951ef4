"""The results on quality as Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.quality import prose
from benchmarks.quality.compare import Row, mean
from benchmarks.quality.linmax_methods import LINMAX
from benchmarks.quality.models import FITTED
from benchmarks.quality.tables import late_tables, mistake_tables
from benchmarks.quality.wins_and_losses import batch_better, counts, late_losses, losses, plurality_better

LONG = 1500  # characters of a repr; longer ones are replaced by a name
BANKS = {"linmax vr_combine": "vr_combine()"}
KINDS = {"panel": "real panels", "models": "panels of models", "stream": "streams", "generated": "generated"}


def page(results: dict[str, Any]) -> str:
    """Return the part as Markdown."""
    rows, name = results["problems"], "quality-quick" if results["quick"] else "quality"
    compared = [row for row in rows if "best peer" in row]
    parts = [prose.HEAD.format(fitted=FITTED)]
    parts += [f"\n{note[0].upper()}{note[1:]}.\n" for note in results["notes"]]
    if compared:
        parts += [
            "\n### Wins and losses\n\n",
            prose.WINS,
            "\n",
            wins(compared, "best peer"),
            "\n",
            counts(compared, KINDS),
        ]
        parts += ["\n### Where a peer is ahead\n\n", losses(compared), "\n", prose.WHY]
        parts += ["\n", prose.LATER, "\n", late_losses(compared)]
        parts += ["\n", prose.OUTVOTED.format(names=plurality_better(compared))]
        mixed = [row for row in compared if "mixture" in row]
        if mixed:
            parts += ["\n### A mixture\n\n", prose.MIXED, "\n", wins(mixed, "mixture")]
        other = [row for row in compared if row["best of both"]["ours"] != LINMAX]
        if other:
            parts += ["\n### The best of both\n\n", prose.ALIKE, "\n", wins(other, "best of both")]
    for title, kinds in (("panels", ("panel", "models")), ("streams", ("stream", "generated"))):
        if any(row["kind"] in kinds for row in rows):
            parts += [f"\n![linmax and the best of each peer: {title}]({name}-{title}.png)\n"]
    if any(row["kind"] == "panel" for row in compared):
        panels = [row for row in compared if row["kind"] == "panel"]
        parts += ["\n### Real panels, against each library\n\n", prose.EACH, "\n", summary(panels)]
    parts += ["\n### Everybody\n\n", prose.EVERYONE]
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    parts += [f"\n{text}" for kind, group in groups.items() for text in mistake_tables(group, KINDS[kind])]
    parts += ["\n### The second half\n\n", prose.LATE]
    parts += [f"\n{text}" for kind, group in groups.items() for text in late_tables(group, KINDS[kind])]
    parts += ["\n", prose.BEATEN.format(names=batch_better(rows))]
    parts += ["\n### How each was called, and what is alike\n\n", prose.FAIR]
    for form, called in results["called"].items():
        parts += [f"\nOn {form}:\n\n"] + [
            f"- {who}: `{how if len(how) < LONG else BANKS.get(who, how)}`\n" for who, how in called.items()
        ]
    return "".join(parts)


def wins(rows: list[Row], key: str) -> str:
    """Return a table with a line per problem: linmax, the best peer, and the comparison."""
    lines = [
        [
            "problem",
            "items",
            "k",
            "orders",
            "linmax",
            "best peer",
            "difference",
            "",
            "file order",
            "peer there",
        ]
    ]
    for row in rows:
        found = row[key]
        ours = figure(mean(row, found["ours"]))
        if found["ours"] != LINMAX:
            ours += f" ({found['ours'].removeprefix('linmax ')})"
        filed = found.get("filed")
        there = [f"{100 * filed['mean']:+.2f}", filed["best"]] if filed else ["", ""]
        sizes = (row["items"], row["classes"], len(found["differences"]))
        line = [row["name"], *map(str, sizes), ours, *comparison_cells(row, found), *there]
        lines.append(line)
    return table(lines)


def summary(rows: list[Row]) -> str:
    """Return a table with a line per panel or stream: the best of each library, and the differences."""
    libraries = list(dict.fromkeys(library for row in rows for library in row["against"]))
    votes = "experts" in rows[0]
    width, baselines = ("experts", ["plurality", "best expert"]) if votes else ("attributes", [])
    lines = [["panel" if votes else "stream", "items", width, "k", *baselines, LINMAX]]
    for library in libraries:
        lines[0] += [f"{library} best", f"linmax minus {library}", f"against {library}"]
    for row in rows:
        line = [row["name"], *(str(row[size]) for size in ("items", width, "classes"))]
        line += [figure(mean(row, name)) for name in (*baselines, LINMAX)]
        for library in libraries:
            found = row["against"].get(library)
            line += comparison_cells(row, found, short=True) if found else ["", "", ""]
        lines.append(line)
    return table(lines)


def comparison_cells(row: Row, found: dict[str, Any], *, short: bool = False) -> list[str]:
    """Return the best member of a peer, the difference to linmax, and the comparison."""
    error = found["standard_error"]
    spread = "" if error is None else f" ± {100 * error:.2f}"
    member = found["best"].split(" ", 1)[1] if short else found["best"]
    level = figure(mean(row, found["best"]))
    return [f"{level} ({member})", f"{100 * found['mean']:+.2f}{spread}", found["verdict"]]


def figure(value: float) -> str:
    """Return an accuracy with four digits."""
    return f"{value:.4f}"


def highlights(results: dict[str, Any]) -> list[str]:
    """Return how often linmax is ahead, level and behind, and what was left out."""
    compared = [row for row in results["problems"] if "best peer" in row]
    return [*results["notes"], *counts(compared, KINDS).splitlines()]
