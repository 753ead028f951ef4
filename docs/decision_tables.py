"""The tables of docs/decisions.md, from the stored results of benchmarks/decisions.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Table = Callable[[tuple[str, ...], Any], str]


def losses(found: dict[str, Any], table: Table, code: Callable[[str], str]) -> str:
    """The log-loss of every learner, in sum over the panels, and the worst panel."""
    rows = []
    for learner, panels in found["log_loss"].items():
        raw, mapped = (sum(both[i] for both in panels.values()) for i in (0, 1))
        worst = max(panels, key=lambda name: panels[name][1] - panels[name][0])
        change = panels[worst][1] - panels[worst][0]
        rows.append((code(learner), f"{raw:.2f}", f"{mapped:.2f}", f"{change:+.4f} ({worst})"))
    return table(("learner", "softmax", "calibrated", "largest rise on a panel"), rows)


def costs(found: dict[str, Any], table: Table, code: Callable[[str], str]) -> str:
    """The mean cost of an item, in sum over the panels, with costs in predictions, in updates and in both."""
    ways = ("none", "predictions", "updates", "both")
    rows = []
    for learner, panels in found["costs"].items():
        sums = (f"{sum(one[way] for one in panels.values()):.2f}" for way in ways)
        better = sum(one["both"] < one["predictions"] for one in panels.values())
        rows.append((code(learner), *sums, f"{better} of {len(panels)}"))
    header = (
        "learner", "no costs", "in predictions", "in updates", "in both", "panels: both below predictions",
    )  # fmt: skip
    return table(header, rows)


def answers(found: dict[str, Any], table: Table) -> str:
    """How often the limit was exceeded over all orders."""
    rows = [
        (
            panel, f"{one['max_error']:.0%}", f"{one['answered']:.1%}", f"{one['error']:.1%}",
            f"{one['violations']:.1%}", f"{one['clear']:.1%}", f"{one['silent']:.1%}",
        )
        for panel, limits in found["answers"].items()
        for one in limits
    ]  # fmt: skip
    header = (
        "panel", "allowed error", "answered", "error among answers", "orders above the limit",
        "clearly above", "orders without answers",
    )  # fmt: skip
    return table(header, rows)


def sets(found: dict[str, Any], table: Table) -> str:
    """Coverage and size of sets, over all orders."""
    rows = [
        (panel, f"{float(level):.0%}", f"{one['mean']:.2%}", f"{one['least']:.2%}", f"{one['size']:.2f}")
        for panel, levels in found["coverage"].items()
        for level, one in levels.items()
    ]
    return table(("panel", "coverage asked for", "mean", "least", "classes in a set"), rows)


def drift(found: dict[str, Any], table: Table) -> str:
    """Coverage of sets on a drifting stream, and how soon answers stop."""
    rows = []
    for panel, one in found["drift"].items():
        coverage = ", ".join(f"{share:.2%} at {float(level):.0%}" for level, share in one["coverage"].items())
        late = f"{one['answers'] / one['orders']:.0f} ({one['error']:.0%})"
        rows.append((panel, coverage, f"{one['delay']:.0f}", f"{one['missed']} of {one['orders']}", late))
    header = ("panel", "coverage of sets", "items to the alarm", "no alarm", "answers until then (wrong)")
    return table(header, rows)


def alarms(found: dict[str, Any], table: Table) -> str:
    """False alarms and delays."""
    rates = found["false_alarms_per_million"]
    first = table(
        ("false alarms per million items", *(f"{float(rate):.0%} mistakes" for rate in rates["linmax"])),
        [(name, *(f"{count:.1f}" for count in each.values())) for name, each in rates.items()],
    )
    rows = [
        (f"{one['before']:.0%} to {one['after']:.0%}", *(_delay(each) for each in one["detectors"].values()))
        for one in found["delays"]
    ]
    return f"{first}\n{table(('items from a rise to the alarm (noticed)', *rates), rows)}"


def _delay(found: dict[str, Any]) -> str:
    return f"{found['delay']:,.0f} ({found['found']:.0%})" if found["found"] else "never"


def time(found: dict[str, Any], table: Table, code: Callable[[str], str]) -> str:
    """Nanoseconds of CPU per row of `learn`."""
    rows = [
        (
            code(one["learner"]), str(one["classes"]), f"{one['none']:,.0f}",
            *(f"{one[way]:,.0f} ({one[way] / one['none'] - 1:+.0%})" for way in ("sample", "all")),
        )
        for one in found["nanoseconds"]
    ]  # fmt: skip
    return table(("learner", "classes", '"none"', '"sample"', '"all"'), rows)
