"""What machine code reads from memory: the arguments of stages, and integers by their address.

A stage is a kernel that is given the address of its arguments instead of the arguments, so that one function
type serves every kernel, and nothing is unpacked in a call.
"""

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types

from linmax._numba import State, disable_compilation

try:
    from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable
except ImportError as missing:
    disable_compilation(missing)

STAGE = types.void(types.int64, types.int64, types.int64, types.int64)


class Bound(types.Type):
    """The type of the arguments that a stage finds in memory: a part of its signature, without a value.

    Parameters
    ----------
    arguments : numba.types.Tuple
        Their types.
    """

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments
        super().__init__(f"Bound({arguments})")

    @property
    def key(self) -> Any:
        """What makes two of these equal."""
        return self.arguments


NOTHING = np.zeros(8)
C_FLAGS = 0x0001 | 0x0100 | 0x0400  # of numpy: C-contiguous, aligned, writeable
OTHER_FLAGS = 0x0002 | 0x0100 | 0x0400  # F-contiguous, which matters only where C-contiguous is not set


def address_of(array: np.ndarray) -> int:
    """Return the address of the data of an array; of an empty array, that of some other."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array if array.size else NOTHING))  # type: ignore[arg-type]
    except TypeError:  # not contiguous, or not writable
        return array.ctypes.data


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


def stage_of(kernel: Any) -> Any:
    """Return the function that runs a kernel on the arguments at an address."""

    def stage(memory: Any, begin: Any, end: Any, bound: Any) -> None:
        kernel(*_arguments_at(memory, bound), begin, end)  # type: ignore[call-arg]

    return stage


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
            _call_at(self.address)(address_of(self.memory), begin, end, 0)
        else:
            self.kernel(*self.arguments, begin, end)

    def reach(self) -> tuple[Any, int]:
        """Return what another kernel calls it by, see `stage_at`: code, or a Python function, and memory."""
        if self.address:
            return self.address, address_of(self.memory)
        return lambda memory, begin, end, bound: self(begin, end), 0


@functools.cache
def _call_at(address: int) -> Any:
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


if State.compiles:
    register_model(Bound)(models.OpaqueModel)

    def _cell(context: Any, builder: Any, sig: Any, arguments: Any, kind: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(kind).as_pointer())

    def _read(kind: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            number = builder.load(_cell(context, builder, sig, arguments, kind))
            return context.cast(builder, number, kind, types.int64)

        return lower

    def _write_int32(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[1], sig.args[1], types.int32)
        builder.store(number, _cell(context, builder, sig, arguments, types.int32))
        return context.get_dummy_value()

    for _python, _kind_there in ((int64_at, types.int64), (int32_at, types.int32)):
        type_callable(_python)(lambda context: lambda address: types.int64)
        lower_builtin(_python, types.Integer)(_read(_kind_there))  # type: ignore[no-untyped-call]
    type_callable(set_int32)(lambda context: lambda address, x: types.none)
    lower_builtin(set_int32, types.Integer, types.Integer)(_write_int32)  # type: ignore[no-untyped-call]

    @intrinsic
    def _arguments_at(typingctx: Any, memory: Any, bound: Any) -> Any:
        """Read the arguments of a stage."""

        def codegen(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            pointer = context.get_value_type(bound.arguments).as_pointer()
            return builder.load(builder.inttoptr(arguments[0], pointer))

        return bound.arguments(memory, bound), codegen
