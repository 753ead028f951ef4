"""The columns of files that are not read into memory: the first rows decide on their names and types."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from linmax.panels.roles.table_layout import VOTES_PREFIX
from linmax.panels.whole_files.plain import flatten_structs, no_columns, plain_column
from linmax.panels.whole_files.text_tables import convert_decimal_commas, decimal_note, decimal_points
from linmax.streams.columns import TableBatch, TableReader, label_kind, single_chunk, value_type
from linmax.streams.readers.arrow import ParquetReader
from linmax.streams.schema import StreamError, short_list, short_repr

MAX_BINARY_BYTES = 1000
"""Bytes of a cell of binary data, such as an image, beyond which its column is not read."""


class StreamedColumns:
    """The columns of all rows of a file, with the names and the plain types that the first rows have.

    Parameters
    ----------
    reader : TableReader
        The file.
    file : str
        Its name, for messages.
    keep : tuple of str
        Columns with other types than text, numbers and true/false that keep them.

    Attributes
    ----------
    read : list of str
        The columns that are read from the file.
    dropped : list of str
        The columns that are not read, or have no plain form.
    notes, lost : list of str
        What a user should know about the types; `lost` has the sentences on columns that are not read.
    voters : set of str
        The columns of objects of votes, as they are named.
    """

    def __init__(self, reader: TableReader, file: str, keep: tuple[str, ...] = ()) -> None:
        self.file, self.unit = file, reader.unit
        schema = reader.arrow_schema
        labels = [field.name for field in schema if label_kind(field.type) or field.type == pa.null()]
        self._kept = [name for name in dict.fromkeys(keep) if name in schema.names and name not in labels]
        free = [field for field in schema if field.name not in self._kept]
        self.dropped = [field.name for field in free if not _is_readable(field.type)]
        binary = [] if not isinstance(reader, ParquetReader) else [
            field.name
            for field in free
            if _has_binary(field.type) and reader.cell_bytes(field.name) > MAX_BINARY_BYTES
        ]  # fmt: skip
        self.lost = [f"columns of long binary data are dropped: {short_list(binary)}"] if binary else []
        self.notes: list[str] = []
        unread = {*self.dropped, *binary}
        if schema.names and unread.issuperset(schema.names):
            raise no_columns(schema, file)
        self.read = [field.name for field in free if field.name not in unread] + self._kept
        self.voters: set[str] = set()
        self._types: dict[str, Any] = {}
        self._expected: set[str] = set()
        self._has_prefix = False
        self._may_have_commas = getattr(reader, "delimiter", b",") != b","
        self._with_commas: list[str] = []

    def start(self, table: Any) -> Any:
        """Return the first rows with plain columns, named as in the file.

        Parameters
        ----------
        table : pyarrow.Table
            The first rows, as they are in the file.

        Raises
        ------
        StreamError
            If no column has a plain form.
        """
        flat = flatten_structs(table.drop_columns(self._kept), self.file)
        columns, dates = {}, []
        for name, column in zip(flat.column_names, flat.columns, strict=True):
            plain = plain_column(single_chunk(column), self.file, name)
            if plain is None:
                self.dropped.append(name)
                continue
            columns[name] = plain
            if pa.types.is_temporal(value_type(column.type)):
                dates.append(name)
        if dates:
            self.notes.append(f"dates and times are read as text: {short_list(dates)}")
        if self.dropped:
            self.lost.append(f"columns of lists are dropped: {short_list(self.dropped)}")
        self.notes += self.lost
        if flat.column_names and not columns:
            raise no_columns(flat.schema, self.file)
        data = pa.table(columns)
        if self._may_have_commas:
            data, self._with_commas = convert_decimal_commas(data)
            self.notes += [decimal_note(self._with_commas)] if self._with_commas else []
        self._types = dict(zip(data.column_names, data.schema.types, strict=True))
        return data

    def name_voters(self, named: Any) -> None:
        """Set the names of the columns.

        Parameters
        ----------
        named : pyarrow.Schema
            The plain columns of the first rows with their names: without the prefix "votes.", unless
            another column has that name.
        """
        is_prefixed = any(name.startswith(VOTES_PREFIX) for name in self._types)
        self._has_prefix = is_prefixed and named.names == list(self._types)
        self._types = dict(zip(named.names, named.types, strict=True))

    def expect(self, names: Collection[str]) -> None:
        """Let the first values of columns decide on their types; the first rows have none.

        Parameters
        ----------
        names : collection of str
            The columns, as they are named.
        """
        self._expected = set(names)

    def convert(self, batch: TableBatch, used: Collection[str] | None = None) -> TableBatch:
        """Return rows with the names and the types of the first rows; texts in dictionaries stay there.

        Parameters
        ----------
        batch : TableBatch
            Rows as they are in the file.
        used : collection of str, optional
            The columns whose types matter; others may have those of the file.

        Raises
        ------
        StreamError
            If a column has another type, or a new one the name of an expert.
        """
        table = flatten_structs(batch.table.drop_columns(self._kept), self.file)
        columns: dict[str, Any] = {}
        for old, name in zip(table.column_names, self._names(table.column_names, batch), strict=True):
            if old not in self.dropped:
                column = table.column(old)
                if used is None or name in used:
                    column = self._plain(column, name, batch)
                    column = decimal_points(column) if old in self._with_commas else column
                columns[name] = column
        columns |= {name: batch.table.column(name) for name in self._kept}
        return TableBatch(pa.table(columns), batch.lines)

    def check_readable(self, names: Collection[str]) -> None:
        """Refuse a file some of whose columns are dropped, though other files have them.

        Parameters
        ----------
        names : collection of str
            The columns of other files.
        """
        if lost := [name for name in self.dropped if name in names]:
            raise StreamError(
                f"{self.file}: {short_repr(lost[0])} has lists or bytes, not texts or numbers as in the first"
                " partition; write the same type everywhere"
            )

    def _names(self, columns: list[str], batch: TableBatch) -> list[str]:
        """Return the names of columns; refuse one that an expert shares with another column."""
        voters = [name for name in columns if name.startswith(VOTES_PREFIX)]
        if self._has_prefix or not voters:
            self.voters.update(voters)
            return columns
        names = [name.removeprefix(VOTES_PREFIX) for name in columns]
        self.voters.update(name.removeprefix(VOTES_PREFIX) for name in voters)
        if len(set(names)) < len(names):
            shared = next(name for name in names if names.count(name) > 1)
            raise StreamError(
                f"{self._place(batch)}: {short_repr(shared)} names an expert in 'votes' and another column,"
                " which it did not before; rename one"
            )
        return names

    def _plain(self, column: Any, name: str, batch: TableBatch) -> Any:
        kind = self._types.get(name)
        if name in self._expected:
            plain = plain_column(single_chunk(column), self.file, name)
            if plain is None or plain.null_count == len(plain):
                return pa.nulls(len(column), pa.string())
            self._expected.remove(name)
            self._types[name] = plain.type
            return plain
        if kind is None or _is_plain(column.type):
            return column
        plain = plain_column(single_chunk(column), self.file, name)
        if plain is None or plain.type != kind:
            raise StreamError(
                f"{self._place(batch)}: {short_repr(name)} of type {column.type} cannot be read as {kind}, as"
                f" the {self.unit}s before can; cast the column to text"
            )
        return plain

    def _place(self, batch: TableBatch) -> str:
        return f"{self.file}, {self.unit}s {batch.lines[0]} to {batch.lines[-1]}"


def check_spelling(name: str, columns: Collection[str], file: str) -> None:
    """Refuse a file in which a column is spelled otherwise than in others: by case, or the prefix "votes.".

    Parameters
    ----------
    name : str
        The column in other files, which this one does not have.
    columns : collection of str
        The columns that only this file has.
    file : str
        Name of the file, for the message.

    Raises
    ------
    StreamError
    """
    spelled = {column.removeprefix(VOTES_PREFIX).casefold(): column for column in columns}
    other = spelled.get(name.removeprefix(VOTES_PREFIX).casefold())
    if other is not None:
        is_prefixed = other.startswith(VOTES_PREFIX) != name.startswith(VOTES_PREFIX)
        raise StreamError(
            f"{file}: {short_repr(name)} of the first partition is {short_repr(other)} here"
            + (", because one of them has an expert in 'votes' with the name of another key" * is_prefixed)
            + f"; rename {'that expert' if is_prefixed else 'one'}"
        )


def _is_readable(kind: Any) -> bool:
    """Whether a column, or a part of a structure, may have a plain form."""
    kind = value_type(kind)
    if pa.types.is_struct(kind):
        return any(_is_readable(field.type) for field in kind)
    return not pa.types.is_nested(kind)


def _has_binary(kind: Any) -> bool:
    kind = value_type(kind)
    if pa.types.is_struct(kind):
        return any(_has_binary(field.type) for field in kind)
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_plain(kind: Any) -> bool:
    """Whether a column is used as it is: texts, also in a dictionary, integers and true/false."""
    return value_type(kind) == pa.string() or kind in (pa.int64(), pa.bool_())
