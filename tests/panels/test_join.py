"""Several files: votes and labels apart, one file per expert, joined by id or by row."""

import io
from dataclasses import replace

import pytest

from linmax.panels import load_table
from linmax.panels.joins.join import join_tables
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.streams import StreamError
from tests.panels.small_tables import (
    as_csv,
    codes_of,
    draw_labels,
    experts_of,
    labels_of,
    panel_columns,
    vote,
    write_files,
)

ITEMS = 40
LABELS = draw_labels(ITEMS)
IDS = [100 + i for i in range(ITEMS)]


def read_files(folder, files, labels=None, **options):
    paths = write_files(folder, files)
    if labels is not None:
        (options["labels"],) = write_files(folder, {"labels.csv": labels})
    return read_panel(paths, PanelOptions(**options))


def votes(name="id"):
    columns = panel_columns(ITEMS)
    del columns["label"]
    return {name: IDS, **columns}


def shuffled(columns):
    order = sorted(range(ITEMS), key=lambda i: (i * 7) % ITEMS)
    return {name: [values[i] for i in order] for name, values in columns.items()}


def test_labels_in_another_file_are_joined_by_id_in_any_order(tmp_path):
    panel = read_files(tmp_path, {"votes.csv": votes()}, shuffled({"id": IDS, "truth": LABELS}))
    assert labels_of(panel) == LABELS
    assert experts_of(panel) == ["m0", "m1", "m2"]
    (join,) = panel.joins
    assert (join.matched, join.left_only, join.right_only) == (ITEMS, 0, 0)


def test_of_two_files_the_one_with_labels_is_found(tmp_path):
    panel = read_files(tmp_path, {"a.csv": shuffled({"id": IDS, "truth": LABELS}), "b.csv": votes()})
    assert labels_of(panel) == LABELS


def test_ids_under_different_names_are_found_by_their_values(tmp_path):
    panel = read_files(tmp_path, {"votes.csv": votes("ticket")}, {"case_no": IDS, "truth": LABELS})
    assert (panel.joins[0].left, panel.joins[0].right) == ("ticket", "case_no")


def test_the_user_names_the_ids(tmp_path):
    table = {**votes("k"), "other": [f"x{one}" for one in IDS]}
    panel = read_files(tmp_path, {"votes.csv": table}, {"z": IDS, "truth": LABELS}, id="k", labels_id="z")
    assert labels_of(panel) == LABELS


@pytest.mark.parametrize("spelling", [str, "{}.0".format, " {} ".format])
def test_ids_are_compared_as_texts_without_decimals_and_blanks(tmp_path, spelling):
    labels = {"id": [spelling(one) for one in IDS], "truth": LABELS}
    assert labels_of(read_files(tmp_path, {"votes.csv": votes()}, labels)) == LABELS


def test_unmatched_ids_are_counted_on_either_side(tmp_path):
    labels = {"id": [*IDS[10:], *range(900, 905)], "truth": [*LABELS[10:], *["bug"] * 5]}
    panel = read_files(tmp_path, {"votes.csv": votes()}, labels)
    assert (panel.joins[0].matched, panel.joins[0].left_only, panel.joins[0].right_only) == (30, 10, 5)
    assert codes_of(panel)["unmatched-labels"] == "note"
    assert labels_of(panel)[:10] == [None] * 10


def test_no_match_is_an_error_with_examples_of_both_ids(tmp_path):
    labels = {"id": [f"T{one}" for one in IDS], "truth": LABELS}
    with pytest.raises(StreamError, match=r"'100'.*'T100'.*--id and --labels-id"):
        read_files(tmp_path, {"votes.csv": votes()}, labels)


def test_a_repeated_id_with_one_label_is_used_and_with_two_is_not(tmp_path):
    other = "bug" if LABELS[1] != "bug" else "billing"
    labels = {"id": [*IDS, IDS[0], IDS[1]], "truth": [*LABELS, LABELS[0], other]}
    panel = read_files(tmp_path, {"votes.csv": votes()}, labels)
    assert labels_of(panel) == [LABELS[0], None, *LABELS[2:]]
    assert any("have two different labels" in one.text for one in panel.warnings)


def test_missing_cells_of_labels_conflict_with_nothing(tmp_path):
    labels = {"id": [*IDS, IDS[0]], "truth": [*LABELS, "NA"]}
    assert labels_of(read_files(tmp_path, {"votes.csv": votes()}, labels)) == LABELS


