"""The benchmark of consultations, on a small panel."""

from __future__ import annotations

import numpy as np

from benchmarks.consult import measure_validity, run_stream, shuffled
from benchmarks.consult_alternatives import measure_alternatives, prices_for, pursuit
from benchmarks.quality.problem import Panel
from docs.consult_figures import consult_figures
from tests.helpers.examples import rarely_compiled


def small() -> Panel:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 600)
    wrong = (labels[:, None] + rng.integers(1, 3, (600, 6))) % 3
    votes = np.where(rng.random((600, 6)) < np.linspace(0.9, 0.4, 6), labels[:, None], wrong)
    return Panel("mmlu_pro_votes", votes, labels, 3)


@rarely_compiled()
def test_risk_0_changes_nothing_and_asks_fewer() -> None:
    panel = small()
    for real in (False, True):
        found = run_stream(panel, *shuffled(panel, 1), 0.0, real=real)
        assert found["changed"] == 0.0
        assert found["accuracy"] == found["panel_accuracy"]
        assert found["asked"] < found["experts"] == 6.0
        assert found["items"] + found["in_full"] == 300


def test_validity_counts_the_orders_in_which_too_many_predictions_changed() -> None:
    for freeze in (True, False):
        found = measure_validity(small(), 3, 0.1, freeze=freeze)
        assert found["orders"] == 3
        assert 0 <= found["violations"] <= 3
        assert found["asked"] < 6.0


def test_ways_to_stop_ask_no_fewer_if_fewer_predictions_may_change() -> None:
    found = measure_alternatives(small(), 2)
    at_risk, at_less = found["shares"]
    assert at_risk > at_less
    assert len(found["ways"]) == 4
    for more, less in found["ways"].values():
        assert 0.0 < more <= less <= 6.0


def test_a_copy_of_an_expert_explains_nothing_more() -> None:
    rng = np.random.default_rng(1)
    votes = rng.integers(0, 3, (500, 4))
    votes[:, 1] = votes[:, 0]
    weights = np.array([3.0, 2.9, 1.0, 0.5])
    order = pursuit(votes, weights, 3)
    assert set(order[:3]) - {0, 1} == {2, 3}
    assert (abs(weights) / prices_for(order, weights)).argsort()[::-1].tolist() == order


def test_the_page_has_a_row_per_panel_and_setting() -> None:
    assert "| mmlu_pro_votes | all votes | 29.0 |" in consult_figures()
