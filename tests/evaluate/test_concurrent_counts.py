"""Counting in the background: in order, once, and errors are raised to the caller."""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Perceptron
from linmax.evaluate.audit import audit
from linmax.evaluate.audit.audit import Audit
from linmax.evaluate.audit.checkpoint import audit_state
from linmax.runtime import concurrency
from linmax.runtime.concurrency import BackgroundTask
from linmax.streams import open_stream


def test_background_tasks_run_in_order_in_another_thread() -> None:
    done: list[Any] = []
    task = BackgroundTask()
    for number in range(20):
        task.submit(done.append, number)
    task.submit(lambda: done.append(threading.current_thread()))
    task.wait()
    assert done[:-1] == [*range(20)]
    assert done[-1] is not threading.current_thread()


def test_an_error_in_a_background_task_is_raised_once_by_the_next_call() -> None:
    task = BackgroundTask()
    task.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        task.submit(print)
    task.submit(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        task.wait()
    task.wait()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_a_background_thread_of_its_own() -> None:
    task = BackgroundTask()
    task.submit(int)
    task.wait()
    child = os.fork()
    if not child:  # the thread of the parent does not exist here, so waiting for it would never end
        try:
            own = BackgroundTask()
            own.submit(int)
            own.wait()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def learned(monkeypatch: pytest.MonkeyPatch, part: int) -> tuple[Audit, list[bytes]]:
    """Learn a stream in three chunks, counted in the background if a chunk has more rows than `part`."""
    monkeypatch.setattr(concurrency, "thread_count", lambda: 2)
    monkeypatch.setattr(audit, "BACKGROUND_TRIALS", part)
    rng = np.random.default_rng(0)
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in rng.integers(0, 3, (900, 3)))
    fusion, found = Fusion(Perceptron()), Audit()
    stream = open_stream(io.BytesIO(b"ann,bob,truth\n" + rows.encode()), chunk_size=300, label="truth")
    outcomes = [found.learn(fusion, chunk) for chunk in stream]
    return found, [outcome.margins.tobytes() for outcome in outcomes]


def test_counting_in_the_background_gives_the_same_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    task, margins = learned(monkeypatch, 0)
    at_once, same = learned(monkeypatch, 1000)
    assert margins == same
    assert audit_state(task) == audit_state(at_once)
    assert audit_state(task)["trust"]


def test_the_state_of_an_audit_waits_for_the_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    may, count = threading.Event(), Audit._count

    def late(self: Audit, *arguments: Any) -> None:
        may.wait()
        count(self, *arguments)

    monkeypatch.setattr(Audit, "_count", late)
    monkeypatch.setattr(concurrency, "thread_count", lambda: 2)
    monkeypatch.setattr(audit, "BACKGROUND_TRIALS", 0)
    (chunk,) = open_stream(io.BytesIO(b"ann,truth\na,a\nb,a\n"), label="truth")
    found = Audit()
    outcome = found.learn(Fusion(Perceptron(), classes=["a", "b"]), chunk)
    assert outcome.codes.tolist() == [0, 0]  # available before the counting
    assert (found.items, found.counts.trials) == (2, 0)
    threading.Timer(0.05, may.set).start()
    assert audit_state(found)["counts"][0] == 2
