"""Few trials run as Python while nothing is compiled on a machine, with the results of machine code."""

from __future__ import annotations

import contextlib
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Mixture, Perceptron, QuasiAdditive, Recycled, Winnow, recommended
from linmax._jit import tiers
from linmax._jit.compilation import CompiledKernel
from linmax._jit.tiers import Budget, compile_now, compiling, interpreted, interpreting, postponed, postpones
from linmax.experts import Shared
from linmax.problems import majority
from linmax.rules.base import Rule
from linmax.runtime.runner import Runner
from tests.helpers.files import panel, run
from tests.kernels.test_compiled_forms import ENSEMBLES, QUICK_RUNS, _rows, inputs, learners_of

LEARNERS = {
    **{
        f"{form}, {way}": (learners_of(form, way)[0].on(source), kind)
        for source, kind, form, way in QUICK_RUNS
    },
    **{name: (learner, "labels") for name, learner in ENSEMBLES.items()},
}


@pytest.fixture(autouse=True)
def _no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "left", 0.0)
    monkeypatch.setattr(Budget, "is_cold", None)
    monkeypatch.setattr(Budget, "suspended", 0)  # a server of another test may run


def learn(
    learner: Any, arguments: dict[str, Any], python: Iterator[bool]
) -> tuple[list[Any], dict[str, bytes]]:
    """Predictions and state after tables and single items; each call runs as Python or compiled."""
    fusion, found = Fusion(learner), []
    for rows in (slice(0, 20), slice(20, 40), slice(40, 50)):
        Budget.left = math.inf if next(python) else 0.0
        found += fusion.learn(**{name: _rows(it, rows) for name, it in arguments.items()}).guesses.tolist()
    if (
        isinstance(arguments.get("votes"), np.ndarray)
        and arguments["votes"].ndim == 2
        and fusion.needs == {"votes"}
    ):
        for row in range(50, 60):
            Budget.left = math.inf if next(python) else 0.0
            votes = dict(enumerate(arguments["votes"][row].tolist()))
            found.append(fusion.predict_one(votes))
            found += fusion.predict_proba_one(votes).values()
            found.append(fusion.learn_one(votes, int(arguments["labels"][row])))
    Budget.left = 0.0
    return found, {name: array.tobytes() for name, array in fusion.state().items()}


@pytest.mark.parametrize("name", LEARNERS)
def test_a_session_may_change_between_python_and_machine_code(name: str) -> None:
    learner, kind = LEARNERS[name]
    compiled = learn(learner, inputs(kind), iter([False] * 13))
    assert learn(learner, inputs(kind), iter([True, False] * 7)) == compiled
    assert learn(learner, inputs(kind), iter([True] * 8 + [False] * 5)) == compiled


def test_a_cold_process_runs_as_python_until_its_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setenv(tiers.VARIABLE, "1")
    monkeypatch.setattr(Budget, "left", math.inf)
    monkeypatch.setattr(Budget, "is_cold", lambda: looks.append(1) or True)
    assert postpones()
    assert postpones(0.9)
    assert len(looks) == 1
    with postponed():
        assert interpreting()
        assert not postpones()  # it runs as Python in any case
    assert not interpreting()
    assert 0.0 < Budget.left < 1.0
    assert not postpones(1.0)  # too long
    assert not postpones()
    assert Budget.left == 0.0


def test_a_process_with_machine_code_on_disk_has_no_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tiers.VARIABLE)
    monkeypatch.setattr(Budget, "left", 1.0)
    monkeypatch.setattr(Budget, "is_cold", lambda: False)
    assert not postpones()
    assert Budget.left == 0.0


def test_rows_are_estimated_by_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    votes, labels = majority(300, relevant=3, experts=5, classes=3)
    lengths: list[tuple[int, bool]] = []
    run_chunk = Runner._run_chunk

    def record(self: Any, batch: Any, rows: slice, *more: Any) -> Any:
        lengths.append((rows.stop - rows.start, interpreting()))
        return run_chunk(self, batch, rows, *more)

    monkeypatch.setattr(Runner, "_run_chunk", record)
    Budget.left = 1000.0
    Fusion(Perceptron()).learn(votes, labels)
    assert lengths[0] == (32, True)
    assert sum(length for length, python in lengths if python) == 300
    lengths.clear()
    monkeypatch.setattr(tiers, "STEP", 0.0)  # so that it can be interrupted after each trial
    Fusion(Perceptron()).learn(votes[:40], labels[:40])
    assert lengths == [(32, True), *[(1, True)] * 8]
    lengths.clear()
    Budget.left = 2.001 * tiers.expect(32, 5, 3, 0)  # enough to begin, not for all
    monkeypatch.setattr(tiers, "postponed", lambda: exhausted())
    Fusion(Perceptron()).learn(votes, labels)
    assert lengths == [(32, True), (268, False)]
    lengths.clear()
    Budget.left = 1000.0
    monkeypatch.setattr(tiers, "MOST", 299)
    Fusion(Perceptron()).learn(votes, labels)
    assert lengths == [(300, False)]


@contextlib.contextmanager
def exhausted() -> Iterator[None]:
    """A moment as Python after which nothing is left."""
    with interpreted():
        yield
    Budget.left = 0.0


def test_few_trials_of_a_wide_panel_are_compiled() -> None:
    Budget.left = 1.0
    fusion = Fusion(Perceptron(), classes=range(300), experts=range(200))
    fusion.learn(np.zeros((2, 200), np.int64), np.zeros(2, np.int64))
    assert Budget.left == 0.0  # and not a little less than 1


