"""Labels of a file of labels that contradict those of the file of votes, or each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from linmax.panels import panel as panel_module
from linmax.panels.panel import Panel, read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.streams import StreamError
from tests.helpers.files import values
from tests.panels.small_tables import codes_of, panel_columns, roles_of, write_files

ITEMS = 200
NEXT = {"billing": "bug", "bug": "feature", "feature": "billing"}


def files(own: dict[str, list[Any]], gold: dict[str, list[Any]]) -> dict[str, dict[str, list[Any]]]:
    """Votes with own columns of labels, and a file of labels."""
    ids = [f"t{i}" for i in range(ITEMS)]
    votes = {name: column for name, column in panel_columns(ITEMS).items() if name != "label"}
    return {"votes.csv": {"id": ids, **votes, **own}, "gold.csv": {"id": ids, **gold}}


def read_labelled(folder: Path, own: dict[str, list[Any]], gold: dict[str, list[Any]], **more: Any) -> Panel:
    votes, labels = write_files(folder, files(own, gold))
    return read_panel([votes], PanelOptions(labels=labels, **more))


def labels_of(panel: Panel) -> list[Any]:
    assert panel.chunk is not None, panel.reading.problem
    found: list[Any] = panel.chunk.labels.tolist()
    return found


def first(labels: list[str], items: int) -> list[Any]:
    """The labels of the first items, and none of the others."""
    return [*labels[:items], *[""] * (ITEMS - items)]


LABELS = panel_columns(ITEMS)["label"]
OTHERS = [NEXT[label] for label in LABELS]


def test_items_whose_two_labels_differ_are_not_labelled(tmp_path: Path) -> None:
    panel = read_labelled(tmp_path, {"truth": first(LABELS, 100)}, {"truth": OTHERS})
    assert labels_of(panel) == [*[None] * 100, *OTHERS[100:]]
    (found,) = (one for one in panel.warnings if one.code == "conflicting-labels")
    assert found.severity == "grave"
    assert found.text == (
        "100 of 100 items that have a label in votes.csv and in gold.csv have two different ones (such as"
        " 'billing' and 'bug'); they count as not labelled, so correct the labels of one file"
    )


def test_a_run_on_contradicting_labels_is_not_judged(tmp_path: Path) -> None:
    votes, gold = write_files(tmp_path, files({"truth": first(LABELS, 100)}, {"truth": OTHERS}))
    learner = ("--learner", "Winnow(1.2)")
    found = values("fuse", votes, "--labels", gold, *learner)
    assert found["verdict"] == "not judged"
    assert "have two different ones" in found["decision"]
    votes, gold = write_files(tmp_path, files({"truth": first(LABELS, 100)}, {"truth": LABELS}))
    assert values("fuse", votes, "--labels", gold, *learner)["verdict"] != "not judged"


def test_few_different_labels_are_a_note(tmp_path: Path) -> None:
    own = [*OTHERS[:10], *LABELS[10:100], *[""] * 100]
    panel = read_labelled(tmp_path, {"truth": own}, {"truth": LABELS})
    assert labels_of(panel) == [*[None] * 10, *LABELS[10:]]
    assert codes_of(panel)["conflicting-labels"] == "note"


def test_labels_that_are_the_same_in_both_files_are_no_conflict(tmp_path: Path) -> None:
    panel = read_labelled(tmp_path, {"truth": first(LABELS, 100)}, {"truth": LABELS})
    assert labels_of(panel) == LABELS
    assert "conflicting-labels" not in codes_of(panel)


@pytest.mark.parametrize(
    ("own", "gold"),
    [
        ([label.title() for label in LABELS], LABELS),
        ([f" {label} " for label in LABELS], LABELS),
        (["NA"] * ITEMS, LABELS),
    ],
)
def test_other_spellings_and_missing_labels_are_no_conflict(
    tmp_path: Path, own: list[str], gold: list[str]
) -> None:
    panel = read_labelled(tmp_path, {"truth": own}, {"truth": gold})
    assert labels_of(panel) == gold
    assert "conflicting-labels" not in codes_of(panel)


def test_minus_one_is_no_label_where_the_other_file_never_has_it(tmp_path: Path) -> None:
    codes = {name: str(i) for i, name in enumerate(NEXT)}
    ids = [f"t{i}" for i in range(ITEMS)]
    votes = {name: [codes[vote] for vote in column] for name, column in panel_columns(ITEMS).items()}
    gold = votes.pop("label")
    own = ["-1"] * 100 + [f"{label}.0" for label in gold[100:]]
    tables = {"votes.csv": {"id": ids, **votes, "truth": own}, "gold.csv": {"id": ids, "truth": gold}}
    paths = write_files(tmp_path, tables)
    panel = read_panel(paths[:1], PanelOptions(labels=paths[1]))
    assert labels_of(panel) == gold
    assert "conflicting-labels" not in codes_of(panel)


def test_an_id_with_two_labels_in_the_file_of_labels_has_no_label_of_the_votes_either(tmp_path: Path) -> None:
    tables = files({"truth": LABELS}, {"truth": LABELS})
    tables["gold.csv"] = {"id": [*tables["gold.csv"]["id"], "t7"], "truth": [*LABELS, OTHERS[7]]}
    votes, gold = write_files(tmp_path, tables)
    panel = read_panel([votes], PanelOptions(labels=gold))
    assert labels_of(panel) == [None if i == 7 else label for i, label in enumerate(LABELS)]
    (found,) = (one for one in panel.warnings if one.code == "conflicting-labels")
    assert found.text == "1 of 200 ids of gold.csv have two different labels; they count as not labelled"
    assert found.severity == "note"


def test_the_share_of_conflicts_is_of_the_ids_that_have_two_labels(tmp_path: Path) -> None:
    tables = files({}, {"truth": LABELS})
    again = range(0, 40, 2)
    gold = tables["gold.csv"]
    tables["gold.csv"] = {
        "id": [*gold["id"], *(f"t{i}" for i in again)], "truth": [*LABELS, *(OTHERS[i] for i in again)]
    }  # fmt: skip
    votes, labels = write_files(tmp_path, tables)
    assert codes_of(read_panel([votes], PanelOptions(labels=labels)))["conflicting-labels"] == "grave"


def test_files_that_contradict_each_other_on_all_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="no item has a label: 200 of 200 items that have a label in votes"):
        read_labelled(tmp_path, {"truth": LABELS}, {"truth": OTHERS})


def test_another_truth_that_contradicts_the_labels_is_a_warning_until_it_is_left_out(tmp_path: Path) -> None:
    panel = read_labelled(tmp_path, {"truth": LABELS}, {"gold": OTHERS})
    assert labels_of(panel) == OTHERS
    (found,) = (one for one in panel.warnings if one.code == "conflicting-labels")
    assert found.severity == "grave"
    assert found.text.endswith("; truth is not used, so pass --ignore truth if it is no label")
    panel = read_labelled(tmp_path, {"truth": LABELS}, {"gold": OTHERS}, ignore=("truth",))
    assert roles_of(panel)["gold"] == "label"
    assert "conflicting-labels" not in codes_of(panel)


def test_different_labels_of_a_large_file_are_missing_in_all_of_its_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel_module, "CHUNK_SIZE", 25)
    monkeypatch.setattr(panel_module, "MAX_BYTES", 10)
    own = [OTHERS[i] if i in (10, 30) else label for i, label in enumerate(LABELS)]
    panel = read_labelled(tmp_path, {"truth": own}, {"truth": LABELS})
    assert not panel.complete
    with panel.stream() as stream:
        found = [label for chunk in stream for label in chunk.labels.tolist()]
    assert found == [None if i in (10, 30) else label for i, label in enumerate(LABELS)]
    (warning,) = (one for one in panel.warnings if one.code == "conflicting-labels")
    assert warning.text.startswith("1 of 25 items that have a label in the first rows of votes.csv and in")
