"""The roles of the columns of wide tables: each test is a trap that real files have."""

import random

import pytest

from linmax.streams import StreamError
from tests.panels.small_tables import (
    CLASSES,
    codes_of,
    draw_labels,
    experts_of,
    labels_of,
    panel_columns,
    read_columns,
    roles_of,
    vote,
)

ITEMS = 60
LABELS = draw_labels(ITEMS)


def probabilities(labels, positive, seed, decimals=3):
    rng = random.Random(seed)
    return [
        round(min(1, max(0, (0.7 if one == positive else 0.3) + rng.gauss(0, 0.2))), decimals)
        for one in labels
    ]


def scores(labels, seed):
    rng = random.Random(seed)
    return {name: [round(rng.random() + (one == name), 3) for one in labels] for name in CLASSES}


# --- labels


@pytest.mark.parametrize(
    "name",
    [
        "human_label",
        "truth",
        "gold",
        "my_gold",
        "ground truth",
        "y",
        "Target",
        "GOLDEN:x",
        "Wahrheit",
        "vérité",
    ],
)
def test_the_label_is_known_by_its_name(name):
    columns = panel_columns()
    columns[name] = columns.pop("label")
    assert roles_of(read_columns(columns))[name] == "label"
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


def test_two_truths_stop_with_the_option_to_type():
    columns = panel_columns() | {"gold_b": vote(LABELS, 0.95, 9)}
    panel = read_columns(columns)
    assert panel.chunk is None
    assert "label, gold_b; name one with --label" in panel.reading.problem
    assert panel.reading.suggestion == {"--label": "label"}


def test_with_the_label_named_the_other_truth_does_not_vote():
    columns = panel_columns() | {"gold_b": vote(LABELS, 0.95, 9)}
    assert experts_of(read_columns(columns, label="gold_b")) == ["m0", "m1", "m2"]


def test_labels_as_numbers_and_as_texts_are_read_in_the_words_of_the_votes():
    columns = panel_columns()
    codes = [CLASSES.index(one) for one in columns["label"]]
    panel = read_columns({"label": codes, "label_text": columns.pop("label"), **columns})
    assert roles_of(panel)["label_text"] == "label"
    assert experts_of(panel) == ["m0", "m1", "m2"]


def test_a_truth_of_another_question_is_not_the_label():
    columns = panel_columns() | {
        "target_language": [random.Random(i).choice(["de", "fr"]) for i in range(ITEMS)]
    }
    assert roles_of(read_columns(columns))["label"] == "label"


def test_without_the_name_of_a_label_it_asks_and_lists_the_columns():
    columns = panel_columns()
    columns["m9"] = columns.pop("label")
    panel = read_columns(columns)
    assert "no column of the open file has the name of a label" in panel.reading.problem
    assert "m9, m2, m1, m0" in panel.reading.problem


def test_an_empty_label_means_that_there_is_none():
    columns = panel_columns()
    del columns["label"]
    panel = read_columns(columns, label="")
    assert panel.chunk.raw_labels is None
    assert experts_of(panel) == ["m0", "m1", "m2"]


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        ([f"2025-01-{i % 28 + 1:02d} 10:00" for i in range(ITEMS)], "dates or times"),
        ([i + 0.5 for i in range(ITEMS)], "numbers with decimals"),
        ([""] * ITEMS, "nothing"),
        ([f"item {i} is a long text with many words that no class has" for i in range(ITEMS)], "free text"),
    ],
)
def test_a_label_that_cannot_be_classes_is_refused_in_one_sentence(cells, what):
    panel = read_columns(panel_columns() | {"outcome": cells}, label="outcome")
    assert f"holds {what}" in panel.reading.problem
    assert "--label" in panel.reading.problem


def test_a_label_without_values_is_named_in_the_sentence():
    problem = read_columns(panel_columns() | {"label": [""] * ITEMS}).reading.problem
    assert "column 'label' of the open file holds nothing, which cannot be classes" in problem


def test_a_single_human_is_the_label_and_several_are_experts():
    columns = panel_columns()
    truth = columns.pop("label")
    assert roles_of(read_columns(columns | {"human": truth}))["human"] == "label"
    several = columns | {"human_1": vote(truth, 0.9, 7), "human_2": vote(truth, 0.9, 8), "gold": truth}
    assert experts_of(read_columns(several)) == ["human_1", "human_2", "m0", "m1", "m2"]


