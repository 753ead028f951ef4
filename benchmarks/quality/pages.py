"""The figures as a page of Markdown."""

from __future__ import annotations

from typing import Any

from benchmarks.markdown import table
from benchmarks.quality import texts
from benchmarks.quality.compare import Row, mean
from benchmarks.quality.losses import beaten, counts, later, losses, outvoted
from benchmarks.quality.models import FITTED
from benchmarks.quality.own import LINMAX
from benchmarks.quality.tables import everyone, late

LONG = 1500  # letters of a learner, which nobody would read
BANKS = {"linmax vr_combine": "vr_combine()"}
KINDS = {"panel": "real panels", "models": "panels of models", "stream": "streams", "generated": "generated"}


def page(results: dict[str, Any]) -> str:
    """The whole page."""
    rows, name = results["problems"], "quality-quick" if results["quick"] else "quality"
    met = [row for row in rows if "best peer" in row]
    parts = [texts.HEAD.format(fitted=FITTED)]
    parts += [f"\n{note[0].upper()}{note[1:]}.\n" for note in results["notes"]]
    if met:
        parts += [
            "\n### Wins and losses\n\n",
            texts.WINS,
            "\n",
            wins(met, "best peer"),
            "\n",
            counts(met, KINDS),
        ]
        parts += ["\n### Where a peer is ahead\n\n", losses(met), "\n", texts.WHY]
        parts += ["\n", texts.LATER, "\n", later(met)]
        parts += ["\n", texts.OUTVOTED.format(names=outvoted(met))]
        mixed = [row for row in met if "mixture" in row]
        if mixed:
            parts += ["\n### A mixture\n\n", texts.MIXED, "\n", wins(mixed, "mixture")]
        other = [row for row in met if row["best of both"]["ours"] != LINMAX]
        if other:
            parts += ["\n### The best of both\n\n", texts.ALIKE, "\n", wins(other, "best of both")]
    for title, kinds in (("panels", ("panel", "models")), ("streams", ("stream", "generated"))):
        if any(row["kind"] in kinds for row in rows):
            parts += [f"\n![linmax and the best of each peer: {title}]({name}-{title}.png)\n"]
    if any(row["kind"] == "panel" for row in met):
        panels = [row for row in met if row["kind"] == "panel"]
        parts += ["\n### Real panels, against each library\n\n", texts.EACH, "\n", summary(panels)]
    parts += ["\n### Everybody\n\n", texts.EVERYONE]
    groups = {kind: [row for row in rows if row["kind"] == kind] for kind in KINDS}
    parts += [f"\n{text}" for kind, group in groups.items() for text in everyone(group, KINDS[kind])]
    parts += ["\n### The second half\n\n", texts.LATE]
    parts += [f"\n{text}" for kind, group in groups.items() for text in late(group, KINDS[kind])]
    parts += ["\n", texts.BEATEN.format(names=beaten(rows))]
    parts += ["\n### How each was called, and what is alike\n\n", texts.FAIR]
    for form, called in results["called"].items():
        parts += [f"\nOn {form}:\n\n"] + [
            f"- {who}: `{how if len(how) < LONG else BANKS.get(who, how)}`\n" for who, how in called.items()
        ]
    return "".join(parts)


def wins(rows: list[Row], key: str) -> str:
    """A line per problem: one of linmax's, the best peer, and the verdict."""
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
        line = [row["name"], *map(str, sizes), ours, *opposed(row, found), *there]
        lines.append(line)
    return table(lines)


def summary(rows: list[Row]) -> str:
    """A line per panel: the best of each library, and the differences."""
    libraries = list(dict.fromkeys(library for row in rows for library in row["against"]))
    lines = [["panel", "items", "experts", "k", "plurality", "best expert", LINMAX]]
    for library in libraries:
        lines[0] += [f"{library} best", f"linmax minus {library}", f"against {library}"]
    for row in rows:
        line = [row["name"], *(str(row[size]) for size in ("items", "experts", "classes"))]
        line += [figure(mean(row, name)) for name in ("plurality", "best expert", LINMAX)]
        for library in libraries:
            found = row["against"].get(library)
            line += opposed(row, found, short=True) if found else ["", "", ""]
        lines.append(line)
    return table(lines)


def opposed(row: Row, found: dict[str, Any], *, short: bool = False) -> list[str]:
    """A peer's best member, linmax's distance to it, and the verdict."""
    error = found["standard_error"]
    spread = "" if error is None else f" ± {100 * error:.2f}"
    member = found["best"].split(" ", 1)[1] if short else found["best"]
    level = figure(mean(row, found["best"]))
    return [f"{level} ({member})", f"{100 * found['mean']:+.2f}{spread}", found["verdict"]]


def figure(value: float) -> str:
    """Four digits, as accuracies are usually given."""
    return f"{value:.4f}"
