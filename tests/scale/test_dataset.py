"""The rows of a data set are read alike from all of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax.scale import keyed
from tests.helpers.datasets import EXPERTS, rows


def learn(folder: Path, **options: Any) -> Any:
    given = {"by": "customer", "learner": "Winnow(1.2)", "workers": 1, "label": "truth"} | options
    return keyed(folder, store=folder.parent / "models", **given)


def write_objects(path: Path, table: dict[str, list[Any]], **votes: Any) -> None:
    """Write rows as objects with their votes, and further ones, in an object."""
    with path.open("w") as file:
        for row in pa.table(table).to_pylist():
            own = {name: row.pop(name) for name in EXPERTS}
            print(json.dumps({**row, "votes": own | votes}), file=file)


@pytest.mark.parametrize("first", [True, False])
def test_experts_with_other_names_in_another_file_are_refused(first: bool, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in range(2):
        shared = {"truth": "ham"} if first == (part == 0) else {}
        write_objects(folder / f"part-{part}.jsonl", rows(60, 3, seed=part), **shared)
    (problem,) = learn(folder).problems
    known, here = ("votes.e0", "e0") if first else ("e0", "votes.e0")
    assert problem.startswith(f"part-1.jsonl: '{known}' of the first partition is '{here}' here, because one")
    assert problem.endswith("rename that expert")


def write_codes(folder: Path, kinds: list[Any]) -> Path:
    """Write files with votes in numbers; those of the first expert have a type of their own in each."""
    folder.mkdir()
    for part, kind in enumerate(kinds):
        found = rows(60, 3, seed=part)
        codes = {name: np.unique(found[name], return_inverse=True)[1] for name in EXPERTS}
        truth = pa.array([{None: None, "eggs": 0, "ham": 1, "spam": 2}[name] for name in found["truth"]])
        first = pa.array(codes["e0"]).cast(pa.int8() if kind == "list" else kind)
        columns = {**codes, "e0": pa.array([[one] for one in first.to_pylist()]) if kind == "list" else first}
        table = pa.table({"customer": found["customer"], **columns, "truth": truth})
        pq.write_table(table, folder / f"part-{part}.parquet")
    return folder


@pytest.mark.parametrize("kind", [pa.decimal128(20, 0), pa.float16(), pa.uint64()], ids=str)
def test_votes_of_all_types_of_numbers_are_learned(kind: Any, tmp_path: Path) -> None:
    found = learn(write_codes(tmp_path / "data", [kind, pa.int8()]))
    assert (found.items, found.notes, found.problems) == (120, [], [])
    assert found.models["c0"].experts == EXPERTS


def test_columns_that_are_not_read_are_named(tmp_path: Path) -> None:
    found = learn(write_codes(tmp_path / "first", ["list", pa.int8()]))
    assert found.notes == ["in the first rows, columns of lists are dropped: e0"]


def test_a_column_that_only_another_file_has_as_lists_is_refused(tmp_path: Path) -> None:
    (problem,) = learn(write_codes(tmp_path / "later", [pa.int8(), "list"])).problems
    assert problem.startswith("part-1.parquet: 'e0' has lists or bytes, not texts or numbers as in the first")


def test_a_column_that_is_spelled_otherwise_in_a_later_file_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for part, name in enumerate(("ann", "Ann")):
        lines = [f"{'xy'[i % 2]},{'xy'[i % 3 > 0]},{'xy'[i % 2]},c" for i in range(30)]
        (folder / f"part-{part}.csv").write_text("\n".join([f"{name},bob,truth,customer", *lines]))
    (problem,) = learn(folder).problems
    assert "part-1.csv: 'ann' of the first partition is 'Ann' here; rename one" in problem
