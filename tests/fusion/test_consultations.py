"""Risk: consultations stop early, calibrated on items that were drawn to be asked in full."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, load
from linmax.experts import Votes
from linmax.fusion.consult.paths import consultation_paths
from linmax.fusion.consult.record import (
    BLOCK,
    FIRST,
    LARGEST,
    Consultations,
    Way,
    changes_allowed,
    items_needed,
)
from linmax.problems import majority
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import same

NAMES = [f"expert {i}" for i in range(12)]
WAY = Way(0.05, 0.9)


def panel(trials: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Experts whose accuracies fall from 0.9 to 0.4, three classes."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, trials)
    right = rng.random((trials, 12)) < np.linspace(0.9, 0.4, 12)
    wrong = (labels[:, None] + rng.integers(1, 3, (trials, 12))) % 3
    return np.where(right, labels[:, None], wrong), labels


def session(learner: Any = None, trials: int = 400, **options: Any) -> Fusion:
    learner = Averaged(Perceptron(slack=5.0, start="equal").on(Votes())) if learner is None else learner
    fusion = Fusion(learner, experts=NAMES, classes=range(3), on_new_class="error", **options)
    if trials:
        fusion.learn(*panel(trials, seed=99))
    return fusion


def consult_all(fusion: Fusion, votes: np.ndarray, **options: Any) -> list[Any]:
    return [fusion.consult(dict(zip(NAMES, row, strict=True)).get, **options) for row in votes.tolist()]


# --- drawing


def test_the_first_items_are_asked_in_full_and_later_ones_rarely() -> None:
    record = Consultations()
    drawn = record.draw_many(0, 30_000)
    assert drawn[:FIRST].all()
    assert 0.3 < drawn[500:700].mean() < 0.4
    assert abs(drawn[10_000:].mean() - 0.03) < 0.004
    assert record.count == 30_000


def test_items_are_drawn_by_seed_and_number_alone() -> None:
    one, other = Consultations(), Consultations()
    assert one.draw_many(7, 5000).tolist() == [other.draw(7) for _ in range(5000)]
    assert one.draw_many(7, 5000).tolist() != Consultations().draw_many(7, 5000).tolist()
    assert Consultations().draw_many(8, 5000).tolist() != Consultations().draw_many(7, 5000).tolist()


def test_exploration_can_be_set_and_switched_off() -> None:
    fusion = session()
    assert fusion.exploration == 0.03
    fusion.exploration = 0
    assert not any(found.in_full for found in consult_all(fusion, panel(20)[0]))
    fusion.exploration = 1
    found = consult_all(fusion, panel(5)[0])
    assert all(one.in_full and len(one.asked) == 12 for one in found)
    assert "chosen before it was seen" in found[0].reason
    with pytest.raises(ValueError, match="exploration must be between 0 and 1"):
        fusion.exploration = 2


# --- calibration


@pytest.mark.parametrize(("risk", "confidence"), [(0.01, 0.95), (0.05, 0.9), (0.2, 0.99)])
def test_the_needed_items_are_the_fewest_that_prove_the_risk(risk: float, confidence: float) -> None:
    needed = items_needed(risk, confidence)
    assert (1 - risk) ** needed <= 1 - confidence < (1 - risk) ** (needed - 1)
    assert changes_allowed(needed, risk, confidence) == 0
    assert changes_allowed(needed - 1, risk, confidence) == -1


def test_the_calibrated_share_is_too_large_in_few_of_many_samples() -> None:
    rng = np.random.default_rng(0)
    violated = 0
    for _ in range(1000):
        record = Consultations()
        for value in rng.random(200).tolist():
            record.record(value)
        limit = record.threshold(WAY).distance
        assert limit is not None
        violated += 1 - limit > WAY.risk  # the share of items whose critical distance is larger
    assert violated / 1000 < 0.1 + 3 * (0.1 * 0.9 / 1000) ** 0.5


def test_with_too_few_items_it_behaves_as_with_risk_0() -> None:
    votes, _ = panel(20)
    one, other = session(), session()
    one.exploration = other.exploration = 0
    early, exact = consult_all(one, votes, risk=0.05), consult_all(other, votes)
    assert [found.asked for found in early] == [found.asked for found in exact]
    assert "0 of the 59 items that risk=0.05 needs were asked in full" in early[0].reason


def test_a_risk_asks_fewer_and_changes_few_predictions() -> None:
    votes, _ = panel(3000 if EVERYTHING else 500)
    fusion = session()
    asked = {0.0: 0, 0.05: 0}
    changed = stopped = 0
    for row in votes.tolist():
        answers = dict(zip(NAMES, row, strict=True))
        found = fusion.consult(answers.get, risk=0.05)
        if not found.in_full:
            stopped += 1
            changed += found.prediction != fusion.predict_one(answers)
            asked[0.05] += len(found.asked)
            asked[0.0] += _asked_exactly(fusion, answers)
    assert asked[0.05] < 0.8 * asked[0.0]
    assert changed / stopped < 0.05


def _asked_exactly(fusion: Fusion, answers: dict[str, Any]) -> int:
    votes: dict[str, Any] = {}
    while (name := fusion.next_expert(votes)) is not None:
        votes[name] = answers[name]
    return len(votes)


def test_the_default_learner_asks_fewer_with_a_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    if not EVERYTHING:
        monkeypatch.setattr("linmax.fusion.consult.record.FIRST", FIRST // 2)
    fusion = session("Mixture([Logistic(0.1, start='equal'), NaiveBayes()])")
    votes, _ = panel(400 if EVERYTHING else 200)
    found = consult_all(fusion, votes, risk=0.1)
    stopped = [one for one in found if one.reason.startswith("stopped")]
    assert len(stopped) > len(votes) // 8
    assert np.mean([len(one.asked) for one in stopped]) < 8
    changed = [
        one.prediction != fusion.predict_one(dict(zip(NAMES, row, strict=True)))
        for one, row in zip(found, votes.tolist(), strict=True)
    ]
    assert np.mean(changed) < 0.1
    exact = [len(one.asked) for one in consult_all(fusion, votes[:25], risk=0.0) if not one.in_full]
    assert np.mean(exact) > np.mean([len(one.asked) for one in stopped])


def test_changes_that_exceed_the_risk_make_it_fall_back() -> None:
    record = Consultations()
    for _ in range(2 * BLOCK):
        record.record(0.5)
    assert record.threshold(WAY).distance == 0.5
    for _ in range(12):
        record.record(2.0)  # something has changed
    distance, note = record.threshold(WAY)
    assert distance is None
    assert "12 of the last 12 items" in note
    for _ in range(BLOCK - 12):
        record.record(0.5)
    assert record.calibrations[WAY].start == 2 * BLOCK
    distance, note = record.threshold(WAY)  # the 100 items since then allow for a few changes
    assert record.calibrations[WAY].start == 2 * BLOCK
    assert distance == 2.0


def test_calibrations_are_in_the_present_state() -> None:
    fusion = session(trials=0)
    fusion.exploration = 1
    votes, labels = panel(300)
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        fusion.learn_one(fusion.consult(dict(zip(NAMES, row, strict=True)).get).ticket, label)
    fusion.exploration = 0
    fusion.consult(dict(zip(NAMES, votes[0].tolist(), strict=True)).get, risk=0.05, confidence=0.9)
    paths = consultation_paths(fusion, votes, np.ones(votes.shape, dtype=bool))
    assert paths is not None
    present = np.sort(paths.critical())[::-1][changes_allowed(300, 0.05, 0.9)]
    (calibration,) = fusion.consultations.calibrations.values()
    assert (calibration.start, calibration.end, calibration.distance) == (0, 300, present)


# --- drift


def test_after_an_alarm_of_drift_items_are_asked_in_full_and_earlier_ones_do_not_count() -> None:
    fusion = session(calibrate="all")
    votes, labels = panel(1400)
    votes[700:] = votes[700:, ::-1]  # the best experts become the worst
    reasons, drawn = [], []
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        one = fusion.consult(dict(zip(NAMES, row, strict=True)).get, risk=0.05)
        fusion.learn_one(one.ticket, label)
        reasons.append(one.reason)
        drawn.append(one.in_full)
    (alarm,) = fusion.alarms
    at = fusion.consultations.since
    assert 700 < at < 800
    assert at == alarm.trial - 400  # the session had learned 400 items before
    assert any("risk=0.05" in reason for reason in reasons[:700])
    assert np.mean(drawn[at : at + FIRST]) == 1.0
    assert np.mean(drawn[500:700]) < 0.5
    assert any(reason.startswith("stopped") for reason in reasons[at + FIRST :])
    (calibration,) = fusion.consultations.calibrations.values()
    assert calibration.start >= fusion.consultations.first > 0


def test_the_reason_says_that_too_few_items_were_asked_in_full_since_the_alarm() -> None:
    record = Consultations()
    for _ in range(2 * BLOCK):
        record.record(0.5)
    record.follow(0)
    assert record.threshold(WAY).distance == 0.5
    record.follow(1)
    record.record(0.5)
    assert record.threshold(WAY) == (
        None, "1 of the 45 items that risk=0.05 needs were asked in full since the last alarm of drift",
    )  # fmt: skip
    for _ in range(44):
        record.record(0.7)
    assert record.threshold(WAY).distance == 0.7
    record.follow(1)
    assert record.threshold(WAY).distance == 0.7


# --- saving


def test_a_saved_session_goes_on_as_it_would_have(tmp_path: Path) -> None:
    votes, labels = panel(500)

    def run(fusion: Fusion, begin: int, end: int) -> list[Any]:
        found = []
        for row, label in zip(votes[begin:end].tolist(), labels[begin:end].tolist(), strict=True):
            one = fusion.consult(dict(zip(NAMES, row, strict=True)).get, risk=0.05)
            fusion.learn_one(one.ticket, label)
            found.append((one.prediction, one.asked, one.reason))
        return found

    whole, first = session(), session()
    expected = run(whole, 0, 500)
    assert any(reason.startswith("stopped") for _, _, reason in expected)
    found = run(first, 0, 330)
    first.save(tmp_path / "m.linmax")
    second = load(tmp_path / "m.linmax")
    assert found + run(second, 330, 500) == expected
    assert same(whole, second)
    assert second.consultations.facts() == whole.consultations.facts()


def test_a_saved_session_whose_experts_answer_with_scores_goes_on_as_it_would_have(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), (200, 12))
    first = session()
    first.exploration = 1

    def run(fusion: Fusion, rows: np.ndarray) -> list[Any]:
        found = []
        for row in rows.tolist():
            answers = {name: dict(enumerate(one)) for name, one in zip(NAMES, row, strict=True)}
            one = fusion.consult(answers.get, risk=0.05, score_range=(0, 1))
            found.append((one.prediction, one.asked))
        return found

    run(first, scores[:150])
    first.exploration = 0
    first.save(tmp_path / "m.linmax")
    second = load(tmp_path / "m.linmax")
    assert second.consultations.rows == [None] * 150
    found = run(second, scores[150:])
    assert found == run(first, scores[150:])
    assert all(asked for _, asked in found)


def test_a_risk_that_needs_more_items_than_are_kept_says_so() -> None:
    record = Consultations()
    note = "risk=1e-05 needs 299572 items asked in full, and 8192 are kept; take a larger risk"
    assert record.threshold(Way(1e-5, 0.95)) == (None, note)


@pytest.mark.parametrize(
    "damage",
    [
        {"count": -1},
        {"in_full": 1.5},
        {"critical": [float("nan")]},
        {"critical": [1.0, 2.0]},
        {"exploration": 3},
        {"scored": 1},
        {"calibrations": [[0.1, 0.9, 1, None, 0, 10**9, 1.0]]},
        {"drift": [0, 0]},
        {"drift": [0, 0, 10**9]},
    ],
)
def test_damaged_records_are_refused(damage: dict[str, Any]) -> None:
    record = Consultations()
    record.record(1.0, np.zeros(3, dtype=np.int32))
    facts, votes = record.facts(), record.arrays()["consultations.votes"]
    Consultations().restore(facts, votes, 3, 2)
    Consultations().restore({name: facts[name] for name in facts if name != "drift"}, votes, 3, 2)
    with pytest.raises(ValueError, match=r"consultations have|exploration must"):
        Consultations().restore(facts | damage, votes, 3, 2)
    for wrong in (None, votes.astype(np.float64), votes + 7, votes[:0]):
        with pytest.raises(ValueError, match="votes that no run"):
            Consultations().restore(facts, wrong, 3, 2)


def test_consultations_of_the_majority_problem_need_the_relevant_experts() -> None:
    votes, labels = majority(2000, 3, 12, 3)
    fusion = Fusion(
        Averaged(Perceptron(start="equal")), experts=NAMES, classes=range(3), on_new_class="error"
    )
    fusion.learn(votes, labels)
    fusion.exploration = 0
    asked = [name for found in consult_all(fusion, votes[:100]) for name in found.asked]
    assert set(asked[:1]) <= set(NAMES[:3])
    assert len(asked) < 350


def test_threads_can_consult_and_learn_in_one_session() -> None:
    fusion = session()
    votes, labels = panel(200)

    def work(part: int) -> int:
        asked = 0
        for row, label in zip(votes[part::4].tolist(), labels[part::4].tolist(), strict=True):
            found = fusion.consult(dict(zip(NAMES, row, strict=True)).get, risk=0.05)
            fusion.learn_one(found.ticket, label)
            asked += len(found.asked)
        return asked

    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(work, range(4)))
    assert fusion.consultations.count == 200
    assert fusion.trials == 600
    assert sum(asked) <= 200 * 12
    assert len(fusion.tickets) == 0


def test_a_session_is_saved_after_consultations_without_known_classes(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron(), experts=["a", "b", "c"])
    for i in range(30):
        found = fusion.consult(lambda expert, i=i: "xy"[(i + ord(expert)) % 2])
        fusion.learn_one(found.ticket, "xy"[i % 2])
    fusion.save(tmp_path / "panel.linmax")
    again = load(tmp_path / "panel.linmax")
    assert again.consultations.critical == fusion.consultations.critical
    assert max(fusion.consultations.critical) == LARGEST
