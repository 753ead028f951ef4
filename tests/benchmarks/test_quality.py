"""The benchmark of quality, on tiny problems that are made up; no peer runs here."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import linmax
from benchmarks import quality
from benchmarks.peers import environment, vw
from benchmarks.peers.cached_predictions import CachedPredictions
from benchmarks.peers.feed import Feed, load_feed
from benchmarks.peers.settings import LIBRARIES, settings
from benchmarks.quality import (
    batch_baseline,
    compare,
    linmax_methods,
    panels,
    streams,
    wins_and_losses,
)
from benchmarks.quality.generated import generated
from benchmarks.quality.measure import describe, problems
from benchmarks.quality.models import model_panel
from benchmarks.quality.problem import AS_FILED, Panel, Problem, Stream, orders, standardised
from benchmarks.quality.run import run
from linmax import Averaged, Mixture, Perceptron
from linmax.experts import Attributes
from linmax.problems import majority
from linmax.scale.engine import ThisProcess


@pytest.fixture(autouse=True)
def no_large_bank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its 62 algorithms have tests of their own; these are over in seconds."""
    monkeypatch.delattr(linmax, "vr_combine", raising=False)


@pytest.fixture
def panel() -> Panel:
    votes, labels = majority(60, experts=5, classes=3, relevant=3)
    return Panel("tiny", votes.astype(np.int64), labels.astype(np.int64), 3)


def store_predictions(peers: CachedPredictions, problem: Problem, permutations: int) -> None:
    """Store predictions as if every peer had run and always predicted class 0."""
    (peers.home / "results").mkdir(exist_ok=True)
    for order in orders(problem, permutations):
        feed = problem.feed(order)
        for name in settings(feed.form):
            np.savez(peers.path(name, problem.name, feed), guesses=np.zeros(len(feed.labels), dtype=np.int16))


def row_of(problem: Problem, peers: CachedPredictions, permutations: int) -> compare.Row:
    ((_, mistakes),) = run([problem], peers, permutations)
    return compare.record(problem, mistakes)


def results_of(problem: Problem, row: compare.Row) -> dict[str, object]:
    return {"quick": True, "notes": [], **describe([problem], [row]), "problems": [row]}


def test_cached_predictions_are_compared_order_by_order(panel: Panel, tmp_path: Path) -> None:
    peers = CachedPredictions(tmp_path, install=False)
    store_predictions(peers, panel, 3)
    row = row_of(panel, peers, 3)
    share = float(np.mean(panel.labels == 0))
    for library in LIBRARIES["votes"]:
        found = row["against"][library]
        expected = [figure - share for figure in compare.shuffled(row, "linmax")]
        assert found["differences"] == pytest.approx(expected)
        assert found["verdict"] in ("ahead", "level", "behind")
    results = results_of(panel, row)
    assert json.loads(json.dumps(results)) == results
    text = quality.page(results)
    assert "| tiny | 60 | 5 | 3 |" in text
    assert "scikit-learn stacking" in text
    quality.draw(results, tmp_path / "quality.png")
    assert {file.name for file in tmp_path.glob("quality*")} == {"quality-panels.png", "quality-panels.svg"}


def test_a_peer_that_is_ahead_is_listed_in_every_order(panel: Panel, tmp_path: Path) -> None:
    peers = CachedPredictions(tmp_path, install=False)
    store_predictions(peers, panel, 2)
    for order in orders(panel, 2):
        feed = panel.feed(order)
        np.savez(peers.path("VW oaa", panel.name, feed), guesses=feed.labels.astype(np.int16))
    row = row_of(panel, peers, 2)
    assert row["mistakes"]["VW oaa"] == {AS_FILED: 0, "0": 0, "1": 0}
    assert wins_and_losses.losses([row]).count("tiny: VW oaa by ") == 2
    assert wins_and_losses.losses([row | {"best peer": row["against"]["River"]}]) == "None.\n"


def test_without_the_peers_linmax_runs_alone(panel: Panel, tmp_path: Path) -> None:
    ((_, mistakes),) = run([panel], CachedPredictions(tmp_path, install=False), 1)
    assert "not installed" in mistakes.missing
    assert set(mistakes.whole) == {*linmax_methods.learners(panel.feed("0")), "plurality", "best expert"}
    row = compare.record(panel, mistakes)
    assert row["against"] == {}
    assert "best peer" not in row
    assert "Wins" not in quality.page(results_of(panel, row))


class PicklingEngine(ThisProcess):
    """Sends tasks and results as a cluster does."""

    sent = 0

    def submit(self, function: Any, *arguments: Any) -> Any:
        self.sent += 1
        return super().submit(_run_pickled, pickle.dumps((function, arguments)))

    def gather(self, *arguments: Any, **options: Any) -> list[Any]:
        return [pickle.loads(one) for one in super().gather(*arguments, **options)]


