"""Tables that are not read into memory: standard input, and large files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.panels.build import ChunkBuilder
from linmax.panels.joins.labels import LabelColumn
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole, PanelOptions, Reading, matches, profile_table
from linmax.panels.roles.table_layout import name_voters
from linmax.panels.roles.wide.roles import WideRoles
from linmax.panels.streamed.columns import StreamedColumns
from linmax.panels.streamed.late import MIN_CELLS, LateColumns, LateSpelling
from linmax.panels.table import RawTable, encoding_notes
from linmax.panels.whole_files.json_tables import CONSTANTS
from linmax.panels.whole_files.records import check_number_of_columns, records_table
from linmax.panels.whole_files.text_tables import check_header
from linmax.streams import Chunk, Schema, Stream, StreamError
from linmax.streams.columns import ColumnDecoder, TableBatch
from linmax.streams.files.detect_format import detect_format
from linmax.streams.files.source import ByteSource
from linmax.streams.readers.csv import CsvReader
from linmax.streams.readers.json_lines import JsonLinesReader, JsonRows
from linmax.streams.readers.long_format import LongFormatReader
from linmax.streams.schema import short_repr
from linmax.streams.stream import TABLE_READERS


class EmptyTableError(StreamError):
    """A file has no rows."""


class StreamedTable:
    """A file of which only the first rows are in memory.

    Parameters
    ----------
    path : str, path-like or binary file
        The file; "-" is standard input.
    rows : int
        The number of rows to read at a time.
    encoding : str
        The encoding of text; "" detects it.
    keep : tuple of str
        Columns that `batches` has with the type of the file, such as times; `table` has not.

    Attributes
    ----------
    table : RawTable
        The first rows.
    columns : StreamedColumns
        What these decide on the columns of all rows.
    header_notes : list of str
        What a user should know about the names of the columns of a text.
    late : LateColumns
        What later rows have in columns without values in the first ones; `stream` sets it.
    spelling : LateSpelling
        The labels of later rows that are spelled unlike those of the first ones.
    """

    late: LateColumns

    def __init__(self, path: Any, rows: int, encoding: str = "", keep: tuple[str, ...] = ()) -> None:
        self.source = ByteSource(path, encoding=encoding)
        self.spelling = LateSpelling()
        format = detect_format(self.source)
        if format == "JSONL":
            self.reader: Any = _JsonRecords(self.source, rows)
        elif format in ("CSV", "TSV"):
            self.reader = CsvReader(self.source, format, repeated="number")
        elif format in TABLE_READERS:
            self.reader = TABLE_READERS[format](self.source)
        else:
            raise StreamError(f"{self.source.name} is {format}, which cannot be read piece by piece; use CSV")
        self.columns = StreamedColumns(self.reader, self.source.name, keep)
        self._batches = self.reader.batches(self.columns.read, rows)
        head = next(self._batches, None)
        if head is None or not len(head.lines):
            raise EmptyTableError(f"{self.source.name} has no rows; it needs at least one below the header")
        self._head = head
        is_text = isinstance(self.reader, CsvReader)
        self.header_notes = check_header(self.reader, head.table, self.source.name) if is_text else []
        data = self.columns.start(head.table)
        table = RawTable(
            self.source.name, format, self.source.compression, data, head.lines,
            "line" if self.reader.unit == "line" else "row",
            (*self.header_notes, *encoding_notes(self.source, data, encoding), *self.columns.notes),
            False, None, dict(self.reader.roles),
        )  # fmt: skip
        named = name_voters(table)
        self.columns.name_voters(named.data.schema)
        coded = self.columns.convert(head).table.select(named.data.column_names)
        self.table = replace(named, dictionaries=(named.data, coded))

    def close(self) -> None:
        """Close the file."""
        self.source.close()

    def batches(self, used: Collection[str] | None = None) -> Iterator[TableBatch]:
        """Return all rows, with the names and types of columns that the first rows have.

        Parameters
        ----------
        used : collection of str, optional
            The columns whose types matter; others may have those of the file.
        """
        return (self.columns.convert(batch, used) for batch in chain([self._head], self._batches))

    def stream(
        self,
        reading: Reading,
        classes: ClassNames,
        schema: Schema,
        options: PanelOptions,
        labels: LabelColumn | None = None,
        empty: Collection[str] = (),
    ) -> Stream:
        """Return all items.

        Parameters
        ----------
        reading : Reading
            The roles of the columns.
        classes : ClassNames
            The classes in the first rows.
        schema : Schema
            The roles, as streams have them.
        options : PanelOptions
            What the user says.
        labels : LabelColumn, optional
            Labels of another file.
        empty : collection of str
            Columns without values in the first rows; they vote from where they have classes as values.
        """
        used = {one.name for one in reading.roles if one.role not in ("ignored", "time")} | {*empty}
        self.late = LateColumns(empty, options.missing, len(self._head.lines), self.table.unit)
        self.columns.expect(empty)
        batches = self.batches(used if labels is None else None)
        if labels is not None:
            batches = (TableBatch(labels.add_to(_decoded(batch.table)), batch.lines) for batch in batches)
        if reading.shape == "long":
            decoder = ColumnDecoder(
                self.source.name, self.table.unit, text=True, ignore_case=options.ignore_case
            )
            whole = _Batches(batches, self.reader)
            chunks = LongFormatReader(whole, schema, decoder).chunks(len(self._head.lines))
            return Stream(self.source, schema, chunks, None)
        builder = ChunkBuilder(
            self.source.name,
            self.table.unit,
            reading,
            classes,
            keep=not options.is_closed,
            keep_labels=True,
            missing=options.missing,
        )
        if not options.ignore_case and options.known_classes is None:
            builder.spelling = self.spelling
        return Stream(self.source, schema, self._wide_chunks(batches, builder, options), self.reader.num_rows)

    def _wide_chunks(
        self, batches: Iterator[TableBatch], builder: ChunkBuilder, options: PanelOptions
    ) -> Iterator[Chunk]:
        """Yield the items; columns that the first rows do not have vote if they would vote there, too."""
        first = 0
        known = {role.name for role in builder.reading.roles}
        for batch in batches:
            if not len(batch.lines):
                continue
            new = [name for name in batch.table.column_names if name not in known]
            cells = self.late.with_cells(batch) if self.late.names else {}
            new += [name for name, own in cells.items() if own.cells >= MIN_CELLS]
            voting: set[str] = set()
            if new and not options.is_stored and not options.is_by_name:
                roles = self._further_roles(batch.table.select(new), builder, options)
                builder.add_roles(roles)
                voting = {role.name for role in roles}
            known |= voting
            self.late.add(cells, voting)
            yield builder.chunk(batch.table, batch.lines, first)
            first += len(batch.lines)

    def _further_roles(self, data: Any, builder: ChunkBuilder, options: PanelOptions) -> list[ColumnRole]:
        """Return the roles of columns that vote, among those that the first rows do not have."""
        others = (*options.ignore, *options.attributes)
        names = [
            name
            for name in data.column_names
            if not matches(name, others) and (options.experts is None or matches(name, options.experts))
        ]
        options = replace(options, experts=None if options.experts is None else tuple(names))
        hints = {"experts": tuple(self.columns.voters.intersection(names))}
        roles = WideRoles(profile_table(data.select(names), options, self.source.name, hints))
        return roles.infer_further(builder.classes, builder.reading.column("label"))


def _decoded(table: Any) -> Any:
    """Return a table whose columns are plain: dictionaries of two batches differ."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    columns = [column.cast(pa.string()) if column.type == pa.null() else column for column in columns]
    return pa.table(columns, names=table.column_names)


