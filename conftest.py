"""Settings for the examples in docstrings; those of the tests are in tests/conftest.py."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from linmax._jit import interpreted


@pytest.fixture(autouse=True)
def _interpret_examples_of_sources(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret the short examples of linmax.experts: each would compile a kernel of its own, for seconds."""
    in_docstring = isinstance(request.node, pytest.DoctestItem)
    with interpreted() if in_docstring and "experts" in request.path.parts else nullcontext():
        yield
