"""One Dask cluster for all tests that need one: two processes on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from linmax.scale import open_engine


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """An engine with two workers."""
    pytest.importorskip("distributed")
    with open_engine("local", 2) as engine:
        yield engine