def test_a_column_called_correct_is_a_label_if_it_names_classes():
    columns = panel_columns()
    columns["correct"] = columns.pop("label")
    assert roles_of(read_columns(columns))["correct"] == "label"


# --- columns that must not vote


@pytest.mark.parametrize("name", ["acc", "is_correct", "m0_correct", "exact_match", "m0 is wrong"])
def test_columns_that_say_who_was_right_never_vote(name):
    columns = panel_columns(200, ("0", "1"))
    columns[name] = [int(a == b) for a, b in zip(columns["m0"], columns["label"], strict=True)]
    assert roles_of(read_columns(columns))[name] == "ignored"


@pytest.mark.parametrize("name", ["majority_vote", "consensus", "aggregated"])
def test_votes_that_are_made_from_the_others_do_not_vote(name):
    columns = panel_columns()
    columns[name] = columns["m0"]
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


def test_ids_times_texts_decimals_and_constants_never_vote():
    extra = {
        "key": [f"T{i}" for i in range(ITEMS)],
        "created": [f"2025-01-01 10:{i:02d}" for i in range(ITEMS)],
        "said": [f"hello, this is ticket {i} and it is about a bug in it" for i in range(ITEMS)],
        "price": [i + 0.25 for i in range(ITEMS)],
        "version": ["bug"] * ITEMS,
        "nothing": [""] * ITEMS,
    }
    roles = roles_of(read_columns(extra | panel_columns()))
    assert [roles[name] for name in extra] == ["id", "time", *["ignored"] * 4]


def test_in_a_few_rows_an_expert_may_always_say_the_same():
    columns = {"gpt4": ["a", "b"], "claude": ["b", "b"], "truth": ["a", "b"]}
    assert experts_of(read_columns(columns)) == ["claude", "gpt4"]


def test_integers_that_are_attributes_do_not_vote():
    rng = random.Random(0)
    columns = panel_columns(300, (1, 2, 3)) | {
        "age": [rng.randint(1, 90) for _ in range(300)],
        "year": [rng.choice([2019, 2020]) for _ in range(300)],
    }
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]


@pytest.mark.parametrize("name", ["fold", "num_images", "is_vip", "has_link", "age group", "turn"])
def test_counts_flags_and_folds_do_not_vote_unless_they_are_named(name):
    columns = panel_columns(60, (0, 1)) | {name: [i % 2 for i in range(60)]}
    assert experts_of(read_columns(columns)) == ["m0", "m1", "m2"]
    assert experts_of(read_columns(columns, experts=("m0", name))) == sorted(["m0", name])


def test_flags_that_are_named_like_the_label_vote():
    labels = draw_labels(60, (0, 1))
    columns = {
        "is_spam_gpt4": vote(labels, 0.8, 1),
        "is_spam_claude": vote(labels, 0.8, 2),
        "is_spam": labels,
    }
    assert experts_of(read_columns(columns, label="is_spam")) == ["is_spam_claude", "is_spam_gpt4"]


def test_columns_that_agree_with_labels_by_chance_only_are_listed():
    columns = panel_columns(300, (0, 1, 2)) | {"shelf": [i % 3 for i in range(300)]}
    panel = read_columns(columns)
    assert codes_of(panel) == {"chance-votes": "note"}
    assert panel.warnings[0].text.startswith("shelf: ")
    assert not read_columns(columns, ignore=("shelf",)).warnings


def test_a_poor_expert_of_a_series_is_not_doubted():
    columns = panel_columns(300, (0, 1, 2)) | {"m9": [i % 3 for i in range(300)]}
    panel = read_columns(columns)
    assert "m9" in experts_of(panel)
    assert not panel.warnings


def test_random_votes_are_votes_if_nobody_does_better():
    rng = random.Random(3)
    columns = {name: [rng.randint(0, 1) for _ in range(300)] for name in ("ann", "bob", "label")}
    assert experts_of(read_columns(columns)) == ["ann", "bob"]


def test_an_expert_that_is_nearly_always_right_may_be_a_leak():
    columns = panel_columns(100)
    panel = read_columns(columns | {"predicted": columns["label"]})
    assert codes_of(panel)["possible-leak"] == "grave"
    assert "possible-leak" not in codes_of(read_columns(columns))


