"""`sweep`: learners x orders x panels as tasks, with the results of the learners alone, cached by content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Fusion
from linmax.panels import PanelOptions, read_panel
from linmax.scale import keyed, learner_sweep, mix, sweep
from linmax.streams.chunk import shuffle_items
from tests.helpers.files import panel, refused, run, values
from tests.scale.test_faults import killer

LEARNERS = ["Winnow(1.2)", "Averaged(Perceptron())"]


def results_of(found: list[Any]) -> list[Any]:
    return [(*one._replace(seconds=0.0)[:-1], one.correct.tolist()) for one in found]


@pytest.fixture
def votes(tmp_path: Path) -> Path:
    return panel(tmp_path / "votes.csv")


def test_each_result_is_that_of_a_session_alone(votes: Path, tmp_path: Path) -> None:
    panels = {"a": votes, "b": panel(tmp_path / "other.csv", rows=90)}
    found = sweep(LEARNERS, panels, [None, 3], workers=1)
    assert [(one.panel, one.order, one.learner) for one in found] == [
        (name, order, learner) for name in "ab" for order in (None, 3) for learner in LEARNERS
    ]
    for one in found:
        stream = read_panel([panels[one.panel]], PanelOptions()).stream()
        (chunk,) = stream if one.order is None else shuffle_items(stream, one.order)
        result = Fusion(one.learner).learn(chunk.votes, chunk.labels)
        assert (one.items, one.mistakes) == (chunk.items, result.mistakes)
        assert one.trials == result.trials - result.novel
        assert one.accuracy == pytest.approx(1 - result.mistakes / one.trials)


def test_the_cache_depends_on_the_data_the_learner_and_the_order(
    votes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    original = learner_sweep.run_learner
    monkeypatch.setattr(learner_sweep, "run_learner", lambda job: calls.append(job) or original(job))
    options: Any = {"cache": tmp_path / "cache", "workers": 1}
    first = sweep(LEARNERS, votes, **options)
    again = sweep(LEARNERS, votes, **options)
    assert results_of(again) == results_of(first)
    assert len(calls) == 2
    sweep([*LEARNERS, "Perceptron()"], votes, [None, 1], **options)
    assert len(calls) == 6
    panel(votes, rows=150)
    assert sweep(LEARNERS, votes, **options)[0].items == 150
    assert len(calls) == 8
    file = next((tmp_path / "cache").iterdir())
    file.write_text(json.dumps({"items": 3}))  # damaged: it is computed again
    sweep(LEARNERS, votes, **options)
    assert results_of(sweep(LEARNERS, votes, **options))[0][3] == 150


@pytest.mark.slow
def test_results_come_one_by_one_and_a_killed_worker_changes_none(
    cluster: Any, votes: Path, tmp_path: Path
) -> None:
    kill, killed = killer(cluster, ("sweep", 2))
    seen: list[int] = []

    def result(place: int, _: Any) -> None:
        seen.append(place)
        kill("sweep", len(seen), 6)

    found = sweep(LEARNERS, votes, [None, 1, 2], cluster=cluster, on_result=result)
    assert len(killed) == 1
    assert sorted(seen) == list(range(6))
    assert results_of(found) == results_of(sweep(LEARNERS, votes, [None, 1, 2], workers=1))


def test_compare_prints_the_same_with_tasks(votes: Path, tmp_path: Path) -> None:
    plain = values("compare", votes, *LEARNERS)
    tasks = values("compare", votes, *LEARNERS, "--workers", 1, "--cache", tmp_path / "cache")
    for found in (plain, tasks):
        for one in found["results"]:
            one.pop("microseconds")
    assert tasks == plain
    assert np.sum([one.suffix == ".json" for one in (tmp_path / "cache").iterdir()]) == 2
    shuffled = [values("compare", votes, *LEARNERS, "--shuffle", 5, *more) for more in ((), ("--workers", 1))]
    assert [one["mistakes"] for one in shuffled[0]["results"]] == [
        one["mistakes"] for one in shuffled[1]["results"]
    ]
    assert "exclude each other" in refused("compare", votes, "--cluster", "a", "--local-cluster")


def test_wrong_arguments_are_refused_in_one_sentence(votes: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"learners is a list of learners \(got 'Winnow\(1.2\)'\)"):
        sweep("Winnow(1.2)", votes)
    for order in (-1, "a", 1.0, True):
        with pytest.raises(ValueError, match="sweep requires an integer order >= 0"):
            sweep(LEARNERS, votes, [order])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=r"cannot write to the cache .*: File exists; name a folder"):
        sweep(LEARNERS, votes, cache=votes)


def test_unknown_keywords_are_named_with_what_may_be_meant(votes: Path) -> None:
    with pytest.raises(ValueError, match=r"^orders is a list of seeds, .* \(got 3\)$"):
        sweep(LEARNERS, votes, orders=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^sweep has no parameter 'lable'; did you mean label=\?$"):
        sweep(LEARNERS, votes, lable="truth")
    with pytest.raises(TypeError, match=r"^mix has no parameter 'foo'; options of columns are label, id, "):
        mix("Perceptron()", votes, foo=1)
    with pytest.raises(TypeError, match=r"^keyed has no parameter 'needs_label'; did you mean label"):
        keyed(votes, by="ann", store=votes.parent, needs_label=False)


def test_one_column_is_a_list_of_one(votes: Path) -> None:
    one, listed = (sweep(["Perceptron()"], votes, ignore=ignore, workers=1) for ignore in ("joe", ["joe"]))
    assert results_of(one) == results_of(listed)


def test_a_panel_without_labels_is_refused_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "votes.csv"
    file.write_text("ann,bob\na,b\nb,b\n")
    assert run("compare", file, *LEARNERS, "--workers", 1).exit_code == 2
    with pytest.raises(ValueError, match="label"):
        sweep(LEARNERS, file, workers=1)


def test_a_learner_that_cannot_learn_is_named(votes: Path) -> None:
    reason = r"Perceptron\(\).on\(Attributes\(\)\) cannot learn .*votes.*: this learner needs attributes"
    with pytest.raises(ValueError, match=reason):
        sweep([*LEARNERS, "Perceptron().on(Attributes())"], votes, workers=1)
