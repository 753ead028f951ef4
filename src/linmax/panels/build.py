"""Chunks of items made of tables whose columns have roles: votes, scores, confidences, labels, ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.panels.classes import ClassNames
from linmax.panels.profile import strip_missing
from linmax.panels.reading import ColumnRole, Reading
from linmax.streams.chunk import Chunk
from linmax.streams.columns import ColumnDecoder, TableBatch, to_numpy

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


class ChunkBuilder:
    """Makes chunks of tables.

    Parameters
    ----------
    file, unit : str
        Name of the file, and what its rows are counted in, for messages.
    reading : Reading
        The roles of the columns.
    classes : ClassNames
        The classes.
    keep : bool
        Whether votes for what is never a label count as votes for a class of their own.
    missing : tuple of str
        Cells that are read as missing.

    Attributes
    ----------
    repeated, conflicting : int
        Votes of an expert on an item on which it had voted before, of which the last is used; and items
        with two different labels, of which none is used.
    """

    def __init__(
        self,
        file: str,
        unit: str,
        reading: Reading,
        classes: ClassNames,
        *,
        keep: bool,
        missing: tuple[str, ...],
    ) -> None:
        self.reading, self.classes, self.keep, self.missing = reading, classes, keep, missing
        self.decoder = ColumnDecoder(file, unit, text=True, ignore_case=False)
        self.repeated = self.conflicting = 0
        self.confidences = {one.expert: one.name for one in reading.columns("confidence")}
        self.scores = reading.columns("score")

    def chunk(self, data: Any, lines: Codes, first: int = 0) -> Chunk:
        """Return the items of a table as a chunk.

        Parameters
        ----------
        data : pyarrow.Table
            The rows.
        lines : ndarray of int64
            The line or row of each in the file.
        first : int
            The index of the first item in the stream.
        """
        return self._long(data, lines) if self.reading.shape == "long" else self._wide(data, lines, first)

    # --- one row per item

    def _wide(self, data: Any, lines: Codes, first: int) -> Chunk:
        label, id = self.reading.column("label"), self.reading.column("id")
        return Chunk(
            first,
            lines,
            self._wide_votes(data, lines),
            None if label is None else self._labels(data.column(label)),
            self._attributes(data, lines),
            None if id is None else to_numpy(_single(data.column(id))).tolist(),
        )

    def _wide_votes(self, data: Any, lines: Codes) -> Any:
        experts = self.reading.columns("expert")
        if not experts and not self.scores:
            return None
        if not self.scores and not self.confidences:
            columns = [self._votes(data.column(one.name)) for one in experts]
            return pa.table(columns, names=[str(one.expert) for one in experts])
        parts = [self._scored_votes(data, one, lines) for one in experts] + self._score_parts(data, lines)
        return _triplets(parts, data.num_rows)

    def _votes(self, column: Any) -> Any:
        encoded = self.classes.encode(_plain(column), keep=self.keep)
        return encoded if pa.types.is_string(encoded.dictionary.type) else encoded.dictionary_decode()

    def _labels(self, column: Any) -> Any:
        encoded = self.classes.encode(_plain(column))
        return (
            encoded if pa.types.is_string(encoded.dictionary.type) else to_numpy(encoded.dictionary_decode())
        )

    def _numbers(self, data: Any, name: str, lines: Codes) -> Floats:
        column = strip_missing(_single(data.column(name)), self.missing)
        return self.decoder.numbers(TableBatch(pa.table({name: column}), lines), name, "the score")

    def _scored_votes(self, data: Any, expert: ColumnRole, lines: Codes) -> tuple[Any, ...]:
        """Return the votes of an expert with its confidences; 1 where there are none."""
        votes = to_numpy(self._votes(data.column(expert.name)))
        item = np.flatnonzero(_present(votes))
        value = np.ones(len(item))
        if expert.name in self.confidences:
            numbers = self._numbers(data, self.confidences[expert.name], lines)
            numbers = numbers / 100.0 if np.nanmax(numbers, initial=0.0) > 1.0 else numbers
            value = np.where(np.isnan(numbers), np.nanmean(numbers) if len(numbers) else 1.0, numbers)[item]
        return item, str(expert.expert), votes[item], value

    def _score_parts(self, data: Any, lines: Codes) -> list[tuple[Any, ...]]:
        by_expert: dict[str, list[ColumnRole]] = {}
        for one in self.scores:
            by_expert.setdefault(str(one.expert), []).append(one)
        parts = []
        for expert, columns in by_expert.items():
            for one in columns:
                numbers = self._numbers(data, one.name, lines)
                item = np.flatnonzero(~np.isnan(numbers))
                label = self.classes.find(one.label)
                parts.append((item, expert, _filled(label, len(item)), numbers[item]))
                if (
                    len(columns) == 1
                    and len(self.classes.names) == 2
                    and numbers[item].max(initial=0.0) <= 1.0
                ):
                    (other,) = (name for name in self.classes.names if name != label)
                    parts.append((item, expert, _filled(other, len(item)), 1.0 - numbers[item]))
        return parts

    def _attributes(self, data: Any, lines: Codes) -> Any:
        names = tuple(one.name for one in self.reading.columns("attribute"))
        if not names:
            return None
        columns = [strip_missing(_single(data.column(name)), self.missing) for name in names]
        return self.decoder.attributes(TableBatch(pa.table(columns, names=list(names)), lines), names)

    # --- one row per vote

    def _long(self, data: Any, lines: Codes) -> Chunk:
        item_column, expert_column = self.reading.column("id"), self.reading.column("expert")
        vote_column, label = self.reading.column("vote"), self.reading.column("label")
        encoded = _plain(data.column(item_column)).dictionary_encode()
        item = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), np.int64)
        ids = encoded.dictionary.to_pylist()
        known = np.flatnonzero(item >= 0)
        first_row = np.zeros(len(ids), np.int64)
        first_row[item[known[::-1]]] = known[::-1]
        votes = to_numpy(self._votes(data.column(vote_column)))
        experts = to_numpy(strip_missing(_plain(data.column(expert_column)), self.missing))
        present = _present(votes) & _present(experts) & (item >= 0)
        score = None
        if self.scores:
            score = self._numbers(data, self.scores[0].name, lines)
            present &= ~np.isnan(score)
        rows = np.flatnonzero(present)
        rows = rows if score is not None else self._last_votes(rows, item, experts)
        rows = rows[np.argsort(item[rows], kind="stable")]
        triplets = Triplets(
            item[rows], experts[rows], votes[rows], None if score is None else score[rows], len(ids)
        )
        return Chunk(
            0,
            lines[first_row] if len(lines) else lines,
            triplets,
            None if label is None else self._long_labels(data.column(label), item, len(ids)),
            self._attributes(data.take(pa.array(first_row)), lines[first_row]),
            ids,
        )

    def _last_votes(self, rows: Codes, item: Codes, experts: Any) -> Codes:
        """Return the rows without those that a later vote of the same expert replaces."""
        who = np.unique(experts[rows].astype(str), return_inverse=True)[1]
        key = item[rows] * (int(who.max(initial=0)) + 1) + who
        _, last = np.unique(key[::-1], return_index=True)
        self.repeated = len(rows) - len(last)
        return np.sort(rows[len(rows) - 1 - last])

    def _long_labels(self, column: Any, item: Codes, items: int) -> Any:
        """Return the label of each item; None if it has none, or two different ones."""
        encoded = self.classes.encode(_plain(column))
        codes = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), np.int64)
        rows = np.flatnonzero((codes >= 0) & (item >= 0))
        found = np.full(items, -1, np.int64)
        found[item[rows]] = codes[rows]
        wrong = np.unique(item[rows][found[item[rows]] != codes[rows]])
        self.conflicting = len(wrong)
        found[wrong] = -1
        names = np.array([*encoded.dictionary.to_pylist(), None], object)
        labels: NDArray[Any] = names[found]
        return labels


def vote_codes(votes: Any, names: Sequence[Any]) -> dict[Any, tuple[Codes, Codes]]:
    """Return the items on which each expert votes, and the class that it prefers, as an index.

    Parameters
    ----------
    votes : pyarrow.Table or Triplets
        The votes of a chunk.
    names : sequence
        The classes.
    """
    index = {name: i for i, name in enumerate(names)}
    found: dict[Any, tuple[Codes, Codes]] = {}
    if isinstance(votes, pa.Table):
        for name in votes.column_names:
            column = _single(votes.column(name))
            column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            classes = np.array([*(index.get(one, -1) for one in column.dictionary.to_pylist()), -1], np.int64)
            codes = classes[
                np.asarray(pc.fill_null(column.indices, -1).to_numpy(zero_copy_only=False), np.int64)
            ]
            at = np.flatnonzero(codes >= 0)
            found[name] = (at, codes[at])
    elif votes is not None:
        codes = np.array([index.get(one, -1) for one in votes.label.tolist()], np.int64)
        values = np.ones(len(codes)) if votes.value is None else votes.value
        experts, who = np.unique(votes.expert.astype(str), return_inverse=True)
        order = np.lexsort((values, votes.item, who))  # the largest score of an expert on an item comes last
        last = np.ones(len(order), bool)
        last[:-1] = (np.diff(who[order]) != 0) | (np.diff(votes.item[order]) != 0)
        for i, name in enumerate(experts):
            rows = order[last & (who[order] == i)] if len(experts) < 2000 else order[:0]
            rows = rows[codes[rows] >= 0]
            found[name] = (votes.item[rows], codes[rows])
    return found


def _single(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _plain(column: Any) -> Any:
    """Return a column without dictionaries, with booleans as texts."""
    array = _single(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, "True", "False")
    return array


def _present(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype != object:
        return np.ones(len(values), bool) if values.dtype.kind in "iub" else ~np.isnan(values)
    return np.array([value is not None and value == value for value in values.tolist()], bool)


def _filled(value: Any, size: int) -> NDArray[Any]:
    found = np.empty(size, object)
    found[:] = value
    return found


def _triplets(parts: list[tuple[Any, ...]], items: int) -> Triplets:
    item = np.concatenate([part[0] for part in parts])
    order = np.argsort(item, kind="stable")
    expert = np.concatenate([_filled(part[1], len(part[0])) for part in parts])
    label = np.concatenate([part[2].astype(object) for part in parts])
    value = np.concatenate([part[3] for part in parts])
    return Triplets(item[order], expert[order], label[order], value[order], items)
