"""Compilation with numba, which only this package uses.

`CompiledKernel` compiles a loop over trials, `inline` and `separate` mark the functions it calls, and
`dispatched` and `overridable` make generic functions of the methods of NamedTuples. `interpreted()` runs the
same source as Python, with the same results. numba is imported when something is compiled.

Machine code is kept on disk (`disk_cache.py`), and two processes may compile what is missing (`parallel.py`).
`numba_internals.py` has what depends on internals of numba.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from linmax._jit.disk_cache import add_cache, is_on_disk
from linmax._jit.memory import Stage, describe
from linmax._jit.numba_internals import State, compiler_options, disable_compilation, load, warn, when_loaded
from linmax._jit.tiers import interpreted as interpreted
from linmax._jit.tiers import interpreting as interpreting
from linmax._jit.tiers import postponed, postpones, seconds_for

Function = TypeVar("Function", bound=Callable[..., Any])


@when_loaded
def _add_llvm() -> None:
    import linmax._jit.llvm  # noqa: F401 (registers what it has)


# --- kernels and the functions they call


class CompiledKernel:
    """A compiled loop: cached on disk, run without the GIL, never with fast-math.

    Parameters
    ----------
    python : function
        The loop. It is compiled at its first call with arguments of new types.
    """

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = python
        self._compiled: Any = None
        self._staged: Any = None  # the dispatcher of the machine code of stages
        self._stages: dict[Any, int] = {}
        self._options = State.options  # those of its dispatchers

    @property
    def compiled(self) -> Any:
        """numba's dispatcher of this kernel."""
        if not load():
            return self.python
        if self._compiled is None:
            self._compiled = _njit(self.python)
            add_cache(self._compiled, self.python)
        return self._compiled

    def __call__(self, *arguments: Any) -> Any:
        if interpreting():
            return self.python(*arguments)
        if self._compiled is None and postpones(seconds_for(arguments)):
            with postponed():
                return self.python(*arguments)
        compiled = self.compiled
        try:
            return compiled(*arguments)
        except Exception as error:
            if _types_of(arguments) in getattr(compiled, "signatures", ()):
                raise  # it was compiled and has failed since
            self._recover(error)
        return self(*arguments)

    def entry(self, *arguments: Any) -> Callable[..., Any]:
        """Return the machine code for arguments of these types; calling it checks no types."""
        if interpreting() or not load():
            return self.python
        compiled = self.compiled
        signature = _types_of(arguments)
        try:
            if signature not in compiled.overloads:
                compiled.compile(signature)
            return compiled.overloads[signature].entry_point  # type: ignore[no-any-return]
        except AttributeError as error:
            warn("learns single items a little slower", error)
            return self
        except Exception as error:
            self._recover(error)
        return self.entry(*arguments)

    def stage(self, *arguments: Any) -> Stage:
        """Bind all arguments but the last two, the range of trials; see `Stage`."""
        if interpreting() or not State.stages or not load():
            return Stage(self, arguments, 0)
        kind, words = describe(arguments)
        if kind not in self._stages:
            if State.thread.gathering is not None:
                waiting = Stage(self, arguments, 0, words)
                State.thread.gathering.add(self, kind, waiting)
                return waiting
            try:
                compiled, signature = self.stage_dispatcher(arguments)
                compiled.compile(signature)
            except Exception as error:
                self._recover(error)
                return self.stage(*arguments)
            try:
                self._stages[kind] = _stage_address(compiled, signature)
            except Exception as error:
                State.stages = False
                warn("runs its kernels one by one", error)
                return Stage(self, arguments, 0)
        return Stage(self, arguments, self._stages[kind], words)

    def stage_dispatcher(self, arguments: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the dispatcher of the code that reads its arguments from memory, and its signature."""
        compiled = self._staged  # another thread may replace it meanwhile
        if compiled is None:
            from linmax._jit.llvm import stage_of

            compiled = self._staged = _njit(stage_of(separate(self.python)))
            add_cache(compiled, self.python)
        return compiled, _stage_types(arguments)

    def compilations(self) -> int:
        """Return for how many types of arguments this process holds machine code."""
        return len(getattr(self._compiled, "signatures", ())) + len(self._stages)

    def is_on_disk(self) -> bool:
        """Tell whether its machine code is on disk, for any types of arguments."""
        return is_on_disk(self.compiled)

    def _recover(self, error: Exception) -> None:
        """Change to options that work after a failed compilation, or to Python."""
        outdated = self._options is not State.options  # another compilation has failed meanwhile
        if not outdated and not drop_reference_option():
            disable_compilation(error)
        self._compiled = self._staged = None
        self._stages.clear()
        self._options = State.options


def _njit(python: Callable[..., Any]) -> Any:
    """Return numba's dispatcher of a kernel, which compiles nothing yet."""
    import numba

    return numba.njit(nogil=True, **compiler_options()[0], **State.options)(python)


def _types_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    from numba import typeof

    return tuple(map(typeof, arguments))


def _stage_types(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    from numba import types

    from linmax._jit.llvm import Bound

    return (types.int64, types.int64, types.int64, Bound(types.Tuple(_types_of(arguments))))  # type: ignore[no-untyped-call]


def _stage_address(compiled: Any, signature: tuple[Any, ...]) -> int:
    """Return the address of the machine code of a stage."""
    result = compiled.overloads[signature]
    name = result.fndesc.llvm_cfunc_wrapper_name
    address = int(result.library.get_pointer_to_function(name))
    if not address:
        raise AttributeError(f"there is no function {name}")
    return address


def _nothing() -> None:
    pass


def drop_reference_option() -> bool:
    """Compile with reference counts if numba's option to leave them out is gone; tell whether it is."""
    if "_nrt" not in State.options:
        return False
    import numba

    try:
        numba.njit(**State.options)(_nothing).compile(())
    except Exception as reason:
        options = {name: value for name, value in State.options.items() if name != "_nrt"}
        try:
            numba.njit(**options)(_nothing).compile(())
        except Exception:
            return False
        State.options = options
        warn("compiles slower machine code", reason)
        return True
    return False


def _part(function: Function, **options: Any) -> Function:
    def register() -> None:
        from numba.extending import register_jitable

        register_jitable(**options, **compiler_options()[1])(function)

    when_loaded(register)
    return function


def inline(function: Function) -> Function:
    """Mark a small function that kernels and rules call; it is compiled into its callers."""
    return _part(function, forceinline=True)


def separate(function: Function) -> Function:
    """Mark a function that kernels call rarely; it stays a function in them, so that they compile faster."""
    return _part(function, forceinline=False)


def dispatched(stub: Function) -> Function:
    """Make a generic function: it calls the method of this name of its first argument, a NamedTuple.

    Compiled, the method is looked up by type, at compile time. Nothing is registered on a type, so fields and
    methods of other NamedTuples are unaffected. The stub has no body.
    """
    return _generic(stub, None)


def dispatched_inline(stub: Function) -> Function:
    """Do what `dispatched` does for methods that run in every trial: they are compiled into their callers."""
    return _generic(stub, None, forceinline=True)


def overridable(function: Function) -> Function:
    """Make a function that a NamedTuple replaces with its method of this name; others get its own body.

    It is what `dispatched` is, for a first argument that may also be an array.
    """
    return _generic(function, function)


def _generic(function: Function, default: Function | None, **options: Any) -> Function:
    """Make a generic function with the name and the parameters of this one."""
    name = function.__name__

    @functools.wraps(function)
    def generic(first: Any, *others: Any) -> Any:
        if default is None or (isinstance(first, tuple) and hasattr(first, name)):
            return getattr(first, name)(*others)
        return default(first, *others)

    def register() -> None:
        from numba.extending import overload

        def implementation(*arguments: Any) -> Any:
            method = getattr(getattr(arguments[0], "instance_class", None), name, None)
            return method if inspect.isfunction(method) else default

        implementation.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        overload(generic, strict=False, jit_options=compiler_options()[1] | options)(implementation)

    when_loaded(register)
    return generic  # type: ignore[return-value]
