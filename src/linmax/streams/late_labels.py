"""LateLabels that come in a file of their own, later, and are joined by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linmax.streams.columns import Columns, as_numpy, combined, kind_of
from linmax.streams.json_lines import Jsonl, Objects
from linmax.streams.schema import LABELS, Schema, StreamError, called, no_column, short_repr
from linmax.streams.source import Source, format_of
from linmax.streams.stream import reader_of

Row = tuple[Any, Any, int]  # id, label, line


class LateLabels(dict[str, Any]):
    """LateLabels by id. Ids are compared as they are written: 7 in a Parquet file is "7" in a CSV file."""

    def for_ids(self, ids: Iterable[Any]) -> NDArray[Any]:
        """The label of each id, None where there is none.

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
    """Read labels that came later; rows without one are passed over.

    Without `label` their column is the one called truth, label, gold or target.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> late = read_labels(io.BytesIO(b"id,truth\\n2,spam\\n3,ham\\n"))
    >>> (chunk,) = open_stream(io.BytesIO(b"id,ann,bob\\n1,ham,ham\\n2,ham,spam\\n"))
    >>> late.for_ids(chunk.ids)
    array([None, 'spam'], dtype=object)
    """
    source = Source(path)
    out = LateLabels()
    try:
        unit, rows = _rows(source, id, label, ignore_case)
        for name, truth, line in rows:
            if truth is None:
                continue
            if name is None:
                raise StreamError(
                    f"{source.name}, {unit} {line}: {short_repr(id)} is empty; every label needs its id"
                )
            if out.setdefault(id_text(name), truth) != truth:
                raise StreamError(
                    f"{source.name}, {unit} {line}: id {short_repr(name)} has the label {short_repr(truth)} here and"
                    f" {short_repr(out[id_text(name)])} before; keep one"
                )
    finally:
        source.close()
    return out


def id_text(name: Any) -> str:
    """An id as text.

    >>> id_text(7), id_text(7.0), id_text("a7")
    ('7', '7', 'a7')
    """
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _rows(source: Source, id: str, label: str | None, ignore_case: bool) -> tuple[str, Iterator[Row]]:
    format = format_of(source)
    if format == "svmlight":
        raise StreamError(f"{source.name} is svmlight, which has no ids to join by; use CSV or JSONL")
    if format == "JSONL":
        reader = Jsonl(source)
        label = _demand_columns(source.name, reader.columns, id, label)
        layout = Schema(source.name, format, source.compression, "wide", (), label, id)
        return "line", _objects(Objects(reader, layout, ignore_case, True))
    columns = reader_of(source, format)
    label = _demand_columns(source.name, columns.schema.names, id, label)
    kind = columns.schema.field(label).type
    if not kind_of(kind):
        raise StreamError(
            f"{source.name}: column {short_repr(label)} is of type {kind}; cast it to numbers or text"
        )
    reading = Columns(source.name, columns.unit, text=format in ("CSV", "TSV"), ignore_case=ignore_case)
    return columns.unit, _columns(columns, reading, id, label)


def _objects(objects: Objects) -> Iterator[Row]:
    for chunk in objects.chunks(65_536):
        assert chunk.ids is not None
        yield from zip(chunk.ids, chunk.labels.tolist(), chunk.lines.tolist(), strict=True)


def _columns(reader: Any, columns: Columns, id: str, label: str) -> Iterator[Row]:
    for batch in reader.batches([id, label], 65_536):
        ids = as_numpy(combined(batch.table.column(id)))
        yield from zip(ids.tolist(), columns.labels(batch, label).tolist(), batch.lines.tolist(), strict=True)


def _demand_columns(file: str, columns: list[str], id: str, label: str | None) -> str:
    """The column of labels; both columns have to be there."""
    label = label or called(columns, LABELS) or LABELS[0]
    for name in (id, label):
        if name not in columns:
            raise no_column(file, name, columns)
    return label
