"""Compiled code: never stale, never compiled twice, and equal to its source."""

import gc
import importlib.util
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.codegen import JITCodeLibrary

import linmax
import linmax.evaluate
import linmax.svm
from linmax import Alma, Averaged, Fusion, Logistic, Perceptron, QuasiAdditive, Winnow
from linmax._jit import compilation
from linmax._jit import disk_cache as cache_module
from linmax._jit.llvm import stage_of
from linmax.kernels import in_place, recycling, trial
from linmax.kernels.ensembles import naive_bayes
from linmax.kernels.forms import base, shared
from linmax.problems import majority
from tests.helpers.forks import Forks, disk_cache

SOURCES = Path(linmax.__file__).parent

# two kernels that compile in a moment: both call a method of a form, in another file
SMALL_KERNEL = """
from linmax._jit.compilation import CompiledKernel
from linmax.kernels.forms.base import append_z


def differences(form, q, index, value, begin, end):
    for t in range(begin, end):
        append_z(form, t, 2, q, 0, index, value, 0)


def halves(form, q, index, value, begin, end):
    for t in range(begin, end):
        append_z(form, t, 2, q, 0, index, value, 0)
        for j in range(len(value)):
            value[j] *= 0.5


run = CompiledKernel(differences)
run_halves = CompiledKernel(halves)
"""
# one as a call and as a stage, which share an index on disk, and another one as a stage
SMALL = """
import ctypes
import numpy as np
from linmax.kernels.forms import Hard
from linmax.kernels.small import run, run_halves
machine_code = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)
def arguments():
    form = Hard(np.array([[0, 1]], dtype=np.int32))
    return form, np.array([-1.0, 1.0]), np.zeros(2, dtype=np.int64), np.zeros(2)
called = arguments()
run(*called, 0, 1)
value = called[-1].tolist()
for kernel, factor in ((run_halves, 2.0), (run, 1.0)):
    stage = kernel.stage(*arguments())
    machine_code(stage.address)(stage.memory.ctypes.data, 0, 1, 0)
    assert (factor * stage.arguments[-1]).tolist() == value
dispatchers = run.compiled, run._staged, run_halves._staged
print(value, [sum(dispatcher.stats.cache_hits.values()) for dispatcher in dispatchers])
"""
WHOLE = """
import numpy as np
from linmax import Fusion, Winnow
from linmax.experts import Votes
from linmax.kernels import program, trial
votes = np.array([[0, 1], [0, 1], [1, 0]], dtype=np.int32)
fusion = Fusion(Winnow(2.0).on(Votes()), classes=[0, 1])
fusion.learn(votes, [1, 1, 0])
dispatchers = trial.run._staged, program.run.compiled
print(fusion.state()["theta"].tolist(), [sum(one.stats.cache_hits.values()) for one in dispatchers])
"""


@pytest.mark.parametrize(
    "program", [SMALL, pytest.param(WHOLE, marks=pytest.mark.slow)], ids=["small", "whole"]
)
def test_a_second_process_loads_kernels_from_disk_and_an_edited_form_is_never_run_stale(
    program: str, fresh: Forks, tmp_path: Path
) -> None:
    home, cache = tmp_path / "home", tmp_path / "cache"

    def run(program: str) -> str:
        return fresh.run(program, [home], cache)

    shutil.copytree(SOURCES, home / "linmax", ignore=shutil.ignore_patterns("__pycache__"))
    (home / "linmax" / "kernels" / "small.py").write_text(SMALL_KERNEL)
    kernels = 3 if program == SMALL else 2
    compiled, loaded = [0] * kernels, [1] * kernels
    assert run(program) == f"[-1.0, 1.0] {compiled}"
    assert run(program) == f"[-1.0, 1.0] {loaded}"
    # numba wakes, which takes half a second, only where something is compiled
    asleep = program + "import sys; print('numba.np.linalg' in sys.modules)"
    assert run(asleep) == f"[-1.0, 1.0] {loaded}\nFalse"
    # an edit outside of the files that kernels are compiled from compiles nothing
    for path in (home / "linmax").rglob("*.py"):
        part = path.relative_to(home / "linmax")
        if part.parts[0] not in ("kernels", "rules", "_jit"):
            path.write_text("# a comment\n" + path.read_text())
    assert run(program) == f"[-1.0, 1.0] {loaded}"
    # a method in another file than the kernel's: numba's own stamp would not see this edit
    form = home / "linmax" / "kernels" / "forms" / "votes.py"
    form.write_text(form.read_text().replace("z = q[slot(", "z = 3.0 * q[slot("))
    assert run(program) == f"[-3.0, 3.0] {compiled}"
    # an index that names what is no more, as after an upgrade, is no reason to fail
    named = [index for index in cache.rglob("*.nbi") if b"Hard" in index.read_bytes()]
    assert len(named) == (2 if program == SMALL else 1)
    for index in named:
        version, *_ = index.read_bytes().partition(b"linmax")
        rest = index.read_bytes()[len(version) :]
        assert b"Hard" in rest
        index.write_bytes(version + rest.replace(b"Hard", b"Hars"))
    assert run(program) == f"[-3.0, 3.0] {compiled if program == SMALL else [0, 1]}"


