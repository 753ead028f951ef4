"""What several tests of this folder need: a Dask cluster of two processes, and a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from linmax.scale import open_engine
from tests.scale.brokers import Broker, make_broker


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """An engine with two workers."""
    pytest.importorskip("distributed")
    with open_engine("local", 2) as engine:
        yield engine


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker, for what does not depend on its kind."""
    found = make_broker("redis", tmp_path_factory.mktemp("redis"))
    yield found
    found.stop()
