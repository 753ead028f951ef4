"""Deterministic counts of work: Python calls, mistakes, bytes, modules, machine code."""

from __future__ import annotations

import gc
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.sharing import session_bytes
from benchmarks.vr_combine import one_thread
from linmax import Averaged, BalancedWinnow, Fusion, Perceptron, Recycled, Winnow, recommended
from linmax._jit.tiers import compiling
from linmax.evaluate.audit.resumable_run import ResumableRun
from linmax.kernels import in_place
from linmax.kernels import trial as trials
from linmax.problems import majority
from linmax.streams import open_stream

CLASSES, EXPERTS = 5, 20
LEARNERS: dict[str, Any] = {
    "Winnow": Winnow(1.2),
    "averaged Winnow": Averaged(Winnow(1.2)),
    "the default": recommended(),
}
RULES: dict[str, Any] = {
    "Perceptron": Perceptron(),
    "Winnow": Winnow(1.2),
    "BalancedWinnow": BalancedWinnow(1.2),
    "recycled Winnow": Recycled(Winnow(1.2)),
}
Figures = Iterator[tuple[str, float]]


def calls(work: Callable[[], Any]) -> int:
    """Count function calls, including those of C functions, but not those of garbage collections."""
    count = 0
    collects = gc.isenabled()

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    gc.disable()  # when it runs depends on what ran before, and its callbacks are Python functions
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return count


def python_calls() -> Figures:
    """Yield the calls per item, per array, and for more rows in the array (which should be 0)."""
    with one_thread():  # otherwise waiting for threads would be counted
        yield from _python_calls()


def _python_calls() -> Figures:
    votes, labels = majority(4000, experts=EXPERTS, classes=CLASSES, noise=0.05)
    item, label = dict(enumerate(votes[0].tolist())), int(labels[0])
    for name, learner in LEARNERS.items():
        fusion = Fusion(learner, classes=range(CLASSES))
        fusion.learn(votes[:1000], labels[:1000])
        for _ in range(3):  # after what happens only once
            fusion.learn_one(item, label)
            fusion.predict_one(item)
        yield f"calls of learn_one, {name}", calls(partial(fusion.learn_one, item, label))
        yield f"calls of predict_one, {name}", calls(partial(fusion.predict_one, item))
        counted = {}
        for rows in (10, 90, 140, 240):  # few rows are run in another way, and so are those of several blocks
            begin = 10 * rows
            work = partial(fusion.learn, votes[begin : begin + rows], labels[begin : begin + rows])
            work()  # which may compile
            counted[rows] = min(calls(work) for _ in range(3))  # some calls also update the calibration
        yield f"calls of learn, few rows, {name}", counted[10]
        yield f"calls for 80 more of few rows, {name}", counted[90] - counted[10]
        yield f"calls of learn, {name}", counted[140]
        yield f"calls for 100 more rows, {name}", counted[240] - counted[140]


def file_calls() -> Figures:
    """Yield the calls of a pass over 3000 rows of a file."""
    votes, labels = majority(3000, experts=EXPERTS, classes=CLASSES, noise=0.05)
    rows = [",".join(map(str, (*row, y))) for row, y in zip(votes.tolist(), labels.tolist(), strict=True)]
    head = ",".join([*(f"m{i}" for i in range(EXPERTS)), "truth"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        path.write_text("\n".join([head, *rows]) + "\n")

        def run() -> None:
            done = ResumableRun(Fusion(Perceptron()), open_stream(path, label="truth"))
            done._rows_per_second = 1e12  # the chunk size must not depend on the clock
            for _ in done:
                pass

        run()
        yield "calls of a pass over 3000 rows", calls(run)


def mistake_counts() -> Figures:
    """Yield the mistakes on one problem: most rules update on mistakes, and updates take time."""
    votes, labels = majority(5000, experts=EXPERTS, classes=CLASSES, noise=0.05, relevant=10)
    for name, rule in RULES.items():
        yield f"mistakes in 5000, {name}", Fusion(rule, classes=range(CLASSES)).learn(votes, labels).mistakes


def memory_use() -> Figures:
    """Yield the bytes of a session, and the additional peak while an array is learned."""
    votes, labels = majority(20_000, experts=100, classes=10, noise=0.05)
    for name, learner in LEARNERS.items():
        fusion = Fusion(learner, classes=range(10))
        fusion.learn(votes[:500], labels[:500])
        yield f"bytes of a session, 100 experts, 10 classes, {name}", session_bytes(fusion)
    fusion = Fusion(Winnow(1.2), classes=range(10))
    fusion.learn(votes[:500], labels[:500])
    tracemalloc.start()
    fusion.learn(votes, labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield "bytes a row while 20,000 rows of 100 experts are learned", round(peak / len(votes), 1)


def import_counts() -> Figures:
    """Yield the number of imported modules."""
    yield "modules of import linmax", modules("import linmax")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "votes.csv"
        path.write_text("a,b,truth\n" + "x,y,x\ny,y,y\n" * 20)
        words = ["linmax", "fuse", str(path), "--learner", "Winnow(1.2)", "--json"]
        yield (
            "modules of linmax fuse",
            modules(f"import sys; sys.argv = {words}; from linmax.cli import app; app()"),
        )


def modules(code: str) -> int:
    """Count the modules that a program imports when its kernels are cached."""
    counted = 0
    for _ in range(2):  # the first may compile
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", code], capture_output=True, text=True, check=True
        )
        counted = done.stderr.count("import time:")
    return counted


def machine_code_size() -> Figures:
    """Yield the size of the cached machine code of the loops over trials, for hard votes."""
    votes, labels = majority(200, experts=EXPERTS, classes=CLASSES)
    for name, learner, kernel in (
        ("the compiled loop", BalancedWinnow(1.2), trials.run),
        ("the compiled loop that updates in place", Winnow(1.2), in_place.run),
    ):
        with compiling():
            Fusion(learner, classes=range(CLASSES)).learn(votes, labels)
        loop = kernel._staged
        file, codegen = loop._cache._cache_file, loop.targetctx.codegen()
        index = file._load_index()
        sizes = [
            Path(file._data_path(index[loop._cache._index_key(signature, codegen)])).stat().st_size
            for signature in loop.overloads
        ]
        yield f"bytes of {name}", max(sizes)
