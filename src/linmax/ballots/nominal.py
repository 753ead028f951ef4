"""Attributes as names: a code per (column, value) pair."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from linmax.ballots.batch import Nominal
from linmax.ballots.cells import Cells, Codes, cells, translate
from linmax.ballots.dicts import Dicts
from linmax.ballots.discover import first_places
from linmax.ballots.names import plain
from linmax.ballots.roll import Peek, simple
from linmax.ballots.votes import merge

WHAT = "nominal attributes"


def read_nominal(source: Any, values: Peek) -> Nominal:
    """Read a table of nominal attributes: whole numbers, texts or true/false, a column each."""
    if isinstance(source, Dicts):
        return Nominal(_dicts(source, values))
    if hasattr(source, "tocsr"):
        raise ValueError(f"{WHAT} cannot be a sparse matrix; pass a data frame, an array or dicts")
    columns: dict[Any, Cells]
    if isinstance(source, np.ndarray):
        columns = {j: cells(source[:, j], WHAT) for j in range(source.shape[1])}
    else:
        from linmax.ballots import frames

        columns = frames.columns(source, WHAT, frames.column)
    return Nominal(pairs(columns, source.shape[0], values))


def pairs(columns: Mapping[Any, Cells], trials: int, peek: Peek) -> Codes:
    """A code per cell for its (column, value) pair; new pairs are numbered as they are met, row by row.

    >>> color = Cells(np.array([1, 0]), 0, ["red", "blue"], ["red"])
    >>> size = Cells(np.array([0, 0]), 0, [3], [3])
    >>> from linmax.ballots.roll import Roll
    >>> peek = Peek(Roll(what="value"))
    >>> pairs({"color": color, "size": size}, 2, peek).tolist(), peek.new
    ([[0, 1], [2, 1]], [('color', 'blue'), ('size', 3), ('color', 'red')])
    """
    named = [
        said._replace(names=[None if name is None else (simple(column), name) for name in said.names])
        for column, said in columns.items()
    ]
    said = merge(named, list(range(len(named))), (trials, len(named)), peek.roll)
    first = first_places(said, {name for name in said.names if name is not None and peek.find(name) < 0})
    for name in sorted(first, key=lambda name: first[name]):
        peek.code(name)
    return translate(said, [-1 if name is None else peek.find(name) for name in said.names])


def _dicts(dicts: Dicts, values: Peek) -> Codes:
    codes = np.full((len(dicts), max(map(len, dicts), default=0)), -1, np.int32)
    for t, row in enumerate(dicts):
        for j, (column, value) in enumerate(row.items()):
            name = plain(value, WHAT)
            if name is not None:
                codes[t, j] = values.code((simple(column), name))
    return codes
