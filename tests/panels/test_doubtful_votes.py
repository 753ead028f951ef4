"""Votes and scores that are probably misread: other codes, abstentions, bad cells, a class N/A."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax.panels import read_panel
from linmax.streams import StreamError
from tests.panels.small_tables import codes_of, panel_columns, read_columns

ITEMS = 200
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(5, size=ITEMS)


def vote(accuracy: float) -> np.ndarray:
    return np.where(RNG.random(ITEMS) < accuracy, TRUTH, RNG.integers(5, size=ITEMS))


VOTES = {f"m{i}": vote(0.8 - 0.1 * i) for i in range(3)}


def texts(values: np.ndarray) -> list[str]:
    return [str(value) for value in values.tolist()]


@pytest.mark.parametrize("coded", [lambda y: y + 1, lambda y: (y + 2) % 5])
def test_votes_in_other_codes_than_the_labels_are_a_grave_warning(coded) -> None:
    columns = {name: texts(column) for name, column in VOTES.items()}
    panel = read_columns({**columns, "label": texts(coded(TRUTH))})
    (found,) = (one for one in panel.warnings if one.code == "votes-below-chance")
    assert found.severity == "grave"
    assert found.text.startswith("the votes of m0, m1")
    assert "are the label on fewer items than by chance" in found.text
    assert not codes_of(read_columns({**columns, "label": texts(TRUTH)}))


def test_one_expert_in_other_codes_is_a_note() -> None:
    columns = {name: texts(column) for name, column in VOTES.items()}
    columns["m1"] = texts((VOTES["m1"] + 1) % 5)
    assert codes_of(read_columns({**columns, "label": texts(TRUTH)}))["votes-below-chance"] == "note"


def test_minus_one_among_whole_numbers_is_no_strange_vote() -> None:
    columns = {}
    for name, column in VOTES.items():
        columns[name] = texts(np.where(RNG.random(ITEMS) < 0.7, -1, column))
    assert not codes_of(read_columns({**columns, "label": texts(TRUTH)}, experts=("m*",)))


def test_a_marker_of_missing_cells_that_labels_and_votes_have_is_named() -> None:
    columns = panel_columns(90)
    name = columns["label"][0]
    columns = {
        key: ["N/A" if value == name else value for value in column] for key, column in columns.items()
    }
    (found,) = (one for one in read_columns(columns).warnings if one.code == "missing-labels")
    missing = columns["label"].count("N/A")
    assert (
        f"'N/A' ({missing}) in labels and votes means that; if it is a class, pass --missing ''" in found.text
    )


@pytest.mark.parametrize("bad", ["error", "inf"])
def test_a_bad_cell_in_a_column_of_scores_is_a_grave_warning(bad: str) -> None:
    columns = {}
    for expert in ("rf", "svm"):
        scores = RNG.dirichlet(np.ones(3), ITEMS) * 0.5 + 0.5 * np.eye(3)[TRUTH % 3]
        for code, name in enumerate(("cat", "dog", "eel")):
            columns[f"{expert}_{name}"] = [f"{x:.4f}" for x in scores[:, code]]
    columns["label"] = [("cat", "dog", "eel")[y % 3] for y in TRUTH]
    assert "missing-scores" not in codes_of(read_columns(columns))
    columns["rf_cat"][17] = bad
    (found,) = (one for one in read_columns(columns).warnings if one.code == "missing-scores")
    assert found.severity == "grave"
    assert f"'rf_cat' is not read as one, because it has '{bad}': correct the cell" in found.text


@pytest.mark.parametrize("name", ["gold2", "truth2", "GT2", "Gold_2"])
def test_a_second_truth_with_a_number_does_not_vote(name: str) -> None:
    columns = panel_columns(90)
    panel = read_columns({**columns, name: columns["label"]}, label="label")
    assert name not in [one.name for one in panel.reading.columns("expert")]


def test_a_truncated_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "votes.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(StreamError, match=r"votes\.parquet"):
        read_panel([path])


@pytest.mark.parametrize(("key", "found"), [("id", "id"), ("doc_id", "doc_id"), ("topic", "item")])
def test_items_whose_votes_are_in_lists_keep_their_ids(tmp_path: Path, key: str, found: str) -> None:
    records = [
        {
            key: f"x{i}" if key != "topic" else "a",
            "annotations": [{"annotator": f"m{j}", "label": "ab"[i % j % 2]} for j in (2, 3, 5)],
            "gold": "ab"[i % 7 % 2],
        }
        for i in range(60)
    ]
    path = tmp_path / "votes.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    panel = read_panel([path])
    assert panel.reading.column("id") == found
    assert panel.chunk is not None
    assert panel.chunk.ids == ([f"x{i}" for i in range(60)] if found == key else [*range(1, 61)])


@pytest.mark.parametrize("words", [("t", "f"), ("Y", "N")])
def test_an_expert_in_other_words_for_0_and_1_is_named(words: tuple[str, str]) -> None:
    columns = {name: texts(column % 2) for name, column in VOTES.items()}
    columns["m0"] = [words[1 - code % 2] for code in VOTES["m0"]]
    (found,) = (one for one in read_columns({**columns, "label": texts(TRUTH % 2)}).warnings)
    assert "m0" in found.text
    assert "are other words for the classes" in found.text


def test_labels_that_are_quantities_are_a_grave_warning() -> None:
    ages = RNG.integers(20, 60, size=ITEMS)
    near = {f"m{i}": texts(ages + RNG.integers(-3 - i, 4 + i, size=ITEMS)) for i in range(3)}
    panel = read_columns({**near, "label": texts(ages)})
    assert codes_of(panel)["quantities"] == "grave"
    words = {name: [f"code {one}" for one in column] for name, column in near.items()}
    assert "quantities" not in codes_of(read_columns({**words, "label": [f"code {one}" for one in ages]}))


def test_codes_of_many_classes_and_ratings_are_no_quantities() -> None:
    codes = RNG.integers(40, size=ITEMS)
    wrong = {
        f"m{i}": np.where(RNG.random(ITEMS) < 0.3, codes, RNG.integers(40, size=ITEMS)) for i in range(3)
    }
    columns = {name: texts(column) for name, column in wrong.items()}
    assert "quantities" not in codes_of(read_columns({**columns, "label": texts(codes)}))
    near = {f"m{i}": np.where(RNG.random(ITEMS) < 0.6, codes, codes + 1) for i in range(3)}
    columns = {name: texts(column) for name, column in near.items()}
    assert "quantities" not in codes_of(read_columns({**columns, "label": texts(codes)}))
    ratings = RNG.integers(1, 11, size=ITEMS)
    near = {f"m{i}": np.clip(ratings + RNG.integers(-1, 2, size=ITEMS), 1, 10) for i in range(3)}
    columns = {name: texts(column) for name, column in near.items()}
    assert "quantities" not in codes_of(read_columns({**columns, "label": texts(ratings)}))


@pytest.mark.parametrize("classes", [(0, 1), ("no", "yes")])
def test_percentages_that_may_be_probabilities_are_noted(classes: tuple[Any, Any]) -> None:
    columns = panel_columns(100, classes=classes)
    columns["gpt"] = [f"{60 if one == classes[1] else 10}%" for one in columns["m0"]]
    texts = [one.text for one in read_columns(columns).warnings if one.code == "missing-scores"]
    (text,) = texts
    assert text.startswith("'gpt' has percentages such as ")
    columns["gpt"] = ["5%", "10%"] * 50
    assert "missing-scores" not in codes_of(read_columns(columns))


def test_votes_that_differ_from_classes_by_leading_zeros_are_noted() -> None:
    columns = panel_columns(100, classes=("01", "02", "03"))
    columns["m0"] = [one.lstrip("0") for one in columns["m0"]]
    panel = read_columns(columns)
    assert [one.name for one in panel.reading.columns("expert")] == ["m1", "m2"]
    (text,) = [one.text for one in panel.warnings if one.code == "partial-votes"]
    assert "m0 (" in text
    assert "differ from classes by leading zeros" in text


@pytest.mark.parametrize(
    ("name", "severity"), [("gold", "grave"), ("Ground Truth", "grave"), ("y", None), ("gus", None)]
)
def test_an_expert_of_a_long_table_with_the_name_of_a_truth_is_a_grave_warning(
    name: str, severity: str | None
) -> None:
    columns = panel_columns(60)
    voters = {"ann": columns["m0"], "bob": columns["m1"], name: columns["label"]}
    rows = [(f"t{i}", who, own[i]) for i in range(60) for who, own in voters.items()]
    found = read_columns(
        dict(zip(("task", "worker", "answer"), map(list, zip(*rows, strict=True)), strict=True)),
        needs_label=False,
    )
    assert codes_of(found).get("possible-leak") == severity