def test_files_without_ids_are_joined_by_row(tmp_path):
    table = votes()
    del table["id"]
    panel = read_files(tmp_path, {"votes.csv": table}, {"truth": LABELS})
    assert labels_of(panel) == LABELS
    assert panel.joins[0].left is None


def test_files_without_ids_and_of_different_length_are_an_error(tmp_path):
    table = votes()
    del table["id"]
    with pytest.raises(StreamError, match="no column of ids is in both; name them with --id and --labels-id"):
        read_files(tmp_path, {"votes.csv": table}, {"truth": LABELS[:-1]})


def test_several_possible_labels_in_the_file_of_labels_are_a_problem_of_the_reading(tmp_path):
    labels = {"id": IDS, "melanoma": ["0", "1"] * 20, "keratosis": ["1", "0"] * 20}
    panel = read_files(tmp_path, {"votes.csv": votes()}, labels)
    assert "2 columns of labels.csv could be the label: melanoma, keratosis" in panel.reading.problem
    assert panel.reading.suggestion == {"--label": "melanoma"}
    reasons = {one.name: one.reason for one in panel.reading.roles}
    assert reasons["keratosis"] == "undecided: joined from labels.csv by id"
    assert panel.chunk is None
    with pytest.raises(StreamError, match="could be the label"):
        panel.stream()


def test_several_possible_labels_of_a_long_table_are_a_problem_of_the_reading(tmp_path):
    long = {
        "task": IDS * 2,
        "worker": ["ann"] * ITEMS + ["bob"] * ITEMS,
        "answer": vote(LABELS, 0.8, 1) + vote(LABELS, 0.8, 2),
    }
    labels = {"task": IDS, "melanoma": ["0", "1"] * 20, "keratosis": ["1", "1"] * 19 + ["0", "1"]}
    panel = read_files(tmp_path, {"votes.csv": long}, labels)
    assert "could be the label: melanoma, keratosis" in panel.reading.problem
    assert panel.reading.column("expert") == "worker"


def test_the_reasons_name_the_file_that_was_joined(tmp_path):
    panel = read_files(tmp_path, {"votes.csv": votes()}, {"id": IDS, "truth": LABELS})
    reasons = {one.name: one.reason for one in panel.reading.roles}
    assert reasons["truth"] == "joined from labels.csv by id"
    assert reasons["id"] == "joins labels.csv"


# --- ids that are written in two ways


@pytest.mark.parametrize("spelling", ["{:05d}", "00{}"])
def test_ids_match_without_leading_zeros_if_none_matches_as_it_is(tmp_path, spelling):
    labels = {"id": [spelling.format(one) for one in IDS], "truth": LABELS}
    panel = read_files(tmp_path, {"votes.csv": votes()}, shuffled(labels))
    assert labels_of(panel) == LABELS
    assert panel.joins[0].is_normalised
    assert "without case, whitespace and leading zeros" in str(panel.joins[0])
    assert codes_of(panel)["spelling"] == "note"


def test_ids_match_without_case_and_padding_inside(tmp_path):
    table = {**votes(), "id": [f"TCK-{i:03d}" for i in range(ITEMS)]}
    labels = {"ticket": [f"tck-{i}" for i in range(ITEMS)], "truth": LABELS}
    panel = read_files(tmp_path, {"votes.csv": table}, labels)
    assert labels_of(panel) == LABELS
    assert panel.chunk.ids[7] == "TCK-007"


def test_if_one_id_matches_as_it_is_the_others_must_too(tmp_path):
    labels = {"id": [IDS[0], *(f"0{one}" for one in IDS[1:])], "truth": LABELS}
    panel = read_files(tmp_path, {"votes.csv": votes()}, labels)
    assert (panel.joins[0].matched, panel.joins[0].is_normalised) == (1, False)
    assert codes_of(panel)["unmatched-labels"] == "grave"
    assert panel.joins[0].nearly == ITEMS - 1
    sentence = f"{ITEMS - 1} more would be in both without case, whitespace and leading zeros"
    assert any(sentence in one.text for one in panel.warnings)


