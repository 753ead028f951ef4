"""Sets, answers and drift are those of the slow versions, for any stream."""

import copy
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import (
    Averaged,
    Fusion,
    Perceptron,
    Recycled,
    Voted,
    Winnow,
    load,
)
from linmax._jit.compilation import interpreted
from linmax.decisions import Decisions, sample
from linmax.decisions.answers import (
    BINS,
    NoAnswerWarning,
    answers_of,
    binomial_tail,
    find_threshold,
    tally_answer,
)
from linmax.decisions.conformal import LEVELS, MISSES, SIZES, THETA, level_of, sets_of
from linmax.decisions.drift import alarms_of
from linmax.decisions.trials import SEEN, count_losses
from linmax.problems import majority
from tests.helpers.examples import examples
from tests.helpers.sessions import different, same
from tests.oracles import decisions as oracles

CLASSES = range(4)


def panel(count: int, seed: int = 0, noise: float = 0.1) -> tuple[Any, Any]:
    votes, labels = majority(count, experts=7, relevant=3, classes=4, noise=noise, seed=seed)
    return np.asarray(votes), np.asarray(labels)


def learned(learner: Any, votes: Any, labels: Any, **options: Any) -> tuple[Fusion, Any]:
    fusion = Fusion(learner, classes=CLASSES, experts=range(votes.shape[1]), **options)
    found = fusion.learn_batch(fusion.read(votes, labels), scores=True, probabilities=True)
    return fusion, found


# --- the same result in any number of calls


@pytest.mark.parametrize(
    ("learner", "calibrate"),
    [
        (Winnow(1.3), "sample"),
        (Winnow(1.3), "all"),
        (Winnow(1.3), "none"),
        (Averaged(Recycled(Perceptron())), "sample"),
        (Voted(Perceptron()), "all"),
        (None, "sample"),
    ],
    ids=repr,
)
def test_an_array_chunks_single_items_and_tickets_learn_the_same(
    learner: Any, calibrate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample, "FIRST", 20)
    monkeypatch.setattr(sample, "PERIOD", 32)
    monkeypatch.setattr(sample, "WINDOW", 8)
    trials = 60 if learner is None else 80  # many members
    votes, labels = panel(trials)
    votes, labels = votes.astype(object), labels.astype(object)
    labels[::7] = None
    labels[50] = 9  # novel

    def session() -> Fusion:
        costs = None if calibrate == "none" else {(0, 1): 9.0}
        return Fusion(learner, classes=CLASSES, experts=range(7), calibrate=calibrate, mistake_costs=costs)

    with interpreted():
        whole, chunks, single, tickets = (session() for _ in range(4))
        run = whole.learn(votes, labels)
        parts = [chunks.learn(votes[i : i + 37], labels[i : i + 37]) for i in range(0, trials, 37)]
        guesses = []
        for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
            item = dict(enumerate(row))
            guesses.append(single.learn_one(item, label))
            ticket = tickets.predict_one(item, ticket=True)
            tickets.learn_one(ticket, label)
            assert ticket.guess == guesses[-1]
    assert guesses == run.guesses.tolist()
    assert sum(part.mistakes for part in parts) == run.mistakes == whole.mistakes
    assert math.isclose(sum(part.cost for part in parts), run.cost)
    for other in (chunks, single, tickets):
        assert different(whole, other) == []
    if calibrate == "none":
        assert whole.decisions.seen == 0
    else:
        assert whole.decisions.seen == np.count_nonzero(labels != None) - 1  # noqa: E711


@pytest.mark.parametrize("learner", [Winnow(1.3), Voted(Perceptron())], ids=repr)
def test_compiled_and_interpreted_learn_the_same(learner: Any) -> None:
    votes, labels = panel(150)
    compiled, found = learned(learner, votes, labels, mistake_costs={(0, 1): 5})
    with interpreted():
        plain, expected = learned(learner, votes, labels, mistake_costs={(0, 1): 5})
    assert same(compiled, plain)
    assert found.probabilities.tobytes() == expected.probabilities.tobytes()
    assert found.codes.tobytes() == expected.codes.tobytes()


