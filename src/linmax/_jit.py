"""Compilation with numba, which only this file, `_numba`, `_memory` and `_vectors` use.

`CompiledKernel` compiles a loop over trials, `inline` and `separate` mark the functions it calls,
`dispatched` and `overridable` make generic functions of the methods of NamedTuples, and `reach` turns a
rule's function into an address, so that one compiled kernel serves every rule. `interpreted()` runs the same
source as Python, with the same results.

Machine code is cached on disk. numba stamps a cached function with its own file only; here the stamp also
holds a digest of all files that kernels are compiled from (`linmax._stamp`). `linmax._numba` contains what
depends on internals of numba.
"""

import ctypes
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
from numba import types

from linmax._memory import STAGE, Bound, Stage, describe, stage_of
from linmax._numba import State, add_cache, compiler_options, disable_compilation, is_on_disk, warn
from linmax._stamp import is_digested
from linmax._tiers import interpreted as interpreted
from linmax._tiers import interpreting as interpreting
from linmax._tiers import postponed, postpones, seconds_for

Function = TypeVar("Function", bound=Callable[..., Any])


try:
    from numba.extending import intrinsic, overload, register_jitable
except ImportError as missing:
    disable_compilation(missing)


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

    @property
    def compiled(self) -> Any:
        """numba's dispatcher of this kernel."""
        if not State.compiles:
            return self.python
        if self._compiled is None:
            self._compiled = numba.njit(nogil=True, **compiler_options()[0], **State.options)(self.python)
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
            if tuple(map(numba.typeof, arguments)) in getattr(compiled, "signatures", ()):
                raise  # it was compiled and has failed since
            self._recover(error)
        return self(*arguments)

    def entry(self, *arguments: Any) -> Callable[..., Any]:
        """Return the machine code for arguments of these types; calling it checks no types."""
        if interpreting():
            return self.python
        compiled = self.compiled
        signature = tuple(map(numba.typeof, arguments))
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
        if interpreting() or not State.stages:
            return Stage(self, arguments, 0)
        kind, words = describe(arguments)
        if kind not in self._stages:
            try:
                signature = (*STAGE.args[:3], Bound(types.Tuple(tuple(map(numba.typeof, arguments)))))  # type: ignore[no-untyped-call]
                compiled = self._compile_stage(signature)
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

    def _compile_stage(self, signature: tuple[Any, ...]) -> Any:
        """Compile the code that takes its arguments from memory, and return the dispatcher that has it."""
        compiled = self._staged  # another thread may replace it meanwhile
        if compiled is None:
            compiled = self._staged = numba.njit(nogil=True, **compiler_options()[0], **State.options)(
                stage_of(separate(self.python))
            )
            add_cache(compiled, self.python)
        compiled.compile(signature)
        return compiled

    def compilations(self) -> int:
        """Return for how many types of arguments this process holds machine code."""
        return len(getattr(self._compiled, "signatures", ())) + len(self._stages)

    def is_on_disk(self) -> bool:
        """Tell whether its machine code is on disk, for any types of arguments."""
        return is_on_disk(self.compiled)

    def _recover(self, error: Exception) -> None:
        """Change to options that work after a failed compilation, or to Python."""
        if not _drop_reference_option():
            disable_compilation(error)
        self._compiled = self._staged = None
        self._stages.clear()


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


def _drop_reference_option() -> bool:
    """Compile with reference counts if numba's option to leave them out is gone; tell whether it is."""
    if "_nrt" not in State.options:
        return False
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
    if State.compiles:
        register_jitable(**options, **compiler_options()[1])(function)
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

    if State.compiles:

        def implementation(*arguments: Any) -> Any:
            method = getattr(getattr(arguments[0], "instance_class", None), name, None)
            return method if inspect.isfunction(method) else default

        implementation.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        overload(generic, strict=False, jit_options=compiler_options()[1] | options)(implementation)
    return generic  # type: ignore[return-value]


# --- functions by address

_floats = types.float64[::1]
_indices = types.int64[::1]
_flags = types.uint8[::1]

UPDATE = types.int64(_floats, _floats, _floats, _floats, _indices, _floats, types.float64)
JOIN = types.void(_floats, _floats, _floats, _floats, _indices)
SETTLE = types.void(_floats, _floats, _floats, _floats, _flags)
LINK = types.float64(types.float64)
FEATURE = types.float64(types.float64, types.float64)
MERCER = types.float64(_floats, _floats)

