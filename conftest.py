"""Settings for the examples in docstrings; those of the tests are in tests/conftest.py."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from linmax._jit import interpreted


@pytest.fixture(autouse=True)
def _interpret_examples_of_sources(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret the short examples of linmax.experts.votes: each would compile a kernel of its own."""
    short = isinstance(request.node, pytest.DoctestItem) and request.path.parts[-2:] == (
        "experts",
        "votes.py",
    )
    with interpreted() if short else nullcontext():
        yield
