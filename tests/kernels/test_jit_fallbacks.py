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

# what a later version of numba may do, and what linmax then says of itself
ONE_BY_ONE, RECACHED, SLOWER, SLOWLY, UNCOMPILED = (
    "runs its kernels one by one",
    "compiles again in each process",
    "compiles slower machine code",
    "compiles more slowly",
    "runs uncompiled",
)
MOVED = """
from numba.core import ccallback, sigutils
CFunc = ccallback.CFunc
def cfunc(signature, **options):
    def make(function):
        made = CFunc(function, sigutils.normalize_signature(signature), {}, options)
        made.compile()
        return made
    return make
numba.cfunc = cfunc
"""
CHANGES = {
    "FunctionCache is gone": (RECACHED, "from numba.core import caching; del caching.FunctionCache"),
    "caching has moved": (RECACHED, "import sys; sys.modules['numba.core.caching'] = None"),
    "_source_stamp is renamed": (
        RECACHED,
        """
        from numba.core import caching
        make = caching.IndexDataCacheFile.__init__
        def renamed(self, *arguments, **options):
            make(self, *arguments, **options)
            self._stamp = self.__dict__.pop("_source_stamp")
        caching.IndexDataCacheFile.__init__ = renamed
        """,
    ),
    "_load_index is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.IndexDataCacheFile._load_index",
    ),
    "_cache_file is renamed": (
        RECACHED,
        """
        from numba.core import caching
        make = caching.Cache.__init__
        def renamed(self, *arguments, **options):
            make(self, *arguments, **options)
            self._file = self.__dict__.pop("_cache_file")
        caching.Cache.__init__ = renamed
        """,
    ),
    "_load_overload is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.Cache._load_overload",
    ),
    "_load_overload takes other arguments": (
        RECACHED,
        """
        from numba.core import caching
        caching.Cache._load_overload = lambda self, sig: None
        """,
    ),
    "_save_overload is renamed": (
        RECACHED,
        "from numba.core import caching; del caching.Cache._save_overload",
    ),
    "CFunc has moved": ("compiles rules again", MOVED + "del ccallback.CFunc"),
    "CFunc takes other arguments": (
        "compiles rules again",
        MOVED + "ccallback.CFunc = lambda pyfunc, sig: None",
    ),
    "the option _nrt is gone": (
        SLOWER,
        """
        from numba.core.options import TargetOptions
        parse = TargetOptions.parse_as_flags.__func__
        def strict(cls, flags, options):
            if "_nrt" in options:
                raise KeyError("Unrecognized options: {'_nrt'}")
            return parse(cls, flags, options)
        TargetOptions.parse_as_flags = classmethod(strict)
        """,
    ),
    "the fields of a function are renamed": (
        UNCOMPILED,
        """
        from numba.core import types
        from numba.core.datamodel import models
        from numba.experimental import function_type
        def renamed(self, dmm, fe_type):
            names = ("c_address", "py_address", "jit_address")
            models.StructModel.__init__(self, dmm, fe_type, [(name, types.voidptr) for name in names])
        function_type.FunctionModel.__init__ = renamed
        """,
    ),
    "create_struct_proxy is gone": (
        UNCOMPILED,
        """
        from numba.core import cgutils
        make = cgutils.create_struct_proxy
        def refuse(fe_type, *arguments, **options):
            if type(fe_type).__name__ == "FunctionType":
                raise AttributeError("module 'numba.core.cgutils' has no attribute 'create_struct_proxy'")
            return make(fe_type, *arguments, **options)
        cgutils.create_struct_proxy = refuse
        """,
    ),
    "JITCodeLibrary has moved": (SLOWLY, "from numba.core import codegen; del codegen.JITCodeLibrary"),
    "Compiler has moved": (
        SLOWLY,
        # numba itself uses it in `compile_internal`
        """
        import types
        from numba.core import compiler
        own = compiler.compile_internal
        compiler.compile_internal = types.FunctionType(
            own.__code__, dict(vars(compiler)), own.__name__, own.__defaults__
        )
        del compiler.Compiler
        """,
    ),
    "the option pipeline_class is gone": (SLOWLY, "numba.jit = lambda *arguments, **options: None"),
    "_finalize_final_module is renamed": (
        SLOWLY,
        """
        from numba.core import codegen
        finalize = codegen.CPUCodeLibrary._finalize_final_module
        del codegen.CPUCodeLibrary._finalize_final_module
        codegen.CPUCodeLibrary.__getattr__ = lambda self, name: finalize.__get__(self)
        """,
    ),
    "more is asked of the code of a part": (
        SLOWLY,
        """
        from numba.core import cpu
        get = cpu.CPUContext.get_executable
        def ask(self, library, fndesc, env):
            library.codegen.magic_tuple()
            return get(self, library, fndesc, env)
        cpu.CPUContext.get_executable = ask
        """,
    ),
    "a part is not linked": (
        SLOWLY,
        """
        from numba.core import codegen
        add = codegen.CPUCodeLibrary.add_linking_library
        def refuse(self, library):
            if type(library) not in (codegen.JITCodeLibrary, codegen.AOTCodeLibrary):
                raise RuntimeError("unknown library")
            add(self, library)
        codegen.CPUCodeLibrary.add_linking_library = refuse
        """,
    ),
    "overload is gone": (UNCOMPILED, "import numba.extending; del numba.extending.overload"),
    "intrinsic is gone": (UNCOMPILED, "import numba.extending; del numba.extending.intrinsic"),
    "lower_builtin is gone": (UNCOMPILED, "import numba.extending; del numba.extending.lower_builtin"),
    "type_callable is gone": (UNCOMPILED, "import numba.extending; del numba.extending.type_callable"),
    "register_model is gone": (UNCOMPILED, "import numba.extending; del numba.extending.register_model"),
    "get_or_insert_function is gone": (
        UNCOMPILED,
        "from numba.core import cgutils; del cgutils.get_or_insert_function",
    ),
    "arrays are made in another way": (
        UNCOMPILED,
        """
        from numba.core import base
        make = base.BaseContext.make_array
        def refuse(self, kind):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.llvm":
                raise AttributeError("'CPUContext' object has no attribute 'make_array'")
            return make(self, kind)
        base.BaseContext.make_array = refuse
        """,
    ),
    "llvm_cfunc_wrapper_name is renamed": (
        ONE_BY_ONE,
        """
        from numba.core import funcdesc
        name = funcdesc.FunctionDescriptor.llvm_cfunc_wrapper_name.fget
        def refuse(self):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.compilation":
                raise AttributeError("no attribute 'llvm_cfunc_wrapper_name'")
            return name(self)
        funcdesc.FunctionDescriptor.llvm_cfunc_wrapper_name = property(refuse)
        """,
    ),
    "get_pointer_to_function is gone": (
        ONE_BY_ONE,
        """
        from numba.core import codegen
        get = codegen.JITCodeLibrary.get_pointer_to_function
        def refuse(self, name):
            import sys
            if sys._getframe(1).f_globals["__name__"] == "linmax._jit.compilation":
                raise AttributeError("no attribute 'get_pointer_to_function'")
            return get(self, name)
        codegen.JITCodeLibrary.get_pointer_to_function = refuse
        """,
    ),
    "a stage has no wrapper": (
        ONE_BY_ONE,
        """
        from numba.core import codegen
        get = codegen.JITCodeLibrary.get_pointer_to_function
        def find_none(self, name):
            import sys
            caller = sys._getframe(1).f_globals["__name__"]
            return 0 if caller == "linmax._jit.compilation" else get(self, name)
        codegen.JITCodeLibrary.get_pointer_to_function = find_none
        """,
    ),
    "cpu_target has moved": ("exp and pow", "from numba.core import registry; del registry.cpu_target"),
    "add_symbol is gone": ("exp and pow", "import llvmlite.binding; del llvmlite.binding.add_symbol"),
}  # fmt: skip


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


# they end in the same lines of linmax as another change does
ALIKE = (
    "caching has moved",
    "_load_index is renamed",
    "_cache_file is renamed",
    "CFunc takes other arguments",
    "Compiler has moved",
    "create_struct_proxy is gone",
    "lower_builtin is gone",
    "type_callable is gone",
    "register_model is gone",
    "get_or_insert_function is gone",
    "get_pointer_to_function is gone",
    "the option pipeline_class is gone",
    "_finalize_final_module is renamed",
    "a part is not linked",
)


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
