"""Settings for the examples in docstrings; those of the tests are in tests/conftest.py."""

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from linmax._jit.compilation import interpreted

# a few trials each, on sources that nothing else compiles
SHORT = (
    "linmax.experts.votes.",
    "linmax.experts.pairs.",
    "linmax.experts.neighbours.",
    "linmax.evaluate.experts.trust",
    "linmax.evaluate.progressive.mistakes_in_hindsight",
    "linmax.fusion.facts.Facts.weight_table",
)


@pytest.fixture(autouse=True)
def _interpret_short_examples(request: pytest.FixtureRequest) -> Iterator[None]:
    """Interpret some examples: each would compile a kernel of its own."""
    short = isinstance(request.node, pytest.DoctestItem) and request.node.name.startswith(SHORT)
    with interpreted() if short else nullcontext():
        yield
