"""Functions by their address: `reach` turns a rule's function into one, so that one kernel serves every rule.

A kernel turns the address into a function again, by `update_at` and the like; when interpreting, both give
the function itself.
"""

import ctypes
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import drop_reference_option, interpreting
from linmax._jit.disk_cache import add_cache, is_digested
from linmax._jit.memory import call_at
from linmax._jit.numba_internals import State, compiler_options, disable_compilation, load, warn, when_loaded


class Signature(NamedTuple):
    """The types of a function that is called by its address; a plural is an array.

    Attributes
    ----------
    returns : str
        The type of the result.
    takes : tuple of str
        The types of the arguments.
    """

    returns: str
    takes: tuple[str, ...]


UPDATE = Signature("int", ("floats", "floats", "floats", "floats", "ints", "floats", "float"))
JOIN = Signature("nothing", ("floats", "floats", "floats", "floats", "ints"))
SETTLE = Signature("nothing", ("floats", "floats", "floats", "floats", "flags"))
LINK = Signature("float", ("float",))
FEATURE = Signature("float", ("float", "float"))
MERCER = Signature("float", ("floats", "floats"))
STAGE = Signature("nothing", ("int", "int", "int", "int"))


@functools.cache
def _typed(signature: Signature) -> Any:
    """Return the signature as numba has it."""
    from numba import types

    kinds = {
        "nothing": types.void, "int": types.int64, "float": types.float64,
        "ints": types.int64[::1], "floats": types.float64[::1], "flags": types.uint8[::1],
    }  # fmt: skip
    return kinds[signature.returns](*(kinds[kind] for kind in signature.takes))


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


def _compile_callback(function: Callable[..., Any], signature: Signature) -> Any:
    """Compile a function to a C callback, from the disk cache where numba allows it."""
    types = _typed(signature)
    try:
        from numba.core.ccallback import CFunc

        callback = CFunc(function, (types.args, types.return_type), locals={}, options=dict(State.options))
    except (ImportError, TypeError) as error:
        import numba

        warn("compiles rules again in each process", error)
        return numba.cfunc(types, **State.options)(function)
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
def pointer(function: Callable[..., Any], signature: Signature) -> Any:
    """Compile a function to a fixed signature; its machine code is at the `address` of the result.

    The result is None if numba compiles nothing at all; a ValueError says why it does not compile this one.
    """
    _link_newest("exp", "pow")
    try:
        callback = _compile_callback(function, signature)
        _functions[callback.address] = function
    except Exception as error:
        if drop_reference_option():
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


def reach(function: Callable[..., Any], signature: Signature) -> Any:
    """Return what a kernel calls a function by: its address or, when interpreting, the function itself."""
    callback = None if interpreting() or not load() else pointer(function, signature)
    return function if callback is None else callback.address


def parameters(values: tuple[Any, ...]) -> np.ndarray:
    """Return a rule's parameters as an array; a function becomes its address, which is exact in a float."""
    if not any(map(callable, values)):
        return np.array(values, np.float64)
    reached = [reach(value, LINK) if callable(value) else float(value) for value in values]
    return np.array(reached, dtype=object if any(map(callable, reached)) else np.float64)


def _function_at(signature: Signature) -> Callable[[Any], Any]:
    """Make the function that turns an address in a kernel into a function of this signature."""

    def at(address: Any) -> Any:
        if callable(address):
            return address
        if signature is STAGE:  # machine code, of which there is no Python function
            return call_at(int(address))
        return _functions[int(address)]

    def register() -> None:
        from numba import types
        from numba.extending import intrinsic, overload

        @intrinsic
        def cast(typingctx: Any, address: Any) -> Any:
            from numba.core import cgutils

            function = types.FunctionType(_typed(signature))

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

    when_loaded(register)
    return at


stage_at = _function_at(STAGE)
update_at = _function_at(UPDATE)
join_at = _function_at(JOIN)
settle_at = _function_at(SETTLE)
link_at = _function_at(LINK)
feature_at = _function_at(FEATURE)
mercer_at = _function_at(MERCER)