def test_other_parameters_and_other_rules_compile_no_kernel() -> None:
    votes, labels = majority(200, noise=0.1)
    for first, others in (
        (Winnow(1.2), (Winnow(1.3), Winnow(1.05, slack=0.1, ties=True))),
        (
            Alma(3.5, alpha=0.9),
            (QuasiAdditive("square"), Logistic(decay="sqrt"), Winnow(1.2, rivals="violators")),
        ),
        (
            Perceptron(),
            (Perceptron(slack=0.5), Perceptron(rivals="violators"), Logistic(0.3), Averaged(Logistic())),
        ),
    ):
        Fusion(first, classes=range(5)).learn(votes, labels)
        before = trial.run.compilations(), in_place.run.compilations()
        assert max(before) > 0
        for learner in others:
            Fusion(learner, classes=range(5)).learn(votes, labels)
            assert (trial.run.compilations(), in_place.run.compilations()) == before, learner


def test_the_same_source_runs_without_numba() -> None:
    code = """
    import numpy as np
    from linmax import Averaged, Fusion, Recycled, Winnow
    from linmax.problems import majority
    votes, labels = majority(120, noise=0.1)
    fusion = Fusion(Averaged(Recycled(Winnow(1.2))), classes=range(5))
    print(fusion.learn(votes, labels).mistakes, fusion.state()["w"].tobytes().hex())
    """
    plain = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    votes, labels = majority(120, noise=0.1)
    fusion = Fusion(linmax.Averaged(linmax.Recycled(Winnow(1.2))), classes=range(5))
    mistakes = fusion.learn(votes, labels).mistakes
    assert plain.stdout.split() == [str(mistakes), np.asarray(fusion.state()["w"]).tobytes().hex()]


FOREIGN = """
from typing import NamedTuple
import numba
import numpy as np

NAMES = NAMES_HERE
Point = NamedTuple("Point", [(name, int) for name in NAMES])
Mixed = NamedTuple("Mixed", [(name, np.ndarray if i % 2 else float) for i, name in enumerate(NAMES)])

import linmax
from linmax.problems import majority
linmax.Fusion(linmax.Recycled(linmax.Averaged(linmax.Winnow(1.2)))).learn(*majority(50, noise=0.1))

source = "def total(p):\\n    return " + " + ".join(f"p.{name}" for name in NAMES)
space = {}
exec(source, space)
print(numba.njit(space["total"])(Point(*range(len(NAMES)))))
fields = (f"p.{name}[0]" if i % 2 else f"p.{name}" for i, name in enumerate(NAMES))
source = "def total(p):\\n    return " + " + ".join(fields)
exec(source, space)
values = (np.array([10.0 * i]) if i % 2 else float(i) for i in range(len(NAMES)))
print(numba.njit(space["total"])(Mixed(*values)))
"""


def generic_functions() -> list[str]:
    """The names of all generic functions, and those that were methods of every NamedTuple before."""
    modules = (base, in_place, naive_bayes, recycling)
    names = {
        name for module in modules for name in vars(module) if hasattr(vars(module)[name], "__wrapped__")
    }
    assert {"add_scores", "recycle", "count_vote", "update_weights"} <= names
    return sorted(names | {"size", "entry", "of", "note", "gap", "tally", "vote", "cell", "weigh", "marks"})


