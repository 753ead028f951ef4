"""Labels of a file of labels as a column of a table, compared with the labels that the table has itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.joins.keys import key_texts, normal_form
from linmax.panels.roles.profile import MISSING, strip_missing
from linmax.streams.columns import single_chunk
from linmax.streams.schema import short_repr
from linmax.validation import DataWarning

MAX_CONFLICTS, MIN_CONFLICTS = 0.2, 5
"""If so large a share of the items, and so many, have two different labels, the labels cannot be trusted."""


class Conflicts(NamedTuple):
    """Items with two different labels.

    Attributes
    ----------
    items, compared : int
        Items with two different labels, and all items with two labels.
    example : tuple of str
        Both labels of the first of these items; empty if there is none.
    """

    items: int
    compared: int
    example: tuple[str, ...]


class LabelColumn(NamedTuple):
    """Labels of another file, as a column of a table.

    Attributes
    ----------
    name : str
        The name of the column.
    key : str or None
        The column of ids of the table; None if the labels are joined by row.
    ids : pyarrow.Array or None
        The ids of the labels.
    values : pyarrow.Array
        The labels.
    is_normalised : bool
        Whether the ids are compared without case, whitespace and leading zeros.
    conflicting : pyarrow.Array or None
        The ids that have two different labels in their file.
    missing : tuple of str
        Texts that mean a missing label.
    """

    name: str
    key: str | None
    ids: Any
    values: Any
    is_normalised: bool = False
    conflicting: Any = None
    missing: tuple[str, ...] = MISSING

    def add_to(self, data: Any) -> Any:
        """Return a table with this column; an own column of this name counts where there is no label.

        Where both have a label and these differ, there is none.

        Parameters
        ----------
        data : pyarrow.Table
            The table.
        """
        column = self._labels_of(data)
        if self.name not in data.column_names:
            return data.append_column(self.name, column)
        own = strip_missing(single_chunk(data.column(self.name)), self.missing)
        if column.type != own.type:
            column, own = column.cast(pa.string()), own.cast(pa.string())
        differ = _differ(column, own)
        if self.conflicting is not None:
            differ = pc.or_(differ, pc.is_in(self._keys_of(data), value_set=self.conflicting))
        column = pc.if_else(differ, pa.scalar(None, column.type), pc.coalesce(column, own))
        return data.drop_columns([self.name]).append_column(self.name, column)

    def conflicts_with(self, data: Any, name: str) -> Conflicts:
        """Return how many items of a table have another label in a column of its own.

        Parameters
        ----------
        data : pyarrow.Table
            The table.
        name : str
            Its own column of labels.
        """
        column = self._labels_of(data)
        own = strip_missing(single_chunk(data.column(name)), self.missing)
        texts = column.cast(pa.string()), own.cast(pa.string())
        differ = _differ(*texts)
        both = pc.and_(_is_label(*texts), _is_label(*texts[::-1]))
        if self.key is None:
            return Conflicts(_count(differ), _count(both), _first(differ, texts))
        keys = self._keys_of(data)
        items, compared = (pc.count_distinct(keys.filter(mask)).as_py() for mask in (differ, both))
        return Conflicts(items, compared, _first(differ, texts))

    def _keys_of(self, data: Any) -> Any:
        keys = key_texts(data.column(self.key))
        return normal_form(keys) if self.is_normalised else keys

    def _labels_of(self, data: Any) -> Any:
        """Return the label of each row of a table, null where there is none."""
        if self.key is None:
            return self.values
        return self.values.take(pc.index_in(self._keys_of(data), value_set=self.ids))


def conflict_warning(text: str, items: int, labelled: int) -> DataWarning:
    """Return a warning on items with two different labels, which is grave if there are many.

    Parameters
    ----------
    text : str
        The sentence.
    items : int
        The number of these items.
    labelled : int
        The number of items that could have two different labels.

    Examples
    --------
    >>> [conflict_warning("", *counts).severity for counts in ((1, 2), (10, 100), (30, 100))]
    ['note', 'note', 'grave']
    """
    are_many = items >= MIN_CONFLICTS and items > MAX_CONFLICTS * labelled
    return DataWarning("conflicting-labels", "grave" if are_many else "note", text)


def whitespace_note(merged: tuple[str, ...]) -> DataWarning:
    """Return a note on labels that differ only by whitespace around them; `merged` has some of them."""
    shown = " and ".join(map(repr, merged))
    text = f"labels that differ only by whitespace around them, such as {shown}, are one class"
    return DataWarning("spelling", "note", text)


def describe_conflicts(found: Conflicts, file: str, labels: str) -> str:
    """Return a sentence on items that have a label in two files, without what becomes of them."""
    shown = " and ".join(map(short_repr, found.example))
    return (
        f"{found.items:,} of {found.compared:,} items that have a label in {file} and in {labels} have two"
        f" different ones (such as {shown})"
    )


def _differ(first: Any, second: Any) -> Any:
    """Return where both columns have a label, and these differ by more than case, or as 1 and 1.0 do."""
    first, second = first.cast(pa.string()), second.cast(pa.string())
    both = pc.and_(_is_label(first, second), _is_label(second, first))
    return pc.and_(both, pc.fill_null(pc.not_equal(_comparable(first), _comparable(second)), False))


def _is_label(texts: Any, others: Any) -> Any:
    """Return where a column has a label; -1, which the other column never has, means that there is none."""
    if pc.any(pc.equal(_comparable(others), "-1")).as_py():
        return pc.is_valid(texts)
    return pc.fill_null(pc.not_equal(_comparable(texts), "-1"), False)


def _comparable(texts: Any) -> Any:
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    return pc.replace_substring_regex(lower, r"^(-?\d+)\.0+$", r"\1")


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _first(mask: Any, columns: tuple[Any, Any]) -> tuple[str, ...]:
    """Return the cells of the first row that a mask has."""
    at = pc.index(mask, True).as_py()
    return () if at < 0 else tuple(str(column[at].as_py()) for column in reversed(columns))
