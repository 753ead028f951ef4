"""A worker that is killed in the middle of a job changes no bit of its result."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from linmax.scale import predict
from tests.helpers.datasets import write
from tests.scale.test_keyed import W, learn, plain_loop, states_of, table_of


def killer(engine: Any, at: tuple[str, int]) -> tuple[Callable[[str, int, int], None], list[int]]:
    """Kills a worker when so many tasks of a step are finished."""
    killed: list[int] = []

    def kill(what: str, done: int, total: int) -> None:
        if (what, done) == at:
            pids = engine.client.run(os.getpid, on_error="ignore")  # of those that live
            pid = sorted(pids.values())[0]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    return kill, killed


@pytest.mark.parametrize("step", [("learn", 2), pytest.param(("split", 1), marks=pytest.mark.slow)])
def test_keyed_states_are_those_of_a_loop_on_a_cluster_with_a_killed_worker(
    cluster: Any, tmp_path: Path, step: tuple[str, int]
) -> None:
    data = write(tmp_path / "data", parts=4)
    kill, killed = killer(cluster, step)
    store = tmp_path / "models"
    result = learn(data, store, time="when", buckets=6, cluster=cluster, on_progress=kill, workers=None)
    assert len(killed) == 1
    assert result.problems == []
    assert states_of(store) == plain_loop(table_of(data), W, time=True)


def test_predictions_are_the_same_with_a_killed_worker(cluster: Any, tmp_path: Path) -> None:
    data = write(tmp_path / "data", parts=6)
    store = learn(data, tmp_path / "models").models
    alone = predict(store, data, tmp_path / "alone", workers=1)
    kill, killed = killer(cluster, ("predict", 2))
    both = predict(store, data, tmp_path / "both", cluster=cluster, on_progress=kill)
    assert len(killed) == 1
    assert both._replace(files=[]) == alone._replace(files=[])
    for one, other in zip(alone.files, both.files, strict=True):
        assert pq.read_table(one).equals(pq.read_table(other))
