"""The benchmark of `linmax fuse`, on a handful of rows."""

import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from benchmarks import fuse
from benchmarks.timing import Cost, in_turn, record, time_process


@pytest.mark.slow
def test_a_file_is_written_once_and_fused_by_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuse, "CHUNK", 60)
    # without the round of warm-up, which is tested below
    monkeypatch.setattr(fuse, "in_turn", lambda works, _: {name: [work()] for name, work in works.items()})
    path = fuse.as_parquet(tmp_path / "rows.parquet", 60)
    table = pyarrow.parquet.read_table(path)
    assert table.num_rows == 60
    assert table.num_columns == fuse.EXPERTS + 1
    written = path.stat().st_mtime_ns
    assert fuse.as_parquet(path, 60).stat().st_mtime_ns == written
    cell = fuse.Cell("one", 60, (*fuse.LINMAX, str(path), "--learner", "Perceptron()", "--json"))
    (found,) = fuse.measure_cells([cell], rounds=1)
    assert (found["program"], found["rows"]) == ("one", 60)
    assert found["wall"][0] > 0
    assert found["cpu"][0] > 0
    assert found["megabytes"][0] > 20


def test_programs_run_in_turn_and_the_first_round_is_not_counted() -> None:
    started: list[str] = []

    def work(name: str) -> Cost:
        started.append(name)
        return Cost(float(len(started)), 0.0)

    costs = in_turn({name: partial(work, name) for name in "ab"}, 2)
    assert started == ["a", "b"] * 3
    assert {name: [cost.wall for cost in found] for name, found in costs.items()} == {
        "a": [3, 5],
        "b": [4, 6],
    }


def test_examples_are_the_same_rows(tmp_path: Path) -> None:
    lines = fuse.as_examples(tmp_path / "rows.vw", 3).read_text().split("\n\n")
    labels = next(fuse.chunks(3))[1]
    assert [line.split("\n")[y].split(" ")[0] for line, y in zip(lines, labels, strict=False)] == [
        f"{y + 1}:0" for y in labels
    ]


def test_a_ratio_is_that_of_all_rows_with_the_start() -> None:
    cells = [fuse.Cell(fuse.LEARNER, 10_000, ()), fuse.Cell("VW, squared", 1000, ())]
    cells.append(fuse.Cell("VW, squared", 3000, ()))
    walls = [2.0, 1.5, 3.5]
    records = [
        {"program": cell.name, "rows": cell.rows, **record([Cost(wall, wall, 1.0)] * 3)}
        for cell, wall in zip(cells, walls, strict=True)
    ]
    assert fuse.ratios(records, 10_000)["VW, squared"] == {
        "wall, microseconds per row": 1000.0,
        "wall, times linmax": 5.75,
        "cpu, microseconds per row": 1000.0,
        "cpu, times linmax": 5.75,
    }
    assert json.dumps(records)


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the largest memory is that of Linux")
def test_the_memory_of_a_program_is_not_that_of_the_process_that_starts_it() -> None:
    ours = np.ones(30_000_000)
    cost, output = time_process([sys.executable, "-S", "-c", "print(len(b'x' * 50_000_000))"])
    assert output == b"50000000\n"
    assert 50 < cost.megabytes < 120 < ours.nbytes / 2**20
    assert cost.cpu > 0
    assert cost.wall > 0
    with pytest.raises(RuntimeError, match="ended with 3"):
        time_process([sys.executable, "-c", "raise SystemExit(3)"])
