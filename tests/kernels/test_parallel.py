"""Kernels are compiled in two processes, with the same results whatever happens to the second one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Fusion, Perceptron
from linmax._jit import parallel
from linmax._jit.memory import Stage
from linmax._jit.memory import describe as kind_of
from linmax._jit.numba_internals import load
from linmax._jit.parallel import describe, gathering, processes, stand_in
from linmax.kernels import program as programs
from linmax.kernels.structs import Outputs
from linmax.problems import majority
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.single_item import SingleItem

FEW = 40

LEARN = f"""\
import linmax._jit.parallel as parallel
started, loaded = [], []
start = parallel._start
def _start():
    started.append({{process}})
    return started[-1]
parallel._start = _start
parallel.PATIENCE = {{patience}}
from linmax import Fusion, Perceptron
from linmax.problems import majority
fusion = Fusion(Perceptron(), classes=range(5))
run = fusion.learn(*majority({FEW}))
print(len(started), run.mistakes, fusion.predict_proba(majority({FEW})[0]).tobytes().hex()[:64])
print([process.poll() is not None for process in started])
"""
USUAL = "start()"
FAILS = "__import__('subprocess').Popen(['false'], stdin=-1, stdout=-1)"
HANGS = "__import__('subprocess').Popen(['sleep', '60'], stdin=-1, stdout=-1)"
STOPS = "__import__('subprocess').Popen(['sh', '-c', 'printf 1; exec sleep 60'], stdin=-1, stdout=-1)"
LIES = "__import__('subprocess').Popen(['yes', '1'], stdin=-1, stdout=-1)"  # says that all is compiled


def learn(cache: Path, process: str = USUAL, **environment: str) -> tuple[list[str], list[Path]]:
    """Return what a program prints that compiles in an empty cache, and the files that it leaves."""
    own = {"LINMAX_COMPILE_AFTER": "0", "NUMBA_CACHE_DIR": str(cache), parallel.VARIABLE: "2", **environment}
    patience = 60.0 if process == USUAL else -10_000.0  # so that the others are not waited for
    program = LEARN.format(process=process, patience=patience)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env={**os.environ, **own}, check=True, timeout=120,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.splitlines(), sorted(cache.rglob("*.nbi"))


def expected() -> str:
    fusion = Fusion(Perceptron(), classes=range(5))
    run = fusion.learn(*majority(FEW))
    return f"{run.mistakes} {fusion.predict_proba(majority(FEW)[0]).tobytes().hex()[:64]}"


two_cores = pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2 if hasattr(os, "sched_getaffinity") else True,
    reason="a second process is not started on one core",
)


@two_cores
@pytest.mark.slow
@pytest.mark.parametrize("process", [USUAL, FAILS, HANGS, STOPS, LIES])
def test_results_are_the_same_whatever_becomes_of_the_second_process(tmp_path: Path, process: str) -> None:
    printed, files = learn(tmp_path, process)
    assert printed == [f"1 {expected()}", "[True]"]
    assert {"trials", "in_place"} <= {file.name.split(".")[0] for file in files}


@two_cores
def test_a_second_process_compiles_what_the_first_one_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stand-ins of another process have the very types of the arguments; it executes our files only."""
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for name in ("importlib", "json", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    codes, scores = np.zeros(3, np.int32), np.zeros((3, 2))
    process = parallel._start()
    try:
        parallel._send(process.stdin, parallel._folders())
        assert process.stdout.read(1) == parallel.DONE
        parallel._send(process.stdin, [describe(programs.copy.python, (codes, scores, codes, scores))])
        assert process.stdout.read(1) == parallel.DONE
        parallel._send(process.stdin, [("linmax.kernels.program", "no_such_kernel", ())])
        assert process.stdout.read(1) == parallel.FAILED
        process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        assert process.poll() is None  # the first process ends it
        process.stdin.close()
        assert process.wait(30) == 0  # also when the first process is killed
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    kernel = parallel_copy()
    dispatcher, signature = kernel.stage_dispatcher((codes, scores, codes, scores))
    assert parallel.is_stage_on_disk(dispatcher, signature)
    dispatcher.compile(signature)
    assert not (tmp_path / "executed").exists()
    assert dict(dispatcher.stats.cache_hits) == {signature: 1}


@pytest.mark.parametrize("fails", ["process", "thread"])
def test_without_a_process_or_a_thread_all_is_compiled_here(
    monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    started: list[Any] = []

    def start() -> Any:
        if fails == "process":
            raise OSError("no more processes")
        started.append(subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        return started[-1]

    def no_thread(**_: Any) -> Any:
        raise RuntimeError("can't start new thread")

    load()  # numba is imported in a thread
    monkeypatch.setattr(parallel, "_start", start)
    monkeypatch.setattr(parallel.threading, "Thread", no_thread)
    monkeypatch.setattr(parallel, "_must_be_compiled", lambda one: True)
    monkeypatch.setattr(parallel, "_is_allowed", lambda: True)
    arrays = np.zeros(3, np.int16), np.zeros((3, 2))
    with gathering() as missing:
        stages = parallel_copy().stage(*arrays, *arrays), parallel_copy().stage(*arrays, *arrays)
        assert missing.waiting
        assert len(started) == (fails == "thread")
    assert all(stage.address for stage in stages)
    assert [process.poll() is not None for process in started] == [True] * (fails == "thread")


def test_an_error_while_kernels_are_looked_for_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    monkeypatch.setattr(parallel, "_start", lambda: process)
    monkeypatch.setattr(parallel, "_must_be_compiled", lambda one: True)
    monkeypatch.setattr(parallel, "_is_allowed", lambda: True)
    arrays = np.zeros(3, np.int16), np.zeros((3, 3))
    missing = gathering()
    with contextlib.suppress(KeyboardInterrupt), missing:
        stages = parallel_copy().stage(*arrays, *arrays), parallel_copy().stage(*arrays, *arrays)
        raise KeyboardInterrupt
    assert process.poll() is not None
    assert not any(stage.address for stage in stages)


def parallel_copy() -> Any:
    from linmax._jit.compilation import CompiledKernel

    return CompiledKernel(programs.copy.python)


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros((3, 4)), 7, 0.5),
        (np.zeros((3, 4))[:, ::2], np.zeros((3, 4)).T, np.zeros(6, np.int8)[::2]),
        (Outputs(*np.zeros((5, 2), np.int32)), (np.zeros(0, np.uint8), (1, 2.0))),
        (np.broadcast_to(1.0, (3, 2)), np.frombuffer(b"abcd", np.int8)),
    ],
)
def test_a_stand_in_has_the_same_types(arguments: tuple[Any, ...]) -> None:
    from numba import typeof

    _, _, described = describe(programs.copy.python, arguments)
    found = tuple(map(stand_in, json.loads(json.dumps(described))))
    assert [typeof(one) for one in found] == [typeof(one) for one in arguments]
    assert kind_of(found)[0][:2] == kind_of(arguments)[0][:2]


