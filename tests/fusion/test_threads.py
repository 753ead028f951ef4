"""A session shared by threads: right answers, no lost call, and states before or after a chunk only."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Logistic, Mixture, NaiveBayes, Perceptron, Recycled, Winnow, load
from linmax.problems import majority
from linmax.runtime.concurrency import SessionLock
from tests.slow.thread_stress import LEARNERS as LEARNERS_UNDER_STRESS
from tests.slow.thread_stress import stress

VOTES, LABELS = majority(400, relevant=3, experts=6, classes=4, noise=0.1)
ITEMS = [dict(enumerate(row)) for row in VOTES.tolist()]
LEARNERS = {
    "rule": Averaged(Winnow(1.2)),
    "recycled": Averaged(Recycled(Perceptron(), size=10)),  # takes the general path
    "mixture": Mixture([Logistic(0.3), NaiveBayes(), Winnow(1.2)]),
}
each = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def in_threads(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Run tasks at the same time; return what they returned, or raise what one has raised."""
    results: list[Any] = [None] * len(tasks)
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(tasks))

    def run(i: int) -> None:
        try:
            barrier.wait()
            results[i] = tasks[i]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(len(tasks))]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 30
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if errors:
        raise errors[0]
    return results


def trained(learner: Any) -> Fusion:
    fusion = Fusion(learner, classes=range(4), experts=range(6))
    fusion.learn(VOTES[:200], LABELS[:200])
    return fusion


@each
def test_predictions_from_many_threads_are_those_of_one(learner: Any) -> None:
    fusion = trained(learner)
    expected = [fusion.predict_one(item) for item in ITEMS[:60]]
    rows = fusion.predict(VOTES[:60]).tolist()
    scores = fusion.scores(VOTES[:60])

    def one_by_one() -> list[Any]:
        return [fusion.predict_one(item) for item in ITEMS[:60]]

    def together() -> list[Any]:
        assert np.array_equal(fusion.scores(VOTES[:60]), scores)
        return fusion.predict(VOTES[:60]).tolist()  # type: ignore[no-any-return]

    found = in_threads([one_by_one] * 5 + [together] * 3)
    assert found == [expected] * 5 + [rows] * 3


@each
def test_explanations_beside_predictions_are_those_of_one_thread(learner: Any) -> None:
    fusion = trained(learner)
    expected = [fusion.explain_one(item) for item in ITEMS[:4]]
    predicted = [fusion.predict_one(item) for item in ITEMS[:60]]
    found = in_threads(
        [lambda: [fusion.explain_one(item) for item in ITEMS[:4]]] * 3
        + [lambda: [fusion.predict_one(item) for item in ITEMS[:60]]] * 3
    )
    assert found == [expected] * 3 + [predicted] * 3


@each
def test_no_learned_item_is_lost(learner: Any) -> None:
    fusion = Fusion(learner, classes=range(4), experts=range(6))

    def one_by_one(begin: int) -> Callable[[], None]:
        def run() -> None:
            for i in range(begin, begin + 40):
                fusion.learn_one(ITEMS[i], int(LABELS[i]))
                fusion.predict_one(ITEMS[i])

        return run

    def together() -> None:
        for i in range(200, 320, 40):
            fusion.learn(VOTES[i : i + 40], LABELS[i : i + 40])

    in_threads([one_by_one(begin) for begin in (0, 40, 80, 120)] + [together] * 2)
    assert fusion.trials == 4 * 40 + 2 * 120


