"""Late labels: labels in a file of their own, joined to the items of a stream by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linmax.streams.columns import ColumnDecoder, TableReader, label_kind, single_chunk, to_numpy
from linmax.streams.formats import detect_format
from linmax.streams.json_lines import JsonItemReader, JsonLinesReader
from linmax.streams.schema import (
    LABEL_NAMES,
    Schema,
    StreamError,
    find_column,
    missing_column,
    short_repr,
)
from linmax.streams.source import ByteSource
from linmax.streams.stream import TABLE_READERS

CHUNK_SIZE = 1 << 16
Row = tuple[Any, Any, int]  # id, label, line


class LateLabels(dict[str, Any]):
    """Labels by id.

    Ids are compared as text: 7 in a Parquet file equals "7" in a CSV file.
    """

    def for_ids(self, ids: Iterable[Any]) -> NDArray[Any]:
        """Return the label of each id, None where there is none.

        Parameters
        ----------
        ids : iterable
            The ids, for example `chunk.ids`.

        Returns
        -------
        ndarray of object

        Examples
        --------
        >>> LateLabels({"7": "spam"}).for_ids([7, "8"])
        array(['spam', None], dtype=object)
        """
        return np.array([*(self.get(id_text(name)) for name in ids), None], object)[:-1]


def read_labels(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    id: str = "id",
    label: str | None = None,
    ignore_case: bool = False,
) -> LateLabels:
    """Read a file of ids and labels; rows without a label are skipped.

    Parameters
    ----------
    path : str, path-like or binary file
        The file, in any format with columns; see `open_stream`.
    id : str
        The column of ids.
    label : str, optional
        The column of labels, by default the one named truth, label, gold or target.
    ignore_case : bool
        Strip whitespace around labels and ignore their case.

    Returns
    -------
    LateLabels

    Raises
    ------
    StreamError
        If the file cannot be read, an id is missing, or an id has two different labels.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> late = read_labels(io.BytesIO(b"id,truth\\n2,spam\\n3,ham\\n"))
    >>> (chunk,) = open_stream(io.BytesIO(b"id,ann,bob\\n1,ham,ham\\n2,ham,spam\\n"))
    >>> late.for_ids(chunk.ids)
    array([None, 'spam'], dtype=object)
    """
    source = ByteSource(path)
    labels = LateLabels()
    try:
        unit, rows = _read_rows(source, id, label, ignore_case)
        for name, truth, line in rows:
            if truth is None:
                continue
            if name is None:
                raise StreamError(
                    f"{source.name}, {unit} {line}: {short_repr(id)} is empty; every label needs its id"
                )
            known = labels.setdefault(id_text(name), truth)
            if known != truth:
                raise StreamError(
                    f"{source.name}, {unit} {line}: id {short_repr(name)} has the label {short_repr(truth)}"
                    f" here and {short_repr(known)} before; keep one"
                )
    finally:
        source.close()
    return labels


def id_text(name: Any) -> str:
    """Return an id as text; floats that are integers are written as integers.

    Examples
    --------
    >>> id_text(7), id_text(7.0), id_text("a7")
    ('7', '7', 'a7')
    """
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _read_rows(
    source: ByteSource, id: str, label: str | None, ignore_case: bool
) -> tuple[str, Iterator[Row]]:
    """Return the unit in which rows are counted, and the rows."""
    format = detect_format(source)
    if format == "svmlight":
        raise StreamError(f"{source.name} is an svmlight file, which has no ids to join by; use CSV or JSONL")
    if format == "JSONL":
        objects = JsonLinesReader(source)
        label = _label_column(source.name, objects.columns, id, label)
        schema = Schema(source.name, format, source.compression, "wide", (), label, id)
        return "line", _json_rows(JsonItemReader(objects, schema, ignore_case))
    reader = TABLE_READERS[format](source)
    label = _label_column(source.name, reader.arrow_schema.names, id, label)
    arrow_type = reader.arrow_schema.field(label).type
    if not label_kind(arrow_type):
        raise StreamError(
            f"{source.name}: column {short_repr(label)} is of type {arrow_type}; cast it to numbers or text"
        )
    text = format in ("CSV", "TSV")
    decoder = ColumnDecoder(source.name, reader.unit, text=text, ignore_case=ignore_case)
    return reader.unit, _table_rows(reader, decoder, id, label)


def _json_rows(reader: JsonItemReader) -> Iterator[Row]:
    for chunk in reader.chunks(CHUNK_SIZE):
        assert chunk.ids is not None
        yield from zip(chunk.ids, chunk.labels.tolist(), chunk.lines.tolist(), strict=True)


def _table_rows(reader: TableReader, decoder: ColumnDecoder, id: str, label: str) -> Iterator[Row]:
    for batch in reader.batches([id, label], CHUNK_SIZE):
        ids = to_numpy(single_chunk(batch.table.column(id))).tolist()
        yield from zip(ids, decoder.labels(batch, label).tolist(), batch.lines.tolist(), strict=True)


def _label_column(file: str, columns: list[str], id: str, label: str | None) -> str:
    """Return the column of labels, after checking that it and the column of ids exist."""
    label = label or find_column(columns, LABEL_NAMES) or LABEL_NAMES[0]
    for name in (id, label):
        if name not in columns:
            raise missing_column(file, name, columns)
    return label
