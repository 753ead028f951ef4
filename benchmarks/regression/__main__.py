"""`make bench-guard`: compare counted work and ratios to C with the stored baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from benchmarks import c_reference, vr_combine
from benchmarks.regression import counters
from benchmarks.regression.compare import CODE, EXACT, RATIO, TOLERANCE, Change, changes
from benchmarks.speed.core import compare_with_c
from benchmarks.timing import machine

BASELINE = Path(__file__).parents[1] / "results" / "regression.json"
COUNTED = {
    counters.machine_code_size: CODE,  # first, before anything else is compiled
    counters.python_calls: EXACT,
    counters.file_calls: EXACT,
    counters.mistake_counts: EXACT,
    counters.memory_use: EXACT,
    counters.import_counts: EXACT,
}


def figures(quick: bool, console: Console) -> dict[str, Any]:
    """Return all figures with their kinds."""
    found: dict[str, Any] = {}
    for count, kind in COUNTED.items():
        found |= {name: {"value": value, "kind": kind} for name, value in count()}
    c = None if quick else c_reference.compile_reference()
    if quick or c is None:
        console.print("without ratios to C" + ("" if quick else ": there is no C compiler here"))
        return found
    rows = compare_with_c(c, 20, 200_000, 15) + compare_with_c(c, 1000, 20_000, 15)
    ratios = {
        f"time beside C, {one['rule']}, {one['experts']} experts": one["int32_ratio"][0] for one in rows
    }
    for one in vr_combine.compare_with_reference(2000, 7):
        ratios[f"time beside a plain numba program, {one['what']}"] = 1 / one["times_faster"][0]
    return found | {name: {"value": round(value, 3), "kind": RATIO} for name, value in ratios.items()}


def figure_table(found: list[Change]) -> Table:
    """Return a table of figures."""
    table = Table("figure", "baseline", "now", "change", "")
    for one in found:
        change = f"{one.now / one.old - 1:+.1%}" if one.old and one.now is not None else ""
        numbers = ["" if value is None else f"{value:,g}" for value in (one.old, one.now)]
        table.add_row(one.name, *numbers, change, one.status, style="bold red" if one.wrong else "")
    return table


def main(
    update: Annotated[bool, typer.Option("--update", help="store these figures as the baseline")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="only counted work, no ratios")] = False,
    every: Annotated[bool, typer.Option("--all", help="also show unchanged figures")] = False,
    baseline: Annotated[Path, typer.Option(help="the file of the baseline")] = BASELINE,
) -> None:
    """Compare with the baseline; the exit code is 1 if a figure changed by more than its tolerance."""
    console = Console()
    about = machine()
    made_with = {"machine": about["machine"], **about["versions"]}
    now = {"with": made_with, "figures": figures(quick, console)}
    if update or not baseline.exists():
        baseline.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
        console.print(f"{len(now['figures'])} figures are stored in {baseline.name}")
        return
    old = json.loads(baseline.read_text(encoding="utf-8"))
    if quick:
        old["figures"] = {name: one for name, one in old["figures"].items() if one["kind"] != RATIO}
    found = changes(old, now)
    wrong = [one for one in found if one.wrong]
    if wrong or every:
        console.print(figure_table(found if every else wrong))
    not_compared = {one.status for one in found if one.status and not one.wrong}
    for reason in sorted(not_compared):
        console.print(f"{sum(one.status == reason for one in found)} figures are not compared: {reason}")
    limits = ", ".join(f"{kind} {part:.0%}" for kind, part in TOLERANCE.items())
    console.print(f"{len(wrong)} of {len(found)} figures changed by more than the tolerance ({limits})")
    if wrong:
        console.print("if the change is intended, store the figures: make bench-guard ARGS=--update")
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
