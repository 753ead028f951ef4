"""The same trial loop in C, compiled when it is needed if there is a compiler."""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

CODES = 256  # different bytes
SOURCE = Path(__file__).with_name("c_reference.c")


class CReference:
    """The compiled C library with one function per rule."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library

    def run(self, rule: str, votes: np.ndarray, labels: np.ndarray, classes: int, eta: float) -> int:
        """Learn all trials from the start, and return the number of mistakes; `votes` are `as_bytes`."""
        trials, experts = votes.shape
        w, scores = np.zeros(experts + classes), np.zeros(2 * CODES)
        function = getattr(self.library, rule)
        function.restype = ctypes.c_long
        pointer = lambda array: array.ctypes.data_as(ctypes.c_void_p)  # noqa: E731
        sizes = (ctypes.c_long(trials), ctypes.c_long(experts), ctypes.c_long(classes))
        return int(
            function(
                pointer(votes),
                pointer(labels),
                *sizes,
                pointer(w),
                ctypes.c_double(eta),
                pointer(scores),
            )
        )


def as_bytes(votes: np.ndarray) -> np.ndarray:
    """Return votes as C reads them: one byte each, an abstention is 255."""
    return np.ascontiguousarray(votes, dtype=np.int8).view(np.uint8)


def compile_reference() -> CReference | None:
    """Return the compiled library, or None if there is no C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "c_reference.so"
        options = ["-O3", "-mcpu=native" if platform.machine() == "aarch64" else "-march=native"]
        subprocess.run([compiler, *options, "-shared", "-fPIC", "-o", target, SOURCE, "-lm"], check=True)
        return CReference(ctypes.CDLL(str(target)))
