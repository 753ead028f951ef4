"""Counting is done beside the learning: in order, once, and its errors are heard."""

from __future__ import annotations

import io
import os
import threading
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Perceptron
from linmax.evaluate import audit
from linmax.evaluate.audit import Audit
from linmax.evaluate.resumable_run import noted
from linmax.runtime import concurrency as threads
from linmax.runtime.concurrency import Beside
from linmax.streams import open_stream


def test_errands_are_done_in_order_by_another_thread() -> None:
    done: list[Any] = []
    beside = Beside()
    for number in range(20):
        beside.do(done.append, number)
    beside.do(lambda: done.append(threading.current_thread()))
    beside.settle()
    assert done[:-1] == [*range(20)]
    assert done[-1] is not threading.current_thread()


def test_what_an_errand_raises_is_heard_once_by_who_comes_next() -> None:
    beside = Beside()
    beside.do(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        beside.do(print)
    beside.do(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        beside.settle()
    beside.settle()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_has_a_thread_of_its_own() -> None:
    beside = Beside()
    beside.do(int)
    beside.settle()
    child = os.fork()
    if not child:  # the parent's thread is not here: waiting for it would last for ever
        try:
            own = Beside()
            own.do(int)
            own.settle()
        finally:
            os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def learned(monkeypatch: pytest.MonkeyPatch, part: int) -> tuple[Audit, list[bytes]]:
    """A stream in three pieces, counted beside if a piece has more rows than `part`."""
    monkeypatch.setattr(threads, "count", lambda: 2)
    monkeypatch.setattr(audit, "PART", part)
    rng = np.random.default_rng(0)
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in rng.integers(0, 3, (900, 3)))
    fusion, found = Fusion(Perceptron()), Audit()
    stream = open_stream(io.BytesIO(b"ann,bob,truth\n" + rows.encode()), piece=300)
    outcomes = [found.learn(fusion, piece) for piece in stream]
    return found, [outcome.margins.tobytes() for outcome in outcomes]


def test_what_is_counted_beside_is_what_is_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    beside, margins = learned(monkeypatch, 0)
    at_once, same = learned(monkeypatch, 1000)
    assert margins == same
    assert noted(beside) == noted(at_once)
    assert noted(beside)["trust"]


def test_who_notes_an_audit_waits_for_the_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    may, count = threading.Event(), Audit._count

    def late(self: Audit, *arguments: Any) -> None:
        may.wait()
        count(self, *arguments)

    monkeypatch.setattr(Audit, "_count", late)
    monkeypatch.setattr(threads, "count", lambda: 2)
    monkeypatch.setattr(audit, "PART", 0)
    (piece,) = open_stream(io.BytesIO(b"ann,truth\na,a\nb,a\n"))
    found = Audit()
    outcome = found.learn(Fusion(Perceptron(), classes=["a", "b"]), piece)
    assert outcome.codes.tolist() == [0, 0]  # known at once
    assert (found.items, found.counts.trials) == (2, 0)
    threading.Timer(0.05, may.set).start()
    assert noted(found)["counts"][0] == 2
