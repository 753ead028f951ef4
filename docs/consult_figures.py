"""The measured figures of docs/consult.md, from benchmarks/results/consult.json."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

STORED = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "consult.json"
HEADINGS = ("panel", "learned", "experts", "asked", "changed, %", "accuracy, %", "everybody, %", "in full")
FEWEST = 100
"""Items on average of a panel in the table; those of smaller ones say little."""


def consult_figures() -> str:
    """The table of the larger panels, and sentences on validity, drift, the default learner and time."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for one in stored["panels"]:
        groups.setdefault((one["panel"], one["learned"]), []).append(one)
    rows = [_row(*key, group) for key, group in groups.items() if _mean(group[0], "items") >= FEWEST]
    lines = [_line(HEADINGS), _line(["---", "---", *["---:"] * (len(HEADINGS) - 2)]), *map(_line, rows)]
    return "\n".join([*lines, "", *_sentences(stored), ""])


def _line(cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _mean(one: dict[str, Any], name: str) -> float:
    return mean(order[name] for order in one["orders"])


def _row(panel: str, learned: str, group: list[dict[str, Any]]) -> list[str]:
    """Return the cells of a panel; figures of all risks are in one cell."""

    def figures(name: str, factor: float, digits: int) -> str:
        return " / ".join(f"{factor * _mean(one, name):.{digits}f}" for one in group)

    return [
        panel, learned, f"{_mean(group[0], 'experts'):.1f}", figures("asked", 1.0, 2),
        figures("changed", 100.0, 2), figures("accuracy", 100.0, 1),
        f"{100.0 * _mean(group[0], 'accuracy_of_all'):.1f}", f"{_mean(group[0], 'in_full'):.0f}",
    ]  # fmt: skip


def _sentences(stored: dict[str, Any]) -> list[str]:
    found = []
    for one in stored["validity"]:
        state = "weights that do not change" if one["frozen"] else "a session that learns all votes"
        found.append(
            f"- Validity, mmlu_pro_votes, risk {one['risk']:g}, {state}: in {one['violations']} of"
            f" {one['orders']} random orders more predictions changed; on average {one['changed']:.2%} did,"
            f" {one['asked']:.2f} experts were asked, and {100 * one['lost']:.2f} percentage points of"
            " accuracy were lost."
        )
    drift, before = stored["drift"]["with"], stored["drift"]["without"]
    start = stored["drift"]["changes_at"]
    found.append(
        f"- Drift: when the experts of mmlu_pro_votes change places after {start:,} items, risk 0.01 falls"
        f" back after {drift['first_fallback'] - start} more. It changes {drift['changed']:.2%} of"
        f" predictions instead of {before['changed']:.2%}, asks {drift['asked']:.2f} experts instead of"
        f" {before['asked']:.2f}, and {drift['in_full']} items in full instead of {before['in_full']}."
    )
    found += [
        f"- The default learner on mmlu_pro_votes, risk {one['risk']:g}: {one['asked']:.2f} of"
        f" {one['experts']:.0f} asked, {one['changed']:.2%} changed, accuracy {one['accuracy']:.2%}"
        f" (full panel {one['panel_accuracy']:.2%})."
        for one in stored["default"]
    ]
    tried = stored["alternatives"]
    ways = "; ".join(
        f"{name}: {' and '.join(f'{asked:.2f}' for asked in both)}" for name, both in tried["ways"].items()
    )
    shares = " and ".join(f"{share:.2%}" for share in tried["shares"])
    found.append(
        "- Other ways to stop were tried on mmlu_pro_votes, with weights that do not change and thresholds in"
        f" hindsight. When {shares} of predictions change, these ask, as a mean over {tried['orders']} random"
        f" orders: {ways}. The second share is the largest that a calibration of risk 0.01 allows."
    )
    times = stored["time"]
    found.append(
        f"- `next_expert` takes {times['without prices']:.0f} microseconds of CPU for 29 experts, and"
        f" {times['with prices']:.0f} with prices, in a state that it has seen."
    )
    return found
