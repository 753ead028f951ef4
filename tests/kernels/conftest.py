"""Fresh processes for the tests of compiled code."""

from collections.abc import Iterator

import pytest

from tests.helpers.forks import Forks, forks


@pytest.fixture(scope="session")
def fresh() -> Iterator[Forks]:
    with forks() as made:
        yield made
