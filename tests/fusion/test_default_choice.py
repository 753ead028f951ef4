"""`Fusion()` chooses its learner by what the first items have: votes, attributes or both."""

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linmax import Fusion, Winnow, load, recommended
from linmax._jit.compilation import interpreted
from linmax.fusion.model_file import fingerprint

RNG = np.random.default_rng(0)
ROWS, LABELS, VOTES = RNG.normal(size=(30, 3)), RNG.integers(3, size=30), RNG.integers(3, size=(30, 4))
GIVEN: dict[str, dict[str, Any]] = {
    "votes": {"votes": VOTES},
    "attributes": {"attributes": ROWS},
    "both": {"votes": VOTES, "attributes": ROWS},
}
CHOSEN = {
    "votes": recommended(),
    "attributes": recommended(votes=False, attributes=True),
    "both": recommended(attributes=True),
}


@pytest.fixture(autouse=True)
def uncompiled() -> Any:
    with interpreted():
        yield


@pytest.mark.parametrize("kind", GIVEN)
def test_the_first_items_choose_the_learner(kind: str) -> None:
    fusion = Fusion()
    fusion.learn(labels=LABELS[:5], **{name: table[:5] for name, table in GIVEN[kind].items()})
    assert fusion.learner == CHOSEN[kind]
    assert fusion.trials == 5


def test_a_mere_prediction_does_not_bind_the_choice() -> None:
    fusion = Fusion(classes=range(3))
    for kind in ("attributes", "votes", "both", "attributes"):
        fusion.predict(**{name: table[:2] for name, table in GIVEN[kind].items()})
        assert fusion.learner == CHOSEN[kind]


@pytest.mark.parametrize(
    ("first", "then"), [("votes", "both"), ("attributes", "both"), ("votes", "attributes")]
)
def test_what_was_not_learned_is_refused_and_not_ignored(first: str, then: str) -> None:
    fusion = Fusion()
    fusion.learn(labels=LABELS[:3], **{name: table[:3] for name, table in GIVEN[first].items()})
    with pytest.raises(ValueError, match=f"learns from {first} alone"):
        fusion.learn(labels=LABELS, **GIVEN[then])
    assert fusion.trials == 3


def test_a_learner_that_was_named_ignores_what_it_does_not_read() -> None:
    fusion = Fusion(Winnow(1.2))
    fusion.learn(VOTES, LABELS, attributes=ROWS)
    assert fusion.learner == Winnow(1.2)


def test_a_loaded_session_still_chooses(tmp_path: Any) -> None:
    file = tmp_path / "new.linmax"
    Fusion().save(file)
    again = load(file)
    again.learn(attributes=ROWS[:3], labels=LABELS[:3])
    assert again.learner == CHOSEN["attributes"]
    again.save(file)
    with pytest.raises(ValueError, match="learns from attributes alone"):
        load(file).learn(VOTES, LABELS, attributes=ROWS)


def test_an_explanation_before_the_first_label_is_that_of_the_chosen_learner() -> None:
    fusion = Fusion(classes=["a", "b"])
    found = fusion.explain_one(attributes={"size": 1.0})
    assert set(found.contributions) <= {"(constant)", "(features)", ("attribute", "size"), "(remainder)"}


def test_a_batch_of_another_kind_is_refused() -> None:
    fusion = Fusion(classes=range(3))
    batch = fusion.read(VOTES)
    fusion.read(attributes=ROWS)
    with pytest.raises(ValueError, match="the batch has votes, and the session now learns from attributes"):
        fusion.predict_batch(batch)


def test_single_items_without_votes_need_no_place_for_them() -> None:
    fusion = Fusion()
    fusion.learn_one(attributes={"size": 1.0}, label="small")
    fusion.learn_one(attributes={"size": 9.0}, label="large")
    assert fusion.trials == 2


def test_text_where_an_attribute_was_a_number_is_refused() -> None:
    fusion = Fusion()
    fusion.learn(attributes=[{"size": 1.0, "town": "Rome"}, {"size": 2.0, "town": "Oslo"}], labels=["a", "b"])
    for call in (fusion.predict_one, fusion.predict_proba_one):
        with pytest.raises(ValueError, match="'size' has been a number so far"):
            call(attributes={"size": "oops"})
    with pytest.raises(ValueError, match="'size' has been a number so far"):
        fusion.learn(attributes=[{"size": "3"}], labels=["a"])
    assert fusion.predict_one(attributes={"town": "Bonn"}) in ("a", "b")


def test_numbers_and_text_under_one_name_are_refused_or_learned_as_they_are_one_by_one() -> None:
    number, text = {"size": 1.0}, {"size": "big"}
    fusion = Fusion()
    with pytest.raises(ValueError, match="'size' has been a number so far"):
        fusion.learn(attributes=[number, text], labels=["a", "b"])
    assert fusion.trials == 0
    fusion.learn(attributes=[text, number, text], labels=["a", "b", "a"])
    single = Fusion()
    for item, label in ((text, "a"), (number, "b"), (text, "a")):
        single.learn_one(attributes=item, label=label)
    fusion.learn(attributes=pd.DataFrame({"size": ["big"]}), labels=["b"])
    single.learn_one(attributes=text, label="b")
    assert fingerprint(fusion) == fingerprint(single)


def test_threads_may_predict_while_the_first_items_are_learned() -> None:
    for _ in range(3):
        fusion, errors = Fusion(classes=range(3)), []

        def ask(fusion: Fusion = fusion, errors: list[Exception] = errors) -> None:
            for _ in range(4):
                try:
                    fusion.scores(attributes=ROWS[:2])
                    fusion.explain_one(attributes=dict(enumerate(ROWS[0].tolist())))
                except Exception as error:
                    errors.append(error)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        fusion.learn(attributes=ROWS[:10], labels=LABELS[:10])
        for thread in threads:
            thread.join()
        assert errors == []
        assert fusion.trials == 10


def test_the_rows_of_weights_name_their_source_and_class() -> None:
    fusion = Fusion()
    fusion.learn(attributes=ROWS[:5], labels=LABELS[:5])
    rows = fusion.weight_table()
    assert {row.source for row in rows} == {"ScaledAttributes", "RandomFeatures"}
    assert {row.label for row in rows} == set(fusion.classes)


def test_the_digest_of_a_default_that_has_learned_nothing_does_not_depend_on_predictions() -> None:
    fusion, other = Fusion(), Fusion()
    before = fingerprint(fusion)
    for given in ({}, {"attributes": {"x": 1.0}}, {"attributes": {"x": "red"}}):
        fusion.predict_one({"ann": "a"}, **given)
        assert fingerprint(fusion) == before
    fusion.predict_one(attributes={"x": 1.0})
    assert fingerprint(fusion) == before
    for one in (fusion, other):
        one.learn_one({"ann": "a"}, "a", attributes={"x": 1.0})
    assert fingerprint(fusion) == fingerprint(other) != before
