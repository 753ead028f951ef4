"""Chunks of items made of tables whose columns have roles: votes, scores, confidences, labels, ids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.inputs import Triplets
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import AS_IN_MODEL, ColumnRole, Reading
from linmax.panels.roles.profile import strip_missing
from linmax.panels.roles.wide.scores import ROUNDING, other_scale
from linmax.panels.streamed.late import LateSpelling, as_dictionary
from linmax.streams.chunk import Chunk
from linmax.streams.columns import ColumnDecoder, TableBatch, single_chunk, to_numpy
from linmax.streams.schema import short_repr

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
    keep_labels : bool
        Whether labels that name none of the classes are read as they are written; otherwise, and if they are
        -1, they are missing.
    missing : tuple of str
        Cells that are read as missing.

    Attributes
    ----------
    repeated, conflicting, nameless : int
        Votes of an expert on an item on which it had voted before, of which the last is used; items with
        two different labels, of which none is used; and votes without an expert or an item.
    spelling : LateSpelling or None
        Counts labels that are spelled unlike the classes; None, as by default, if nobody does.
    """

    def __init__(
        self,
        file: str,
        unit: str,
        reading: Reading,
        classes: ClassNames,
        *,
        keep: bool,
        keep_labels: bool = False,
        missing: tuple[str, ...],
    ) -> None:
        self.reading, self.classes, self.keep, self.missing = reading, classes, keep, missing
        self.keep_labels, self.label_classes = keep_labels, classes
        if keep_labels:  # texts, because labels beside classes that are integers may be texts
            self.label_classes = ClassNames(map(str, classes.names), (), tuple(classes.missing))
            self.label_classes.abstaining = frozenset({"-1"})
        self.decoder = ColumnDecoder(file, unit, text=True, ignore_case=False)
        self.repeated = self.conflicting = self.nameless = 0
        self.per_cent: dict[str, bool] = {}
        self.spelling: LateSpelling | None = None
        self.add_roles([])

    def add_roles(self, roles: list[ColumnRole]) -> None:
        """Read further columns, which tables from now on have; the reading gets their roles, too.

        Parameters
        ----------
        roles : list of ColumnRole
            Their roles.
        """
        new = {one.name: one for one in roles}
        self.reading.roles[:] = [new.pop(one.name, one) for one in self.reading.roles] + [*new.values()]
        self.confidences = {one.expert: one for one in self.reading.columns("confidence")}
        for expert, one in self.confidences.items():
            if one.is_per_cent is not None:
                self.per_cent.setdefault(str(expert), one.is_per_cent)
        self.scores = self.reading.columns("score")

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
            None if id is None else to_numpy(single_chunk(data.column(id))).tolist(),
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
        encoded = self.classes.encode(_labels(column), keep=self.keep)
        return encoded if pa.types.is_string(encoded.dictionary.type) else encoded.dictionary_decode()

    def _labels(self, column: Any) -> Any:
        plain = as_dictionary(_labels(column))
        if self.spelling is not None and pa.types.is_dictionary(plain.type):
            self.spelling.add(plain, self.label_classes)
        encoded = self.label_classes.encode(plain, keep=self.keep_labels)
        if not self.classes.are_integers:
            return encoded
        return self._whole_labels(encoded.dictionary.to_pylist(), _indices(encoded))

    def _whole_labels(self, names: list[Any], codes: Codes) -> NDArray[Any]:
        """Return labels beside classes that are integers; those that are no integers are texts."""
        whole = [_integer(name) if (found := self.classes.find(name)) is None else found for name in names]
        if whole and all(type(name) is int for name in whole) and (codes >= 0).all():
            return np.array(whole, np.int64)[codes]
        return np.array([*whole, None], object)[codes]

    def _numbers(self, data: Any, name: str, lines: Codes) -> Floats:
        column = strip_missing(single_chunk(data.column(name)), self.missing)
        return self.decoder.numbers(TableBatch(pa.table({name: column}), lines), name, "the score")

    def _scored_votes(self, data: Any, expert: ColumnRole, lines: Codes) -> tuple[Any, ...]:
        """Return the votes of an expert with its confidences; 1 where no vote has one."""
        votes = to_numpy(self._votes(data.column(expert.name)))
        item = np.flatnonzero(votes != None) if votes.dtype == object else np.arange(len(votes))  # noqa: E711
        value = np.ones(len(item))
        if expert.name in self.confidences:
            role = self.confidences[expert.name]
            numbers = self._numbers(data, role.name, lines)
            largest = float(np.nanmax(numbers, initial=0.0))
            is_more = largest > 1.0 + ROUNDING
            per_cent = self.per_cent.setdefault(expert.name, is_more)  # the first chunk decides
            self._check_range(
                role, numbers, 100.0 if per_cent else 1.0, lines, f"how sure {expert.expert} is"
            )
            numbers = numbers / 100.0 if per_cent else numbers
            known = numbers[~np.isnan(numbers)]
            value = np.where(np.isnan(numbers), known.mean() if len(known) else 1.0, numbers)[item]
        return item, str(expert.expert), votes[item], value

    def check_scales(self, data: Any, lines: Codes, file: str) -> None:
        """Refuse confidences from 0 to 1 in the first rows of a further file, if they were per cent before.

        Parameters
        ----------
        data : pyarrow.Table
            The rows.
        lines : ndarray of int64
            The line or row of each.
        file : str
            The name of the file.
        """
        for expert, role in self.confidences.items():
            if self.per_cent.get(str(expert)):
                largest = float(np.nanmax(self._numbers(data, role.name, lines), initial=0.0))
                if 0.0 < largest <= 1.0 + ROUNDING:
                    raise other_scale(role._replace(is_per_cent=True), largest, file)

    def _check_range(
        self, role: ColumnRole, numbers: Floats, high: float, lines: Codes, meaning: str
    ) -> None:
        """Raise an error if a number is below 0 or above another, unlike those by which a column is read."""
        outside = np.flatnonzero((numbers < 0.0) | (numbers > high * (1.0 + ROUNDING)))
        if len(outside):
            first = outside[0]
            raise self.decoder.error(
                lines[first],
                f"{short_repr(role.name)} is {numbers[first]:.9g}, and is read as {meaning}, from 0 to"
                f" {high:g}{f', {role.reason}' * (role.reason == AS_IN_MODEL)}; write all of its numbers in"
                " the same way",
            )

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
                if one.is_probability:
                    self._check_range(one, numbers, 1.0, lines, f"probabilities of class {label}")
                    numbers = np.minimum(numbers, 1.0)
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
        columns = [strip_missing(single_chunk(data.column(name)), self.missing) for name in names]
        return self.decoder.attributes(TableBatch(pa.table(columns, names=list(names)), lines), names)

    # --- one row per vote

    def _long(self, data: Any, lines: Codes) -> Chunk:
        label = self.reading.column("label")
        item, ids = _codes(strip_missing(_plain(data.column(self.reading.column("id"))), self.missing))
        known = np.flatnonzero(item >= 0)
        first_row = np.zeros(len(ids), np.int64)
        first_row[item[known[::-1]]] = known[::-1]
        vote, classes = _codes(self._votes(data.column(self.reading.column("vote"))))
        who, experts = _codes(strip_missing(_plain(data.column(self.reading.column("expert"))), self.missing))
        present = (vote >= 0) & (who >= 0) & (item >= 0)
        self.nameless = int(np.count_nonzero((vote >= 0) & ~present))
        score = None
        if self.scores:
            score = self._numbers(data, self.scores[0].name, lines)
            present &= ~np.isnan(score)
        key = item * len(experts) + who
        if score is not None:
            key = key * len(classes) + vote
        rows = self._last_votes(np.flatnonzero(present), key)
        rows = rows[np.argsort(item[rows], kind="stable")]
        return Chunk(
            0,
            lines[first_row] if len(lines) else lines,
            Triplets(
                item[rows],
                np.array(experts, object)[who[rows]],
                _name_array(classes)[vote[rows]],
                None if score is None else score[rows],
                len(ids),
            ),
            None if label is None else self._long_labels(data.column(label), item, len(ids)),
            self._attributes(data.take(pa.array(first_row)), lines[first_row]),
            ids,
        )

    def _last_votes(self, rows: Codes, key: Codes) -> Codes:
        """Return the rows without those that a later row of the same expert and item replaces."""
        last = np.sort(_last_rows(key[rows]))
        self.repeated = len(rows) - len(last)
        return rows[last]

    def _long_labels(self, column: Any, item: Codes, items: int) -> Any:
        """Return the label of each item; None if it has none, or two different ones."""
        encoded = self.label_classes.encode(_plain(column), keep=self.keep_labels)
        codes = _indices(encoded)
        rows = np.flatnonzero((codes >= 0) & (item >= 0))
        found = np.full(items, -1, np.int64)
        found[item[rows]] = codes[rows]
        wrong = np.unique(item[rows][found[item[rows]] != codes[rows]])
        self.conflicting = len(wrong)
        found[wrong] = -1
        names = encoded.dictionary.to_pylist()
        if self.classes.are_integers:
            return self._whole_labels(names, found)
        return pa.DictionaryArray.from_arrays(pa.array(found.astype(np.int32), mask=found < 0), names)


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
            column = single_chunk(votes.column(name))
            column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
            classes = np.array([*(index.get(one, -1) for one in column.dictionary.to_pylist()), -1], np.int64)
            codes = classes[_indices(column)]
            at = np.flatnonzero(codes >= 0)
            found[name] = (at, codes[at])
    elif votes is not None:
        codes = np.array(list(map(index.get, votes.label.tolist(), repeat(-1))), np.int64)
        values = np.ones(len(codes)) if votes.value is None else votes.value
        experts = list(dict.fromkeys(votes.expert.tolist()))
        number = {name: i for i, name in enumerate(experts)}
        who = np.array([number[name] for name in votes.expert.tolist()], np.int64)
        if votes.value is None:
            order = np.argsort(who, kind="stable")
        else:  # the largest score of an expert on an item comes last, and of equal ones the first
            order = np.lexsort((-np.arange(len(who)), values, votes.item, who))
            ends = (np.diff(who[order]) != 0) | (np.diff(votes.item[order]) != 0)
            order = order[np.append(ends, np.ones(min(len(order), 1), bool))]
        order = order[codes[order] >= 0]
        starts = np.searchsorted(who[order], np.arange(len(experts) + 1))
        for i, name in enumerate(experts):
            rows = order[starts[i] : starts[i + 1]]
            found[name] = (votes.item[rows], codes[rows])
    return found


