"""The benchmark of the adapters, one small cell of each part."""

import itertools

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from benchmarks.adapters import batches, overhead, streams
from benchmarks.adapters.__main__ import show, show_overhead
from linmax.adapters.river import FusionClassifier
from tests.helpers.examples import rarely_compiled


def test_everybody_is_judged_on_rows_nobody_has_learned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(batches, "LEARNER", overhead.AVERAGED)  # compiled by other tests, too
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    split = batches.half(rows, (rows[:, 0] > 0).astype(int))
    found = batches.compare([("bayes", GaussianNB()), ("again", GaussianNB())], iter([split]))
    assert found["best estimator"]["accuracy"] > 0.8
    assert all(one["accuracy"] > 0.8 for one in found.values())
    assert all("fit seconds" in one for name, one in found.items() if name != "best estimator")
    show("scikit-learn", {"made up": found}, "fit seconds")
    assert "VotingClassifier, hard" in capsys.readouterr().out


def test_models_of_river_are_judged_item_by_item() -> None:
    stream = list(itertools.islice(streams.streams()["Phishing"](), 40))
    panel = streams.models()[3:]
    found = streams.progressive(lambda: FusionClassifier(panel, overhead.AVERAGED), stream)
    assert found["items"] == 40
    assert found["accuracy"] > 0.5
    assert found["us"] > 0


def test_a_call_is_timed_beside_the_session_s(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(overhead, "LEARNERS", {"averaged Perceptron": overhead.AVERAGED})
    with rarely_compiled():
        rows = overhead.batches(1, rows=150) + overhead.singles(1, items=20)
    assert len(rows) == 5
    assert all(one["us"] > 0 and one["core us"] > 0 for one in rows)
    show_overhead(rows)
    assert "averaged" in capsys.readouterr().out