def _run_pickled(content: bytes) -> bytes:
    function, arguments = pickle.loads(content)
    return pickle.dumps(function(*arguments))


def test_tasks_elsewhere_give_the_same_figures(panel: Panel, tmp_path: Path) -> None:
    drawn = next(one for one in generated(60) if one.name == "majority, noise .05")
    peers, engine = CachedPredictions(tmp_path, install=False), PicklingEngine()
    found = list(run([panel, drawn], peers, 2, where={"cluster": engine}))
    assert engine.sent == 5, "a task per problem and order"
    alone = list(run([panel, drawn], peers, 2))
    assert [(one.name, counts) for one, counts in found] == [(one.name, counts) for one, counts in alone]


def test_another_order_setting_or_panel_has_another_file(panel: Panel, tmp_path: Path) -> None:
    peers = CachedPredictions(tmp_path)
    changed = Panel("tiny", panel.votes, (panel.labels + 1) % 3, 3)
    feeds = [one.feed(order) for one in (panel, changed) for order in orders(panel, 1)]
    places = {peers.path(name, "tiny", feed) for name in settings("votes") for feed in feeds}
    assert len(places) == 2 * 2 * len(settings("votes"))


def test_a_failing_peer_has_a_reason_and_the_next_request_runs(
    panel: Panel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CachedPredictions, "interpreter", lambda self: Path(sys.executable))
    peers = CachedPredictions(tmp_path)
    feed = panel.feed("0")
    for _ in range(2):  # by the same process
        with pytest.raises(environment.PeersMissingError, match=r"failed on tiny \(ValueError"):
            peers.run("tiny", feed, {"nobody": tmp_path / "nobody.npz"})
    assert len(peers.idle) == 1
    peers.close()
    assert peers.idle == []


def test_a_feed_survives_its_file(tmp_path: Path) -> None:
    words = sparse.csr_matrix(np.array([[1.0, 0, 1], [0, 0, 0]]))
    labels = np.array([1, 0])
    for feed in (
        Feed(labels, 2, votes=np.array([[0, -1], [1, 1]])),
        Feed(labels, 2, attributes=np.array([[0.5], [0.0]])),
        Feed(labels, 2, attributes=words),
    ):
        np.savez(tmp_path / "feed.npz", **feed.arrays)
        again = load_feed(tmp_path / "feed.npz")
        assert (again.form, again.digest) == (feed.form, feed.digest)
        assert list(again.as_dicts()) == list(feed.as_dicts())
    assert list(feed.as_dicts()) == [{0: 1, 2: 1}, {}]


def test_the_last_of_repeated_votes_counts_and_only_labelled_items_are_fed(tmp_path: Path) -> None:
    file = tmp_path / "crowd.npz"
    item, worker, label = [0, 1, 1, 2, 0], [0, 0, 1, 1, 0], [1, 2, 0, 0, 2]
    np.savez(file, item=item, worker=worker, label=label, y=[2, -1, 0], n_classes=3)
    panel = panels.panel(file)
    assert panel.votes.tolist() == [[2, -1], [-1, 0]]
    assert panel.labels.tolist() == [2, 0]


def test_scaling_does_not_look_ahead() -> None:
    rows = np.random.default_rng(0).normal(5, 3, (40, 4))
    scaled = standardised(rows)
    assert standardised(rows[:20]) == pytest.approx(scaled[:20])
    last = (rows[-1] - rows.mean(axis=0)) / rows.std(axis=0)
    assert scaled[-1] == pytest.approx(last)


def test_a_long_or_wide_stream_is_cut_and_one_sorted_by_class_is_only_shuffled(tmp_path: Path) -> None:
    file = tmp_path / "beck_s_correspondents.npz"
    labels = np.sort(np.arange(1000) % 4)
    np.savez(file, X=np.random.default_rng(0).normal(size=(1000, 500)), y=labels)
    stream = streams.stream(file, streams.plain)
    assert stream.facts == {"items": 400, "in the file": 1000, "attributes": 500, "classes": 4}
    assert orders(stream, 2) == ["0", "1"]
    assert len(set(stream.feed("0").labels.tolist())) == 4


