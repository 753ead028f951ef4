"""Fixtures for the tests of adapters."""

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Seed numpy's global generator, which scikit-learn uses where random_state is None."""
    np.random.seed(0)