# --- abstentions, spelling, types


def test_minus_one_abstains_if_it_is_no_label():
    columns = panel_columns(90, (0, 1, 2))
    columns["m0"] = [-1 if i % 2 else one for i, one in enumerate(columns["m0"])]
    panel = read_columns(columns)
    assert sum("m0" in one for one in panel.chunk.vote_dicts()) == 45


def test_minus_one_is_a_class_if_experts_say_it_where_the_label_is_minus_one():
    panel = read_columns(panel_columns(90, (-1, 0, 1)))
    assert sorted(panel.classes.names) == ["-1", "0", "1"]
    assert None not in labels_of(panel)


def test_minus_one_is_no_label_if_abstentions_have_nothing_to_do_with_it():
    columns = panel_columns(300, (0, 1, 2))
    rng = random.Random(5)
    for name in ("m0", "m1", "m2"):
        columns[name] = [-1 if rng.random() < 0.5 else one for one in columns[name]]
    columns["label"] = [-1 if rng.random() < 0.5 else one for one in columns["label"]]
    panel = read_columns(columns)
    assert sorted(panel.classes.names) == ["0", "1", "2"]
    assert None in labels_of(panel)


def test_without_labels_minus_one_abstains_beside_three_classes_and_is_a_class_of_a_scale():
    matrix = panel_columns(90, (0, 1, 2))
    matrix["m0"] = [-1 if i % 2 else one for i, one in enumerate(matrix["m0"])]
    matrix["m1"][0] = -1
    del matrix["label"]
    assert {one for votes in read_columns(matrix, label="").chunk.vote_dicts() for one in votes.values()} == {
        "0", "1", "2",
    }  # fmt: skip
    scale = panel_columns(90, (-1, 0, 1))
    del scale["label"]
    assert "-1" in read_columns(scale, label="").classes.names


def test_none_is_a_class_if_it_is_a_label():
    panel = read_columns(panel_columns(60, ("NONE", "A", "B")))
    assert "NONE" in panel.classes.names
    assert None not in labels_of(panel)


def test_a_refusal_abstains_and_is_counted():
    columns = panel_columns()
    columns["m0"][:2] = ["ERROR: timeout", "I cannot help"]
    panel = read_columns(columns)
    assert sum("m0" in one for one in panel.chunk.vote_dicts()) == ITEMS - 2
    assert codes_of(panel)["votes-never-labels"] == "note"


def test_a_class_that_only_votes_name_is_given_by_the_user():
    columns = panel_columns()
    columns["m0"][:2] = ["other", "NA"]
    panel = read_columns(columns, classes=("other", "NA"))
    assert [one["m0"] for one in panel.chunk.vote_dicts()[:2]] == ["other", "NA"]


@pytest.mark.parametrize("cell", ["NA", "n/a", "NULL", "nan", " ", "#N/A"])
def test_missing_cells_abstain_without_a_word(cell):
    columns = panel_columns()
    columns["m0"][0] = cell
    panel = read_columns(columns)
    assert "m0" not in panel.chunk.vote_dicts()[0]
    assert not panel.warnings


def test_the_user_lists_missing_cells():
    columns = panel_columns()
    columns["m0"][0] = columns["label"][0] = "?"
    panel = read_columns(columns, missing=("?",))
    assert panel.chunk.labels[0] is None
    assert "m0" not in panel.chunk.vote_dicts()[0]


def test_case_and_whitespace_of_votes_do_not_matter():
    columns = panel_columns()
    columns["m0"] = [f" {one.upper()} " for one in columns["m0"]]
    panel = read_columns(columns)
    assert {one["m0"] for one in panel.chunk.vote_dicts()} <= set(CLASSES)
    assert codes_of(panel)["spelling"] == "note"


def test_labels_that_differ_by_case_are_two_classes_unless_case_is_ignored():
    columns = panel_columns(60, ("us", "US", "Canada"))
    assert len(read_columns(columns).classes.names) == 3
    assert len(read_columns(columns, ignore_case=True).classes.names) == 2


