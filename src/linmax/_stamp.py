"""Stamps of compiled code: what machine code on disk was made from, so that an edit never runs old code."""

import functools
import hashlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

OWN_FILES = ("_addresses", "_jit", "_llvm", "_memory", "_numba", "_vectors")
COMPILED = (*(f"{name}.py" for name in OWN_FILES), "rules/*.py", "kernels/*.py", "kernels/forms/*.py")

# modules that change only together with the version of Python, numpy, numba or linmax
STABLE_MODULES = {*sys.stdlib_module_names, "numpy", "numba", "linmax"}


@functools.cache
def sources_digest() -> str:
    """Return a digest of all files that kernels are compiled from."""
    digest = hashlib.sha256()
    home = Path(__file__).parent
    for path in sorted(path for part in COMPILED for path in home.glob(part)):
        digest.update(path.relative_to(home).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def is_digested(thing: Any) -> bool:
    """Tell whether a function or class is defined in a file that `sources_digest` covers."""
    module = str(getattr(thing, "__module__", ""))
    own = {f"linmax.{name}" for name in OWN_FILES}
    return module in own or module.startswith(("linmax.rules.", "linmax.kernels."))


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
