"""`make bench-fuse`: `linmax fuse` on a large file, and Vowpal Wabbit on the same rows.

Each program is a separate process that reads its file and learns in one pass; programs run in turn, so that
other load on the machine affects all equally. linmax reads Parquet, encodes texts, learns, and computes all
statistics of its report; Vowpal Wabbit reads its own text format and writes no predictions.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.markdown import table
from benchmarks.peers.environment import PeersMissingError, python
from benchmarks.peers.vw import lines_by_class
from benchmarks.timing import Cost, in_turn, machine, record, time_process
from linmax.problems import majority

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
NAMES = ["ham", "spam", "news", "todo", "work"]
EXPERTS, RELEVANT, NOISE = 20, 10, 0.05
CHUNK = 500_000  # rows that are generated at a time
FEW = 1000  # rows of a file that measures the start-up
LEARNER = "Averaged(Winnow(1.2))"
LOSSES = ("squared", "logistic")
LINMAX = (str(Path(sys.executable).with_name("linmax")), "fuse")
WABBIT = "import sys; from vowpalwabbit import Workspace; Workspace(sys.argv[1]).finish()"


class Cell(NamedTuple):
    """A program and the number of its rows."""

    name: str
    rows: int
    command: tuple[str, ...]


def chunks(rows: int) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """Yield votes and labels in chunks, the same for every format."""
    for seed, start in enumerate(range(0, rows, CHUNK)):
        votes, labels = majority(
            CHUNK, relevant=RELEVANT, experts=EXPERTS, classes=len(NAMES), noise=NOISE, seed=seed
        )
        yield votes[: rows - start], labels[: rows - start]


def as_parquet(path: Path, rows: int) -> Path:
    """Write the rows as texts to a Parquet file, chunk by chunk."""
    schema = pa.schema([(f"model{i}", pa.string()) for i in range(EXPERTS)] + [("truth", pa.string())])

    def write(part: Path) -> None:
        with pa.parquet.ParquetWriter(part, schema) as writer:
            for votes, labels in chunks(rows):
                writer.write_table(pa.table([_texts(one) for one in (*votes.T, labels)], schema=schema))

    return _once(path, write)


def as_examples(path: Path, rows: int) -> Path:
    """Write the same rows in the format of Vowpal Wabbit."""

    def write(part: Path) -> None:
        with part.open("w") as file:
            for votes, labels in chunks(rows):
                for row, y in zip(votes.tolist(), labels.tolist(), strict=True):
                    file.write(lines_by_class(row, y, len(NAMES)))

    return _once(path, write)


def as_csv(path: Path, rows: int, experts: int) -> Path:
    """Write a small panel to a CSV file."""

    def write(part: Path) -> None:
        votes, labels = majority(rows, relevant=5, experts=experts, classes=len(NAMES), noise=NOISE)
        columns = {f"model{i}": _texts(votes[:, i]) for i in range(experts)} | {"truth": _texts(labels)}
        pa.csv.write_csv(pa.table(columns), part)

    return _once(path, write)


def _texts(codes: np.ndarray[Any, Any]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int8)), pa.array(NAMES)).cast(pa.string())


def _once(path: Path, write: Any) -> Path:
    if not path.exists():
        part = path.with_suffix(".part")
        write(part)
        part.rename(path)
    return path


def linmax_cells(folder: Path, rows: int, default_rows: int) -> list[Cell]:
    """Return the runs of linmax: all rows and a tenth of them, the default on fewer, and a small file."""
    cells = [
        Cell(LEARNER, n, (*LINMAX, str(as_parquet(folder / f"{n}.parquet", n)), "--learner", LEARNER))
        for n in (rows // 10, rows)
    ]
    few = as_parquet(folder / f"{default_rows}.parquet", default_rows)
    cells.append(Cell("the default", default_rows, (*LINMAX, str(few))))
    small = as_csv(folder / "small.csv", FEW, experts=10)
    cells.append(Cell(f"{LEARNER}, CSV of 10", FEW, (*LINMAX, str(small), "--learner", LEARNER)))
    return [cell._replace(command=(*cell.command, "--json")) for cell in cells]


def peer_cells(folder: Path, rows: int, wabbit: Path) -> list[Cell]:
    """Return the runs of Vowpal Wabbit: the first rows, and few rows that measure its start-up."""
    cells = []
    for loss in LOSSES:
        for n in (FEW, rows):
            file = as_examples(folder / f"{n}.vw", n)
            options = f"--csoaa_ldf mc --loss_function {loss} --quiet --no_stdin -d {file}"
            cells.append(Cell(f"VW, {loss}", n, (str(wabbit), "-c", WABBIT, options)))
    return cells


def measure_cells(cells: list[Cell], rounds: int) -> list[dict[str, Any]]:
    """Run the programs in turn, and return their costs."""

    def work(cell: Cell) -> Cost:
        cost, output = time_process(cell.command)
        if output and json.loads(output)["items"] != cell.rows:
            raise RuntimeError(f"{cell.name} did not learn {cell.rows} rows")
        return cost

    of = {f"{cell.name}, {cell.rows}": cell for cell in cells}
    costs = in_turn({name: partial(work, cell) for name, cell in of.items()}, rounds)
    return [{"program": cell.name, "rows": cell.rows, **record(costs[name])} for name, cell in of.items()]


def ratios(records: list[dict[str, Any]], rows: int) -> dict[str, dict[str, float]]:
    """Return the estimated time of Vowpal Wabbit for all rows, relative to linmax."""
    of = {(one["program"], one["rows"]): one for one in records}
    own = of[LEARNER, rows]
    found: dict[str, dict[str, float]] = {}
    for loss in LOSSES:
        name = f"VW, {loss}"
        sizes = sorted(n for program, n in of if program == name)
        if len(sizes) == 2:
            few, many = sizes
            found[name] = {}
            for what in ("wall", "cpu"):
                start, end = of[name, few][what][0], of[name, many][what][0]
                per_row = (end - start) / (many - few)
                found[name][f"{what}, microseconds per row"] = round(1e6 * per_row, 3)
                found[name][f"{what}, times linmax"] = round((start + rows * per_row) / own[what][0], 2)
    return found


def result_table(records: list[dict[str, Any]]) -> Table:
    """Return the results as a table."""
    table = Table(title=f"one pass over a file: {EXPERTS} experts, {len(NAMES)} classes, median (min .. max)")
    for name in ("program", "rows", "wall, s", "CPU, s", "wall, us per row", "peak MB"):
        table.add_column(name, justify="left" if name == "program" else "right")
    for one in records:
        times = [f"{mid:.2f} ({least:.2f} .. {most:.2f})" for mid, least, most in (one["wall"], one["cpu"])]
        per_row = f"{1e6 * one['wall'][0] / one['rows']:.2f}"
        table.add_row(one["program"], f"{one['rows']:,}", *times, per_row, f"{one['megabytes'][0]:.0f}")
    return table


HEAD = """\
## A large file

