"""Columns are recoded alike by the compiled kernel, as Python and by numpy; kernels are in their folder."""

from pathlib import Path

import numpy as np
import pytest

import linmax
from linmax._jit.compilation import interpreted
from linmax.inputs import encode
from linmax.inputs.encode import CodedArray, write_columns
from linmax.kernels.columns import write_four

NAMES = [None, "a", "b", "c"]


def columns(count: int, rows: int, kind: type) -> list[CodedArray]:
    codes = np.random.default_rng(count).integers(-1, 3, (count, rows)).astype(kind)
    return [CodedArray(column, -1, NAMES, "abc") for column in codes]


@pytest.mark.parametrize("count", [1, 3, 4, 6])
@pytest.mark.parametrize("kind", [np.int8, np.int64])
def test_the_kernel_writes_what_numpy_writes(count: int, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    given, targets = columns(count, 50, kind), list(range(count))[::-1]
    tables = [[-1, *range(i, i + 3)] for i in range(count)]
    compiled, by_numpy = np.zeros((2, 50, count), np.int32)
    write_columns(given, tables, targets, by_numpy)
    monkeypatch.setattr(encode, "NUMPY_SIZE", 0)
    write_columns(given, tables, targets, compiled)
    assert np.array_equal(compiled, by_numpy)
    with interpreted():
        as_python = np.zeros_like(compiled)
        write_columns(given, tables, targets, as_python)
    assert np.array_equal(as_python, by_numpy)


@pytest.mark.parametrize("code", [-2, 3])
def test_the_kernel_stops_at_a_code_without_a_name(code: int) -> None:
    codes = [np.array([0, 1, code, 0], np.int32)] * 4
    out = np.zeros((4, 4), np.int32)
    arguments = (
        *codes, np.full(4, -1), np.full(4, 4, np.uint64), np.zeros((4, 4), np.int32), np.arange(4), out
    )  # fmt: skip
    assert write_four(*arguments) == write_four.python(*arguments) == 2


def test_what_learns_has_no_kernel_outside_the_folder_of_kernels() -> None:
    home = Path(linmax.__file__).parent
    for folder in ("experts", "inputs", "runtime", "techniques", "fusion"):
        for path in (home / folder).rglob("*.py"):
            assert "CompiledKernel(" not in path.read_text(encoding="utf-8"), path