_functions: dict[int, Callable[..., Any]] = {}  # by address: an interpreted kernel may be given addresses


@functools.cache
def _link_newest(*names: str) -> None:
    """Link the newest version of functions: numba links the oldest, which is slower, same results."""
    try:
        library = ctypes.CDLL("libm.so.6")
        found = {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names}
    except (OSError, AttributeError):
        return  # not glibc
    try:
        import llvmlite.binding
        from numba.core.registry import cpu_target

        _ = cpu_target.target_context  # numba links its own choice when this is made
        for name, address in found.items():
            llvmlite.binding.add_symbol(name, address)
    except Exception as error:
        warn("computes exp and pow a little slower", error)


def _compile_callback(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function to a C callback, from the disk cache where numba allows it."""
    try:
        from numba.core.ccallback import CFunc

        callback = CFunc(
            function, (signature.args, signature.return_type), locals={}, options=dict(State.options)
        )
    except (ImportError, TypeError) as error:
        warn("compiles rules again in each process", error)
        return numba.cfunc(signature, **State.options)(function)
    add_cache(callback, function)
    callback.compile()
    return callback


def _reason(error: Exception) -> str:
    """Return the one line of a numba error that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines()]
    if any("NRT required" in line or "Only accept returning of array" in line for line in lines):
        return "it makes an array, and kernels allocate nothing; write it as a loop over numbers"
    return next((line for line in lines if line and not line.startswith("Failed in")), "no reason given")


@functools.cache
def pointer(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function to a fixed signature; its machine code is at the `address` of the result.

    The result is None if numba compiles nothing at all; a ValueError says why it does not compile this one.
    """
    _link_newest("exp", "pow")
    try:
        callback = _compile_callback(function, signature)
        _functions[callback.address] = function
    except Exception as error:
        if _drop_reference_option():
            return pointer.__wrapped__(function, signature)
        # a rule of our own compiles, unless numba changed
        own_rule = is_digested(function) and signature in (UPDATE, JOIN, SETTLE)
        if not own_rule and function is not _half and pointer(_half, LINK) is not None:
            raise ValueError(
                f"{function.__module__}.{function.__qualname__} cannot be compiled: {_reason(error)}"
            ) from None
        disable_compilation(error)
        return None
    return callback


def _half(x: float) -> float:
    return 0.5 * x


def reach(function: Callable[..., Any], signature: Any) -> Any:
    """Return what a kernel calls a function by: its address or, when interpreting, the function itself."""
    callback = None if interpreting() else pointer(function, signature)
    return function if callback is None else callback.address


def parameters(values: tuple[Any, ...]) -> np.ndarray:
    """Return a rule's parameters as an array; a function becomes its address, which is exact in a float."""
    if not any(map(callable, values)):
        return np.array(values, np.float64)
    reached = [reach(value, LINK) if callable(value) else float(value) for value in values]
    return np.array(reached, dtype=object if any(map(callable, reached)) else np.float64)


def _function_at(signature: Any) -> Callable[[Any], Any]:
    """Make the function that turns an address in a kernel into a function of this signature."""

    def at(address: Any) -> Any:
        return address if callable(address) else _functions[int(address)]

    if not State.compiles:
        return at

    @intrinsic
    def cast(typingctx: Any, address: Any) -> Any:
        from numba.core import cgutils

        function = types.FunctionType(signature)

        def codegen(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            struct: Any = cgutils.create_struct_proxy(function)(context, builder)  # type: ignore[no-untyped-call]
            number = arguments[0]
            if isinstance(address, types.Float):
                number = builder.fptoui(number, cgutils.intp_t)
            struct.c_addr = builder.inttoptr(number, struct.c_addr.type)
            struct.py_addr = struct.jit_addr = builder.inttoptr(cgutils.intp_t(0), struct.c_addr.type)
            return struct._getvalue()

        return function(address), codegen

    @overload(at, strict=False, jit_options=compiler_options()[1])
    def _(address: Any) -> Any:
        return lambda address: cast(address)  # type: ignore[call-arg]

    return at


stage_at = _function_at(STAGE)
update_at = _function_at(UPDATE)
join_at = _function_at(JOIN)
settle_at = _function_at(SETTLE)
link_at = _function_at(LINK)
feature_at = _function_at(FEATURE)
mercer_at = _function_at(MERCER)
