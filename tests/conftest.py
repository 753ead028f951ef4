"""Settings for all tests."""

import contextlib
import importlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.helpers.examples import EVERYTHING

# a first call compiles: no deadline
settings.register_profile("linmax", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("everything", settings.get_profile("linmax"), max_examples=100)
settings.load_profile("everything" if EVERYTHING else "linmax")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let every second worker import the tests from the last to the first, before it collects them.

    In a fresh clone, most of the time of an import is that of compiling the file, its asserts rewritten. Two
    workers would compile all files at the same time; so each compiles half of them and loads the other half.
    """
    if int(getattr(session.config, "workerinput", {}).get("workerid", "gw0")[2:]) % 2:
        folder = Path(__file__).parent
        for file in sorted(folder.rglob("test_*.py"), reverse=True):
            with contextlib.suppress(BaseException):  # collecting it will tell
                importlib.import_module(".".join(file.relative_to(folder.parent).with_suffix("").parts))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process in the background ignores Ctrl-C; here it is heard."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