def test_what_others_have_defined_is_compiled_by_this_process() -> None:
    own = namedtuple("own", "x")
    with pytest.raises(ValueError, match="own is not of linmax"):
        describe(programs.copy.python, (own(1),))
    with pytest.raises(ValueError, match="is not of linmax"):
        describe(lambda begin, end: None, ())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sys.frozen", True),
        ("sys.executable", ""),
        ("sys.executable", "/usr/bin/host"),
        ("os.sched_getaffinity", lambda process: {0}),
        ("multiprocessing.process.parent_process", lambda: 1),
        ("linmax._jit.numba_internals.State.caches", False),
    ],
)
def test_no_process_is_started_where_it_cannot_help(
    monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    import multiprocessing.process  # noqa: F401

    monkeypatch.setenv(parallel.VARIABLE, "2")
    monkeypatch.setattr("multiprocessing.process.parent_process", lambda: None)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    monkeypatch.setattr("sys.executable", "/usr/bin/python3")
    assert parallel._is_allowed()
    monkeypatch.setattr(name, value, raising=False)
    assert not parallel._is_allowed()


def test_the_variable_switches_it_off_and_has_two_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(parallel.VARIABLE, "1")
    assert not parallel._is_allowed()
    monkeypatch.setenv(parallel.VARIABLE, "many")
    with pytest.raises(ValueError, match=r"LINMAX_COMPILE_PROCESSES must be 1 or 2 .got 'many'."):
        processes()


def test_stages_wait_inside_the_context_only() -> None:
    arrays = np.zeros(3, np.int16), np.zeros((3, 1)), np.zeros(3, np.int16), np.zeros((3, 1))
    kernel = parallel_copy()
    with gathering() as missing:
        waiting = kernel.stage(*arrays)
        assert isinstance(waiting, Stage)
        assert waiting.address == 0
    assert [stage for _, _, stage in missing.waiting] == [waiting]
    assert waiting.address == kernel.stage(*arrays).address != 0
    with gathering() as again:
        assert kernel.stage(*arrays).address
    assert not again.waiting


def test_the_largest_kernels_come_first() -> None:
    arrays = tuple(np.zeros((4, 2)))
    small = parallel._size((programs.copy, None, Stage(programs.copy, arrays, 0)))
    assert 0 < small < parallel._size((programs.each, None, Stage(programs.each, arrays, 0)))


@pytest.mark.parametrize("learner", [None, Perceptron()])
def test_all_kernels_of_single_items_are_compiled(learner: Any) -> None:
    """Also those that are added to a program after it was made."""
    fusion = Fusion(learner, classes=range(2)) if learner else Fusion(classes=range(2))
    single = SingleItem(fusion.runner, fusion.needs, fusion.abstain, SessionLock())
    assert fusion.learn_one({0: 1, 1: 0}, 1) is not None
    single.run({0: 1, 1: 0}, None, None)
    assert all(stage.address for program in single.programs for stage in program.stages)
