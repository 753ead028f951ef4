"""Long tables: one row per vote, with an item, an expert, a vote and perhaps a score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import (
    MAX_NUMBER,
    ColumnDecoder,
    TableBatch,
    TableReader,
    is_missing,
    to_numpy,
)
from linmax.streams.schema import Schema, short_repr

MAX_ITEM_ROWS = 1 << 20
HASH_SLOTS = 1 << 20  # of RepeatDetector
Codes = NDArray[np.int64]


class LongFormatReader:
    """Groups the rows of a long table into items; the rows of an item must be consecutive.

    Parameters
    ----------
    reader : TableReader
        The file.
    schema : Schema
        The roles of its columns.
    decoder : ColumnDecoder
        Decodes the columns.
    """

    def __init__(self, reader: TableReader, schema: Schema, decoder: ColumnDecoder) -> None:
        self.reader, self.schema, self.decoder = reader, schema, decoder
        self.item, self.expert, self.vote, *score = schema.experts
        self.score = score[0] if score else None
        self.repeats = RepeatDetector()

    def chunks(self, max_rows: int) -> Iterator[Chunk]:
        """Read items whose last row is known; `max_rows` limits the rows that are read at a time."""
        roles = [name for name in (self.schema.label, *self.schema.attributes) if name]
        columns = list(dict.fromkeys([*self.schema.experts, *roles]))
        first, rest = 0, None
        for batch in self.reader.batches(columns, max_rows):
            batch = _decode(batch)
            if rest is not None:
                table = pa.concat_tables([rest.table, batch.table])
                batch = TableBatch(table, np.concatenate((rest.lines, batch.lines)))
            if not len(batch.lines):
                continue
            starts = self._item_starts(batch)
            end = int(starts[-1])  # the last item may continue in the next batch
            rest = TableBatch(batch.table.slice(end), batch.lines[end:])
            if len(rest.lines) > MAX_ITEM_ROWS:
                raise self.decoder.error(
                    rest.lines[0],
                    f"an item of over {MAX_ITEM_ROWS} rows; name the column of items with id=",
                )
            if end:
                yield self._chunk(
                    TableBatch(batch.table.slice(0, end), batch.lines[:end]), starts[:-1], first
                )
                first += len(starts) - 1
        if rest is not None:
            yield self._chunk(rest, np.zeros(1, np.int64), first)

    def _item_starts(self, batch: TableBatch) -> Codes:
        """Return the rows at which an item starts."""
        item = batch.table.column(self.item).combine_chunks()
        if item.null_count:
            bad = int(np.argmax(item.is_null().to_numpy(zero_copy_only=False)))
            raise self.decoder.error(
                batch.lines[bad], f"{short_repr(self.item)} is empty; every vote needs its item"
            )
        changes = pc.not_equal(item.slice(1), item.slice(0, len(item) - 1)).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.flatnonzero(changes) + 1))

    def _chunk(self, batch: TableBatch, starts: Codes, first: int) -> Chunk:
        """Return the items that start at these rows."""
        table, lines = batch
        ids = table.column(self.item).take(pa.array(starts)).to_pylist()
        repeated = self.repeats.first_repeated(ids)
        if repeated >= 0:
            raise self.decoder.error(
                lines[starts[repeated]],
                f"item {short_repr(ids[repeated])} occurred before; sort the file by"
                f" {short_repr(self.item)}, so that the rows of an item are consecutive",
            )
        label = self.schema.label
        first_rows = TableBatch(table.take(pa.array(starts)), lines[starts])
        return Chunk(
            first,
            lines[starts],
            self._triplets(batch, starts),
            None if label is None else self._labels(batch, starts, label),
            self.decoder.attributes(first_rows, self.schema.attributes),
            ids,
        )

    def _triplets(self, batch: TableBatch, starts: Codes) -> Triplets:
        """Return the votes; rows without a vote are abstentions."""
        item = _item_of_row(starts, len(batch.lines))
        expert = to_numpy(batch.table.column(self.expert).combine_chunks())
        vote = self.decoder.labels(batch, self.vote)
        unnamed = is_missing(expert)
        if unnamed.any():
            raise self.decoder.error(
                batch.lines[int(np.argmax(unnamed))],
                f"{short_repr(self.expert)} is empty; every vote needs its expert",
            )
        present = ~is_missing(vote)
        score = None
        if self.score is not None:
            score = self.decoder.numbers(batch, self.score, "the score")
            large = np.abs(score) > MAX_NUMBER
            if large.any():
                i = int(np.argmax(large))
                raise self.decoder.error(
                    batch.lines[i], f"the score is {score[i]}; scale scores to at most 1e60"
                )
            present &= ~np.isnan(score)
        self._check_one_vote(batch, item, expert, vote if self.score else None, present)
        value = None if score is None else score[present]
        return Triplets(item[present], expert[present], vote[present], value, len(starts))

    def _check_one_vote(
        self,
        batch: TableBatch,
        item: Codes,
        expert: NDArray[Any],
        vote: NDArray[Any] | None,
        present: NDArray[np.bool_],
    ) -> None:
        """Check that an expert has one vote on an item or, if votes have scores, one per class."""
        key = item * (len(item) + 1) + _codes(expert)
        if vote is not None:
            _, key = np.unique(key, return_inverse=True)
            key = key * (len(item) + 1) + _codes(vote)
        rows = np.flatnonzero(present)
        order = rows[np.argsort(key[rows], kind="stable")]
        repeated = order[1:][np.diff(key[order]) == 0]
        if len(repeated):
            i = int(repeated.min())
            raise self.decoder.error(
                batch.lines[i], f"a second vote of {short_repr(expert[i])} on this item; keep one"
            )

    def _labels(self, batch: TableBatch, starts: Codes, name: str) -> NDArray[Any]:
        """Return the label of each item: any of its rows may have it, and those that do must agree."""
        labels = self.decoder.labels(batch, name)
        codes = _codes(labels)
        present = ~is_missing(labels)
        item = _item_of_row(starts, len(labels))
        largest = np.maximum.reduceat(np.where(present, codes, -1), starts)
        different = present & (codes != largest[item])
        if different.any():
            i = int(np.argmax(different))
            raise self.decoder.error(
                batch.lines[i],
                f"the item has the label {short_repr(labels[i])} here and another in another row; keep one",
            )
        row = np.full(len(starts), len(labels))  # the None at the end, for items without a label
        row[item[present]] = np.flatnonzero(present)
        found: NDArray[Any] = np.array([*labels.tolist(), None], object)[row]
        return found


class RepeatDetector:
    """Detects items that occur again, in constant memory.

    It stores hashes of the first items and of the latest ones. That is enough to notice that a file is not
    sorted by item, but not to find every repetition in a long file.

    Parameters
    ----------
    slots : int
        Number of first and of latest items to store.

    Examples
    --------
    >>> repeats = RepeatDetector()
    >>> repeats.first_repeated(["a", "b"]), repeats.first_repeated(["c", "a"])
    (-1, 1)
    >>> repeats.first_repeated([0, 1, -1, -2])
    -1
    """

    def __init__(self, slots: int = HASH_SLOTS) -> None:
        self.first, self.latest = np.zeros(slots, np.int64), np.zeros(slots, np.int64)

    def first_repeated(self, ids: list[Any]) -> int:
        """Return the index of the first item that occurred before, or -1; and store all of them."""
        # hash(0) would be that of an empty slot, and hash(-1) == hash(-2): texts have no such collisions
        keys = np.array([hash(str(name)) or 1 for name in ids], np.int64)
        slots = (keys * np.int64(0x9E3779B97F4A7C1)) % len(self.first)
        _, place, count = np.unique(keys, return_index=True, return_counts=True)
        known = (self.first[slots] == keys) | (self.latest[slots] == keys)
        if (count > 1).any():
            repeated = np.ones(len(keys), bool)
            repeated[place] = False
            known |= repeated
        self.latest[slots] = keys
        free = self.first[slots] == 0
        self.first[slots[free]] = keys[free]
        return int(np.argmax(known)) if known.any() else -1


def _item_of_row(starts: Codes, rows: int) -> Codes:
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows)))


def _codes(names: NDArray[Any]) -> Codes:
    """Return an integer for each distinct name."""
    codes: dict[Any, int] = {}
    return np.array([codes.setdefault(name, len(codes)) for name in names.tolist()], np.int64)


def _decode(batch: TableBatch) -> TableBatch:
    """Decode dictionaries: those of two batches differ, and their tables could not be concatenated."""
    columns = []
    for column in batch.table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns.append(column)
    return TableBatch(pa.table(columns, names=batch.table.column_names), batch.lines)
