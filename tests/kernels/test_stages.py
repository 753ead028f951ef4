"""Stages: kernels whose arguments stay in memory get the same arguments as in a call."""

import ctypes
from typing import Any, NamedTuple

import numpy as np

from linmax._jit import compilation
from linmax._jit import memory as _memory
from linmax.kernels import program as programs


class Inner(NamedTuple):
    """A part of a part."""

    cube: np.ndarray
    offset: int


class Outer(NamedTuple):
    """Arrays, numbers and another tuple."""

    flags: np.ndarray
    rate: float
    inner: Inner
    pair: tuple[np.ndarray, np.ndarray]


def collect(codes, outer, whole, half, table, empty, out, begin, end):
    """Write something of every argument to `out`."""
    for t in range(begin, end):
        out[t, 0] = codes[t]
        out[t, 1] = outer.flags[t % len(outer.flags)]
        out[t, 2] = outer.rate
        out[t, 3] = outer.inner.cube[1, t % 3, 1]
        out[t, 4] = outer.inner.offset
        out[t, 5] = outer.pair[0][0] + outer.pair[1][t]
        out[t, 6] = whole
        out[t, 7] = half
        out[t, 8] = table[t % 2, 3]
        out[t, 9] = empty.shape[0] + 10 * empty.shape[1]


kernel = compilation.CompiledKernel(collect)


def arguments() -> tuple[Any, ...]:
    rng = np.random.default_rng(5)
    inner = Inner(rng.random((2, 3, 4)), -7)
    pair = np.array([3.5], dtype=np.float32), np.arange(6, dtype=np.int64)
    outer = Outer(np.array([1, 0, 1], dtype=np.uint8), -0.1, inner, pair)
    codes = np.array([4, -1, 2**31 - 1, 0, 7, -(2**31)], dtype=np.int32)
    table = rng.random((4, 8))[::2, ::2]  # neither contiguous
    return codes, outer, -(2**62), 0.1, table, np.zeros((0, 3)), np.zeros((6, 10))


def run_stage(stage: _memory.Stage, begin: int, end: int) -> None:
    machine_code = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 4)(stage.address)
    machine_code(stage.memory.ctypes.data, begin, end, 0)


def expected() -> np.ndarray:
    given = arguments()
    kernel.python(*given, 0, 6)
    return np.asarray(given[-1])


def test_a_stage_finds_arrays_numbers_and_tuples_in_memory() -> None:
    stage = kernel.stage(*arguments())
    assert stage.address
    run_stage(stage, 0, 2)
    assert not stage.arguments[-1][2:].any()
    run_stage(stage, 2, 6)
    assert stage.arguments[-1].tobytes() == expected().tobytes()


def test_a_stage_can_be_called_as_well() -> None:
    stage = kernel.stage(*arguments())
    stage(0, 6)
    assert stage.arguments[-1].tobytes() == expected().tobytes()


def test_a_stage_of_an_interpreted_kernel_is_python() -> None:
    with compilation.interpreted():
        stage = kernel.stage(*arguments())
        assert (stage.address, len(stage.memory)) == (0, 0)
        stage(0, 6)
    assert stage.arguments[-1].tobytes() == expected().tobytes()


def test_a_stage_keeps_its_arrays_where_they_are() -> None:
    """What is written to an array after it was bound is what the kernel reads."""
    stage = kernel.stage(*arguments())
    stage.arguments[0][:] = 9
    run_stage(stage, 0, 6)
    assert stage.arguments[-1][:, 0].tolist() == [9.0] * 6


def test_arguments_of_the_same_types_share_machine_code_and_others_do_not() -> None:
    first, second = kernel.stage(*arguments()), kernel.stage(*arguments())
    assert first.address == second.address
    count = kernel.compilations()
    kernel.stage(*arguments())
    assert kernel.compilations() == count


def test_a_program_runs_its_stages_block_by_block() -> None:
    stages = [kernel.stage(*arguments()) for _ in range(2)]
    words = [word for stage in stages for word in (stage.address, stage.memory.ctypes.data)]
    programs.run(np.array(words, dtype=np.int64), 2, 0, 6, 4)
    for stage in stages:
        assert stage.arguments[-1].tobytes() == expected().tobytes()


def test_integers_are_read_and_written_at_an_address() -> None:
    memory = np.array([-5, 2**40], dtype=np.int64)
    address = memory.ctypes.data
    assert _memory.int64_at(address) == -5
    assert _memory.int64_at(address + 8) == 2**40
    _memory.set_int32(address, 7)
    assert _memory.int32_at(address) == 7
    compiled = compilation.CompiledKernel(lambda at: _memory.int64_at(at + 8) + _memory.int32_at(at))
    assert compiled(address) == 2**40 + 7
