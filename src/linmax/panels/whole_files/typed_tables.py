"""Files with typed columns, read as a whole: Parquet, Arrow, NumPy's arrays and svmlight."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax.panels.whole_files.limits import HEAD_ROWS, Loaded, ReadLimit
from linmax.panels.whole_files.nested_votes import find_votes, read_nested_votes
from linmax.panels.whole_files.plain import plain_table
from linmax.streams.columns import TableReader
from linmax.streams.files.source import ByteSource
from linmax.streams.readers.arrow import ParquetReader
from linmax.streams.readers.numpy_files import ArrayReader, arrow_table, arrow_type
from linmax.streams.readers.svmlight import SvmlightReader
from linmax.streams.schema import UNNAMED, StreamError, short_list
from linmax.streams.stream import TABLE_READERS

BATCH_ROWS = 1 << 14
MAX_COLUMNS = 10_000
MAX_CELLS = 50_000_000

MAX_NESTED = 1_000_000
"""Rows of a table whose lists may be read as votes."""


def read_columns(source: ByteSource, format: str, limit: ReadLimit) -> Loaded:
    """Read a file with the reader of `open_stream`, such as Parquet, Arrow, or an .npz with votes."""
    if format != "Arrow":
        source = seekable(source, limit)
    reader: TableReader
    if format == "Parquet":
        reader = ParquetReader(source, keep_dictionaries=True)
    else:
        reader = TABLE_READERS[format](source)
    tables, rows, size, complete = [], 0, 0, True
    for batch in reader.batches(reader.arrow_schema.names, BATCH_ROWS):
        tables.append(batch.table)
        rows += len(batch.lines)
        size += batch.table.nbytes
        cells = rows * len(reader.arrow_schema.names)
        if size > limit.limit_bytes or cells > MAX_CELLS or limit.reached(rows):
            complete = rows == reader.num_rows
            break
    table = pa.concat_tables(tables).unify_dictionaries() if tables else reader.arrow_schema.empty_table()
    if not complete:
        table = table.slice(0, HEAD_ROWS)
    notes: list[str] = []
    hints = {role: name for role, name in reader.roles.items() if name}
    if any("list<" in str(field.type) for field in table.schema):  # also inside of structs
        records = table.slice(0, MAX_NESTED).to_pylist()
        place = find_votes(records) if len(table) <= MAX_NESTED else None
        if place is not None:
            loaded = read_nested_votes(records, list(range(1, len(records) + 1)), place, source.name)
            return loaded._replace(complete=complete)
    data = plain_table(table, source.name, notes)
    return Loaded(data, np.arange(1, len(table) + 1), "row", notes, complete, hints)


def read_npy(source: ByteSource, limit: ReadLimit) -> Loaded:
    """Read an array of one or two dimensions; its columns are named "column 1", "column 2", ..."""
    values = _read_array(source, source.name, limit)
    if not values.shape:
        raise StreamError(f"{source.name} is a single number; save an array of one or two dimensions")
    if values.dtype.names:
        data = {str(field): values[field] for field in values.dtype.names}
    else:
        data = _array_columns(values, UNNAMED.removesuffix(" {}"), source.name)
    return _from_arrays(data, source.name)


def read_npz(source: ByteSource, limit: ReadLimit) -> Loaded:
    """Read an archive of arrays with the same number of rows.

    Arrays named votes or attributes are read as `open_stream` reads them. Otherwise an array of one
    dimension is a column, and one of two dimensions several.
    """
    source = seekable(source, limit)
    try:
        archive = zipfile.ZipFile(source.seekable_file())
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    except Exception as error:  # zipfile raises many types of errors for damaged archives
        raise StreamError(f"{source.name} is damaged or not an .npz file; write it again") from error
    if {"votes", "attributes"} & set(members):
        return read_columns(source, "npz", limit)
    columns: dict[str, NDArray[Any]] = {}
    rows: dict[str, int] = {}
    cells = 0
    for name, info in members.items():
        try:
            file = archive.open(info)
        except Exception as error:  # a password, an unknown compression, a damaged entry
            raise StreamError(f"{source.name}: {name!r} cannot be read; write it again") from error
        values = _read_array(file, f"{source.name} ({name})", limit)
        if not values.shape:
            continue
        rows[name] = len(values)
        cells += values.size
        if cells > MAX_CELLS:
            raise StreamError(f"{source.name} has over {MAX_CELLS} values; save fewer rows")
        columns.update({name: values} if values.ndim == 1 else _array_columns(values, name, source.name))
    if len(set(rows.values())) > 1:
        found = short_list(f"{name} {size}" for name, size in rows.items())
        raise StreamError(
            f"{source.name} has arrays of different lengths ({found}); save arrays of one length"
        )
    return _from_arrays(columns, source.name)


def read_svmlight(source: ByteSource, limit: ReadLimit) -> Loaded:
    """Read an svmlight file: the column label, and one column of attributes per index."""
    labels, lines, attributes = [], [], []
    indices: set[int] = set()
    complete = True
    for chunk in SvmlightReader(source).chunks(BATCH_ROWS):
        labels.append(chunk.raw_labels)
        lines.append(chunk.lines)
        attributes += chunk.attributes
        indices.update(*chunk.attributes)
        if len(indices) > MAX_COLUMNS or len(indices) * len(attributes) > MAX_CELLS:
            raise StreamError(
                f"{source.name} has {len(indices)} attributes by row {len(attributes)}, which is too many for"
                " a table; train on it with open_stream, which reads it in chunks"
            )
        if limit.reached(len(attributes)):
            complete = False
            break
    if not labels:
        raise StreamError(f"{source.name} is empty; it needs at least one row")
    order = {index: j for j, index in enumerate(sorted(indices))}
    values = np.zeros((len(attributes), len(order)))
    for i, row in enumerate(attributes):
        for index, value in row.items():
            values[i, order[index]] = value
    data = {"label": np.concatenate(labels)} | {str(index): values[:, j] for index, j in order.items()}
    hints = {"label": "label", "attributes": tuple(map(str, order))}
    table = plain_table(arrow_table(data, source.name, len(values)), source.name, [])
    return Loaded(table, np.concatenate(lines), "line", [], complete, hints)


def seekable(source: ByteSource, limit: ReadLimit) -> ByteSource:
    """Return a source that can be read in any order: the same one, or its bytes in memory."""
    if source.seekable:
        return source
    unpacked = ByteSource(io.BytesIO(limit.read_all("a compressed file")))
    unpacked.name = source.name
    return unpacked


def _read_array(file: Any, name: str, limit: ReadLimit) -> NDArray[Any]:
    array = ArrayReader(file, name, column_major=True)
    size = array.num_rows * array.row_bytes
    if size > limit.limit_bytes or array.num_rows * array.num_columns > MAX_CELLS:
        raise StreamError(
            f"{name} has shape {array.shape} and {size >> 20} MB; at most {limit.limit_bytes >> 20} MB and"
            f" {MAX_CELLS} values are read, so save fewer rows"
        )
    values = array.read(array.num_rows) if array.shape else np.empty(())
    if values.ndim > 2:
        raise StreamError(
            f"{name} has shape {array.shape}; save one or two dimensions, or scores in an .npz, as votes of"
            " shape (items, experts, classes)"
        )
    return values


def _array_columns(values: NDArray[Any], name: str, file: str) -> dict[str, NDArray[Any]]:
    if values.ndim == 1:
        return {f"{name} 1": values}
    if values.shape[1] > MAX_COLUMNS or values.size > MAX_CELLS:
        raise StreamError(f"{file} has shape {values.shape}; at most {MAX_COLUMNS} columns are read")
    return {f"{name} {j + 1}": values[:, j] for j in range(values.shape[1])}


def _from_arrays(columns: dict[str, NDArray[Any]], file: str) -> Loaded:
    if not columns or not len(next(iter(columns.values()))):
        raise StreamError(f"{file} has no rows; save at least one")
    for name, values in columns.items():
        arrow_type(values.dtype, file, name)
    notes: list[str] = []
    rows = len(next(iter(columns.values())))
    data = plain_table(arrow_table(columns, file, rows), file, notes)
    return Loaded(data, np.arange(1, rows + 1), "row", notes)