@given(st.lists(st.booleans(), max_size=60), st.integers(0, 40), st.integers(1, 30), st.integers(1, 9))
def test_the_sample_is_cut_where_it_starts_and_ends(
    has_label: list[bool], seen: int, chunk: int, longest: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "FIRST", 10)
        patch.setattr(sample, "PERIOD", 32)
        patch.setattr(sample, "WINDOW", 4)
        batch = SimpleNamespace(trials=len(has_label), counted=None if all(has_label) else has_label)
        chunks = [slice(i, min(i + chunk, batch.trials)) for i in range(0, batch.trials, chunk)]
        found = sample.split(chunks, batch, seen, longest)
        used = np.concatenate([[part] * (rows.stop - rows.start) for rows, part in found] or [[]])
        before = seen + np.cumsum(has_label) - has_label
        for t in np.flatnonzero(has_label):
            power = before[t] // 4 in (4, 64)
            assert used[t] == (before[t] < 10 or before[t] % 32 < 4 or power)
        rows = [t for part, _ in found for t in range(part.start, part.stop)]
        assert rows == list(range(batch.trials))
        assert all(rows.stop - rows.start <= longest for rows, part in found if part)


def test_a_saved_session_goes_on_as_the_original(tmp_path: Path) -> None:
    votes, labels = panel(500)
    fusion, _ = learned(Winnow(1.3), votes, labels, calibrate="all", mistake_costs={(0, 1): 3, (2, 2): 0.5})
    fusion.save(tmp_path / "model")
    again, copied = load(tmp_path / "model"), copy.deepcopy(fusion)
    for session in (fusion, again, copied):
        session.learn(votes[:100], labels[:100])
    assert same(fusion, again)
    assert same(fusion, copied)
    assert again.decisions.calibrate == "all"
    assert again.decisions.costs == fusion.decisions.costs
    assert again.mistake_cost == fusion.mistake_cost


def test_a_file_with_an_impossible_threshold_is_refused(tmp_path: Path) -> None:
    votes, labels = panel(50)
    fusion, _ = learned(Winnow(1.3), votes, labels)
    fusion.decisions.arrays.levels[THETA, 3] = -1.0
    with pytest.raises(ValueError, match="levels are not those of sets"):
        fusion.save(tmp_path / "model")


# --- sets


@examples(10)
@given(st.integers(0, 2**32), st.sampled_from([0.5, 0.9, 0.95]), st.integers(2, 5))
def test_sets_are_the_oracles_and_keep_their_long_run_coverage_on_any_stream(
    seed: int, coverage: float, k: int
) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.3), size=80).round(2) + 0.01
    p /= p.sum(axis=1, keepdims=True)
    labels = np.where(rng.random(80) < rng.random(), p.argmin(axis=1), p.argmax(axis=1)).astype(np.int32)
    decisions, oracle = Decisions("all"), oracles.Sets(coverage)
    decisions.scores_are_logs = True
    fusion = Fusion(classes=range(k))  # gives the runner's types only
    assert fusion.decisions.seen == 0
    with interpreted():
        for row, y in zip(p, labels.tolist(), strict=True):
            own = decisions.probabilities(np.log(row[None]))
            found = sets_of(own, float(decisions.arrays.levels[THETA, level_of(coverage)]))[0]
            assert decisions.theta(coverage) >= decisions.arrays.levels[THETA, level_of(coverage)]
            assert set(np.flatnonzero(found)) == oracle.of(own[0].tolist())
            _learn_row(decisions, np.log(row), y)
            oracle.learn(own[0].tolist(), y)
    j = level_of(coverage)
    assert decisions.arrays.levels[THETA, j] == pytest.approx(oracle.theta)
    assert decisions.arrays.levels[MISSES, j] == oracle.misses
    assert oracle.misses <= (1 - coverage) * 80 + 1.02 / 0.02
    assert decisions.arrays.levels[THETA].max() <= 1.02


def _learn_row(decisions: Decisions, scores: Any, y: int, code: int | None = None) -> None:
    from linmax.runtime.predictor import Predictions

    class Chunk:
        labels = np.array([y], np.int32)
        known = np.array([len(scores)], np.int32)
        classes = len(scores)
        length = 1

    codes = np.array([int(np.argmax(scores)) if code is None else code], np.int32)
    decisions.run(Chunk, Predictions(codes, scores[None], np.zeros((0, 0))), scores[None])


def test_a_session_gives_sets_of_names_the_best_first() -> None:
    votes, labels = panel(800)
    fusion, _ = learned(Winnow(1.3), votes, labels)
    sets, p = fusion.predict_set(votes[:50], coverage=0.9), fusion.predict_proba(votes[:50])
    assert all(found[0] == row.argmax() for found, row in zip(sets, p, strict=True))
    assert fusion.predict_set_one(dict(enumerate(votes[0].tolist())), coverage=0.9) == sets[0]
    sizes = [
        sum(map(len, fusion.predict_set(votes[:50], coverage=level))) for level in (0.5, 0.9, 0.99, 0.999)
    ]
    assert sizes == sorted(sizes)
    with pytest.raises(ValueError, match=r"coverage must be above 0 and at most 0\.999"):
        fusion.predict_set(votes, coverage=1.0)
    assert LEVELS[level_of(0.91)] == 0.925


