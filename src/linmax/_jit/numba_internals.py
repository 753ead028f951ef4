"""What linmax uses of numba's internals, and what it does where one is missing."""

import contextlib
import functools
import gc
import importlib
import inspect
import os
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any


class CompilationWarning(RuntimeWarning):
    """An internal of numba that linmax relies on is missing; results are the same, runs are slower."""


def _is_switched_on() -> bool:
    """Tell whether numba compiles, as far as can be told without importing it."""
    if "numba" in sys.modules:
        return not getattr(getattr(sys.modules["numba"], "config", None), "DISABLE_JIT", 0)
    return os.environ.get("NUMBA_DISABLE_JIT", "").strip() in ("", "0")


class State:
    """What this process can do: fallbacks switch these off."""

    compiles = _is_switched_on()
    loaded = False  # has numba been imported, and what kernels call been registered?
    pending: list[Callable[[], None]] = []  # noqa: RUF012
    caches = True
    stages = True  # can kernels be run with arguments that stay in memory?
    # kernels allocate nothing, and counting references to the arrays they are given costs atomic operations
    options: dict[str, Any] = {"error_model": "numpy", "_nrt": False}  # noqa: RUF012
    compiles_parts_alone: bool | None = None  # as well as into their kernels; None: not known yet
    warned: set[str] = set()  # noqa: RUF012
    # True inside `interpreted()`, and the `parallel.gathering` that is open
    thread: Any = type("Thread", (threading.local,), {"interpreting": False, "gathering": None})()


_loading = threading.RLock()


def load() -> bool:
    """Import numba, if that has not been done; tell whether kernels are compiled."""
    if not State.loaded:
        with _loading:
            _register_pending()
            State.loaded = True
    return State.compiles


def when_loaded(register: Callable[[], None]) -> None:
    """Call a function that registers something with numba: when numba is loaded, or at once if it is."""
    with _loading:
        State.pending.append(register)
        if State.loaded:
            _register_pending()


def _import_numba() -> None:
    with contextlib.suppress(BaseException):
        importlib.import_module("numba")


def _register_pending() -> None:
    while State.pending and State.compiles:
        if "numba" not in sys.modules:
            # in a thread, where no interrupt can leave it half imported for the rest of the process
            thread = threading.Thread(target=_import_numba)
            with contextlib.suppress(RuntimeError):  # no thread can be started, for example at the end
                thread.start()
                thread.join()
        import numba  # an error of the import is raised here

        if getattr(numba.config, "DISABLE_JIT", 0):  # a file may say so, too
            State.compiles = False
            return
        try:
            State.pending[0]()
        except ImportError as missing:
            disable_compilation(missing)
        del State.pending[0]  # after an interrupt, it is called again


def warn(consequence: str, error: object) -> None:
    """Warn once per consequence."""
    import numba

    if consequence not in State.warned:
        State.warned.add(consequence)
        reason = f"{type(error).__name__}: {error}".splitlines()[0] if isinstance(error, Exception) else error
        warnings.warn(
            f"linmax {consequence}, because numba {numba.__version__} lacks an internal it uses ({reason});"
            " results are the same, and another version of numba or linmax restores the speed",
            CompilationWarning,
            stacklevel=3,
        )


def disable_cache(error: object) -> None:
    """Compile in each process from now on."""
    State.caches = False
    warn("compiles again in each process", error)


def disable_compilation(error: object) -> None:
    """Run everything as Python from now on."""
    State.compiles = False
    warn("runs uncompiled", error)


def _compile_parts_alone(error: object) -> None:
    State.compiles_parts_alone = True
    warn("compiles more slowly", error)


# --- faster compilation


def _library_class() -> Any:
    """Return numba's collection of the LLVM code of one function, without optimization and machine code.

    A kernel contains the code of all functions that it calls, and is optimized and translated as a whole.
    numba does both for each of these functions, too, and nothing ever calls the result.
    """
    from numba.core.codegen import JITCodeLibrary

    class PartLibrary(JITCodeLibrary):
        @property
        def codegen(self) -> Any:
            return self  # numba calls only `set_env` of it

        def set_env(self, name: str, environment: Any) -> None:
            # code that calls Python, for example to print, may read its environment from a global variable
            module = self._final_module
            calls_python = any(function.name.startswith("Py") for function in module.functions)
            if calls_python and str(module).count(name) > 1:
                super()._finalize_final_module()  # type: ignore[no-untyped-call]
                codegen: Any = self._codegen
                codegen.set_env(name, environment)

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()  # type: ignore[no-untyped-call]
            return 0  # as numba does for a function that Python cannot call

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
            self._finalized = True

    for name in ("codegen", "get_pointer_to_function", "_optimize_final_module", "_finalize_final_module"):
        getattr(JITCodeLibrary, name)  # raises AttributeError: overriding it would have no effect
    return PartLibrary


def _compiler_classes() -> tuple[Any, Any]:
    """Return numba's compiler for kernels, and for their parts: the functions that kernels call."""
    import numba
    from numba.core.compiler import Compiler

    if "pipeline_class" not in inspect.signature(numba.jit).parameters:
        raise AttributeError("numba.jit has no parameter pipeline_class")
    library_class = _library_class()

    class KernelCompiler(Compiler):
        def compile_extra(self, func: Any) -> Any:
            enabled = gc.isenabled()
            gc.disable()  # it finds little meanwhile, and takes a few percent of the time
            try:
                return super().compile_extra(func)  # type: ignore[no-untyped-call]
            finally:
                if enabled:
                    gc.enable()

    class PartCompiler(Compiler):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)  # type: ignore[no-untyped-call]
            if State.compiles_parts_alone is None:
                _try_parts()
            if not State.compiles_parts_alone:
                library = library_class(self.state.targetctx.codegen(), "part")
                library.enable_object_caching()
                self.state.library = library
                self.state.flags.no_cfunc_wrapper = True

    return KernelCompiler, PartCompiler


@functools.cache
def compiler_options() -> tuple[Any, Any]:
    """Return the options of numba that make it compile kernels, and their parts, faster."""
    try:
        kernel, part = _compiler_classes()
    except Exception as error:
        _compile_parts_alone(error)
        return {}, {}
    return {"pipeline_class": kernel}, {"pipeline_class": part}


def _half(x: float) -> float:
    return 0.5 * x


def _quarter(x: float) -> float:
    return 0.5 * _half(x)


def _try_parts() -> None:
    """Compile a function with a part, and compile parts as numba does if that fails."""
    State.compiles_parts_alone = False
    try:
        import numba
        from numba.extending import register_jitable

        register_jitable(**compiler_options()[1])(_half)
        if numba.njit(**compiler_options()[0])(_quarter)(1.0) != 0.25:
            raise ValueError("wrong result")
    except Exception as error:
        _compile_parts_alone(error)
