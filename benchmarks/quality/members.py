"""Ablation of the default: its members alone, and the default without each, on every real panel.

`python -m benchmarks.quality.members` takes some minutes; docs/recommended.md shows the result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import DATA, RESULTS
from benchmarks.quality.linmax_methods import baselines
from benchmarks.quality.panels import panels
from benchmarks.quality.problem import Panel, orders
from linmax import Fusion, Mixture, Stacked, recommended
from linmax.spec import Learner

ORDERS = 5  # random ones


def bank() -> tuple[Learner, ...]:
    """Return the members of the default."""
    members: tuple[Learner, ...] = recommended().members[1].members  # type: ignore[attr-defined]
    return members


def candidates() -> dict[str, Learner]:
    """Return the learners to compare, by their names on the page."""
    members = bank()
    found: dict[str, Learner] = {"the default": recommended(), "only stacked": Stacked(members)}
    found |= {"only mixed": Mixture(members)}
    found |= {f"{member!r}": member for member in members}
    for left_out in members:
        rest = tuple(member for member in members if member != left_out)
        found[f"without {left_out!r}"] = Mixture((Stacked(rest), Mixture(rest)))
    return found


def measured(panel: Panel, permutations: int) -> dict[str, Any]:
    """Return the accuracy of every candidate by order."""
    row: dict[str, dict[str, float]] = {}
    for order in orders(panel, permutations):
        feed = panel.feed(order)
        said = baselines(feed)
        for name, learner in candidates().items():
            said[name] = Fusion(learner, classes=range(panel.k)).learn(feed.votes, feed.labels).guesses
        for name, guesses in said.items():
            row.setdefault(name, {})[order] = float(np.mean(guesses == feed.labels))
    return {"panel": panel.name, "items": len(panel.labels), "accuracy": row}


def main(
    data: Annotated[Path, typer.Option(help="the folder of panels", show_default="../shared/data")] = DATA,
) -> None:
    """Measure the default, its members, and the default without each."""
    console = Console()
    found = panels(data)
    if not found:
        console.print(f"no panels in {data}; name their folder with --data", soft_wrap=True)
        return
    rows = [measured(panel, ORDERS) for panel in track(found, "panels", console=console, transient=True)]
    (RESULTS / "members.json").write_text(json.dumps({"panels": rows}, indent=1) + "\n")
    console.print("kept in benchmarks/results/members.json; make docs puts it into docs/recommended.md")


if __name__ == "__main__":
    typer.run(main)
