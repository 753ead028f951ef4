"""`make reproduce`: run the experiments and show each figure beside what was expected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Table

from experiments import figure_1_2003, figure_5_2008, lecture_2008, remarks_2008, table_1_2008
from experiments.figure_5_2008.drawing import draw
from experiments.majority_2008 import Track
from experiments.statistics import interval

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NAMES = ("lecture_2008", "figure_1_2003", "table_1_2008", "figure_5_2008", "remarks_2008")


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


def tracking(console: Console) -> Track:
    """A bar while the runs of a cell are made."""
    return lambda seeds, what: track(seeds, what, console=console, transient=True)


def show_2008(name: str, runs: int, quick: bool, folder: Path, console: Console) -> None:
    """Table I, Figure 5 or the remarks of 2008; the pages, figures and pictures are kept unless quick."""
    bar = tracking(console)
    if name == "table_1_2008":
        result = table_1_2008.measure(runs, bar, **({"noises": (0.01,)} if quick else {}))
    elif name == "figure_5_2008":
        result, curves = figure_5_2008.measure(runs, bar, every=10 if quick else 1)
        if not quick:
            folder.mkdir(parents=True, exist_ok=True)
            draw(curves, folder / f"{name}.png", title=f"{result.title}; mean of {runs} runs")
    else:
        cells = remarks_2008.SMALL if quick else remarks_2008.ALL
        result = remarks_2008.measure(runs, bar, cells=cells)
    result.show(console)
    if not quick:
        result.keep(folder, name)
    console.print(f"{name}: {result.seconds:.0f} s" + ("" if quick else f", kept in {folder}"))


def main(
    only: Annotated[list[str] | None, typer.Argument(help=f"some of {', '.join(NAMES)}; else all")] = None,
    runs: Annotated[int | None, typer.Option(help="runs of each cell [2003: 5; 2008: 20]", min=2)] = None,
    quick: Annotated[bool, typer.Option("--quick", help="2008: few cells, 2 runs, nothing kept")] = False,
    folder: Annotated[Path, typer.Option(help="where results of 2008 are kept")] = RESULTS,
) -> None:
    """Run the experiments of the papers that are here."""
    console = Console()
    for name in only or NAMES:
        if name == "lecture_2008":
            show_lecture(console)
        elif name == "figure_1_2003":
            show_figure_1(runs or 5, console)
        elif name in NAMES:
            show_2008(name, runs or (2 if quick else 20), quick, folder, console)
        else:
            raise typer.BadParameter(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")


if __name__ == "__main__":
    typer.run(main)
