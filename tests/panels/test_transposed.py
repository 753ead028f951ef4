"""Tables with a row per expert and a column per item."""

from __future__ import annotations

import io
from pathlib import Path

from linmax.panels.panel import read_panel
from tests.panels.small_tables import (
    as_csv,
    experts_of,
    labels_of,
    panel_columns,
    read_columns,
    vote,
    votes_of,
)

COLUMNS = panel_columns(60)


def transposed(columns: dict[str, list[str]], corner: str = "model") -> bytes:
    items = [f"t{i:02}" for i in range(len(columns["label"]))]
    lines = [[corner, *items], *([name, *map(str, own)] for name, own in columns.items())]
    return "\n".join(map(",".join, lines)).encode()


def test_rows_and_columns_are_swapped() -> None:
    panel = read_panel([io.BytesIO(transposed(COLUMNS))])
    as_usual = read_columns(COLUMNS)
    assert experts_of(panel) == experts_of(as_usual)
    assert (labels_of(panel), votes_of(panel)) == (labels_of(as_usual), votes_of(as_usual))
    assert panel.reading.column("id") == "item"
    assert any("rows and columns are swapped" in one.text for one in panel.warnings)


def test_the_corner_may_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "votes.csv"
    path.write_bytes(transposed(COLUMNS, corner=""))
    assert experts_of(read_panel([path])) == ["m0", "m1", "m2"]


def test_classes_may_be_numbers() -> None:
    columns = panel_columns(60, classes=(0, 1))
    assert experts_of(read_panel([io.BytesIO(transposed(columns))])) == ["m0", "m1", "m2"]


def test_a_table_with_few_rows_and_a_column_of_labels_stays_as_it_is() -> None:
    columns = {f"m{i}": ["a", "b", "a"] for i in range(9)}
    panel = read_panel(
        [io.BytesIO(as_csv({"name": ["x", "truth", "z"], **columns, "label": ["a", "b", "b"]}))]
    )
    assert len(experts_of(panel)) == 9


def test_a_row_per_worker_as_in_answers_to_a_form_is_swapped() -> None:
    items = [f"Q{i}" for i in range(40)]
    rows = [["3/4/2024 10:00:11", f"w{i}", *vote(COLUMNS["label"][:40], 0.8, i)] for i in range(12)]
    votes = "\n".join(map(",".join, [["Timestamp", "Worker", *items], *rows])).encode()
    truth = "\n".join(["item,truth", *map(",".join, zip(items, COLUMNS["label"], strict=False))]).encode()
    panel = read_panel([io.BytesIO(votes), io.BytesIO(truth)])
    assert len(experts_of(panel)) == 12
    assert panel.chunk is not None
    assert panel.chunk.items == 40


def test_a_long_table_is_not_swapped() -> None:
    columns = {"worker": ["w1", "w1", "w2"], "task": ["a", "b", "a"], "label": ["x", "y", "x"]}
    more = {f"extra{i}": [i, i + 1, i + 2] for i in range(5)}
    panel = read_columns({**columns, **more}, label="")
    assert "worker" in {one.name for one in panel.reading.roles}
