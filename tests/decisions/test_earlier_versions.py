"""A model file with decisions that an earlier version has written loads, decides the same and goes on."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, load
from linmax._jit.compilation import interpreted

FILES = Path(__file__).parent / "model_files"
COSTS = {(0, 1): 6.0}


def panel() -> tuple[Any, Any]:
    """Four experts over 900 items; the best one names the next class after 500."""
    items, experts = np.arange(900)[:, None], np.arange(4)[None]
    noise = (items * 7919 + experts * 104729) % 97  # arithmetic only, which no version of numpy changes
    truth = (np.arange(900) * 31) % 3
    votes = np.where(noise < [[92, 70, 60, 50]], truth[:, None], noise % 3)
    votes[500:, 0] = (votes[500:, 0] + 1) % 3
    return votes, truth


def decided(fusion: Fusion) -> dict[str, Any]:
    votes, _ = panel()
    threshold = fusion.answer_threshold(0.2, 0.9)
    return {
        "probabilities": fusion.predict_proba(votes[:4]).tolist(),
        "predictions": fusion.predict(votes[:40]).tolist(),
        "sets": fusion.predict_set(votes[:40], coverage=0.9),
        "threshold": [threshold.probability, threshold.labels, threshold.answered],
        "alarms": [list(alarm) for alarm in fusion.alarms],
        "cost": fusion.mistake_cost,
    }


def write() -> None:
    """Write the file and what is expected of it; run once, by the version that is to be remembered."""
    votes, truth = panel()
    with interpreted():
        fusion = Fusion("Winnow(1.3)", classes=range(3), calibrate="all", mistake_costs=COSTS)
        fusion.learn(votes[:700], truth[:700])
        fusion.save(FILES / "v1-decisions.linmax")
        before = decided(fusion)
        fusion.learn(votes[700:], truth[700:])
        (FILES / "expected.json").write_text(json.dumps({"before": before, "after": decided(fusion)}) + "\n")


def test_a_file_with_decisions_goes_on_as_it_would_have() -> None:
    expected = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
    votes, truth = panel()
    with interpreted():
        fusion = load(FILES / "v1-decisions.linmax")
        assert fusion.decisions.calibrate == "all"
        assert fusion.decisions.costs is not None
        assert fusion.decisions.costs.pairs == COSTS
        for when in ("before", "after"):
            found = decided(fusion)
            for name, value in expected[when].items():
                if name in ("predictions", "sets"):
                    assert found[name] == value, (when, name)
                else:
                    assert np.array(found[name]) == pytest.approx(np.array(value), rel=1e-9), (when, name)
            if when == "before":
                fusion.learn(votes[700:], truth[700:])
    assert expected["after"]["alarms"]