def test_ids_that_are_in_one_file_only_are_not_said_to_be_nearly_the_same(tmp_path):
    labels = {"id": [*IDS[: ITEMS // 2], *(f"x{one}" for one in range(9))], "truth": LABELS[: ITEMS // 2 + 9]}
    panel = read_files(tmp_path, {"votes.csv": votes()}, labels)
    assert (panel.joins[0].right_only, panel.joins[0].nearly) == (9, 0)


def test_ids_that_would_become_the_same_are_not_changed(tmp_path):
    labels = {
        "id": [*(f"0{one}" for one in IDS), *(f"00{one}" for one in IDS)],
        "truth": [*LABELS, *LABELS],
    }
    with pytest.raises(StreamError, match=r"name the columns of ids with --id and --labels-id"):
        read_files(tmp_path, {"votes.csv": votes()}, labels)


def test_files_of_models_match_without_leading_zeros(tmp_path):
    files = per_model(truth="target")
    files["sub_cat_v1.csv"] = {**files["sub_cat_v1.csv"], "id": [f"0{one}" for one in IDS]}
    panel = read_files(tmp_path, files)
    assert experts_of(panel) == ["cat", "lgbm", "xgb"]
    assert labels_of(panel) == LABELS
    assert panel.chunk.ids[0] == "100"
    assert codes_of(panel)["spelling"] == "note"


# --- one file per expert


def per_model(name="prediction", truth=None):
    files = {}
    for i, model in enumerate(("xgb", "lgbm", "cat")):
        files[f"sub_{model}_v1.csv"] = {"id": IDS, name: vote(LABELS, 0.8, i)} | (
            {truth: LABELS} if truth else {}
        )
    return files


def test_one_file_per_model_is_joined_and_models_are_named_after_what_differs(tmp_path):
    panel = read_files(tmp_path, per_model(truth="target"))
    assert experts_of(panel) == ["cat", "lgbm", "xgb"]
    assert labels_of(panel) == LABELS


def test_labels_of_one_file_per_model_may_be_in_a_file_apart(tmp_path):
    panel = read_files(tmp_path, per_model() | {"truth.csv": shuffled({"id": IDS, "target": LABELS})})
    assert len(experts_of(panel)) == 3
    assert labels_of(panel) == LABELS


def test_files_with_the_same_columns_are_told_apart_by_their_names(tmp_path):
    files = per_model("target") | {"solution.csv": {"id": IDS, "target": LABELS}}
    panel = read_files(tmp_path, files)
    assert len(experts_of(panel)) == 3
    assert labels_of(panel) == LABELS


def test_the_file_with_labels_has_no_decimals_where_the_others_have_probabilities(tmp_path):
    labels = [i % 2 for i in range(ITEMS)]
    files = {
        f"{model}.csv": {"id": IDS, "y": [round((i * step % 97) / 97, 3) for i in range(ITEMS)]}
        for model, step in (("a", 31), ("b", 17))
    }
    panel = read_files(tmp_path, files | {"c.csv": {"id": IDS, "y": labels}})
    assert labels_of(panel) == [str(one) for one in labels]
    assert len(experts_of(panel)) == 2


def test_equal_predictions_of_two_models_are_two_experts(tmp_path):
    files = per_model(truth="target")
    files["sub_lgbm_v1.csv"] = files["sub_xgb_v1.csv"]
    assert experts_of(read_files(tmp_path, files)) == ["cat", "lgbm", "xgb"]


def test_an_item_that_a_model_left_out_has_no_vote_of_it(tmp_path):
    files = per_model(truth="target")
    files["sub_cat_v1.csv"] = {name: values[:-3] for name, values in files["sub_cat_v1.csv"].items()}
    panel = read_files(tmp_path, files)
    assert sum("cat" in one for one in panel.chunk.vote_dicts()) == ITEMS - 3
    assert labels_of(panel) == LABELS


def test_files_of_models_without_a_common_id_are_an_error(tmp_path):
    files = per_model(truth="target")
    files["sub_cat_v1.csv"] = {**files["sub_cat_v1.csv"], "id": [f"x{one}" for one in IDS]}
    with pytest.raises(StreamError, match="check the files, or name the ids with --id"):
        read_files(tmp_path, files)


def test_long_files_are_put_one_below_the_other(tmp_path):
    files = {
        f"part{i}.csv": {"task": IDS, "worker": [worker] * ITEMS, "label": vote(LABELS, 0.8, i)}
        for i, worker in enumerate(("ann", "bob"))
    }
    panel = read_files(tmp_path, files, {"task": IDS, "truth": LABELS})
    assert experts_of(panel) == ["ann", "bob"]
    assert labels_of(panel) == LABELS


def test_tables_are_named_after_the_folders_if_the_names_of_files_are_equal():
    tables = [
        replace(load_table(io.BytesIO(as_csv({"id": IDS, "answer": vote(LABELS, 0.8, i)}))), expert=path)
        for i, path in enumerate(("runs/gpt/out.csv", "runs/claude/out.csv"))
    ]
    assert join_tables(tables, None, PanelOptions()).table.data.column_names == ["id", "gpt", "claude"]