def test_fields_of_other_named_tuples_compile_as_before(fresh: Forks) -> None:
    """Other libraries may call their fields `size`, `entry` or `add_scores`."""
    names = generic_functions()
    printed = fresh.run(FOREIGN.replace("NAMES_HERE", repr(names)), [SOURCES.parent], disk_cache())
    n = range(len(names))
    assert printed.split() == [str(sum(n)), str(float(sum(10 * i if i % 2 else i for i in n)))]


def test_other_functions_are_compiled_and_collected_as_before() -> None:
    """Only parts of kernels get no machine code of their own."""

    @numba.njit
    def third(x: float) -> float:
        return x / 3.0

    @compilation.inline
    def twice(x: float) -> float:
        return 2.0 * x

    kernel = compilation.CompiledKernel(lambda x: twice(x) + third(x))
    assert kernel(3.0) == 7.0
    assert gc.isenabled()
    (result,) = third.overloads.values()
    assert type(result.library) is JITCodeLibrary
    assert result.entry_point(6.0) == 2.0
    assert numba.njit(lambda x: twice(x))(3.0) == 6.0


def test_a_part_of_a_kernel_may_print(capfd: pytest.CaptureFixture[str]) -> None:
    """Machine code refers to Python objects then."""

    @compilation.inline
    def tell(x: float) -> float:
        print("seen", x)
        return 2.0 * x

    kernel = compilation.CompiledKernel(lambda x: tell(x) + 1.0)
    assert kernel(3.0) == 7.0
    assert capfd.readouterr().out == "seen 3.0\n"


def test_every_kernel_can_be_stamped_and_so_cached() -> None:
    """A kernel without a stamp is compiled in each process; one with half a stamp would be run stale."""
    kernels = {
        f"{name}.{kernel.python.__name__}": kernel
        for name, module in list(sys.modules.items())
        if name.startswith("linmax.")
        for kernel in vars(module).values()
        if isinstance(kernel, compilation.CompiledKernel)
    }
    assert {"linmax.kernels.trial.trials", "linmax.svm.fill"} <= set(kernels)
    for name, kernel in kernels.items():
        digested = kernel.python.__module__.startswith("linmax.kernels.")
        assert (cache_module.code_stamp(kernel.python) == ()) == digested, name
    for phi in ("plain", "product", "ternary", "distance", "difference"):
        assert cache_module.code_stamp(getattr(shared, phi)) == ()


def test_the_stamp_changes_with_the_files_that_kernels_are_compiled_from_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(SOURCES, home / "linmax", ignore=shutil.ignore_patterns("__pycache__"))

    def digest() -> str:
        copy = home / "linmax" / "_jit" / "disk_cache.py"
        specification = importlib.util.spec_from_file_location("copied_cache", copy)
        assert specification is not None
        assert specification.loader is not None
        copied = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(copied)
        return str(copied.sources_digest())

    before = digest()
    assert before == cache_module.sources_digest()
    for name in (
        "svm.py",
        "experts/shared.py",
        "runtime/rule_runs/rule_run.py",
        "validation.py",
        "__init__.py",
    ):
        path = home / "linmax" / name
        path.write_text(path.read_text() + "\n# edited\n")
    assert digest() == before
    for name in (
        "_jit/addresses.py",
        "_jit/compilation.py",
        "_jit/disk_cache.py",
        "_jit/llvm.py",
        "_jit/memory.py",
        "_jit/numba_internals.py",
        "_jit/vectors.py",
        "rules/winnow.py",
        "kernels/update.py",
        "kernels/forms/votes.py",
    ):
        path = home / "linmax" / name
        path.write_text(path.read_text() + "\n# edited\n")
        after = digest()
        assert after != before
        before = after


def test_a_stage_does_not_depend_on_what_other_threads_compile() -> None:
    def double(x: np.ndarray, begin: int, end: int) -> None:
        for t in range(begin, end):
            x[t] *= 2.0

    kernel = compilation.CompiledKernel(double)

    class Replaced(type(numba.njit(double))):  # type: ignore[misc]
        def compile(self, signature: Any) -> Any:
            kernel._staged = numba.njit(double)  # as another thread does that began at the same time
            return super().compile(signature)

    kernel._staged = compilation._njit(stage_of(compilation.separate(double)))
    kernel._staged.__class__ = Replaced
    x = np.ones(3)
    stage = kernel.stage(x)
    assert stage.address
    stage(0, 2)
    assert x.tolist() == [2.0, 2.0, 1.0]