def test_kernels_that_are_called_with_much_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def double(x: Any) -> Any:
        for i in range(len(x)):
            x[i] *= 2
        return interpreting()

    few, many = np.ones(10), np.ones(10_000_000)
    kernel = CompiledKernel(double)
    Budget.left = 1.0
    assert kernel(few) is True
    assert few.tolist() == [2.0] * 10
    assert Budget.left < 1.0
    assert tiers.seconds_for((few, (many, few), 3)) > 1.0
    assert not postpones(tiers.seconds_for((many,)))


def test_single_items_are_compiled_when_the_budget_ends() -> None:
    fusion, other = Fusion(Averaged(Winnow(1.2))), Fusion(Averaged(Winnow(1.2)))
    votes, labels = majority(60, relevant=3, experts=5, classes=3)
    Budget.left = math.inf
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        item = dict(enumerate(row))
        if fusion.trials == 40:
            assert not any(stage.address for stage in fusion._single.programs[0].stages)
            Budget.left = 1e-9
        fusion.learn_one(item, label)
    assert all(stage.address for stage in fusion._single.programs[0].stages)
    for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
        other.learn_one(dict(enumerate(row)), label)
    assert fusion.state().keys() == other.state().keys()
    assert all(np.array_equal(fusion.state()[name], array) for name, array in other.state().items())


def test_threads_predict_while_the_budget_ends() -> None:
    votes, labels = majority(80, relevant=3, experts=5, classes=3)
    fusion = Fusion(Recycled(Winnow(1.2), size=5))
    simple = Fusion(Perceptron())
    for one in (fusion, simple):
        one.learn(votes, labels)
    items = [dict(enumerate(row)) for row in votes.tolist()]
    right = [[one.predict_one(item) for item in items] for one in (fusion, simple)]
    Budget.left = 0.2
    wrong: list[Any] = []

    def predict() -> None:
        for _ in range(5):
            for one, expected in zip((fusion, simple), right, strict=True):
                wrong.extend(x for x, y in zip(map(one.predict_one, items), expected, strict=True) if x != y)

    threads = [threading.Thread(target=predict) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@dataclass(frozen=True, repr=False)
class Cubed(Rule):
    """A rule of a user, whose power has other bits as Python."""

    @staticmethod
    def update(p, s, theta, w, index, value, margin):
        for j in range(len(index)):
            theta[index[j]] += value[j]
            w[index[j]] = theta[index[j]] ** 3
        return 1


def test_what_users_have_written_is_compiled_at_once() -> None:
    votes, labels = majority(40, relevant=3, experts=5, classes=3)
    for learner, own in (
        (Perceptron(), True),
        (recommended(), True),
        (Cubed(), False),
        (Mixture([Perceptron(), Averaged(Cubed())]), False),
        (QuasiAdditive(lambda x: x), False),
        (Perceptron().on(Shared(lambda x, y: x * y)), False),
        ([Winnow(1.2), None, 3, "text", np.float64(2.0), object()], True),
        ([threading.local()], False),
    ):
        assert tiers.is_own(learner) is own
    Budget.left = 1000.0
    fusion = Fusion(Cubed())
    fusion.learn(votes, labels)
    fusion.learn_one(dict(enumerate(votes[0].tolist())), int(labels[0]))
    assert Budget.left == 1000.0


def test_learners_with_many_updates_per_trial_are_compiled_at_once() -> None:
    for updates, may_wait in ((1, True), (5, True), (1000, False), (None, False)):
        assert Fusion(Recycled(Perceptron(), size=3, updates=updates)).runner.may_wait is may_wait


def test_fuse_prints_the_same_whether_it_compiles_or_not(tmp_path: Path) -> None:
    file = panel(tmp_path / "votes.csv", rows=60)
    shown = {}
    for left in (0.0, 0.02, 1000.0):  # compiled, compiled after a look at some rows, and as Python
        Budget.left = left
        shown[left] = run("fuse", file, "--learner", "Averaged(Winnow(1.2))").stdout
        assert (Budget.left > 0.0) is (left > 1.0)
    assert len(set(shown.values())) == 1
    assert "mistakes" in shown[0.0]


def start(code: str, cache: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program on a machine on which nothing has been compiled."""
    variables = {name: value for name, value in os.environ.items() if name != tiers.VARIABLE}
    variables |= {"NUMBA_CACHE_DIR": str(cache), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=variables)


FEW = """
from linmax import Fusion
fusion = Fusion()
fusion.learn([["a", "b"], ["b", "a"], ["a", "a"]], ["a", "b", "a"])
print(fusion.predict_one({0: "a", 1: "b"}), fusion.learn_one({0: "a", 1: "b"}, "a"))
"""


def test_the_first_call_on_a_machine_compiles_nothing(tmp_path: Path) -> None:
    done = start(FEW, tmp_path)
    assert (done.stdout, done.stderr) == ("a a\n", "")
    assert not list(tmp_path.rglob("*.nbc"))


@pytest.mark.parametrize("text", ["soon", "nan", "-1"])
def test_a_time_that_is_no_number_of_seconds_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.VARIABLE, text)
    with pytest.raises(ValueError, match=f"AFTER is a number of seconds .got '{text}'.; 0 compiles at once"):
        tiers._read_variable()


def test_compile_now_ends_the_budget() -> None:
    Budget.left = 3.0
    compile_now()
    assert not postpones()


def test_the_budget_is_left_as_it_is_where_everything_is_compiled() -> None:
    Budget.left = 3.0
    with compiling():
        with compiling():
            assert not postpones()
        assert not postpones(1000.0)
    assert postpones()
    assert Budget.left == 3.0
