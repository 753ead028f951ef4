"""The one place that knows numba: kernels, the verbs of forms, function pointers, and the disk cache.

Three facts shape it. A kernel cached by numba is stamped with its own file only, so an edit in another file
would run stale machine code: here every stamp also holds a digest of all sources that kernels call into. A
rule reaches a kernel as an integer address, so one compiled kernel serves every rule, and no function object
has to be unpacked at each call. And everything compiled is plain Python underneath: `interpreted()` runs the
same source without numba.
"""

import contextlib
import ctypes
import functools
import hashlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import llvmlite.binding
import numba
import numpy as np
from numba import types
from numba.core import caching, cgutils
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.extending import intrinsic, overload, overload_method, register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

# no reference counts: a kernel allocates nothing, and counting the arrays it is handed costs atomic
# operations
_OPTIONS: Any = {"error_model": "numpy", "_nrt": False}

COMPILED = ("_jit.py", "rules/*.py", "kernels/*.py", "kernels/forms/*.py")

STEADY = {*sys.stdlib_module_names, "numpy", "numba", "linmax"}

COMPILES = not getattr(numba.config, "DISABLE_JIT", 0)  # set by NUMBA_DISABLE_JIT=1


@functools.cache
def _newest(*names: str) -> None:
    # numba links the oldest entry of a glibc function, which wraps the newest to set errno: same bits, slower
    assert cpu_target.target_context is not None  # numba installs its own choice when this is made
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL("libm.so.6")
        for name in names:
            llvmlite.binding.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


_interpreting = False


@contextlib.contextmanager
def interpreted() -> Iterator[None]:
    """Inside this, kernels and rules run as the Python they are written in."""
    global _interpreting
    before, _interpreting = _interpreting, True
    try:
        yield
    finally:
        _interpreting = before


def interpreting() -> bool:
    """Is Python running the kernels just now?"""
    return _interpreting or not COMPILES


# --- the disk cache


