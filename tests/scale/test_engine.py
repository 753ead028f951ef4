"""Engines: the same tasks, results in order, errors in one sentence."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from linmax.scale import engine as engine_module
from linmax.scale import open_engine
from linmax.scale import scheduler as scheduler_module
from linmax.scale.engine import DaskCluster, LostSchedulerError, WorkerError, gather_all


def add(x: int, y: int) -> int:
    return x + y


def fail_on_three(x: int) -> int:
    if x == 3:
        raise ValueError("three")
    return x


def fail_with(kind: type[Exception]) -> None:
    raise kind("the disk is slow")


def end_process(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def environment(_: int) -> tuple[str | None, str | None]:
    return os.environ.get("LINMAX_THREADS"), os.environ.get("NUMBA_CACHE_DIR")


def check_verbs(engine: Any) -> None:
    assert engine.gather(engine.map(add, range(5), 10)) == [10, 11, 12, 13, 14]
    assert engine.gather([engine.submit(add, 1, 2)]) == [3]
    seen: list[tuple[int, Any]] = []
    results = engine.gather(
        engine.map(fail_on_three, [1, 2, 3]), lambda i, x: seen.append((i, x)), errors=True
    )
    assert results[:2] == [1, 2]
    assert str(results[2]) == "three"
    assert sorted(i for i, _ in seen) == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        engine.gather(engine.map(fail_on_three, [3]))


def test_tasks_in_this_process() -> None:
    with open_engine(workers=1) as engine:
        check_verbs(engine)


def test_tasks_in_processes() -> None:
    with open_engine(workers=2) as engine:
        check_verbs(engine)
        (one,) = engine.gather(engine.map(environment, [0]))
        assert one == ("1", os.environ.get("NUMBA_CACHE_DIR"))
        with pytest.raises(WorkerError, match="a worker process was killed"):
            engine.gather(engine.map(end_process, [0]))


def test_tasks_on_a_cluster(cluster: Any) -> None:
    check_verbs(cluster)
    (one,) = cluster.gather(cluster.map(environment, [0]))
    assert one == ("1", os.environ.get("NUMBA_CACHE_DIR"))
    assert cluster.workers == 2
    with open_engine(cluster.client) as same:
        assert same.gather(same.map(add, [1], 1)) == [2]
    with open_engine(cluster) as same:
        assert same is cluster
    addresses = [*cluster.client.scheduler_info()["workers"], cluster.client.scheduler.address]
    assert all(address.startswith("tcp://127.0.0.1:") for address in addresses)


def test_a_result_that_takes_long_is_waited_for_while_the_scheduler_answers() -> None:
    pytest.importorskip("distributed")
    client = SimpleNamespace(scheduler=SimpleNamespace(address="tcp://a:1"), status="running")
    engine, answers = DaskCluster(client), iter([TimeoutError(), TimeoutError(), 7])

    def result(timeout: float) -> int:
        answer = next(answers, TimeoutError())
        if isinstance(answer, TimeoutError):
            raise answer
        return answer

    future = SimpleNamespace(result=result, status="pending")
    assert engine._result(future) == 7
    client.status = "closed"
    with pytest.raises(LostSchedulerError, match="the connection to the scheduler at tcp://a:1 is lost"):
        engine._result(future)
    failed = SimpleNamespace(result=result, status="error", exception=lambda: KeyError("its own"))
    with pytest.raises(KeyError, match="its own"):  # it failed when the wait was over
        engine._result(failed)


def test_a_cluster_that_has_no_workers_for_long_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engine_module, "LOOK_EVERY", 0.05)
    monkeypatch.setattr(engine_module, "ALONE", 0.5)
    quiet: Any = {"dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=0, processes=False, **quiet) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        engine = DaskCluster(client)
        futures = engine.map(add, range(3), 1)
        with pytest.raises(
            LostSchedulerError, match=r"has had no workers for 0.5 seconds; start some, then resume"
        ):
            engine.gather(futures, errors=True)


def test_workers_that_come_back_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "LOOK_EVERY", 0)
    monkeypatch.setattr(engine_module, "ALONE", 10)
    clock, workers = [0.0], [True]
    monkeypatch.setattr(engine_module, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    engine = DaskCluster(SimpleNamespace(scheduler=None, nthreads=lambda: workers[0]))
    for clock[0], workers[0] in ((1, False), (10, False), (12, True), (13, False), (22, False)):
        engine._check_workers()
    clock[0] = 23
    with pytest.raises(LostSchedulerError):
        engine._check_workers()


def test_a_local_cluster_waits_for_workers_that_start_slowly(cluster: Any) -> None:
    dask = pytest.importorskip("dask")
    assert dask.config.get("distributed.deploy.lost-worker-timeout") == f"{engine_module.ALONE}s"


def setting(name: str) -> Any:
    import dask

    return dask.config.get(name)


def test_the_workers_of_a_local_cluster_are_not_profiled(cluster: Any) -> None:
    names = list(scheduler_module.RARELY_OBSERVED)
    assert cluster.gather(cluster.map(setting, names)) == list(scheduler_module.RARELY_OBSERVED.values())


def test_a_timeout_or_a_lost_connection_of_a_task_is_its_own_error(cluster: Any) -> None:
    kinds = [TimeoutError, ConnectionResetError, OSError, CancelledError]
    found = gather_all(cluster, cluster.map(fail_with, kinds))
    assert [(type(one), str(one)) for one in found] == [(kind, "the disk is slow") for kind in kinds]


def test_a_worker_ends_if_its_parent_did_before_it_was_ready() -> None:
    parent = subprocess.Popen([sys.executable, "-c", ""])
    parent.wait()
    program = (
        f"import time\nfrom linmax.scale.engine import _initialize_worker\n_initialize_worker({parent.pid})\n"
        "time.sleep(60)"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=50, check=False).returncode == 1


def test_more_workers_than_a_machine_can_have_are_refused() -> None:
    with (
        pytest.raises(ValueError, match=r"\d+ cores, for \d+ workers at most \(got 5000\)"),
        open_engine(None, 5000),
    ):
        pass


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(ImportError, match=r"a cluster requires distributed.*pip install 'linmax\[dask\]'"),
        open_engine("local"),
    ):
        pass


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "CONNECT", 0.2)
    with (
        pytest.raises(LostSchedulerError, match=r"no scheduler answers at tcp://127.0.0.1:9 .*check the"),
        open_engine("tcp://127.0.0.1:9"),
    ):
        pass


def test_a_scheduler_has_less_than_ten_seconds_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed, given = pytest.importorskip("distributed"), []

    def connect(address: str, timeout: float, **_: Any) -> None:
        given.append(timeout)
        raise OSError(f"Timed out trying to connect to {address}")

    monkeypatch.setattr(distributed, "Client", connect)
    with pytest.raises(LostSchedulerError), open_engine("tcp://127.0.0.1:9"):
        pass
    assert 5 <= given[0] < 10


@pytest.mark.parametrize(
    ("said", "reason"),
    [(b"", "it says nothing"), (b"HTTP/1.1 400 Bad Request\r\n\r\n", "what answers is no scheduler")],
)
def test_what_answers_may_be_no_scheduler(said: bytes, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(scheduler_module, "CONNECT", 1)
    monkeypatch.setattr(scheduler_module, "HANDSHAKE", 1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = []

        def answer() -> None:
            connections.append(server.accept()[0])
            connections[0].sendall(said)

        threading.Thread(target=answer, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(LostSchedulerError) as caught, open_engine(address):
            pass
        assert str(caught.value) == f"no scheduler answers at {address} ({reason}); check the address"
        connections[0].close()


@pytest.mark.slow
def test_a_lost_scheduler_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *words], stderr=subprocess.DEVNULL
    )
    try:
        while not file.exists() or not file.read_text():
            time.sleep(0.2)
        with open_engine(json.loads(file.read_text())["address"]) as engine:
            futures = engine.map(add, range(3), 1)  # there is no worker, so they wait
            scheduler.kill()
            with pytest.raises(LostSchedulerError, match=r"the connection to the scheduler at .* is lost"):
                engine.gather(futures)
    finally:
        scheduler.kill()
        scheduler.wait()


def test_a_local_cluster_listens_on_the_loopback_address_only(cluster: Any) -> None:
    psutil = pytest.importorskip("psutil")
    main = psutil.Process()
    for process in (main, *main.children(recursive=True)):
        listening = [one.laddr.ip for one in process.net_connections() if one.status == psutil.CONN_LISTEN]
        assert set(listening) <= {"127.0.0.1"}
