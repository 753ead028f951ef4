"""`make reproduce`: run the experiments and show each figure beside what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments import figure_1_2003, lecture_2008
from experiments.statistics import interval

HERE = Path(__file__).parent


def expected(experiment: str) -> Any:
    """What is claimed."""
    return json.loads((HERE / experiment / "expected.json").read_text())


def show_figure_1(runs: int, console: Console) -> None:
    """Mistakes after 100,000 trials, and who wins where."""
    claims = expected("figure_1_2003")
    for setting in figure_1_2003.SETTINGS:
        table = Table(
            "learner", "measured", "expected", "agrees", title=f"2003, Figure 1: {setting}, {runs} runs"
        )
        levels: dict[str, float] = {}
        for learner in track(figure_1_2003.learners(), setting, console=console, transient=True):
            found = interval([figure_1_2003.run(setting, learner, seed=seed) for seed in range(runs)])
            levels[repr(learner)] = found.mean
            claim = claims[setting].get(repr(learner))
            said = f"{claim[0]} ± {claim[1]}" if claim else ""
            table.add_row(repr(learner), str(found), said, str(found.agrees(*claim)) if claim else "")
        console.print(table)
        winner = min(levels, key=levels.__getitem__)
        console.print(f"fewest mistakes: {winner} (claimed: {claims[setting]['winner']})\n")


def show_lecture(console: Console) -> None:
    """Mistakes of the three algorithms against their bounds."""
    claims = expected("lecture_2008")
    table = Table(
        "experts", "rule", "mistakes (3 seeds)", "expected", "bound", title="lecture of 2008: 3 of N"
    )
    for experts in lecture_2008.SIZES:
        for rule in lecture_2008.learners():
            found = interval([lecture_2008.run(rule, experts, seed=seed) for seed in range(3)])
            most = lecture_2008.bound(rule, experts)
            table.add_row(str(experts), rule, str(found), str(claims[str(experts)][rule]), f"{most:.0f}")
    for rule, claim in claims["signed 1000"].items():
        found = interval([lecture_2008.run(rule, 1000, signs=(1, -1, -1), seed=seed) for seed in range(3)])
        table.add_row("1000, signed", rule, str(found), str(claim), "")
    console.print(table)


def main(runs: Annotated[int, typer.Option(help="runs of each cell of Figure 1", min=2)] = 5) -> None:
    """Run the experiments of the papers that are here."""
    console = Console()
    show_lecture(console)
    show_figure_1(runs, console)


typer.run(main)
