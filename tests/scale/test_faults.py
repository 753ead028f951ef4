"""A worker that is killed in the middle of a job changes no bit of its result."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from linmax.scale import open_engine, predict
from linmax.scale.engine import LostSchedulerError
from tests.helpers.datasets import write
from tests.scale import hungry
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


@pytest.mark.slow
@pytest.mark.parametrize("times", [1, 9])
def test_a_worker_out_of_memory_changes_nothing_or_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    data, store, mark = write(tmp_path / "data"), tmp_path / "models", tmp_path / "mark"
    mark.write_text(str(times))
    monkeypatch.setenv(hungry.MARK, str(mark))
    local: Any = {"processes": True, "host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(
            2, threads_per_worker=1, memory_limit="900MB", preload=["tests.scale.hungry"], **local
        ) as small,
        distributed.Client(small, set_as_default=False) as client,
    ):
        result = learn(data, store, buckets=5, cluster=client, workers=None)
    assert int(mark.read_text()) < times, "memory ran out"
    if times > 1:
        (problem,) = result.problems
        assert re.match(
            "[12] of 5 buckets of keys were not learned: a task ended its worker several", problem
        )
        assert 0 < result.keys < 7, "all others are kept"
        result = learn(data, store, resume=True)
    assert result.problems == []
    assert states_of(store) == plain_loop(table_of(data), W)


@contextmanager
def scheduler_and_worker(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler with a worker, each a program of its own."""
    file, command = folder / "scheduler.json", [sys.executable, "-m"]
    words = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen([*command, "distributed.cli.dask_scheduler", "--port", "0", *words], **quiet)
    worker = subprocess.Popen(
        [*command, "distributed.cli.dask_worker", *words, "--nthreads", "1", "--no-nanny"], **quiet
    )
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.1)
        yield json.loads(file.read_text())["address"], scheduler
    finally:
        for one in (scheduler, worker):
            one.kill()
            one.wait()


@pytest.mark.slow
@pytest.mark.parametrize("step", [("split", 1), ("learn", 2)])
def test_a_run_whose_scheduler_is_lost_is_one_sentence_and_goes_on(
    tmp_path: Path, step: tuple[str, int]
) -> None:
    pytest.importorskip("distributed")
    data, store = write(tmp_path / "data", parts=4), tmp_path / "models"
    with scheduler_and_worker(tmp_path) as (address, scheduler):

        def kill(what: str, done: int, total: int) -> None:
            if (what, done) == step:
                scheduler.kill()

        with pytest.raises(LostSchedulerError, match="is lost; what is finished is kept: run again and"):
            learn(data, store, buckets=6, cluster=address, on_progress=kill, workers=None)
    if step[0] == "learn":
        assert json.loads((store / "manifest.json").read_text())["learned"].count(4) >= 2
    assert learn(data, store, resume=True, buckets=6).problems == []
    assert states_of(store) == plain_loop(table_of(data), W)


@pytest.mark.slow
def test_two_local_clusters_run_at_once(cluster: Any, tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    with open_engine("local", 1) as other:
        for number, engine in enumerate((other, cluster, other)):
            learn(data, tmp_path / str(number), cluster=engine, workers=None)
            assert states_of(tmp_path / str(number)) == plain_loop(table_of(data), W)
        assert other.client.scheduler.address != cluster.client.scheduler.address


@pytest.mark.slow
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
