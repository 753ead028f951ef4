"""The session's manners: bad input, growth, the fast path, interrupts."""

import os
import signal
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import linmax
from linmax import Averaged, Fusion, Logistic, Perceptron, Recycled, Triplets, Winnow
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Pairs, PerClass, Split, Thresholds, Votes
from linmax.problems import majority
from tests.helpers.sessions import same

VOTES, LABELS = majority(200, noise=0.1)


def trained(learner: Any = None) -> Fusion:
    fusion = Fusion(learner or Winnow(1.2), classes=["a", "b", "c"], experts=["x", "y"])
    fusion.learn([["a", "b"], ["b", "c"], ["c", "a"]], ["b", "c", "b"])
    return fusion


BAD: dict[str, tuple[Any, str]] = {
    "another length": (lambda f: f.learn([["a", "b"]], ["a", "b"]), "votes have 1 items but labels have 2"),
    "another width": (lambda f: f.learn([["a", "b", "c"]], ["a"]), "3 columns but 2 experts"),
    "unknown shape": (lambda f: f.learn(["a", "b"], ["a", "b"]), "votes"),
    "non-finite score": (lambda f: f.learn_one({"x": {"a": float("nan")}}, "a"), "finite"),
    "infinite score": (lambda f: f.learn(np.full((1, 2, 3), np.inf), ["a"]), "finite"),
    "mixed labels": (lambda f: f.learn([["a", "b"]] * 2, ["a", 3]), "one kind"),
    "labels of another kind": (lambda f: f.learn([["a", "b"]], [3]), "one kind"),
    "votes of another kind": (lambda f: f.learn_one({"x": 3}, "a"), "one kind"),
    "a huge score": (lambda f: f.learn_one({"x": {"a": 1e300}}, "a"), "1e60"),
    "a score beyond floats": (lambda f: f.learn_one({"x": {"a": 10**400}}, "a"), "1e60"),
    "a score in text": (lambda f: f.learn_one({"x": {"a": "1"}}, "a"), "must be numbers"),
    "no labels": (lambda f: f.learn([["a", "b"]]), "needs labels"),
    "no votes": (lambda f: f.learn(None, ["a"]), "needs votes"),
    "no passes": (
        lambda f: f.learn([["a", "b"]], ["a"], passes=0),
        "passes must be a whole number, 1 or more",
    ),
    "an expert twice": (
        lambda f: f.learn(pd.DataFrame([["a", "b"]], columns=["x", "x"]), ["a"]),
        "two columns 'x'",
    ),
    "a vote twice": (lambda f: f.learn(Triplets([0, 0], ["x", "x"], ["a", "b"]), ["a"]), "two votes"),
    "attributes of another length": (
        lambda f: f.learn([["a", "b"]], ["a"], attributes=[[1.0], [2.0]]),
        "attributes have 2",
    ),
    "an unknown ticket": (lambda f: f.learn_one(linmax.Ticket(99, None), "a"), "ticket 99"),
    "a single row": (lambda f: f.predict(np.array(["a", "b"])), "votes"),
}


@pytest.mark.parametrize("case", sorted(BAD))
@pytest.mark.parametrize(
    "learner", [Winnow(1.2), Averaged(Recycled(Winnow(1.2), size=2))], ids=["plain", "kept"]
)
def test_bad_input_is_one_sentence_and_changes_nothing(case: str, learner: Any) -> None:
    fusion = trained(learner)
    before, names = fusion.state(), (fusion.classes, fusion.experts)
    act, sentence = BAD[case]
    with pytest.raises(ValueError, match=sentence) as caught:
        act(fusion)
    assert "\n" not in str(caught.value)
    after = fusion.state()
    assert all(np.array_equal(before[x], after[x]) for x in before)
    assert names == (fusion.classes, fusion.experts)


def test_complement_is_refused_for_a_third_class_before_anything_changed() -> None:
    fusion = Fusion(Winnow(1.5).on(Attributes(complement=True)))
    with interpreted():
        fusion.learn(attributes=np.array([[0.0, 1.0], [1.0, 0.0]] * 3), labels=["a", "b"] * 3)
    before = fusion.state()
    with pytest.raises(ValueError, match="two classes"):
        fusion.learn(attributes=np.array([[1.0, 1.0]]), labels=["c"])
    assert fusion.classes == ["a", "b"]
    assert all(np.array_equal(before[x], fusion.state()[x]) for x in before)