def test_coverage_holds_in_the_long_run_when_the_experts_change_their_votes() -> None:
    votes, labels = panel(4000, noise=0.0)
    votes[2000:] = (votes[2000:] + 1) % 4  # all experts shift
    fusion, _ = learned(Winnow(1.3), votes, labels, calibrate="all")
    for coverage in (0.8, 0.9, 0.95):
        misses = fusion.decisions.arrays.levels[MISSES, level_of(coverage)]
        assert misses <= (1 - coverage) * 4000 + 51


# --- answers


@given(
    st.lists(st.tuples(st.floats(1e-7, 1.0), st.booleans()), max_size=300),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.sampled_from([0.5, 0.9]),
)
def test_the_threshold_of_answers_is_the_oracles(
    items: list[tuple[float, bool]], max_error: float, confidence: float
) -> None:
    tally = np.zeros((2, BINS, 2), dtype=np.int64)
    for doubt, wrong in items:
        tally_answer(doubt, 1 * wrong, 1, tally)
    found = find_threshold(tally, max_error, confidence)
    doubts = [doubt for doubt, _ in items]
    expected = oracles.loosest_doubt(doubts, [wrong for _, wrong in items], max_error, confidence)
    if expected is None:
        assert found.probability == math.inf
        assert not answers_of(np.array(doubts), found).any()
    else:
        assert found.probability == pytest.approx(1 - expected)
        answered = answers_of(np.array(doubts), found)
        assert answered.tolist() == [doubt <= expected * (1 + 1e-12) for doubt in doubts]
        assert found.answered == pytest.approx(answered.mean())
    assert found.labels == len(items)


@given(st.integers(1, 400), st.data(), st.sampled_from([0.001, 0.02, 0.3, 0.5, 0.9]))
def test_the_binomial_tail_is_the_oracles(items: int, data: Any, p: float) -> None:
    wrong = data.draw(st.integers(0, items))
    assert binomial_tail(wrong, items, p) == pytest.approx(oracles.binomial_tail(wrong, items, p), abs=1e-12)
    assert binomial_tail(50_000, 10**6, 0.05) == pytest.approx(0.5, abs=0.01)


def test_old_items_are_dropped_from_the_tally_block_by_block() -> None:
    tally = np.zeros((2, BINS, 2), dtype=np.int64)
    for number in range(1500):
        tally_answer(0.5, 1 * (number < 512), number, tally)
    assert tally.sum(axis=(0, 1)).tolist() == [1500 - 512, 0]


def test_with_too_few_labels_nothing_is_answered_and_a_warning_says_how_many_are_needed() -> None:
    votes, labels = panel(100, noise=0.0)
    fusion, _ = learned(Winnow(1.3), votes, labels)
    with pytest.warns(NoAnswerWarning, match="100 labelled items were counted, and at least 174"):
        assert fusion.predict(votes[:9], max_error=0.02).tolist() == [None] * 9
    with pytest.warns(NoAnswerWarning):
        assert fusion.predict_one(dict(enumerate(votes[0].tolist())), max_error=0.02) is None


def test_answers_are_predictions_whose_probability_is_high_enough() -> None:
    votes, labels = panel(3000, noise=0.0)
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(3000) % 2 == 0, votes[:, 0], rng.integers(0, 4, 3000))
    votes[1::2, 0] = -1  # on every other item nobody knows
    fusion, _ = learned(Averaged(Perceptron()), votes, labels)
    threshold = fusion.answer_threshold(0.1)
    found, plain, p = fusion.predict(votes, max_error=0.1), fusion.predict(votes), fusion.predict_proba(votes)
    answered = np.array([one is not None for one in found])
    assert 0.45 < answered.mean() < 0.55
    assert (found[answered] == plain[answered]).all()
    assert p.max(axis=1)[answered].min() >= threshold.probability - 1e-12
    assert p.max(axis=1)[~answered].max() < threshold.probability + 1e-12
    item = dict(enumerate(votes[0].tolist()))
    assert fusion.predict_one(item, max_error=0.1) == found[0]


