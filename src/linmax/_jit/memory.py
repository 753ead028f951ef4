"""What machine code reads from memory: the arguments of stages, and integers by their address.

A stage is a kernel that is given the address of its arguments instead of the arguments, so that one function
type serves every kernel, and nothing is unpacked in a call. `linmax._jit.llvm` has the machine's side of it.
"""

import ctypes
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

LINE = 64  # bytes of a cache line, in which eight numbers fit
NOTHING = np.zeros(8)
C_FLAGS = 0x0001 | 0x0100 | 0x0400  # of numpy: C-contiguous, aligned, writeable
OTHER_FLAGS = 0x0002 | 0x0100 | 0x0400  # F-contiguous, which matters only where C-contiguous is not set


def address_of(array: np.ndarray) -> int:
    """Return the address of the data of an array; of an empty array, that of some other."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array if array.size else NOTHING))  # type: ignore[arg-type]
    except TypeError:  # not contiguous, or not writable
        return array.ctypes.data


def aligned_zeros(shape: int | tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Return zeros that begin with a cache line, for arrays that are read or written as vectors.

    numpy begins arrays anywhere: a vector is then in two lines, and to read a number of it soon after it was
    written makes the processor wait.

    >>> aligned_zeros((2, 8)).ctypes.data % LINE
    0
    """
    shape = (shape,) if isinstance(shape, int) else shape
    space = np.zeros(math.prod(shape) * np.dtype(dtype).itemsize + LINE, dtype=np.uint8)
    return np.ndarray(shape, dtype, space, -address_of(space) % LINE)


def describe(arguments: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int]]:
    """Return what decides the types that numba gives arguments, and the words that machine code reads.

    numba itself takes much longer to tell their types. A word has 8 bytes.
    """
    kinds: list[Any] = []
    words: list[int] = []
    _describe(arguments, kinds, words)
    return tuple(kinds), words


def _describe(values: tuple[Any, ...], kinds: list[Any], words: list[int]) -> None:
    kinds += type(values), len(values)
    for value in values:
        if isinstance(value, np.ndarray):
            flags = value.flags.num
            kinds += value.dtype.num, value.ndim, flags & (C_FLAGS if flags & 1 else OTHER_FLAGS)
            words += 0, 0, value.size, value.itemsize, address_of(value), *value.shape, *value.strides
        elif isinstance(value, tuple):
            _describe(value, kinds, words)
        elif isinstance(value, float):
            kinds.append(float)
            words.append(int(np.float64(value).view(np.int64)))
        elif type(value) is int:
            kinds.append(int)
            words.append(value)
        else:
            raise TypeError(f"a stage takes arrays, ints, floats and tuples of these (got {value!r})")


class Stage:
    """A kernel and its arguments, which stay where they are in memory; only the range of trials changes.

    Parameters
    ----------
    kernel : CompiledKernel or function
        The kernel. Its last two arguments are the first trial and the end.
    arguments : tuple
        All other arguments: arrays, numbers and NamedTuples of these.
    address : int
        The address of its machine code; 0 if Python calls the kernel.
    words : list of int
        The arguments as machine code reads them.
    """

    def __init__(
        self, kernel: Callable[..., Any], arguments: tuple[Any, ...], address: int, words: Sequence[int] = ()
    ) -> None:
        self.kernel = kernel
        self.arguments = arguments  # keeps the arrays alive
        self.address = address
        self.memory = np.array(words, dtype=np.int64)

    def __call__(self, begin: int, end: int) -> None:
        """Run the trials begin <= t < end."""
        if self.address:
            call_at(self.address)(address_of(self.memory), begin, end, 0)
        else:
            self.kernel(*self.arguments, begin, end)

    def reach(self) -> tuple[Any, int]:
        """Return what another kernel calls it by, see `stage_at`: code, or a Python function, and memory."""
        if self.address:
            return self.address, address_of(self.memory)
        return lambda memory, begin, end, bound: self(begin, end), 0


@functools.cache
def call_at(address: int) -> Any:
    """Return the machine code of a stage as a function; it runs without the GIL."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(address)


def int64_at(address: int) -> int:
    """Return the integer of 8 bytes at an address."""
    return ctypes.c_int64.from_address(address).value


def int32_at(address: int) -> int:
    """Return the integer of 4 bytes at an address."""
    return ctypes.c_int32.from_address(address).value


def set_int32(address: int, x: int) -> None:
    """Write an integer of 4 bytes to an address."""
    ctypes.c_int32.from_address(address).value = x
