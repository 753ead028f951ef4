"""Items that wait are saved, and learned as if they had not waited; batches are those of their session."""

from dataclasses import replace
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from linmax import Fusion, Perceptron, load
from linmax.experts import Attributes
from tests.helpers.examples import rarely_compiled
from tests.helpers.sessions import same


class Mail(Enum):
    """Classes as members of an Enum."""

    HAM = "ham"
    SPAM = "spam"


NAN = float("nan")
ITEMS = {
    "NaN": {"ann": "ham", "bob": NAN},
    "NA": {"ann": "ham", "bob": pd.NA},
    "NaT": {"ann": pd.NaT, "bob": "spam"},
    "Series": pd.Series({"ann": "ham", "bob": np.nan}),
    "record": pd.DataFrame({"ann": ["ham"], "bob": [np.nan]}).to_dict("records")[0],
    "row": next(pd.DataFrame({"ann": ["ham"], "bob": [None]}).iterrows())[1],
    "Enum": {"ann": Mail.HAM, "bob": Mail.SPAM},
    "numpy": {np.int64(3): "ham", np.str_("bob"): np.str_("spam")},
    "scores": {"ann": {Mail.HAM: np.float32(0.5), np.str_("spam"): 1}, "bob": {"ham": 0.5}},
    "list": ["ham", NAN, None],
    "array": np.array(["ham", None, "spam"], object),
}


def session() -> Fusion:
    return Fusion("Winnow(1.2)", classes=["ham", "spam"])


@pytest.mark.parametrize("item", ITEMS.values(), ids=ITEMS)
def test_a_waiting_item_is_saved_and_learned_as_if_it_had_not_waited(item: Any, tmp_path: Path) -> None:
    plain, waiting = session(), session()
    plain.learn_one(item, "spam")
    ticket = waiting.predict_one(item, ticket=True)
    waiting.save(tmp_path / "model.linmax")
    loaded = load(tmp_path / "model.linmax")
    for fusion in (waiting, loaded):
        fusion.learn_one(ticket, "spam")
        assert fusion.experts == plain.experts
        assert same(fusion, plain)


def test_waiting_attributes_are_saved(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron().on(Attributes()), classes=["ham", "spam"])
    ticket = fusion.predict_one(attributes={"length": Decimal("0.5"), "words": np.int64(3)}, ticket=True)
    fusion.save(tmp_path / "model.linmax")
    loaded = load(tmp_path / "model.linmax")
    loaded.learn_one(ticket, "spam")
    fusion.learn_one(ticket, "spam")
    assert same(fusion, loaded)


@pytest.mark.parametrize("call", ["learn_batch", "predict_batch"])
def test_a_batch_of_another_session_or_of_other_names_is_refused(call: str) -> None:
    fusion, other, equal = session(), Fusion("Winnow(1.2)", classes=["spam", "ham"]), session()
    labels = ["ham"] if call == "learn_batch" else None
    batch = fusion.read([{"ann": "ham", "bob": "spam"}], labels)
    with pytest.raises(ValueError, match="was read by a session with other names, or before this one met"):
        getattr(other, call)(batch)
    assert other.trials == 0
    assert getattr(equal, call)(batch).codes.tolist() == [0]
    fusion.learn([{"eve": "ham"}], ["ham"])
    with pytest.raises(ValueError, match="read it again"):
        getattr(fusion, call)(batch)
    again = fusion.read([{"ann": "ham", "bob": "spam"}], labels)
    assert len(getattr(fusion, call)(again).codes) == 1


def test_a_batch_that_has_added_its_names_is_refused() -> None:
    """Its codes mean names that another session does not have: kernels would write outside its arrays."""
    learner = "Perceptron().on(Votes() + Attributes())"
    names = {"classes": ["ham", "spam"], "experts": ["ann"]}
    first, second, third = (Fusion(learner, **names) for _ in range(3))
    attributes = [{"town": f"t{i}"} for i in range(40)]
    batch = first.read([{"ann": "ham"}] * 40, ["spam"] * 40, attributes=attributes)
    copy = replace(batch)
    with rarely_compiled():
        expected = first.learn_batch(batch).codes.tolist()
        for session in (first, second):
            with pytest.raises(ValueError, match="read it again"):
                session.learn_batch(batch)
        assert third.learn_batch(copy).codes.tolist() == expected
    assert third.names.sizes == first.names.sizes == (2, 1, 40, 0)
