"""Parameters of a test whose matrix is large: `make test` runs a part that contains every pair of values."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every_pair(*, ids: Callable[[Any], str] | None = None, **axes: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test with the product of all axes; those that add no new pair of values are slow.

    A fault shows in a value, or where two values meet; three that must meet are left to `make test-all`.
    """
    values = [list(axis) for axis in axes.values()]
    cells = list(itertools.product(*[range(len(axis)) for axis in values]))
    quick = _covering(cells)
    chosen = [tuple(axis[i] for axis, i in zip(values, cell, strict=True)) for cell in cells]
    return pytest.mark.parametrize(
        tuple(axes),
        [
            pytest.param(*one, marks=() if cell in quick else pytest.mark.slow)
            for cell, one in zip(cells, chosen, strict=True)
        ],
        ids=ids,
    )


def _pairs(cell: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    return set(itertools.combinations(enumerate(cell), 2))


def _covering(cells: list[tuple[int, ...]]) -> set[tuple[int, ...]]:
    """Cells that contain every pair: each time the first of those that contain most new ones.

    >>> cells = list(itertools.product(range(4), range(3), range(3)))
    >>> chosen = _covering(cells)
    >>> len(cells), len(chosen)
    (36, 12)
    >>> set().union(*map(_pairs, chosen)) == set().union(*map(_pairs, cells))
    True
    """
    missing = set().union(*map(_pairs, cells))
    chosen: set[tuple[int, ...]] = set()
    while missing:
        best = max(cells, key=lambda cell: len(_pairs(cell) & missing))
        chosen.add(best)
        missing -= _pairs(best)
    return chosen
