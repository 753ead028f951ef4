"""`make bench-guard`: counted work and ratios to plain C, beside the figures that are kept: what moved?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import committee, twin
from benchmarks.guard import counters
from benchmarks.guard.compare import CODE, EXACT, MORE, RATIO, Move, moves
from benchmarks.measuring import machine
from benchmarks.speed.core import against_c

KEPT = Path(__file__).parents[1] / "results" / "guard.json"
COUNTED = {
    counters.of_machine_code: CODE,  # before anything else is compiled
    counters.of_python: EXACT,
    counters.of_a_file: EXACT,
    counters.of_learning: EXACT,
    counters.of_memory: EXACT,
    counters.of_starting: EXACT,
}


def figures(quick: bool, console: Console) -> dict[str, Any]:
    """All figures, with their kinds."""
    found: dict[str, Any] = {}
    for count, kind in COUNTED.items():
        found |= {name: {"value": value, "kind": kind} for name, value in count()}
    c = None if quick else twin.compiled()
    if quick or c is None:
        console.print("without ratios to plain C" + ("" if quick else ": there is no C compiler here"))
        return found
    rows = against_c(c, 20, 200_000, 15) + against_c(c, 1000, 20_000, 15)
    ratios = {f"time beside C, {one['rule']}, {one['experts']} experts": one["ratio"][0] for one in rows}
    for one in committee.against_plain(2000, 7):
        ratios[f"time beside a plain numba program, {one['what']}"] = 1 / one["times_faster"][0]
    return found | {name: {"value": round(value, 3), "kind": RATIO} for name, value in ratios.items()}


def shown(found: list[Move]) -> Table:
    """Figures that moved, or all of them."""
    table = Table("figure", "kept", "now", "change", "")
    for one in found:
        change = f"{one.now / one.then - 1:+.1%}" if one.then and one.now is not None else ""
        numbers = ["" if value is None else f"{value:,g}" for value in (one.then, one.now)]
        table.add_row(one.name, *numbers, change, one.verdict, style="bold red" if one.wrong else "")
    return table


def main(
    keep: Annotated[bool, typer.Option("--keep", help="these figures are right: keep them")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="what can be counted, no ratios")] = False,
    every: Annotated[bool, typer.Option("--all", help="show also what has not moved")] = False,
    kept: Annotated[Path, typer.Option(help="the file of kept figures")] = KEPT,
) -> None:
    """Compare with the kept figures, and say what moved; the exit code is 1 if something did."""
    console = Console()
    about = machine()
    made_with = {"machine": about["machine"], **about["versions"]}
    now = {"with": made_with, "figures": figures(quick, console)}
    if keep or not kept.exists():
        kept.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        console.print(f"{len(now['figures'])} figures are kept in {kept.name}")
        return
    then = json.loads(kept.read_text(encoding="utf-8"))
    if quick:
        then["figures"] = {name: one for name, one in then["figures"].items() if one["kind"] != RATIO}
    found = moves(then, now)
    wrong = [one for one in found if one.wrong]
    if wrong or every:
        console.print(shown(found if every else wrong))
    silent = {one.verdict for one in found if one.verdict and not one.wrong}
    for why in sorted(silent):
        console.print(f"{sum(one.verdict == why for one in found)} figures are not compared: {why}")
    limits = ", ".join(f"{kind} {part:.0%}" for kind, part in MORE.items())
    console.print(f"{len(wrong)} of {len(found)} figures moved by more than they may ({limits})")
    if wrong:
        console.print("if that is right, keep them: make bench-guard ARGS=--keep")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
