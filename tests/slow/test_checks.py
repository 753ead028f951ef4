"""The common checks of learners whose kernels take a minute to compile."""

from __future__ import annotations

import pytest

from linmax import Averaged, Perceptron, Recycled, Winnow
from linmax.checks import applicable, check_learner
from linmax.experts import Gaussian, Kernel, Shared

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
