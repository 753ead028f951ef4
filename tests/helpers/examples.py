"""How much `make test` tries of what `make test-all` tries: fewer examples, and fewer kernels compiled."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from hypothesis import settings

from linmax._jit.compilation import interpreted

EVERYTHING = bool(os.environ.get("LINMAX_TEST_ALL"))


def examples(few: int, times: int = 8) -> settings:
    """So many examples; with LINMAX_TEST_ALL, which `make test-all` sets, eight or so many times as many."""
    return settings(max_examples=times * few if EVERYTHING else few)


@contextmanager
def rarely_compiled() -> Iterator[None]:
    """Interpret kernels of sources that nothing else compiles; `make test-all` compiles them."""
    with nullcontext() if EVERYTHING else interpreted():
        yield