@functools.cache
def sources_digest() -> str:
    """A digest of all sources that kernels are made of: part of the stamp of all cached machine code."""
    digest = hashlib.sha256()
    home = Path(__file__).parent
    for path in sorted(path for part in COMPILED for path in home.glob(part)):
        digest.update(path.relative_to(home).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Cache(caching.FunctionCache):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        file = self._cache_file
        file._source_stamp = (file._source_stamp, sources_digest(), _outside(function, ()))
        file._load_index = functools.partial(_read_index, file._load_index)  # type: ignore[method-assign]

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # numba would wake here, which takes half a second; only what compiles has to, and does so by itself
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def _read_index(load: Callable[[], Any]) -> Any:
    # written by another version it may name what is no more, and numba looks at the stamp only after that
    try:
        return load()
    except Exception:
        return {}


def _outside(function: Callable[..., Any], above: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a user's function takes from outside itself: it is compiled in, so it belongs to the stamp."""
    if function.__module__.startswith("linmax.") or function in above:
        return ()
    code = function.__code__
    if code.co_freevars or any(inspect.iscode(constant) for constant in code.co_consts):
        raise TypeError("a function in a function has no stamp")
    taken: list[Any] = [code.co_code, repr(code.co_consts)]
    for name in code.co_names:
        thing = function.__globals__.get(name)
        if inspect.isfunction(thing):
            taken.append((name, _outside(thing, (*above, function))))
        elif inspect.ismodule(thing):
            if thing.__name__.split(".")[0] not in STEADY:
                raise TypeError(f"{thing.__name__} may change")
        elif name in function.__globals__:
            if not isinstance(thing, int | float | str | tuple | None):
                raise TypeError(f"{name} has no stamp")
            taken.append((name, repr(thing)))
    return tuple(taken)


def _cached(compiled: Any, function: Callable[..., Any]) -> Any:
    # what has no stamp (typed into a notebook, or using things that may change) compiles anew in each process
    with contextlib.suppress(RuntimeError, OSError, TypeError):
        compiled._cache = _Cache(function)
    return compiled


# --- kernels and the verbs of forms


class Kernel:
    """A loop over trials: compiled, cached on disk, run without the GIL and never with fast-math."""

    def __init__(self, python: Callable[..., Any]) -> None:
        self.python = python

    @functools.cached_property
    def compiled(self) -> Any:
        """What numba makes of it, when it is first asked for."""
        return (
            _cached(numba.njit(nogil=True, **_OPTIONS)(self.python), self.python) if COMPILES else self.python
        )

    def __call__(self, *arguments: Any) -> Any:
        return (self.python if interpreting() else self.compiled)(*arguments)

    def entry(self, *arguments: Any) -> Callable[..., Any]:
        """The machine code for arguments of these very types: no look-up per call, and no check either."""
        if interpreting():
            return self.python
        signature = tuple(map(numba.typeof, arguments))
        if signature not in self.compiled.overloads:
            self.compiled.compile(signature)
        return self.compiled.overloads[signature].entry_point  # type: ignore[no-any-return]

    def compilations(self) -> int:
        """For how many kinds of arguments this process holds machine code."""
        return len(self.compiled.overloads) if COMPILES else 0


def inline(function: Function) -> Function:
    """A small function that kernels and rules call: compiled into them, plain Python otherwise."""
    return register_jitable(forceinline=True)(function)


def apart(function: Function) -> Function:
    """The same for what is called seldom: machine code of its own, so that its callers compile fast."""
    return register_jitable(function)


def verb(pattern: Callable[..., Any]) -> None:
    """Teach numba that a NamedTuple's own method of this name and signature is its compiled method, too."""
    if not COMPILES:
        return
    name = pattern.__name__

    def method(*arguments: Any, **named: Any) -> Any:
        form = (*arguments, *named.values())[0]
        return getattr(form.instance_class, name, None)

    method.__signature__ = inspect.signature(pattern)  # type: ignore[attr-defined]
    overload_method(types.BaseNamedTuple, name)(method)


# --- function pointers

_floats = types.float64[::1]
_indices = types.int64[::1]
_flags = types.uint8[::1]

UPDATE = types.int64(_floats, _floats, _floats, _floats, _indices, _floats, types.float64)
JOIN = types.void(_floats, _floats, _floats, _floats, _indices)
SETTLE = types.void(_floats, _floats, _floats, _floats, _flags)
LINK = types.float64(types.float64)
FEATURE = types.float64(types.float64, types.float64)
MERCER = types.float64(_floats, _floats)


@functools.cache
def pointer(function: Callable[..., Any], signature: Any) -> Any:
    """Compile a function to a fixed signature; its machine code is at `pointer(...).address`."""
    _newest("exp", "pow")
    callback = CFunc(function, (signature.args, signature.return_type), locals={}, options=dict(_OPTIONS))
    _cached(callback, function)
    try:
        callback.compile()
    except NumbaError as error:
        lines = [line.strip() for line in str(error).splitlines()]
        if any("NRT required" in line for line in lines):
            lines = ["it makes an array, and kernels allocate nothing; write it as a loop over numbers"]
        reason = next(
            (line for line in lines if line and not line.startswith("Failed in")), "no reason given"
        )
        raise ValueError(
            f"{function.__module__}.{function.__qualname__} cannot be compiled: {reason}"
        ) from None
    return callback


def reach(function: Callable[..., Any], signature: Any) -> Any:
    """What a kernel calls a function by: its address or, when interpreting, the function itself."""
    return function if interpreting() else pointer(function, signature).address


def parameters(values: tuple[Any, ...]) -> np.ndarray:
    """A rule's parameters as kernels see them; a function becomes its address (exact in a float)."""
    reached = [reach(value, LINK) if callable(value) else float(value) for value in values]
    return np.array(reached, dtype=object if any(callable(value) for value in reached) else np.float64)


def _function_at(signature: Any) -> Callable[[Any], Any]:
    def at(address: Any) -> Any:
        return address  # when interpreting, it is the function itself

    if not COMPILES:
        return at

    @intrinsic
    def cast(typingctx: Any, address: Any) -> Any:
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

    @overload(at, strict=False)
    def _(address: Any) -> Any:
        return lambda address: cast(address)  # type: ignore[call-arg]

    return at


update_at = _function_at(UPDATE)
join_at = _function_at(JOIN)
settle_at = _function_at(SETTLE)
link_at = _function_at(LINK)
feature_at = _function_at(FEATURE)
mercer_at = _function_at(MERCER)
