"""Settings for all tests."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("linmax", deadline=None, derandomize=True)  # a first call compiles: no deadline
settings.load_profile("linmax")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process in the background ignores Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
