"""A small cell of benchmarks/decisions.py: limits and coverages are kept, as in the stored results."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.decisions import _clearly_above, answers, coverage, mean_log_losses
from benchmarks.quality.problem import Panel
from tests.helpers.pages import ROOT

STORED = json.loads((ROOT / "benchmarks" / "results" / "decisions.json").read_text(encoding="utf-8"))
DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def panel() -> Panel:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2400)
    sure = rng.random((2400, 5)) < [0.7, 0.6, 0.5, 0.4, 0.3]
    return Panel("generated", np.where(sure, truth[:, None], rng.integers(0, 3, (2400, 5))), truth, 3)


def test_few_orders_exceed_the_limit_and_sets_keep_their_coverage() -> None:
    (found,) = answers(panel(), (0.1,), range(30))
    assert found["answered"] > 0.3
    assert found["error"] < 0.1
    assert found["clear"] <= 0.1  # 3 of 30: 95 % of the time if the share is 5 %
    for level, one in coverage(panel(), range(5)).items():
        assert one["least"] >= float(level) - 51 / 2400
        assert one["mean"] >= float(level) - 0.005


def test_the_calibrated_log_loss_is_lower() -> None:
    raw, mapped = mean_log_losses(panel(), "Winnow(1.2)", range(2))
    assert mapped < raw - 0.1


def test_many_errors_are_clearly_above_the_limit_and_few_are_not() -> None:
    assert _clearly_above(1000, 80, 0.05)
    assert not _clearly_above(1000, 55, 0.05)
    assert not _clearly_above(0, 0, 0.05)


def test_stored_log_losses_rise_by_at_most_5_thousandths_on_any_panel_and_fall_in_sum() -> None:
    for learner, panels in STORED["log_loss"].items():
        assert max(mapped - raw for raw, mapped in panels.values()) <= 0.005, learner
        assert sum(mapped for _, mapped in panels.values()) < sum(raw for raw, _ in panels.values()), learner


def test_stored_orders_exceed_their_limit_no_more_often_than_the_confidence_allows() -> None:
    orders = STORED["orders"]
    allowed = 0.05 + 1.96 * math.sqrt(0.05 * 0.95 / orders)
    for panel, limits in STORED["answers"].items():
        for one in limits:
            assert one["clear"] <= 0.05, (panel, one)
            assert one["violations"] <= allowed, (panel, one)
            assert one["error"] <= one["max_error"], (panel, one)


@pytest.mark.parametrize("part", ["coverage", "drift"])
def test_stored_coverages_hold_in_the_mean(part: str) -> None:
    for panel, found in STORED[part].items():
        levels = (
            found["coverage"] if part == "drift" else {level: one["mean"] for level, one in found.items()}
        )
        for level, observed in levels.items():
            assert observed >= float(level) - 0.001, (panel, level)
