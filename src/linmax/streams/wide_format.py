"""Wide tables: one row per item, one column per expert."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import Batch, Columns, Reader, as_numpy, combined, fold
from linmax.streams.schema import Schema, StreamError, short_repr, split_score_column


def chunks(reader: Reader, layout: Schema, columns: Columns, most: int) -> Iterator[Chunk]:
    """The items of a file with a row for each."""
    roles = [name for name in (layout.label, layout.id, *layout.attributes) if name]
    wanted = list(dict.fromkeys([*layout.experts, *roles]))
    votes = _Scores(layout, columns, reader) if layout.shape == "scores" else None
    first = 0
    for batch in reader.batches(wanted, most):
        if not len(batch.lines):
            continue
        yield Chunk(
            first,
            batch.lines,
            votes.read(batch) if votes else _table(batch, layout, columns),
            columns.truth(batch, layout.label) if layout.label else None,
            columns.attributes(batch, layout.attributes),
            as_numpy(combined(batch.table.column(layout.id))).tolist() if layout.id else None,
        )
        first += len(batch.lines)


def _table(batch: Batch, layout: Schema, columns: Columns) -> Any:
    if not layout.experts:
        return None
    return pa.table([columns.said(batch, name) for name in layout.experts], names=list(layout.experts))


class _Scores:
    """Columns `expert:class`; where labels are numbers, so are the classes in the names."""

    def __init__(self, layout: Schema, columns: Columns, reader: Reader) -> None:
        self.columns, self.names = columns, list(layout.experts)
        experts, classes = zip(*map(split_score_column, self.names), strict=True)
        numbers = layout.label is not None and pa.types.is_integer(reader.schema.field(layout.label).type)
        called = [
            _number(name) if numbers else fold(name) if columns.ignore_case else name for name in classes
        ]
        self.experts, self.classes = np.array(experts, object), np.array(called, object)
        pairs = Counter(zip(experts, called, strict=True))
        twice = next((pair for pair, times in pairs.items() if times > 1), None)
        if twice:
            raise StreamError(
                f"{columns.file}: expert {short_repr(twice[0])} has two columns for {short_repr(twice[1])}; keep one"
            )

    def read(self, batch: Batch) -> Triplets:
        """The scores that are there."""
        values = self.columns.scores(batch, self.names)
        item, column = np.nonzero(~np.isnan(values))
        score = values[item, column]
        return Triplets(item, self.experts[column], self.classes[column], score, len(values))


def _number(name: str) -> int | str:
    return int(name) if name.removeprefix("-").isdecimal() and len(name) < 19 else name