SOURCES = {
    "votes": Votes() + Thresholds(),
    "all readings": Votes() + Split() + PerClass() + Thresholds(),
}


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_classes_and_experts_may_come_at_any_trial(source: str) -> None:
    rng = np.random.default_rng(1)
    items, labels = [], []
    for t in range(120):
        experts = [f"e{i}" for i in range(1 + t // 8)]  # up to 15 experts
        names = [f"c{i}" for i in range(1 + t // 12)]  # up to 10 classes
        items.append({expert: str(rng.choice(names)) for expert in experts if rng.random() < 0.7})
        labels.append(str(rng.choice(names)))
    learner = Averaged(Winnow(1.3)).on(SOURCES[source])
    whole, ones = Fusion(learner), Fusion(learner)
    with interpreted() if source == "all readings" else nullcontext():
        whole.learn(items, labels)
        for item, label in zip(items, labels, strict=True):
            ones.learn_one(item, label)
    assert same(whole, ones)
    assert len(whole.classes) == 10
    assert len(whole.weights) > 15


def test_the_fast_path_is_the_general_path() -> None:
    items = [
        {"x": "a", "y": "b"},
        {"y": "b", "x": "c"},  # another order
        {"x": {"a": 0.25, "c": 0.5}, "y": "a"},  # scores
        {"x": None, "y": "c"},  # abstains
        {"y": ""},
        {},
        {"x": np.str_("a")},
    ] * 3
    labels = ["a", "b", "c", "a", "b", "c", "a"] * 3
    fast, general = trained(Averaged(Perceptron())), trained(Averaged(Perceptron()))
    general._single.run = lambda *_: None  # type: ignore[method-assign]
    for item, label in zip(items, labels, strict=True):
        assert fast.predict_one(item) == general.predict_one(item)
        assert fast.learn_one(item, label) == general.learn_one(item, label)
        assert same(fast, general)


def test_true_is_not_one_and_a_contested_minus_one_is_refused_in_every_path() -> None:
    fusion = Fusion(Winnow(1.2), classes=[0, 1], experts=["x"])
    fusion.learn_one({"x": 1}, 1)
    with pytest.raises(ValueError, match="one kind"):
        fusion.predict_one({"x": True})
    with pytest.raises(ValueError, match="one kind"):
        fusion.learn_one({"x": 1}, True)
    signed = Fusion(Winnow(1.2), classes=[-1, 1], experts=["x"])
    signed.learn_one({"x": 1}, 1)
    with pytest.raises(ValueError, match="also a label"):
        signed.predict_one({"x": -1})
    told = Fusion(Winnow(1.2), classes=[-1, 1], experts=["x"], abstain=0)
    told.learn_one({"x": -1}, -1)
    assert told.predict_one({"x": -1}) == -1


def test_attributes_one_by_one_dense_and_sparse_are_the_same_rows() -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (60, 5)).astype(float)
    labels = [str(x) for x in rows.argmax(axis=1)]
    learner = Averaged(Perceptron().on(Attributes() + Thresholds()))
    dense, sparse, ones = Fusion(learner), Fusion(learner), Fusion(learner)
    with interpreted():
        dense.learn(attributes=rows, labels=labels)
        sparse.learn(attributes=scipy.sparse.csr_array(rows), labels=labels)
        for row, label in zip(rows, labels, strict=True):
            ones.learn_one(None, label, attributes=dict(enumerate(row.tolist())))
        explained = dense.explain_one(attributes=dict(enumerate(rows[0]))).scores
        scores = dense.scores(attributes=rows[:1])[0]
    assert same(dense, sparse)
    assert same(dense, ones)
    assert explained == pytest.approx(dict(zip(dense.classes, scores, strict=True)))


def test_nominal_attributes_are_indicators() -> None:
    fusion = Fusion(Perceptron().on(Attributes()), classes=["in", "out"])
    with interpreted():
        fusion.learn(attributes=pd.DataFrame({"day": ["mon", "tue", "mon"]}), labels=["in", "out", "in"])
    assert fusion.weights["attribute", ("day", "tue"), "out"] == 1.0


def test_a_session_learns_in_any_thread() -> None:
    fusion = Fusion(Winnow(1.2), classes=range(5))
    thread = threading.Thread(target=lambda: fusion.learn(VOTES, LABELS))
    thread.start()
    thread.join()
    assert fusion.trials == 200


def test_tickets_expire_and_are_counted() -> None:
    fusion = trained()
    fusion.tickets.limit = 2
    tickets = [fusion.predict_one({"x": "a"}, ticket=True) for _ in range(3)]
    assert (len(fusion.tickets), fusion.tickets.expired) == (2, 1)
    with pytest.raises(ValueError, match="expired"):
        fusion.learn_one(tickets[0], "a")
    fusion.learn_one(tickets[2], "a")
    assert fusion.trials == 4


def test_a_pair_limit_bounds_the_memory() -> None:
    rows = [[f"a{t}", f"b{t % 7}", f"c{t % 3}"] for t in range(200)]
    fusion = Fusion(Winnow(1.5).on(Pairs(limit=25) + Thresholds()))
    fusion.learn(attributes=rows, labels=[str(t % 3) for t in range(200)])
    assert len([key for key in fusion.weights if key[0] == "pair"]) == 25


def test_an_id_column_taken_for_a_label_is_refused_before_memory_runs_out() -> None:
    fusion = Fusion(Perceptron().on(Votes() + PerClass()))
    with pytest.raises(ValueError, match="id column"):
        fusion.learn(np.arange(60_000).reshape(-1, 2), np.arange(30_000))
    assert fusion.classes == []


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    learner = Averaged(
        Recycled(Winnow(np.float64(1.5), slack=np.float32(0.5), ties=np.True_), size=np.int64(5))
    )
    assert repr(learner) == "Averaged(Recycled(Winnow(1.5, slack=0.5, ties=True), size=5))"
    fusion = Fusion(learner, classes=np.array(["a", "b"]), seed=np.int64(3))
    fusion.learn([["a", "b"]], ["b"], passes=np.int64(2))
    fusion.save(tmp_path / "m")
    assert linmax.load(tmp_path / "m").learner == learner


def test_a_newcomer_after_a_long_fall_has_a_weight() -> None:
    for learner in (Winnow(2.0).on(Votes()), Averaged(Winnow(2.0)).on(Votes())):
        fusion = Fusion(learner, classes=["p", "q"])
        fusion.learn([["p"]] * 1100, ["q"] * 1100)
        fusion.learn_one({0: "p", "new": "q"}, "q")
        assert fusion.weights["new"] == pytest.approx(1.0 if learner.rule is learner else 2 / 1102)
        fusion.learn_one({0: "q", "new": "p"}, "q")
        assert np.isfinite(list(fusion.weights.values())).all()


def test_a_ticket_can_be_guessed_again_before_its_label_comes() -> None:
    fusion = Fusion(Perceptron(start="equal").on(Votes()), classes=["a", "b"])
    ticket = fusion.predict_one({"x": "a", "y": "b", "z": "b"}, ticket=True)
    fusion.learn_one({"x": "a", "y": "b", "z": "b"}, "a")
    assert (ticket.guess, fusion.predict_one(ticket)) == ("b", "a")


@interpreted()  # nothing else compiles this source
def test_a_ticket_is_explained_as_its_item_is() -> None:
    item, numbers = {"x": "a", "y": {"b": 0.5}}, {"length": 2.0}
    fusion = Fusion(Perceptron().on(Votes() + Attributes()))
    fusion.learn_one(item, "b", attributes=numbers)
    ticket = fusion.predict_one(item, attributes=numbers, ticket=True)
    explained = fusion.explain_one(ticket)
    assert explained == fusion.explain_one(item, attributes=numbers)
    assert explained.guess == ticket.guess
    assert len(fusion.tickets) == 1  # its label is still to come
    with pytest.raises(ValueError, match="another session"):
        Fusion(Perceptron()).explain_one(ticket)


def test_a_ticket_of_another_session_is_refused() -> None:
    mine, yours = trained(), trained()
    ticket = mine.predict_one({"x": "a"}, ticket=True)
    yours.predict_one({"x": "b"}, ticket=True)
    with pytest.raises(ValueError, match="another session"):
        yours.learn_one(ticket, "a")
    assert type(ticket.guess) is str


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_stops_a_long_stream_between_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 50)
    fusion = Fusion(Winnow(1.2), classes=range(5))
    chunk = fusion.runner._run_chunk

    def interrupted(batch: Any, rows: slice, learn: bool, scores: bool) -> Any:
        found = chunk(batch, rows, learn, scores)
        if rows.start == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return found

    fusion.runner._run_chunk = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        fusion.learn(VOTES, LABELS)
    assert fusion.trials == 100
    fusion.runner._run_chunk = chunk  # type: ignore[method-assign]
    fusion.learn(VOTES[100:], LABELS[100:])
    whole = Fusion(Winnow(1.2), classes=range(5))
    whole.learn(VOTES, LABELS)
    assert same(fusion, whole)


def test_explain_needs_an_item() -> None:
    fusion = Fusion(Perceptron().on(Thresholds()))
    with interpreted():
        fusion.learn(None, ["a", "b"])
    with pytest.raises(ValueError, match="needs an item"):
        fusion.explain_one()


HARDY = [
    Perceptron(), Winnow(1.5), linmax.BalancedWinnow(1.5), linmax.Romma(), linmax.Romma(aggressive=0.5),
    linmax.Alma(2.0, alpha=0.5), linmax.Alma(100.0), linmax.PNorm(3.0), linmax.PNorm(100.0),
    linmax.QuasiAdditive("square"), linmax.PassiveAggressive(), Logistic(1.0),
]  # fmt: skip


@pytest.mark.parametrize("size", [1e-60, 1e60])
@pytest.mark.parametrize("rule", HARDY, ids=repr)
def test_the_largest_and_smallest_scores_leave_finite_weights(rule: Any, size: float, tmp_path: Path) -> None:
    fusion = Fusion(Averaged(rule).on(Votes()), classes=["a", "b"])
    for label in "abbaba":
        fusion.learn_one({"x": {"b": size}, "y": {"a": 1.0}, "z": {"a": -size, "b": 1e-60}}, label)
    assert np.isfinite(list(fusion.weights.values())).all()
    fusion.save(tmp_path / "m")
    assert same(linmax.load(tmp_path / "m"), fusion)
