"""The common checks of learners whose kernels take a minute to compile."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

from linmax import Averaged, Perceptron, Recycled, Winnow
from linmax.checks import applicable, behaviour, check_learner, mathematics
from linmax.experts import Attributes, Gaussian, Kernel, Pairs, PerClass, Shared, Thresholds, Votes
from tests.helpers.committees import COMMITTEES

pytestmark = pytest.mark.slow


def test_learners_on_kernels_pass_the_common_checks() -> None:
    """Without recycling, whose kernels take a minute more; beside the oracles it is interpreted."""
    learner = Averaged(Perceptron()).on(Kernel(Gaussian(1.0), "difference"))
    assert "check_saving_changes_nothing" in applicable(learner)
    check_learner(learner)


def test_learners_that_share_pass_the_common_checks() -> None:
    check_learner(
        Averaged(Recycled(Winnow(1.2), size=10)).on(Shared("distance", sets={"s": (0, 1), "t": (1, 2)}))
    )


RECYCLED = Averaged(Recycled(Winnow(1.2), size=10))


@pytest.mark.parametrize(
    "learner",
    [
        RECYCLED.on(Votes() + PerClass() + Thresholds()),
        RECYCLED.on(Attributes()),
        RECYCLED.on(Pairs(limit=50) + Thresholds()),
        COMMITTEES["vr"],
        COMMITTEES["voted"],
    ],
    ids=["per class", "attributes", "pairs", "vr", "voted"],
)
def test_rare_learners_pass_the_common_checks_compiled_and_saved_after_every_trial(
    learner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the checks interpret the short streams of such learners, and save at a few trials only."""
    for module in (behaviour, mathematics):
        monkeypatch.setattr(module, "uncompiled_if_rare", lambda learner: nullcontext())
    monkeypatch.setattr(behaviour, "SAVED_AFTER", range(25))
    check_learner(learner)
