"""A server in another process: kill -9 under load, and SIGHUP."""

from __future__ import annotations

from tests.slow.service_soak import soak


def test_kills_under_load_lose_nothing_that_was_acknowledged() -> None:
    acknowledged, wrong, same = soak(kills=2, clients=3, longest=0.25)
    assert acknowledged > 0
    assert (wrong, same) == (0, True)
