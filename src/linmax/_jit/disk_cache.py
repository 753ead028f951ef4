"""The disk cache of machine code: what is stored, loaded, and when it is stale.

numba stamps machine code on disk with the file of its function. Here the stamp also has a digest of all files
that kernels are compiled from, and all that a function of the user refers to: an edit never runs old code.
"""

import functools
import hashlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linmax._jit.numba_internals import State, disable_cache

COMPILED = ("_jit", "kernels", "rules")  # packages

# modules that change only together with the version of Python, numpy, numba or linmax
STABLE_MODULES = {*sys.stdlib_module_names, "numpy", "numba", "linmax"}


@functools.cache
def _cache_class() -> Any:
    """Return numba's cache of one function, with our stamp, that never raises."""
    from numba.core.caching import FunctionCache

    class StampedCache(FunctionCache):
        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__(function)  # type: ignore[no-untyped-call]
            file = self._cache_file
            file._source_stamp = (file._source_stamp, sources_digest(), code_stamp(function))
            self._read_index = file._load_index
            self._read: Any = self._load_overload
            file._load_index = self._index  # type: ignore[method-assign]

        def _index(self) -> Any:
            # numba compares the stamp only after it has unpickled the index, which may name removed classes
            try:
                return self._read_index()  # type: ignore[no-untyped-call]
            except Exception:
                return {}

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            # skips numba's refresh of all its registries (0.5 s), which is needed to compile, not to load
            try:
                found = self._read(sig, target_context)
                # two processes that save at once may take the same file for two types of arguments
                return (
                    found
                    if found is None or found.signature.args == tuple(getattr(sig, "args", sig))
                    else None
                )
            except (AttributeError, TypeError) as error:
                disable_cache(error)
            except Exception:
                pass  # a damaged file: it is written again
            return None

        def save_overload(self, sig: Any, data: Any) -> None:
            if State.caches:
                try:
                    super().save_overload(sig, data)  # type: ignore[no-untyped-call]
                except OSError:
                    pass  # a full or read-only disk: compiled again in the next process
                except Exception as error:
                    disable_cache(error)

    return StampedCache


def add_cache(compiled: Any, function: Callable[..., Any]) -> None:
    """Let a compiled function be loaded from and saved to disk, if it can be stamped."""
    if not State.caches:
        return
    try:
        code_stamp(function)
    except TypeError:
        return
    try:
        cache = _cache_class()(function)
    except (RuntimeError, OSError):
        return  # typed into a session, or no folder can be written to
    except Exception as error:
        return disable_cache(error)
    if hasattr(compiled, "_cache"):
        compiled._cache = cache
    else:
        disable_cache(f"{type(compiled).__name__}._cache is missing")


def is_on_disk(compiled: Any) -> bool:
    """Tell whether machine code of a function is on disk, made from the files as they are now."""
    try:
        return bool(compiled._cache._cache_file._load_index())
    except Exception:
        return False  # there is no cache, or it cannot be told


def is_stage_on_disk(compiled: Any, signature: Any) -> bool:
    """Tell whether machine code for these types is on disk, or would not be stored there."""
    try:
        key = compiled._cache._index_key(signature, compiled.targetctx.codegen())
        return key in compiled._cache._cache_file._load_index()
    except Exception:
        return True  # there is no cache, or it cannot be told


# --- stamps


@functools.cache
def sources_digest() -> str:
    """Return a digest of all files that kernels are compiled from."""
    digest = hashlib.sha256()
    home = Path(__file__).parent.parent
    for path in sorted(path for part in COMPILED for path in (home / part).rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_digested(thing: Any) -> bool:
    """Tell whether a function or class is defined in a file that `sources_digest` covers."""
    module = str(getattr(thing, "__module__", ""))
    return module.startswith(tuple(f"linmax.{package}." for package in COMPILED))


def code_stamp(function: Callable[..., Any], callers: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Return all that is compiled into a function from outside the digested files, itself included.

    Raises TypeError when something in it cannot be stamped; the function is then compiled in each process.
    """
    if is_digested(function) or function in callers:
        return ()
    code = function.__code__
    if code.co_freevars or any(inspect.iscode(constant) for constant in code.co_consts):
        raise TypeError("a function defined inside a function has no stamp")
    found: list[Any] = [code.co_code, repr(code.co_consts)]
    for name in code.co_names:
        thing = function.__globals__.get(name)
        if inspect.isfunction(thing):
            found.append((name, code_stamp(thing, (*callers, function))))
        elif inspect.ismodule(thing):
            if thing.__name__.split(".")[0] not in STABLE_MODULES:
                raise TypeError(f"{thing.__name__} may change")
        elif name in function.__globals__ and not is_digested(thing):
            if not isinstance(thing, int | float | str | tuple | None):
                raise TypeError(f"{name} has no stamp")
            found.append((name, repr(thing)))
    return tuple(found)