def test_votes_1_0_and_true_are_votes_for_label_1():
    columns = panel_columns(60, (0, 1))
    columns["m0"] = [float(one) for one in columns["m0"]]
    columns["m1"] = [bool(one) for one in columns["m1"]]
    assert {one[name] for one in read_columns(columns).chunk.vote_dicts() for name in one} == {"0", "1"}


# --- scores and confidences


@pytest.mark.parametrize("separator", ["_", ":", "__", ".", "-", " ", "/", "|"])
@pytest.mark.parametrize("class_first", [False, True])
def test_a_number_per_expert_and_class_is_a_score(separator, class_first):
    columns = {"label": LABELS}
    for expert in ("gpt4", "claude"):
        for name, values in scores(LABELS, len(expert)).items():
            parts = (name, expert) if class_first else (expert, name)
            columns[separator.join(parts)] = values
    panel = read_columns(columns)
    assert experts_of(panel) == ["claude", "gpt4"]
    assert set(panel.chunk.vote_dicts()[0]["gpt4"]) == set(CLASSES)


def test_integers_per_class_are_scores_if_every_class_has_one():
    columns = {"label": LABELS}
    for name, values in scores(LABELS, 1).items():
        columns[f"votes_{name}"] = [round(50 * one) for one in values]
    assert experts_of(read_columns(columns)) == ["votes"]


def test_raters_that_are_numbered_like_classes_vote():
    labels = draw_labels(80, (0, 1))
    columns = {"rater_0": vote(labels, 0.8, 1), "rater_1": vote(labels, 0.8, 2), "label": labels}
    assert experts_of(read_columns(columns)) == ["rater_0", "rater_1"]


def test_one_hot_columns_of_numbered_classes_are_scores():
    labels = draw_labels(80, (0, 1, 2))
    votes = vote(labels, 0.8, 1)
    columns = {f"gpt4_{c}": [int(one == c) for one in votes] for c in (0, 1, 2)} | {"label": labels}
    panel = read_columns(columns)
    assert experts_of(panel) == ["gpt4"]


@pytest.mark.parametrize("factor", [1, 50])
def test_columns_named_after_classes_alone_are_the_scores_of_one_expert(factor):
    columns = {
        name: [round(factor * one, 3 if factor == 1 else None) for one in values]
        for name, values in scores(LABELS, 2).items()
    }
    assert experts_of(read_columns({"label": LABELS, **columns})) == ["scores"]


@pytest.mark.parametrize("name", ["prob_nn", "nn", "nn_proba"])
def test_decimals_from_0_to_1_are_probabilities_of_class_1(name):
    labels = draw_labels(80, (0, 1))
    panel = read_columns(
        {name: probabilities(labels, 1, 3), "lr": probabilities(labels, 1, 4), "label": labels}
    )
    votes = panel.chunk.vote_dicts()[0]["nn"]
    assert votes["0"] + votes["1"] == pytest.approx(1.0)


def test_models_numbered_like_classes_have_probabilities_of_class_1():
    labels = draw_labels(80, (0, 1))
    columns = {f"model_{i}": probabilities(labels, 1, i) for i in range(3)} | {"label": labels}
    assert experts_of(read_columns(columns)) == ["model_0", "model_1", "model_2"]


def test_a_probability_of_yes_is_found_by_its_name():
    labels = draw_labels(80, ("no", "yes"))
    panel = read_columns({"p_yes_gpt": probabilities(labels, "yes", 1), "gold": labels})
    assert set(panel.chunk.vote_dicts()[0]["gpt"]) == {"no", "yes"}


def test_decimals_below_one_half_are_no_probabilities_and_others_are_doubted_if_they_agree_by_chance():
    labels = draw_labels(200, (0, 1))
    rng = random.Random(77)
    columns = {"nn": probabilities(labels, 1, 3), "temperature": [round(rng.random(), 2) for _ in labels]}
    panel = read_columns(columns | {"cost": [0.001 * (1 + i % 7) for i in range(200)], "label": labels})
    assert experts_of(panel) == ["nn", "temperature"]
    assert panel.warnings[0].text.startswith("temperature: ")


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("ending", ["conf", "confidence", "score"])
def test_a_confidence_beside_a_vote_is_its_score(scale, ending):
    columns = panel_columns(experts=2)
    rng = random.Random(2)
    for name in ("m0", "m1"):
        columns[f"{name}_label"] = columns.pop(name)
        columns[f"{name}_{ending}"] = [round(scale * rng.uniform(0.4, 1.0), 2) for _ in range(ITEMS)]
    panel = read_columns(columns)
    values = [score for one in panel.chunk.vote_dicts() for votes in one.values() for score in votes.values()]
    assert experts_of(panel) == ["m0_label", "m1_label"]
    assert 0.4 <= min(values) <= max(values) <= 1.0