@pytest.fixture
def only_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels and sharing take long to compile, and have tests of their own."""
    linear = Averaged(Perceptron().on(Attributes()))
    few = {linmax_methods.LINMAX: linear, linmax_methods.MIXTURE: Mixture((linear,))}
    monkeypatch.setattr(linmax_methods, "on_attributes", lambda feed: few)


@pytest.mark.usefixtures("only_linear")
def test_all_learners_run_on_a_stream_without_experts(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=90)
    stream = Stream("clouds", np.eye(3)[labels] * 9 + rng.normal(size=(90, 3)), labels, 3, 80)
    peers = CachedPredictions(tmp_path, install=False)
    store_predictions(peers, stream, 1)
    row = row_of(stream, peers, 1)
    for name in linmax_methods.learners(stream.feed("0")):
        assert row["mistakes"][name]["0"] < 20 < row["mistakes"]["commonest so far"]["0"]
    assert row["late"]["scikit-learn in batch"]["0"] < 5
    assert "### A mixture" in quality.page(results_of(stream, row))


def test_learners_on_attributes_parse_back() -> None:
    for attributes in (np.zeros((2, 8)), sparse.csr_matrix(np.eye(2))):
        made = linmax_methods.learners(Feed(np.array([0, 1]), 2, attributes=attributes))
        assert [linmax.parse(repr(learner)) for learner in made.values()] == list(made.values())
        assert ("linmax kernel" in made) == (not sparse.issparse(attributes))


def test_stacking_sees_the_first_half_only() -> None:
    votes = np.array([[0], [1]] * 10 + [[0], [1]] * 10)
    turned = np.array([0, 1] * 10 + [1, 0] * 10)
    said = batch_baseline.predictions(Feed(turned, 2, votes=votes))
    assert said["scikit-learn stacking"].tolist() == votes[20:, 0].tolist()
    alone = batch_baseline.predictions(Feed(np.zeros(4, dtype=np.int64), 2, votes=votes[:4]))
    assert alone["scikit-learn stacking"].tolist() == [0, 0]


def test_generated_problems_are_drawn_anew_with_each_seed() -> None:
    for problem in generated(8):
        first, second = problem.feed("0"), problem.feed("1")
        assert first.digest == problem.feed("0").digest != second.digest
        assert first.labels.max() < first.k
        assert problem.facts["items"] == (8 if first.form == "votes" else 4)


def test_models_vote_on_items_that_they_were_not_fitted_to() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=1200)
    stream = Stream("clouds", np.eye(3)[labels] * 4 + rng.normal(size=(1200, 3)), labels, 3, 80)
    panel = model_panel(stream)
    assert panel.votes.shape == (200, 7)
    right = (panel.votes == panel.labels[:, None]).mean(axis=0)
    assert right[0] < 0.8 < right[1:].min()  # a stump knows two of three classes


def test_one_vote_reaches_the_peers_as_one_feature() -> None:
    assert vw.one_line([1, -1, 0], 2, 3) == "3 | e0^1 e2^0\n"
    assert vw.lines_by_class([1, -1, 1], 2, 3) == "1:1 |\n2:1 | e0 e2\n3:0 |\n\n"
    assert vw.with_thresholds("1:1 |\n2:0 | e0\n\n") == "1:1 | c0\n2:0 | e0 c1\n\n"
    numbers = Feed(np.array([1]), 2, attributes=np.array([[0.5, -2.0]]))
    assert list(vw.example_lines(numbers, by_class=False)) == ["2 |x 0:0.5 1:-2\n"]
    assert list(vw.example_lines(numbers, by_class=True)) == ["shared |x 0:0.5 1:-2\n1:1 |c 0\n2:0 |c 1\n\n"]


def test_the_peers_are_pinned() -> None:
    assert {"vowpalwabbit", "river", "scikit-learn", "numpy"} <= set(environment.versions())


def test_without_data_only_generated_problems_run(tmp_path: Path) -> None:
    assert problems(tmp_path / "nowhere", quick=True)[0].kind == "generated"
    assert all(one.kind == "generated" for one in problems(tmp_path / "nowhere", quick=False))


def test_wins_and_losses_are_counted_for_the_terminal(panel: Panel, tmp_path: Path) -> None:
    peers = CachedPredictions(tmp_path, install=False)
    store_predictions(peers, panel, 1)
    row = row_of(panel, peers, 1)
    assert row["against"]["VW"]["verdict"] == "one order only"
    lines = quality.highlights({"notes": ["a note"], "problems": [row]})
    assert lines[0] == "a note"
    assert lines[1].startswith("- all problems: 1 one order only; in file order 1 ahead;")


@pytest.mark.parametrize(("middle", "half", "said"), [(1, 2, "level"), (3, 2, "ahead"), (-3, 2, "behind")])
def test_a_difference_counts_where_its_interval_excludes_zero(middle: int, half: int, said: str) -> None:
    assert compare.verdict(middle, half) == said
