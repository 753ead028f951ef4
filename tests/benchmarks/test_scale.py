"""The benchmark of keys and shards, on a handful of rows, and the reckoning from its figures."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import scale
from docs import scale_tables
from docs.build import table


def test_all_methods_learn_the_same(tmp_path: Path) -> None:
    data = tmp_path / "data"
    scale.write_data(data, 960, 6)
    found = {
        method: scale.run_method(method, str(data), str(tmp_path / method))
        for method in ("loop", "pandas", "polars", "1 worker")
    }
    assert len({one["mistakes"] for one in found.values()}) == 1
    assert {one["keys"] for one in found.values()} == {6}
    assert found["1 worker"]["model_bytes"] > 1000
    assert found["1 worker"]["split_bytes"] > 1000


def test_a_folder_of_models_is_compared_with_a_table(tmp_path: Path) -> None:
    found = scale.stores(70, tmp_path)
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
