"""The benchmark of keys and shards, on a handful of rows, and the reckoning from its figures."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from benchmarks import scale, scale_stores
from benchmarks.checkpoint import Checkpoint
from docs import scale_tables
from docs.build import table


def test_all_methods_learn_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    scale.write_data(data, 320, 6)
    found = {
        method: scale.run_method(method, str(data), str(tmp_path / method))
        for method in ("loop", "pandas", "polars", "1 worker")
    }
    assert len({one["mistakes"] for one in found.values()}) == 1
    assert {one["keys"] for one in found.values()} == {6}
    assert found["1 worker"]["model_bytes"] > 1000
    assert found["1 worker"]["split_bytes"] > 1000


def test_a_run_that_is_stopped_goes_on_with_what_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    results, unfinished = tmp_path / "scale.json", tmp_path / "unfinished.json"

    def measured(method: str, data: Path, home: Path) -> dict[str, Any]:
        asked.append(method)
        if asked == ["loop", "pandas", "polars"]:
            raise KeyboardInterrupt
        return {
            "method": method,
            "wall": 2.0,
            "cpu": 1.0,
            "mb": 9.0,
            "worker_mb": 5.0,
            "load": 0.5,
            "mistakes": 3,
        }

    monkeypatch.setattr(scale, "measure_method", measured)
    monkeypatch.setattr(scale, "warm_up", lambda *_: None)
    monkeypatch.setattr(scale, "UNFINISHED", unfinished)
    app = typer.Typer()
    app.command()(scale.main)
    words = ["--rows", "64", "--keys", "2", "--only", "keys", "--results", str(results)]
    stopped = CliRunner().invoke(app, words)
    assert stopped.exit_code == 130
    assert "stopped; measured and kept: keys, loop, keys, pandas; go on with --resume" in " ".join(
        stopped.output.split()
    )
    assert not results.exists()
    done = CliRunner().invoke(app, [*words, "--resume"])
    assert done.exit_code == 0, done.output
    assert "32 rows/s, 64 rows per CPU s, 9 MB, 5 MB in a worker" in done.output
    assert asked[3:] == ["polars", "1 worker", "2 workers", "local cluster"]
    assert [one["method"] for one in json.loads(results.read_text())["keys"]["methods"]] == [*scale.METHODS]
    assert not unfinished.exists()


def test_measurements_with_other_settings_are_not_used(tmp_path: Path) -> None:
    console, path = Console(quiet=True), tmp_path / "kept" / "some.json"
    assert Checkpoint(path, {"rows": 1}, console).measure("a", lambda: 1) == 1
    for settings, resume, expected in (
        ({"rows": 1}, True, 1),
        ({"rows": 2}, True, 2),
        ({"rows": 1}, False, 2),
    ):
        kept = Checkpoint(path, settings, console, resume=resume)
        kept.path = None
        assert kept.measure("a", lambda: 2) == expected


def test_a_folder_of_models_is_compared_with_a_table(tmp_path: Path) -> None:
    found = scale_stores.stores(70, tmp_path)
    assert 0 < found["folder"]["bytes"] < found["SQLite"]["bytes"]
    assert "| one table of SQLite |" in scale_tables.stores({"stores": found}, table)


def test_the_reckoning_multiplies_measured_costs() -> None:
    method: dict[str, Any] = {"method": "1 worker", "cpu": 10.0, "split": 1.0, "learn": 3.0}
    method |= {"model_bytes": 2**20, "split_bytes": 3_000_000}
    figures = {"keys": {"rows": 1_000_000, "keys": 1024, "bytes": 12_000_000, "methods": [method]}}
    cost = scale_tables.costs(figures)
    assert cost["split"] + cost["learn"] == pytest.approx(1e-5)
    assert cost["split"] == pytest.approx(2.5e-6)
    text = scale_tables.reckoning(figures, table)
    assert "| wall time on 2 cores | if nothing else is slower | 1.4 h |" in text
    assert "| models | 1024 bytes per key | 1.0 GiB |" in text