def test_a_missing_confidence_is_the_mean_of_the_others():
    columns = panel_columns(experts=2)
    columns["m0_conf"] = [0.25, 0.75, *[None] * (ITEMS - 2)]
    last = read_columns(columns).chunk.vote_dicts()[-1]
    assert list(last["m0"].values()) == [0.5]
    assert list(last["m1"].values()) == [1.0]


# --- ids


def test_repeated_ids_are_a_grave_warning():
    columns = {"ticket": [f"T{i % 50}" for i in range(ITEMS)], **panel_columns()}
    panel = read_columns(columns)
    assert codes_of(panel)["repeated-ids"] == "grave"
    assert "repeated-ids" not in codes_of(read_columns(columns, id=""))


def test_items_that_all_occur_three_times_are_a_grave_warning():
    columns = {name: values * 3 for name, values in panel_columns().items()}
    columns["item_id"] = [f"T{i % ITEMS}" for i in range(3 * ITEMS)]
    assert codes_of(read_columns(columns))["repeated-ids"] == "grave"


def test_an_id_that_counts_like_a_class_does_not_vote():
    columns = {"id": list(range(ITEMS)), **panel_columns(ITEMS, (1, 2, 3, 4, 5))}
    assert roles_of(read_columns(columns))["id"] == "id"


# --- options


def test_options_have_wildcards():
    columns = {"hint": ["x", "y"] * 30, "queue": ["a", "b"] * 30, **panel_columns()}
    panel = read_columns(columns, experts=("m[01]",), attributes=("hi*",), ignore=("que?e",))
    assert experts_of(panel) == ["m0", "m1"]
    assert panel.chunk.attributes.column_names == ["hint"]
    assert roles_of(panel)["m2"] == "ignored"


@pytest.mark.parametrize("option", ["experts", "attributes", "ignore"])
def test_a_pattern_without_a_match_is_an_error_with_the_most_similar_name(option):
    with pytest.raises(StreamError, match=r"no column 'm00'; did you mean 'm0'\?"):
        read_columns(panel_columns(), **{option: ("m00",)})


@pytest.mark.parametrize("option", ["label", "id"])
def test_a_label_or_id_that_does_not_exist_is_an_error(option):
    with pytest.raises(StreamError, match="has no column 'nobody'; it has m0, m1, m2, label"):
        read_columns(panel_columns(), **{option: "nobody"})


def test_a_column_with_two_roles_is_an_error():
    with pytest.raises(
        StreamError, match=r"column 'm0' .* is named by --ignore and by --experts; name it once"
    ):
        read_columns(panel_columns(), ignore=("m0",), experts=("m*",))


def test_an_expert_whose_values_are_no_classes_is_refused():
    columns = panel_columns() | {"price": [i + 0.5 for i in range(ITEMS)]}
    problem = read_columns(columns, experts=("m0", "price")).reading.problem
    assert "'price'" in problem
    assert "--attributes" in problem


def test_a_table_without_votes_says_so():
    panel = read_columns({"width": [i + 0.5 for i in range(ITEMS)], "species": LABELS})
    assert "no column of the open file votes for the classes of 'species'" in panel.reading.problem
    assert "there is width" in panel.reading.problem


def test_a_table_without_classes_says_so():
    panel = read_columns({"a": [i + 0.5 for i in range(ITEMS)], "b": [i + 0.25 for i in range(ITEMS)]})
    assert "no column whose values can be classes (it has a, b)" in panel.reading.problem


def test_a_second_row_of_names_is_refused():
    columns = {"id": ["field", *range(ITEMS)], "gpt4": ["label", *LABELS], "gpt4.2": ["conf", *[0.5] * ITEMS]}
    with pytest.raises(StreamError, match=r"line 2 of .* looks like a second row of names"):
        read_columns(columns | {"truth": ["label", *LABELS]})
