"""Compilation in two processes: a second one compiles some of the missing kernels into the disk cache.

A program binds all of its kernels before it runs one. Inside `gathering`, stages whose machine code is
missing wait, and are compiled at its end. If there are several, a process takes those at the end of the list,
one after the other, while this one begins at the front; what the process has compiled is then loaded from
disk. A process that fails, hangs or is killed costs time and nothing else: what it has not compiled is
compiled here.

It is started only where it can help: with a disk cache, two cores and an ordinary interpreter, and not by
workers of `multiprocessing`, each of which would start one. With LINMAX_COMPILE_PROCESSES=1 in the
environment, no process is started.
"""

import contextlib
import importlib
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from linmax._jit.disk_cache import is_stage_on_disk
from linmax._jit.memory import Stage
from linmax._jit.numba_internals import State, load

VARIABLE = "LINMAX_COMPILE_PROCESSES"
# seconds for what the process still compiles when all else is done; besides, twice the time of all else
PATIENCE = 10.0
LEAST = 2  # kernels that are missing; one alone is compiled here
DONE, FAILED = b"1", b"0"
# with the standard library and the folders of these packages, whatever else this process can import
PACKAGES = ("linmax", "numba", "llvmlite", "numpy", "scipy", "narwhals", "safetensors")
START = (
    "import json, sys; sys.path += json.loads(sys.stdin.buffer.readline());"
    "from linmax._jit.parallel import serve; serve()"
)

# a kernel, what decides the types of its arguments, and the stage that waits
Missing = tuple[Any, Any, Stage]


class gathering:  # noqa: N801 (a context manager)
    """Inside this context, in this thread, stages without machine code wait; at its end, all are compiled.

    The process is started when the second kernel is missing, so that it is ready when all of them are known.

    Attributes
    ----------
    waiting : list
        These stages.
    """

    def __init__(self) -> None:
        self.waiting: list[Missing] = []
        self._missing: dict[Any, dict[Any, Missing]] = {}  # what is not on disk, by kernel and types
        self._process: SecondProcess | None = None
        self._may_start = True

    def __enter__(self) -> Self:
        self._outer, State.thread.gathering = State.thread.gathering, self
        return self

    def add(self, kernel: Any, kind: Any, stage: Stage) -> None:
        """Let a stage wait for its machine code.

        Parameters
        ----------
        kernel
            The kernel.
        kind
            What decides the types of its arguments.
        stage
            The stage.
        """
        one = kernel, kind, stage
        self.waiting.append(one)
        if kind not in self._missing.get(kernel, ()) and _must_be_compiled(one):
            self._missing.setdefault(kernel, {})[kind] = one
        if len(self._missing) >= LEAST and self._may_start:
            self._may_start = False
            if _is_allowed():
                with contextlib.suppress(OSError):  # there can be no process
                    self._process = SecondProcess()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        State.thread.gathering = self._outer
        try:
            if error is None and self._process is not None:
                # one process compiles all types of arguments of a kernel: they are in one file of the cache
                self._process.share([list(group.values()) for group in self._missing.values()])
        finally:  # after an interrupt, too
            if self._process is not None:
                self._process.end()
        if error is None:
            for kernel, _, stage in self.waiting:
                stage.address = kernel.stage(*stage.arguments).address


def _must_be_compiled(one: Missing) -> bool:
    """Tell whether the machine code of a stage is not on disk, but would be stored there."""
    try:
        return not is_stage_on_disk(*one[0].stage_dispatcher(one[2].arguments))
    except Exception:
        return False  # `CompiledKernel.stage` says why


def _is_allowed() -> bool:
    """Tell whether a process can be started, and would find a core of its own."""
    parent = getattr(sys.modules.get("multiprocessing.process"), "parent_process", lambda: None)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ordinary = not hasattr(sys, "frozen") and Path(sys.executable or "").name.startswith("python")
    return processes() > 1 and cores > 1 and ordinary and parent() is None and State.compiles and State.caches


def processes() -> int:
    """Return how many processes may compile, this one included: 1 or 2."""
    text = os.environ.get(VARIABLE) or "2"
    if text not in ("1", "2"):
        raise ValueError(f"{VARIABLE} must be 1 or 2 (got {text!r}); with 1, this process compiles alone")
    return int(text)


# --- this process


class SecondProcess:
    """A process that compiles some of the missing kernels; it gets ready while others are looked for."""

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self.process = _start()

    def share(self, groups: list[list[Missing]]) -> None:
        """Compile kernels from the front of the list, and let the process compile from its end.

        Parameters
        ----------
        groups
            Stages with the same kernel, for each kernel.
        """
        left = deque(sorted(groups, key=lambda group: -sum(map(_size, group))))
        started = time.monotonic()
        busy = threading.Event()
        try:
            thread = threading.Thread(target=_feed, args=(self.process, left, busy), daemon=True)
            thread.start()
        except RuntimeError:
            return  # there can be no thread: all are compiled one after the other
        self.thread = thread
        while True:
            try:
                group = left.popleft()
            except IndexError:
                break
            for kernel, _, stage in group:
                kernel.stage(*stage.arguments)
        if busy.is_set():
            thread.join(max(0.0, PATIENCE + 2.0 * (time.monotonic() - started)))

    def end(self) -> None:
        """End the process, and the thread that feeds it."""
        self.process.kill()
        self.process.wait()
        if self.thread is not None and self.thread.is_alive():
            self.thread.join(1.0)
        if self.thread is None or not self.thread.is_alive():  # else something else holds the pipes open
            _close(self.process.stdin)
            _close(self.process.stdout)