class _JsonRecords:
    """The objects of a file as columns; those of the first objects and their types stay."""

    unit, num_rows = "line", None

    def __init__(self, source: ByteSource, rows: int) -> None:
        self.roles: dict[str, Any] = {}
        self._name = source.name
        self._parts = JsonLinesReader(source, CONSTANTS).rows(rows)
        self._head = self._table(next(self._parts))
        self.arrow_schema = self._head.table.schema

    def _table(self, part: JsonRows) -> TableBatch:
        return TableBatch(records_table(part.dicts, self._name), np.array(part.lines, np.int64))

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns; those that only later objects have follow them from there on."""
        names = list(columns)
        for batch in chain([self._head], map(self._table, self._parts)):
            names += self._add_fields(batch)
            arrays = [self._column(batch, name) for name in names]
            yield TableBatch(pa.table(arrays, names=names), batch.lines)

    def _add_fields(self, batch: TableBatch) -> list[str]:
        """Return the columns that no object had before, if they have values."""
        known = set(self.arrow_schema.names)
        fields = [
            field
            for field, column in zip(batch.table.schema, batch.table.columns, strict=True)
            if field.name not in known and column.null_count < len(column)
        ]
        if fields:
            self.arrow_schema = pa.schema([*self.arrow_schema, *fields])
            check_number_of_columns(self.arrow_schema.names, self._name, f"line {batch.lines[-1]}")
        return [field.name for field in fields]

    def _column(self, batch: TableBatch, name: str) -> Any:
        kind = self.arrow_schema.field(name).type
        if name not in batch.table.column_names:
            return pa.nulls(len(batch.lines), kind)
        try:
            return batch.table.column(name).cast(kind)
        except pa.ArrowInvalid:
            raise StreamError(
                f"{self._name}, lines {batch.lines[0]} to {batch.lines[-1]}: {short_repr(name)} is not"
                f" of type {kind} as in the lines before; write the same type on every line"
            ) from None


@dataclass
class _Batches:
    """Batches whose first one was already read, as a reader."""

    read: Iterator[TableBatch]
    reader: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.reader, name)

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        for batch in self.read:
            yield TableBatch(batch.table.select(list(columns)), np.asarray(batch.lines))
