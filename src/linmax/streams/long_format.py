"""A row per vote: item, expert, vote and perhaps a score; the rows of an item stand together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.streams.chunk import Chunk
from linmax.streams.columns import LARGEST, Batch, Columns, Reader, absent, as_numpy
from linmax.streams.schema import Schema, short_repr

MOST = 1 << 20  # rows of one item
SLOTS = 1 << 20  # items that are remembered, the first ones and the latest ones
Codes = NDArray[np.int64]


class Long:
    """Votes one by one become items."""

    def __init__(self, reader: Reader, layout: Schema, columns: Columns) -> None:
        self.reader, self.layout, self.columns = reader, layout, columns
        self.item, self.expert, self.vote, *score = layout.experts
        self.score = score[0] if score else None
        self.memory = Memory()

    def chunks(self, most: int) -> Iterator[Chunk]:
        """The items, some at a time: those whose last row has been seen."""
        roles = [name for name in (self.layout.label, *self.layout.attributes) if name]
        wanted = list(dict.fromkeys([*self.layout.experts, *roles]))
        first, rest = 0, None
        for batch in self.reader.batches(wanted, most):
            batch = _decoded(batch)
            if rest is not None:
                table = pa.concat_tables([rest.table, batch.table])
                batch = Batch(table, np.concatenate((rest.lines, batch.lines)))
            if not len(batch.lines):
                continue
            starts = self.starts(batch)
            cut = int(starts[-1])
            rest = Batch(batch.table.slice(cut), batch.lines[cut:])
            if len(rest.lines) > MOST:
                raise self.columns.error(
                    rest.lines[0], f"an item of over {MOST} rows; name the column of items with id="
                )
            if cut:
                yield self.chunk(Batch(batch.table.slice(0, cut), batch.lines[:cut]), starts[:-1], first)
                first += len(starts) - 1
        if rest is not None:
            yield self.chunk(rest, np.zeros(1, np.int64), first)

    def starts(self, batch: Batch) -> Codes:
        """The rows in which an item begins."""
        item = batch.table.column(self.item).combine_chunks()
        if item.null_count:
            bad = int(np.argmax(item.is_null().to_numpy(zero_copy_only=False)))
            raise self.columns.error(
                batch.lines[bad], f"{short_repr(self.item)} is empty; every vote needs its item"
            )
        other = pc.not_equal(item.slice(1), item.slice(0, len(item) - 1)).to_numpy(zero_copy_only=False)
        return np.concatenate(([0], np.flatnonzero(other) + 1))

    def chunk(self, batch: Batch, starts: Codes, first: int) -> Chunk:
        """The items that begin in these rows."""
        table, lines = batch
        ids = table.column(self.item).take(pa.array(starts)).to_pylist()
        again = self.memory.meet(ids)
        if again >= 0:
            raise self.columns.error(
                lines[starts[again]],
                f"item {short_repr(ids[again])} was met before; sort the file by {short_repr(self.item)}, so that"
                " the rows of an item stand together",
            )
        label = self.layout.label
        head = Batch(table.take(pa.array(starts)), lines[starts])
        return Chunk(
            first,
            lines[starts],
            self.triplets(batch, starts),
            None if label is None else self.truths(batch, starts, label),
            self.columns.attributes(head, self.layout.attributes),
            ids,
        )

    def triplets(self, batch: Batch, starts: Codes) -> Triplets:
        """The votes; rows without one say nothing."""
        item = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(batch.lines))))
        expert = as_numpy(batch.table.column(self.expert).combine_chunks())
        vote = self.columns.labels(batch, self.vote)
        nobody = absent(expert)
        if nobody.any():
            raise self.columns.error(
                batch.lines[int(np.argmax(nobody))],
                f"{short_repr(self.expert)} is empty; every vote needs its expert",
            )
        said = ~absent(vote)
        score = None
        if self.score is not None:
            score = self.columns.numbers(batch, self.score, "the score")
            large = np.abs(score) > LARGEST
            if large.any():
                raise self.columns.error(
                    batch.lines[int(np.argmax(large))], "a score beyond 1e60; scale scores"
                )
            said &= ~np.isnan(score)
        self.refuse_repeats(batch, item, expert, vote if self.score else None, said)
        value = None if score is None else score[said]
        return Triplets(item[said], expert[said], vote[said], value, len(starts))

    def refuse_repeats(
        self,
        batch: Batch,
        item: Codes,
        expert: NDArray[Any],
        vote: NDArray[Any] | None,
        said: NDArray[np.bool_],
    ) -> None:
        """An expert has one vote on an item or, where votes have scores, one per class."""
        key = item * (len(item) + 1) + _codes(expert)
        if vote is not None:
            _, key = np.unique(key, return_inverse=True)
            key = key * (len(item) + 1) + _codes(vote)
        rows = np.flatnonzero(said)
        order = rows[np.argsort(key[rows], kind="stable")]
        again = order[1:][np.diff(key[order]) == 0]
        if len(again):
            i = int(again.min())
            raise self.columns.error(
                batch.lines[i], f"a second vote of {short_repr(expert[i])} on this item; keep one"
            )

    def truths(self, batch: Batch, starts: Codes, name: str) -> NDArray[Any]:
        """The label of each item: any of its rows may have it, and those that do must agree."""
        labels = self.columns.labels(batch, name)
        codes = _codes(labels)
        there = ~absent(labels)
        most = np.maximum.reduceat(np.where(there, codes, -1), starts)
        item = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(labels))))
        odd = there & (codes != most[item])
        if odd.any():
            i = int(np.argmax(odd))
            raise self.columns.error(
                batch.lines[i],
                f"item has the label {short_repr(labels[i])} here and another elsewhere; keep one",
            )
        where = np.full(len(starts), len(labels))
        where[item[there]] = np.flatnonzero(there)
        found: NDArray[Any] = np.array([*labels.tolist(), None], object)[where]
        return found


class Memory:
    """The first items and the latest, by hash: enough to see that a file is not sorted, and never more.

    >>> memory = Memory()
    >>> memory.meet(["a", "b"]), memory.meet(["c", "a"])
    (-1, 1)
    >>> memory.meet([0, 1, -1, -2])
    -1
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self.first, self.latest = np.zeros(slots, np.int64), np.zeros(slots, np.int64)

    def meet(self, ids: list[Any]) -> int:
        """Where the first of these is that was met before, or -1."""
        # as text: as numbers 0 and 1 would be taken for one another here, and Python hashes -1 like -2
        keys = np.array([hash(str(name)) or 1 for name in ids], np.int64)
        slots = (keys * np.int64(0x9E3779B97F4A7C1)) % len(self.first)
        _, place, count = np.unique(keys, return_index=True, return_counts=True)
        known = (self.first[slots] == keys) | (self.latest[slots] == keys)
        if (count > 1).any():  # twice among these
            seen = np.ones(len(keys), bool)
            seen[place] = False
            known |= seen
        self.latest[slots] = keys
        free = self.first[slots] == 0
        self.first[slots[free]] = keys[free]
        return int(np.argmax(known)) if known.any() else -1


def _codes(names: NDArray[Any]) -> Codes:
    """A number for each distinct name."""
    ledger: dict[Any, int] = {}
    return np.array([ledger.setdefault(name, len(ledger)) for name in names.tolist()], np.int64)


def _decoded(batch: Batch) -> Batch:
    columns = []
    for column in batch.table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns.append(column)
    return Batch(pa.table(columns, names=batch.table.column_names), batch.lines)
