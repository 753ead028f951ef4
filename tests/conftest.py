"""Settings for all tests."""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from linmax._jit import parallel
from linmax._jit.tiers import VARIABLE, compile_now
from linmax.runtime import single_item
from tests.helpers.examples import EVERYTHING

# a first call compiles: no deadline
settings.register_profile("linmax", deadline=None, derandomize=True, max_examples=15)
settings.register_profile("everything", settings.get_profile("linmax"), max_examples=100)
settings.load_profile("everything" if EVERYTHING else "linmax")


# tests of compiled code run it; tests/kernels/test_tiers.py is about what runs as Python first
compile_now()
os.environ[VARIABLE] = "0"  # in processes that tests start, too
os.environ[parallel.VARIABLE] = "1"  # tests run in several processes already

# small tables are run as large ones; tests/runtime/test_few_rows.py compares both
single_item.FEW_ROWS = 0


def pytest_collection_finish() -> None:
    """Exclude all that was imported and collected from garbage collection: it stays, and is much.

    What tests leave behind is collected less often than usual, which would take a tenth of their time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process in the background ignores Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