Generated by `make bench-fuse`: each program is a separate process that reads its file and learns it in one
pass. `linmax fuse` reads Parquet with dictionary-encoded texts, learns, and computes all statistics of its
report, in three threads; Vowpal Wabbit reads its own text format, parsing in a second thread, and writes no
predictions. It runs on a tenth of the rows, and on few rows that measure its start-up, and its time for all
rows is extrapolated. The hypotheses are the same, one weight per expert, except for a constant per class.
Median (min .. max) of seconds.

"""


def page(results: dict[str, Any]) -> str:
    """Return the results as Markdown."""
    lines = [["program", "rows", "wall, s", "CPU, s", "peak MB"]]
    for one in results["runs"]:
        times = ["{:.2f} ({:.2f} .. {:.2f})".format(*one[kind]) for kind in ("wall", "cpu")]
        megabytes = "" if one["program"].startswith("VW") else f"{one['megabytes'][0]:.0f}"
        lines.append([one["program"], f"{one['rows']:,}", *times, megabytes])
    comparisons = [
        f"- {name}: {times['wall, times linmax']:g} times the wall time of linmax for all rows,"
        f" {times['cpu, times linmax']:g} times its CPU time.\n"
        for name, times in results["against VW"].items()
    ]
    return HEAD + table(lines) + "\n" + "".join(comparisons)


def main(
    rows: Annotated[int, typer.Option(min=1000, help="rows of the large file")] = 10_000_000,
    rounds: Annotated[int, typer.Option(min=1, help="how many times each program runs")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="100,000 rows, one round")] = False,
    folder: Annotated[Path, typer.Option(help="the folder of generated files")] = ROOT / ".cache/bench",
    results: Annotated[Path, typer.Option(help="the folder of results")] = RESULTS,
) -> None:
    """Measure `linmax fuse` and Vowpal Wabbit on the same rows."""
    console = Console()
    rows, rounds = (100_000, 1) if quick else (rows, rounds)
    folder.mkdir(parents=True, exist_ok=True)
    results.mkdir(parents=True, exist_ok=True)
    cells = linmax_cells(folder, rows, min(300_000, rows // 10))
    part = max(rows // 10, 2 * FEW)
    try:
        cells += peer_cells(folder, part, python(ROOT / ".cache" / "peers", make=True))
    except PeersMissingError as error:
        console.print(f"without Vowpal Wabbit: {error}", soft_wrap=True)
    records = measure_cells(cells, rounds)
    found = ratios(records, rows)
    console.print(result_table(records))
    for name, times in found.items():
        text = ", ".join(f"{what} {value:g}" for what, value in times.items())
        console.print(f"{name}, from {part:,} rows to {rows:,}: {text}", soft_wrap=True)
    stored = {
        **machine(),
        "rounds": rounds,
        "note": f"wall, cpu (seconds) and megabytes: median, min, max; VW runs on {part} of the rows",
        "runs": records,
        "against VW": found,
    }
    name = "fuse-quick.json" if quick else "fuse.json"
    (results / name).write_text(json.dumps(stored, indent=1) + "\n")
    console.print(f"results are in {results / name}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