@pytest.mark.parametrize(
    ("name", "value"), [("max_error", 0.0), ("max_error", 1e-17), ("max_error", 1.5), ("confidence", 1.0)]
)
def test_limits_that_cannot_be_kept_are_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be .* and below 1"):
        Fusion(Winnow(1.3)).predict([["a"]], **{"max_error": 0.1, name: value})


def test_without_calibration_nothing_is_answered_and_there_are_no_sets() -> None:
    votes, labels = panel(100)
    fusion, found = learned(Winnow(1.3), votes, labels, calibrate="none")
    expected = np.exp(found.scores) / np.exp(found.scores).sum(axis=1, keepdims=True)
    assert found.probabilities == pytest.approx(expected)
    assert fusion.alarms == []
    for call in (lambda: fusion.predict(votes, max_error=0.1), lambda: fusion.predict_set(votes)):
        with pytest.raises(ValueError, match='calibrate="sample" or "all"'):
            call()
    with pytest.raises(ValueError, match="mistake_costs needs calibrated"):
        Fusion(Winnow(1.3), calibrate="none", mistake_costs={("a", "b"): 2})


# --- drift


@pytest.mark.parametrize("seed", range(4))
def test_alarms_are_the_oracles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = np.repeat([0.1, 0.6, *rng.choice([0.02, 0.1, 0.4, 0.8], 8)], 700)
    losses = (rng.random(len(rates)) < rates).astype(np.int32)
    labels, known = np.zeros(len(losses), np.int32), np.full(len(losses), 2, np.int32)
    expected = oracles.page_hinkley(losses.tolist())
    decisions = Decisions()
    decisions.arrays.counts[SEEN] = 1 << 20  # beyond what is used
    count_losses(labels, known, losses, decisions.arrays)
    found = [(a.trial - (1 << 20), a.since - (1 << 20), *a[2:]) for a in decisions.alarms]
    assert found == [pytest.approx(one) for one in expected]
    assert expected


def test_only_the_latest_alarms_are_kept() -> None:
    table = np.arange(64 * 4, dtype=float).reshape(64, 4)
    assert [alarm.trial for alarm in alarms_of(table, 3)] == [0, 4, 8]
    assert [alarm.trial for alarm in alarms_of(table, 66)][:2] == [8, 12]
    assert len(alarms_of(table, 1000)) == 64


def test_an_alarm_empties_the_tally_so_that_nothing_is_answered() -> None:
    rng = np.random.default_rng(0)
    votes, labels = panel(3000, noise=0.0)
    fusion, _ = learned(Winnow(1.3), votes, labels, calibrate="all")
    assert fusion.alarms == []
    assert fusion.answer_threshold(0.1).probability < 1
    fusion.learn(votes[:96], rng.integers(0, 4, 96))
    (alarm,) = fusion.alarms
    assert alarm.since <= 3000 < alarm.trial <= 3096
    assert alarm.error_before < 0.1 < 0.5 < alarm.error_after
    assert fusion.answer_threshold(0.1).probability == math.inf
    assert fusion.answer_threshold(0.1).labels <= 96


def test_sets_while_learning_are_those_before_each_label() -> None:
    votes, labels = panel(300)
    fusion, single = (Fusion(Winnow(1.3), classes=CLASSES, calibrate="all") for _ in range(2))
    for one in (fusion, single):
        one.decisions.watch(0.9)
    levels = fusion.decisions.arrays.levels.copy()
    batch = fusion.read(votes, labels)
    found = fusion.learn_batch(batch, scores=True, probabilities=True)
    inside = fusion.decisions.sets_while_learning(found.probabilities, batch, levels)
    column = level_of(0.9)
    for row, label, own in zip(votes.tolist(), labels.tolist(), inside, strict=True):
        theta, p = single.decisions.arrays.levels[THETA, column], single.predict_proba([row])
        assert (sets_of(p, theta)[0] == own).all()
        single.learn([row], [label])
    assert inside.sum() == fusion.decisions.arrays.levels[SIZES, column]


def test_a_state_of_nothing_learned_keeps_no_decisions_of_another() -> None:
    votes, labels = panel(600)
    fusion, _ = learned("Winnow(1.2)", votes, labels, mistake_costs={(0, 1): 5.0})
    fresh = Fusion("Winnow(1.2)", classes=CLASSES, experts=range(7), mistake_costs={(0, 1): 5.0})
    fusion.set_state(fresh.state())
    assert fusion.state().keys() == fresh.state().keys()
    assert (fusion.mistake_cost, fusion.decisions.seen, fusion.alarms) == (0.0, 0, [])
    assert fusion.predict_proba(votes[:3]).tolist() == fresh.predict_proba(votes[:3]).tolist()
