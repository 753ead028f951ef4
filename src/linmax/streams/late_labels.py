"""Labels that come in a file of their own, later, and are joined by id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from linmax.streams.columns import Columns, as_numpy, combined, kind_of
from linmax.streams.json_lines import Jsonl, Objects
from linmax.streams.schema import LABELS, Layout, StreamError, called, no_column, shown
from linmax.streams.source import Source, format_of
from linmax.streams.stream import reader_of

Row = tuple[Any, Any, int]  # id, label, line


class Labels(dict[str, Any]):
    """Labels by id. Ids are compared as they are written: 7 in a Parquet file is "7" in a CSV file."""

    def of(self, ids: Iterable[Any]) -> NDArray[Any]:
        """The label of each id, None where there is none.

        >>> Labels({"7": "spam"}).of([7, "8"])
        array(['spam', None], dtype=object)
        """
        return np.array([*(self.get(written(name)) for name in ids), None], object)[:-1]


def labels_from(
    path: str | os.PathLike[str] | BinaryIO, *, id: str = "id", label: str | None = None, fold: bool = False
) -> Labels:
    """Read labels that came later; rows without one are passed over.

    Without `label` their column is the one called truth, label, gold or target.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> late = labels_from(io.BytesIO(b"id,truth\\n2,spam\\n3,ham\\n"))
    >>> (piece,) = open_stream(io.BytesIO(b"id,ann,bob\\n1,ham,ham\\n2,ham,spam\\n"))
    >>> late.of(piece.ids)
    array([None, 'spam'], dtype=object)
    """
    source = Source(path)
    out = Labels()
    try:
        unit, rows = _rows(source, id, label, fold)
        for name, truth, line in rows:
            if truth is None:
                continue
            if name is None:
                raise StreamError(
                    f"{source.name}, {unit} {line}: {shown(id)} is empty; every label needs its id"
                )
            if out.setdefault(written(name), truth) != truth:
                raise StreamError(
                    f"{source.name}, {unit} {line}: id {shown(name)} has the label {shown(truth)} here and"
                    f" {shown(out[written(name)])} before; keep one"
                )
    finally:
        source.close()
    return out


def written(name: Any) -> str:
    """An id as text.

    >>> written(7), written(7.0), written("a7")
    ('7', '7', 'a7')
    """
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def _rows(source: Source, id: str, label: str | None, fold: bool) -> tuple[str, Iterator[Row]]:
    format = format_of(source)
    if format == "svmlight":
        raise StreamError(f"{source.name} is svmlight, which has no ids to join by; use CSV or JSONL")
    if format == "JSONL":
        reader = Jsonl(source)
        label = _demand_columns(source.name, reader.columns, id, label)
        layout = Layout(source.name, format, source.compression, "wide", (), label, id)
        return "line", _objects(Objects(reader, layout, fold, True))
    columns = reader_of(source, format)
    label = _demand_columns(source.name, columns.schema.names, id, label)
    kind = columns.schema.field(label).type
    if not kind_of(kind):
        raise StreamError(
            f"{source.name}: column {shown(label)} is of type {kind}; cast it to numbers or text"
        )
    reading = Columns(source.name, columns.unit, text=format in ("CSV", "TSV"), fold=fold)
    return columns.unit, _columns(columns, reading, id, label)


def _objects(objects: Objects) -> Iterator[Row]:
    for piece in objects.pieces(65_536):
        assert piece.ids is not None
        yield from zip(piece.ids, piece.labels.tolist(), piece.lines.tolist(), strict=True)


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
