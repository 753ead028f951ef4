"""linmax runs with the same results where internals of numba are missing, and warns once."""

import ast
import fcntl
import os
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import linmax
from linmax._jit import addresses, compilation, numba_internals
from tests.helpers.forks import Forks, forks
from tests.kernels.numba_changes import ALIKE, CHANGES, ONE_BY_ONE, SLOWER, SLOWLY, UNCOMPILED

# numba itself must have used what is removed then, or it would fail, too
PRELUDE = """
numba.njit(lambda x: x ** 0.5)(2.0)
numba.cfunc("float64(float64)")(lambda x: x * 0.5)
"""
PROGRAM = """
import warnings
import numba
{change}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    {work}
print(*results)
print([str(w.message) for w in caught if w.category.__name__ == "CompilationWarning"])
print([str(w.message) for w in caught if w.category.__name__ != "CompilationWarning"])
"""

# a small kernel that uses everything: generic functions, a function by address, vectors, the cache, a direct
# call, and a stage
SMALL_KERNEL = """
import ctypes
import numpy as np
from linmax import Perceptron
from linmax._jit.addresses import UPDATE, parameters, reach, update_at
from linmax._jit.compilation import CompiledKernel
from linmax._jit.vectors import put, take
from linmax.kernels.forms import Hard
from linmax.kernels.forms.base import append_z

def loop(form, q, index, value, p, s, theta, w, address, begin, end):
    update = update_at(address)
    for t in range(begin, end):
        count = append_z(form, t, 2, q, 0, index, value, 0)
        update(p, s, theta, w, index[:count], value[:count], 0.0)
    put(s, 0, take(s, 0) * 0.75)

kernel = CompiledKernel(loop)

def main(staged):
    form = Hard(np.array([[0, 1], [1, 0], [0, 0]], dtype=np.int32))
    theta, w, s = np.zeros(2), np.zeros(2), np.ones(8)
    address = reach(Perceptron.update, UPDATE)
    arguments = (
        form, np.array([1.0, -0.5, 0.0]), np.zeros(3, dtype=np.int64), np.zeros(3),
        parameters(Perceptron().parameters()), s, theta, w, address,
    )
    kernel(*arguments, 0, 3)
    kernel.entry(*arguments, 0, 3)(*arguments, 0, 3)
    if not staged:  # a stage is compiled on its own: only for changes that concern it
        kernel(*arguments, 0, 3)
        return w.tobytes().hex() + s.tobytes().hex()
    stage = kernel.stage(*arguments)
    if stage.address:
        machine_code = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(stage.address)
        machine_code(stage.memory.ctypes.data, 0, 3, 0)
    else:
        stage(0, 3)
    return w.tobytes().hex() + s.tobytes().hex()
"""
SMALL = """
    import small_kernel
    results = [small_kernel.main(STAGED)]
"""
WHOLE = """
    from linmax import Averaged, Fusion, Mixture, NaiveBayes, Perceptron, QuasiAdditive, Voted, Winnow
    from linmax.problems import majority
    votes, labels = majority(40, noise=0.1)
    results = []
    for learner in (
        Averaged(Winnow(1.2)), QuasiAdditive("square"), Mixture([Perceptron(), NaiveBayes()]),
        Voted(Averaged(Winnow(1.3)), hypotheses=3, recent=9, patience=3),
    ):
        fusion = Fusion(learner, classes=range(5))
        fusion.learn(votes[:30], labels[:30])
        for row, label in zip(votes[30:].tolist(), labels[30:].tolist()):
            fusion.learn_one(dict(enumerate(row)), label)
        results += [array.tobytes().hex() for array in fusion.state().values()]
"""


def run(forks: Forks, change: str, work: str, folder: Path, cache: Path, *, staged: bool = True) -> list[str]:
    """What a fresh process prints after a change of numba."""
    program = PROGRAM.replace("{change}", textwrap.dedent(change)).replace("    {work}\n", work.lstrip("\n"))
    program = program.replace("STAGED", str(staged))
    return forks.run(program, [Path(linmax.__file__).parents[1], folder], cache).splitlines()


@pytest.fixture(scope="module")
def fresh() -> Iterator[Forks]:
    with forks(PRELUDE) as made:
        yield made


class Expected(NamedTuple):
    """The results with numba as it is, and a cache that holds the machine code behind them."""

    results: str
    work: str
    folder: Path
    cache: Path


@pytest.fixture(
    scope="module", params=[SMALL, pytest.param(WHOLE, marks=pytest.mark.slow)], ids=["small", "whole"]
)
def expected(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fresh: Forks
) -> Expected:
    """The first worker that needs it compiles, the others wait and take what it has found."""
    work = request.param
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"fallbacks-{'whole' if work == WHOLE else 'small'}"
    cache, found = folder / "cache", folder / "results"
    cache.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            (folder / "small_kernel.py").write_text(SMALL_KERNEL)
            results, warned, others = run(fresh, "", work, folder, cache)
            assert (warned, others) == ("[]", "[]")
            found.write_text(results)
    return Expected(found.read_text(), work, folder, cache)


@pytest.mark.parametrize(
    "change", [pytest.param(name, marks=pytest.mark.slow if name in ALIKE else ()) for name in CHANGES]
)
def test_a_change_of_numba_gives_one_warning_and_the_same_results(
    change: str, expected: Expected, fresh: Forks, tmp_path: Path
) -> None:
    consequence, code = CHANGES[change]
    # what is loaded from disk is not compiled: only an empty cache shows that compiling fails
    cold = consequence in (SLOWER, SLOWLY, UNCOMPILED) or "save" in change
    cache = tmp_path if cold else expected.cache
    staged = consequence in (ONE_BY_ONE, SLOWLY, UNCOMPILED)
    found, warned, others = run(fresh, code, expected.work, expected.folder, cache, staged=staged)
    assert found == expected.results
    assert others == "[]"
    sentences = ast.literal_eval(warned)
    assert len(sentences) == 1, sentences
    assert consequence in sentences[0]
    assert "results are the same" in sentences[0]


def test_a_dispatcher_without_overloads_is_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = compilation.CompiledKernel(lambda x: 2.0 * x)
    monkeypatch.setattr(numba_internals.State, "warned", set())
    monkeypatch.setattr(kernel, "_compiled", lambda x: 2.0 * x)
    with pytest.warns(numba_internals.CompilationWarning, match="single items a little slower"):
        assert kernel.entry(3.0)(3.0) == 6.0
    assert kernel.entry(3.0)(3.0) == 6.0  # no second warning


def test_a_kernel_that_fails_after_it_was_compiled_raises() -> None:
    """Only a failed compilation is run again, as Python: a second run would update twice."""

    def fail(x: float) -> float:
        if x > 0.0:
            raise ZeroDivisionError("seen")
        return x

    kernel = compilation.CompiledKernel(fail)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZeroDivisionError, match="seen"):
            kernel(1.0)
    assert not compilation.interpreting()


def test_an_interpreted_kernel_takes_addresses_too() -> None:
    """Arguments made for machine code serve a kernel that turns out not to compile."""

    def half(x: float) -> float:
        return 0.5 * x

    address: Any = addresses.reach(half, addresses.LINK)
    assert isinstance(address, int)
    assert addresses.link_at(address)(3.0) == 1.5
    assert addresses.link_at(float(address)) is half
    assert addresses.link_at(half) is half
