"""Model files of earlier versions load, predict the same and go on as they would have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Ticket, load
from linmax._jit.compilation import interpreted

FILES = Path(__file__).parent / "model_files"
EXPECTED: dict[str, Any] = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
DATA: dict[str, Any] = json.loads((FILES / "data.json").read_text(encoding="utf-8"))
VR_COMBINE = next(name for name, expected in EXPECTED.items() if "vr_combine" in expected["learner"])
LEARNED = 80  # items that the sessions had learned when they were saved


def items(kind: str, begin: int) -> dict[str, Any]:
    data = {}
    for name, rows in DATA[kind].items():
        rows = rows[begin:]
        data[name] = rows if kind in ("dicts", "nominal") else np.array(rows)
    return data


def test_there_is_a_file_of_every_kind_of_learner() -> None:
    learners = " ".join(expected["learner"] for expected in EXPECTED.values())
    for name in (
        "Perceptron", "Winnow", "BalancedWinnow", "Romma", "Alma", "PNorm", "QuasiAdditive",
        "PassiveAggressive", "Logistic", "Averaged", "Recycled", "Voted", "Tempered", "Combine",
        "WeightedMajority", "Mixture", "Stacked", "NaiveBayes", "recommended", "vr_combine",
        "Votes", "Thresholds", "PerClass", "Split", "Attributes", "Shared", "Kernel", "Pairs",
    ):  # fmt: skip
        assert f"{name}(" in learners, name


@pytest.fixture(autouse=True)
def _without_compilation(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret all but the largest ensemble: there are too many kinds to compile them all."""
    with nullcontext() if VR_COMBINE in request.node.name else interpreted():
        yield


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_of_an_earlier_version_goes_on_as_it_would_have(name: str, tmp_path: Path) -> None:
    expected = EXPECTED[name]
    fusion = load(FILES / f"{name}.linmax")
    assert fusion.trials == LEARNED
    assert fusion.notes == {"made for": "tests"}
    data = items(expected["kind"], LEARNED)
    labels = data.pop("labels")
    assert fusion.predict(**data).tolist() == expected["predictions"]
    # exp and log of another processor may differ in the last bits; adaptive weights had twice the precision
    adapts = "adagrad" in repr(fusion.learner)
    rel = 1e-6 if adapts else 1e-9
    assert fusion.scores(**data)[:5] == pytest.approx(np.array(expected["scores"]), rel=rel, abs=1e-12)
    fusion.save(tmp_path / "model.linmax")
    for session in (fusion, load(tmp_path / "model.linmax")):
        run = session.learn(labels=labels, **data)
        assert run.guesses.tolist() == expected["guesses"]
        assert (session.trials, session.mistakes) == (expected["trials"], expected["mistakes"])
        assert session.classes == expected["classes"]
        found = [[repr(key), weight] for key, weight in session.weights.items()][:12]
        assert [key for key, _ in found] == [key for key, _ in expected["weights"]]
        weights = [weight for _, weight in expected["weights"]]
        assert [weight for _, weight in found] == pytest.approx(
            weights, rel=rel, abs=1e-6 if adapts else 1e-12
        )


def test_an_open_ticket_of_an_earlier_version_can_be_answered() -> None:
    fusion = load(FILES / "v1-dicts-00.linmax")
    ((number, _),) = fusion.tickets.waiting.items()
    fusion.learn_one(Ticket(number, None), "x")
    assert len(fusion.tickets) == 0