def _close(pipe: Any) -> None:
    with contextlib.suppress(OSError):  # something was not sent to a process that has ended
        pipe.close()


def _start() -> Any:
    """Start the process, with the same packages and the same disk cache as this one.

    It executes nothing that this process would not: no file of the working folder or of PYTHONPATH, and no
    customization of the site.
    """
    from numba.core import config

    environment = {**os.environ, VARIABLE: "1"}
    if getattr(config, "CACHE_DIR", ""):
        environment["NUMBA_CACHE_DIR"] = str(config.CACHE_DIR)  # type: ignore[attr-defined]
    options = ["-I", "-S", "-W", "ignore", *["-O"] * sys.flags.optimize, *["-B"] * sys.dont_write_bytecode]
    if sys.pycache_prefix is not None:
        options += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    return subprocess.Popen(
        [sys.executable, *options, "-c", START],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
    )  # fmt: skip


def _feed(process: Any, left: deque[list[Missing]], busy: threading.Event) -> None:
    """Let the process compile one group after the other; end when none is left, or when it has ended.

    `busy` is set while it compiles.
    """
    try:
        _send(process.stdin, _folders())
        process.stdout.read(1)  # it is ready
        while left:
            busy.set()
            group = left.pop()
            _send(process.stdin, [describe(kernel.python, stage.arguments) for kernel, _, stage in group])
            if process.stdout.read(1) != DONE:
                return  # the first process compiles what is missing
            busy.clear()
    except (OSError, ValueError, IndexError, TypeError):
        return


def _folders() -> list[str]:
    """Return the folders that the packages which kernels are compiled with have been imported from."""
    files = [str(getattr(sys.modules.get(name), "__file__", None) or "") for name in PACKAGES]
    return list(dict.fromkeys(str(Path(file).absolute().parent.parent) for file in files if file))


def _send(pipe: BinaryIO, value: Any) -> None:
    pipe.write(json.dumps(value).encode() + b"\n")
    pipe.flush()


def describe(python: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Return what another process needs to compile a kernel for arguments of these types.

    Raises ValueError where that is not all defined in linmax.
    """
    _require_own(python)
    return python.__module__, python.__qualname__, tuple(map(_described, arguments))


def _described(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        if not flags.aligned:
            raise ValueError("an array that is not aligned has no stand-in")
        return "array", value.dtype.str, value.ndim, layout, flags.writeable
    if isinstance(value, tuple):
        if type(value) is not tuple:
            _require_own(type(value))
        return "tuple", _name_of(type(value)), tuple(map(_described, value))
    return "number", _name_of(type(value))


def _name_of(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def _find(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _require_own(thing: Any) -> None:
    if not thing.__module__.startswith("linmax.") or "<" in thing.__qualname__:
        raise ValueError(f"{thing.__qualname__} is not of linmax")


def _size(one: Missing) -> int:
    """Return the size of the bytecode of a kernel and of what it calls, by which compilation takes long."""
    kernel, _, stage = one
    classes = set(_classes(stage.arguments))
    return sum(len(function.__code__.co_code) for function in _called(kernel.python, classes, set()))


def _classes(values: tuple[Any, ...]) -> Iterator[type]:
    for value in values:
        if isinstance(value, tuple):
            yield type(value)
            yield from _classes(value)


def _called(function: Any, classes: set[type], seen: set[Any]) -> Iterator[Any]:
    """Yield a function and all that it calls: functions, and methods of these classes."""
    function = inspect.unwrap(function)
    if function in seen or not function.__module__.startswith("linmax."):
        return
    seen.add(function)
    yield function
    for name in function.__code__.co_names:
        for found in (function.__globals__.get(name), *(getattr(kind, name, None) for kind in classes)):
            if inspect.isfunction(found):
                yield from _called(found, classes, seen)


# --- the other process


def serve() -> None:
    """Compile what is described on standard input, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is interrupted, and ends this one
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is printed is no answer
    load()
    tasks: deque[Any] = deque()
    arrived = threading.Semaphore(0)
    threading.Thread(target=_receive, args=(tasks, arrived), daemon=True).start()
    os.write(answers, DONE)
    while arrived.acquire():
        try:
            for task in tasks.popleft():
                _compile(*task)
        except Exception:
            os.write(answers, FAILED)
        else:
            os.write(answers, DONE)


def _receive(tasks: deque[Any], arrived: threading.Semaphore) -> None:
    """Read tasks, and end this process at once when the first one has ended."""
    try:
        while True:
            tasks.append(json.loads(sys.stdin.buffer.readline()))
            arrived.release()
    finally:
        os._exit(0)


def _compile(module: str, name: str, arguments: tuple[Any, ...]) -> None:
    from linmax._jit.compilation import CompiledKernel

    kernel = CompiledKernel(_find(module, name))
    kernel.stage(*map(stand_in, arguments))


def stand_in(described: Any) -> Any:
    """Return a value of the type that `describe` has described."""
    kind, *values = described
    if kind == "number":
        return _find(*values[0])(0)
    if kind == "tuple":
        own = _find(*values[0])
        members = tuple(map(stand_in, values[1]))
        return members if own is tuple else own(*members)
    dtype, ndim, layout, writeable = values
    if layout == "A":
        array = np.zeros((4,) * ndim, dtype)[(slice(None, None, 2),) * ndim]
    else:
        array = np.zeros((2,) * ndim, dtype, order=layout)
    array.flags.writeable = writeable
    return array
