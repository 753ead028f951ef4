"""Numbers of wide tables that are scores, probabilities or confidences of experts."""

import random
from typing import Any

import pytest

from tests.panels.small_tables import (
    CLASSES,
    codes_of,
    draw_labels,
    experts_of,
    panel_columns,
    read_columns,
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


def test_ranks_are_a_grave_warning_because_their_sign_is_wrong() -> None:
    labels = draw_labels(80)
    columns: dict[str, list[Any]] = {}
    for expert, accuracy in (("gpt", 0.8), ("bert", 0.7)):
        votes = vote(labels, accuracy, len(expert))
        for name in CLASSES:
            others = [one for one in CLASSES if one != name]
            columns[f"{expert}_{name}"] = [
                1 if one == name else 2 + [o for o in (*others, name) if o != one].index(name)
                for one in votes
            ]
    panel = read_columns({**columns, "label": labels})
    assert codes_of(panel)["reversed-scores"] == "grave"
    good = {name: [4 - one for one in own] for name, own in columns.items()}
    assert "reversed-scores" not in codes_of(read_columns({**good, "label": labels}))
