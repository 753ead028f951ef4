"""The benchmark of the service: a small cell."""

from __future__ import annotations

from benchmarks.service import measure_tables


def test_batches_are_timed_one_at_a_time_and_four_at_once_and_as_bytes() -> None:
    found = measure_tables("Averaged(Winnow(1.2))", items=2000)
    assert len(found) == 9
    assert min(found.values()) > 0.0
