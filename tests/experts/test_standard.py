"""The sources that are suggested for plain data, and texts as n-grams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Perceptron, recommended
from linmax._jit.compilation import interpreted
from linmax.experts import Neighbours, ScaledAttributes, ValueTables, standard, text_ngrams
from tests.oracles.generators import text_columns

LINEAR = ScaledAttributes(unit=True)
NUMBERS = LINEAR + Neighbours()
MIXED = NUMBERS + ValueTables(1) + ValueTables(2)


def test_the_kinds_of_columns_choose_the_source() -> None:
    assert standard({"age": "number"}) == NUMBERS
    assert standard({"town": "category"}) == LINEAR
    assert standard({"town": "category", "job": "category"}) == LINEAR + ValueTables(1) + ValueTables(2)
    assert standard({"age": "number", "town": "category", "job": "category"}) == MIXED
    assert standard({"letter": "text"}, memory=50) == LINEAR + Neighbours(50, unit=True)


def test_kinds_are_inferred_from_rows_frames_and_arrow() -> None:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    rows = [{"age": None, "town": "Rome"}, {"age": 30, "town": "Oslo", "job": "cook"}]
    table = {"age": [True, False], "town": ["Rome", "Oslo"], "job": ["cook", None]}
    schema = pyarrow.schema([("age", pyarrow.int8()), ("town", pyarrow.string()), ("job", pyarrow.string())])
    for given in (rows, pandas.DataFrame(table), pyarrow.table(table), schema):
        assert standard(given) == MIXED


def test_an_empty_frame_is_refused_in_one_sentence() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(
        ValueError, match=r"^standard requires at least one column \(got an empty DataFrame\)$"
    ):
        standard(pandas.DataFrame())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"age": "float"}, "(got 'float' for 'age')"),
        ({}, "at least one column"),
        ([[1, 2]], "example rows as dicts"),
        (3, "(got int)"),
    ],
)
def test_a_schema_that_is_none_is_refused(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match="standard requires") as error:
        standard(given)
    assert message in str(error.value)


def test_rows_of_the_schema_can_be_learned() -> None:
    rows = [{"age": 20.0 + t, "town": "Rome" if t % 2 else "Oslo", "job": "cook"} for t in range(12)]
    fusion = Fusion(Perceptron().on(standard(rows)))
    with interpreted():
        assert fusion.learn(attributes=rows, labels=[t % 2 for t in range(12)]).mistakes <= 3


def test_the_default_learner_takes_a_source_and_other_readings() -> None:
    default = len(recommended().members[1].members)  # type: ignore[attr-defined]
    assert len(recommended(readings=True).members[1].members) == default + 3  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="needs votes=True"):
        recommended(votes=False, attributes=True, readings=True)
    wide = recommended(votes=False, attributes=True, experts=NUMBERS)
    assert len(wide.members[1].members) == 9  # type: ignore[attr-defined]


TEXTS = ["Who wrote Emma?", "", "who  wrote\tit", "Où est-ce?", None, "a", "x_1 -- 2"]


@pytest.mark.parametrize(
    ("words", "characters"), [((1, 2), (3, 4, 5)), ((1,), ()), ((), (2,)), ((3,), (10,))]
)
def test_ngrams_are_those_of_the_definition(words: Any, characters: Any) -> None:
    with interpreted():
        found = text_ngrams(TEXTS, words=words, characters=characters, columns=1 << 12)
    for t, text in enumerate(TEXTS):
        columns = found.indices[found.indptr[t] : found.indptr[t + 1]].tolist()
        assert columns == sorted(text_columns(text or "", words, characters, 1 << 12))
    assert set(found.data.tolist()) == {1.0}


def test_texts_are_read_in_any_pieces_compiled_or_not() -> None:
    whole = text_ngrams(TEXTS)
    with interpreted():
        pieces = [text_ngrams([text]) for text in TEXTS]
    for t, piece in enumerate(pieces):
        np.testing.assert_array_equal(piece.indices, whole.indices[whole.indptr[t] : whole.indptr[t + 1]])


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("one text", {}, "a list of texts"),
        ([3], {}, "(got 3)"),
        (["a"], {"words": (0,)}, "(got (0,))"),
        (["a"], {"columns": 100}, "a power of 2"),
    ],
)
def test_wrong_texts_are_refused(texts: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match="text_ngrams requires") as error:
        text_ngrams(texts, **options)
    assert message in str(error.value)
