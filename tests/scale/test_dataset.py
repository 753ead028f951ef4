"""The rows of a data set are read alike from all of its files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
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
    assert problem.startswith(f"part-1.jsonl: '{known}' of the first partition is '{here}' here, since an")