def test_calls_that_learn_follow_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order of two calls, the state is that of one after the other."""
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 7)
    parts = [(VOTES[:150], LABELS[:150]), (VOTES[150:], LABELS[150:])]
    orders = []
    for order in (parts, parts[::-1]):
        fusion = Fusion(Averaged(Winnow(1.2)), classes=range(4))
        for part in order:
            fusion.learn(*part)
        orders.append(fusion.state()["theta"].tolist())
    for _ in range(5):
        fusion = Fusion(Averaged(Winnow(1.2)), classes=range(4))
        in_threads([partial(fusion.learn, *part) for part in parts])
        assert fusion.state()["theta"].tolist() in orders


@each
def test_a_prediction_beside_learn_sees_whole_chunks_only(
    learner: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 20)
    monkeypatch.setattr("linmax.runtime.chunks.ENSEMBLE_CHUNK", 20)
    slow = Fusion(learner, classes=range(4), experts=range(6))
    valid = {slow.scores(VOTES[:1]).tobytes()}
    for begin in range(0, 400, 20):
        slow.learn(VOTES[begin : begin + 20], LABELS[begin : begin + 20])
        valid.add(slow.scores(VOTES[:1]).tobytes())
    fusion = Fusion(learner, classes=range(4), experts=range(6))
    done = threading.Event()

    def learn() -> None:
        fusion.learn(VOTES, LABELS)
        done.set()

    def predict() -> set[bytes]:
        seen = set()
        while not done.is_set():
            seen.add(fusion.scores(VOTES[:1]).tobytes())
        return seen

    def save() -> list[int]:
        trials = []
        while not done.is_set():
            fusion.save(tmp_path / "model.linmax")
            trials.append(load(tmp_path / "model.linmax").trials)
        return trials

    _, first, second, saved = in_threads([learn, predict, predict, save])
    assert first | second <= valid
    assert all(trials % 20 == 0 for trials in saved)
    assert fusion.scores(VOTES[:1]).tobytes() == slow.scores(VOTES[:1]).tobytes()


def test_classes_of_later_chunks_are_unknown_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 2)
    fusion = Fusion(Winnow(1.2))
    known = []
    execute = fusion.runner._execute

    def watched(*arguments: Any) -> Any:
        known.append(fusion.classes)
        return execute(*arguments)

    fusion.runner._execute = watched  # type: ignore[method-assign]
    run = fusion.learn([["a"], ["b"], ["a"], ["c"], ["d"]], ["a", "b", "b", "c", "e"])
    assert known == [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d", "e"]]
    assert run.guesses.tolist()[:1] == ["a"]


def test_a_prediction_waits_for_one_chunk_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 10)
    # on a busy machine, a thread that waits may run late
    monkeypatch.setattr("linmax.runtime.concurrency.PATIENCE", 10**6)
    fusion = Fusion(Winnow(1.2), classes=range(4), experts=range(6))
    fusion.predict_one(ITEMS[0])
    order, threads = list[str](), list[threading.Thread]()
    execute, release = fusion.runner._execute, fusion._single._release

    def execute_while_a_prediction_waits(chunk: Any, wanted: Any) -> Any:
        order.append("chunk")
        threads.append(threading.Thread(target=fusion.predict_one, args=(ITEMS[0],), daemon=True))
        threads[-1].start()
        deadline = time.monotonic() + 30
        while not fusion._lock.waiting:
            assert time.monotonic() < deadline, "the prediction does not wait in the queue"
            time.sleep(1e-4)
        return execute(chunk, wanted)

    def end_prediction() -> None:
        order.append("prediction")
        release()

    monkeypatch.setattr(fusion.runner, "_execute", execute_while_a_prediction_waits)
    monkeypatch.setattr(fusion._single, "_release", end_prediction)
    fusion.learn(VOTES[:60], LABELS[:60])
    for thread in threads:
        thread.join(30)
    assert order == ["chunk", "prediction"] * 6


def test_a_session_that_waits_in_a_queue_is_served_before_the_one_that_comes_again() -> None:
    lock, order, holds = SessionLock(), list[str](), threading.Event()

    def chunks() -> None:
        for i in range(3):
            lock.let_others_go_first()
            with lock.state:
                order.append(f"chunk {i}")
                holds.set()
                time.sleep(0.02)

    def prediction() -> None:
        holds.wait()
        with lock, lock.state:
            order.append("prediction")

    in_threads([chunks, prediction])
    assert order.index("prediction") == 1


def test_a_thread_may_leave_the_queue_while_another_empties_it() -> None:
    class EmptiedSinceTheLook(deque[None]):
        def __bool__(self) -> bool:
            return True

    lock = SessionLock()
    lock.waiting = EmptiedSinceTheLook()
    with lock:
        lock.waiting.clear()
    assert len(lock.served) == 1


def test_a_copy_of_a_session_has_a_lock_of_its_own() -> None:
    import copy

    fusion = trained(Winnow(1.2))
    other = copy.deepcopy(fusion)
    with fusion._lock, fusion._lock.state:
        found = in_threads([lambda: other.predict_one(ITEMS[0])])
    assert found == [fusion.predict_one(ITEMS[0])]


def test_a_handler_of_the_program_for_interrupts_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    import signal

    seen: list[Any] = []

    def handler(*_: Any) -> None:
        seen.append("mine")

    before = signal.signal(signal.SIGINT, handler)
    try:
        fusion = Fusion(Winnow(1.2), classes=range(4))
        execute = fusion.runner._execute

        def watched(*arguments: Any) -> Any:
            seen.append(signal.getsignal(signal.SIGINT))
            return execute(*arguments)

        fusion.runner._execute = watched  # type: ignore[method-assign]
        fusion.learn(VOTES[:20], LABELS[:20])
        assert seen == [handler]
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("learner", LEARNERS_UNDER_STRESS)
def test_a_mixture_of_all_calls_leaves_the_state_of_one_thread(learner: str) -> None:
    found = stress(learner, most=20, threads=6)
    assert not found.errors
    assert found.calls == 6 * 20
    assert found.same_state


def test_an_interrupt_neither_tears_a_learned_item_nor_keeps_the_lock() -> None:
    import signal

    fusion = trained(LEARNERS["mixture"])
    fusion.learn_one(ITEMS[0], int(LABELS[0]))

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before, hits, end = signal.signal(signal.SIGALRM, interrupt), 0, time.monotonic() + 20
    try:
        while hits < 40 and time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.003)
                while True:
                    fusion.learn_one(ITEMS[hits], int(LABELS[hits]))
            except KeyboardInterrupt:
                hits += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert hits == 40
    assert {int(run.counts[0]) for run in fusion.runner.rule_runs} == {fusion.trials}
    assert in_threads([lambda: fusion.predict_one(ITEMS[0])]) == [fusion.predict_one(ITEMS[0])]


def test_an_item_beside_learn_is_learned_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("linmax.runtime.chunks.CHUNK", 10)
    fusion = trained(Winnow(1.2))
    before, inside, counts = fusion.trials, threading.Event(), list[int]()
    execute = fusion.runner._execute

    def slow(*arguments: Any) -> Any:
        inside.set()
        time.sleep(0.002)
        return execute(*arguments)

    fusion.runner._execute = slow  # type: ignore[method-assign]

    def learn_one() -> None:
        inside.wait()
        fusion.learn_one(ITEMS[0], int(LABELS[0]))
        counts.append(fusion.trials - before)

    run, _ = in_threads([lambda: fusion.learn(VOTES, LABELS), learn_one])
    assert run.trials == len(VOTES)
    assert counts == [len(VOTES) + 1]


def test_an_interrupt_of_a_prediction_that_waits_leaves_the_lock_free() -> None:
    import signal

    fusion = trained(Winnow(1.2))
    expected = fusion.predict_one(ITEMS[0])
    held, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with fusion._lock.state:
            held.set()
            leave.wait(20)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    thread = threading.Thread(target=hold)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        thread.start()
        held.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            fusion.predict_one(ITEMS[0])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        leave.set()
        thread.join()
    assert in_threads([lambda: fusion.predict_one(ITEMS[0])] * 2) == [expected] * 2
    assert not fusion._lock.waiting