def _labels(column: Any) -> Any:
    """Return a column as `_plain` does, but texts in a dictionary as they are: that is fast."""
    array = single_chunk(column)
    is_coded = pa.types.is_dictionary(array.type) and pa.types.is_string(array.type.value_type)
    return array if is_coded else _plain(array)


def _plain(column: Any) -> Any:
    """Return a column without dictionaries, with booleans as texts."""
    array = single_chunk(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_boolean(array.type):
        return pc.if_else(array, "True", "False")
    return array


def _codes(array: Any) -> tuple[Codes, list[Any]]:
    """Return an integer for each cell, -1 where it is null, and the value of each integer."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    return _indices(encoded), encoded.dictionary.to_pylist()


def _indices(encoded: Any) -> Codes:
    """Return the indices of a dictionary array, -1 where it is null."""
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), np.int64)


def _integer(name: Any) -> Any:
    """Return a text of digits as an integer, and others as they are."""
    return int(name) if str(name).removeprefix("-").isdecimal() else name


def _last_rows(key: Codes) -> Codes:
    """Return the last row of each key."""
    last = pa.table({"key": key, "row": np.arange(len(key))}).group_by("key").aggregate([("row", "max")])
    return np.asarray(last["row_max"].to_numpy(), np.int64)


def _name_array(names: list[Any]) -> NDArray[Any]:
    if names and all(type(name) is int for name in names):
        return np.array(names, np.int64)
    return np.array(names, object)


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
