"""Wide tables: one row per item, with one column per expert or one column per expert and class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import (
    ColumnDecoder,
    TableBatch,
    TableReader,
    normalize,
    single_chunk,
    to_numpy,
)
from linmax.streams.schema import Schema, StreamError, short_repr, split_score_column


def read_wide(reader: TableReader, schema: Schema, decoder: ColumnDecoder, max_rows: int) -> Iterator[Chunk]:
    """Read a table with one row per item.

    Parameters
    ----------
    reader : TableReader
        The file.
    schema : Schema
        The roles of its columns; the shape is "wide", "scores" or "attributes".
    decoder : ColumnDecoder
        Decodes the columns.
    max_rows : int
        The largest number of items in a chunk.

    Yields
    ------
    Chunk
    """
    roles = [name for name in (schema.label, schema.id, *schema.attributes) if name]
    columns = list(dict.fromkeys([*schema.experts, *roles]))
    scores = _ScoreColumns(schema, decoder, reader) if schema.shape == "scores" else None
    first = 0
    for batch in reader.batches(columns, max_rows):
        if not len(batch.lines):
            continue
        yield Chunk(
            first,
            batch.lines,
            scores.read(batch) if scores else _vote_table(batch, schema, decoder),
            decoder.raw_labels(batch, schema.label) if schema.label else None,
            decoder.attributes(batch, schema.attributes),
            to_numpy(single_chunk(batch.table.column(schema.id))).tolist() if schema.id else None,
        )
        first += len(batch.lines)


def _vote_table(batch: TableBatch, schema: Schema, decoder: ColumnDecoder) -> Any:
    if not schema.experts:
        return None
    columns = [decoder.arrow_labels(batch, name) for name in schema.experts]
    return pa.table(columns, names=list(schema.experts))


class _ScoreColumns:
    """Columns `expert:class`; if the labels are integers, the classes in the names are integers, too."""

    def __init__(self, schema: Schema, decoder: ColumnDecoder, reader: TableReader) -> None:
        self.decoder, self.columns = decoder, list(schema.experts)
        experts, names = zip(*map(split_score_column, self.columns), strict=True)
        label = schema.label
        if label is not None and pa.types.is_integer(reader.arrow_schema.field(label).type):
            classes: list[Any] = [_to_integer(name) for name in names]
        else:
            classes = [normalize(name) if decoder.ignore_case else name for name in names]
        self.experts, self.classes = np.array(experts, object), np.array(classes, object)
        for (expert, name), count in Counter(zip(experts, classes, strict=True)).items():
            if count > 1:
                raise StreamError(
                    f"{decoder.file}: expert {short_repr(expert)} has two columns for {short_repr(name)};"
                    " keep one"
                )

    def read(self, batch: TableBatch) -> Triplets:
        """Return the scores that are not empty."""
        values = self.decoder.scores(batch, self.columns)
        item, column = np.nonzero(~np.isnan(values))
        score = values[item, column]
        return Triplets(item, self.experts[column], self.classes[column], score, len(values))


def _to_integer(name: str) -> int | str:
    return int(name) if name.removeprefix("-").isdecimal() and len(name) < 19 else name
