"""Files of predictions, written in chunks; a file appears when it is complete."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from linmax._files import open_atomic
from linmax.streams.chunk import Chunk
from linmax.streams.columns import id_text

SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet")
EMPTY_SCHEMA = pa.schema([("row", pa.int64()), ("guess", pa.string()), ("margin", pa.float64())])


class PredictionWriter:
    """Writes predictions as CSV, TSV, JSONL or Parquet; the suffix of the file decides.

    Use it as a context manager. A row has the line of the file at which its item starts, its id if there are
    ids, the predicted class, the margin and, if labels are given, the label, in the columns `row`, `id`,
    `guess`, `margin` and `truth`. The file appears under its name when the block ends, and not at all after
    an error or an interrupt.

    Parameters
    ----------
    path : str, path-like or None
        The file; None or "-" for CSV on standard output.

    Attributes
    ----------
    rows : int
        Number of rows written so far.

    Examples
    --------
    >>> import io
    >>> from linmax.streams import open_stream
    >>> with PredictionWriter(None) as writer:
    ...     for chunk in open_stream(io.BytesIO(b"id,ann\\n7,ham\\n8,spam\\n"), label="", id="id"):
    ...         writer.write(chunk, np.array(["ham", "a, b"]), np.array([0.5, np.nan]))
    row,id,guess,margin
    2,"7","ham",0.5
    3,"8","a, b",
    >>> PredictionWriter("guesses.txt")
    Traceback (most recent call last):
    ValueError: cannot write guesses.txt: its name must end in .csv, .tsv, .jsonl or .parquet
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.rows = 0
        self.path = None if path is None or os.fspath(path) == "-" else _check_path(path)
        self._table_writer: _TableWriter | None = None
        self._file: BinaryIO | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self.path is not None:
            self._file = self._stack.enter_context(open_atomic(Path(os.path.realpath(self.path))))
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            # pyarrow's writer must be closed before its file, although the file is thrown away
            with suppress(Exception):
                if self._table_writer is not None:
                    self._table_writer.close()
            self._stack.__exit__(*error)
            return
        try:
            with self._stack:
                self._open_writer(EMPTY_SCHEMA).close()
        except BrokenPipeError:  # the reader of the pipe has exited; the caller handles that
            raise
        except OSError as failure:
            raise self._error(failure) from None

    def write(
        self,
        chunk: Chunk,
        guesses: Any,
        margins: Any,
        labels: Any = None,
        probabilities: dict[str, Any] | None = None,
        answers: Any = None,
        sets: list[list[Any]] | None = None,
    ) -> None:
        """Write the rows of a chunk.

        Parameters
        ----------
        chunk : Chunk
            The items.
        guesses : array-like
            The predicted class of each item.
        margins : array-like of float
            The margin of each prediction; NaN is written as an empty cell.
        labels : array-like, optional
            The label of each item. The first call decides whether there is a column of labels.
        probabilities : dict of str to array-like of float, optional
            The probability of each class on every item; class ``c`` is written to the column ``p_c``.
        answers : array-like, optional
            The predicted class of each item that is answered, and None for those passed on: the column
            ``answer``.
        sets : list of list, optional
            The set of classes of each item: the column ``set``, a list in JSONL and Parquet, and text with
            semicolons elsewhere.
        """
        columns: dict[str, Any] = {"row": pa.array(chunk.lines, pa.int64())}
        if chunk.ids is not None:
            columns["id"] = _arrow_ids(chunk.ids)
        columns["guess"] = _arrow_classes(guesses)
        columns["margin"] = pa.array(np.asarray(margins, np.float64), from_pandas=True)
        if labels is not None:
            columns["truth"] = _arrow_classes(labels)
        if answers is not None:
            columns["answer"] = _arrow_classes(answers)
        if sets is not None:
            columns["set"] = _arrow_sets(sets)
        for name, values in (probabilities or {}).items():
            columns[f"p_{name}"] = pa.array(np.round(np.asarray(values, np.float64), 6))
        table = pa.table(columns)
        try:
            self._open_writer(table.schema).write(table)
        except BrokenPipeError:
            raise
        except OSError as failure:
            raise self._error(failure) from None
        self.rows += chunk.items

    def _open_writer(self, schema: Any) -> _TableWriter:
        if self._table_writer is None:
            suffix = ".csv" if self.path is None else self.path.suffix.lower()
            file = _StandardOutput() if self._file is None else self._file
            if suffix == ".parquet":
                self._table_writer = _ParquetWriter(file, schema, str(self.path))
            elif suffix == ".jsonl":
                self._table_writer = _JsonLinesWriter(file)
            else:
                self._table_writer = _CsvWriter(file, "\t" if suffix == ".tsv" else ",", schema.names)
        return self._table_writer

    def _error(self, failure: OSError) -> ValueError:
        return ValueError(f"cannot write {self.path or 'standard output'}: {failure.strerror or failure}")


class _TableWriter(Protocol):
    def write(self, table: Any) -> None: ...
    def close(self) -> None: ...


class _CsvWriter:
    """Cells without quotes unless a cell of the table needs them."""

    def __init__(self, file: Any, delimiter: str, names: list[str]) -> None:
        self.file, self.delimiter = file, delimiter
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def write(self, table: Any) -> None:
        if "set" in table.column_names:
            place = table.column_names.index("set")
            joined = pa.array([";".join(map(str, one)) for one in table["set"].to_pylist()])
            table = table.set_column(place, "set", joined)
        try:
            text = self._format(table, "none")
        except pa.ArrowInvalid:
            text = self._format(table, "needed")
        self.file.write(text)

    def _format(self, table: Any, quoting: str) -> bytes:
        content = io.BytesIO()
        options = pa.csv.WriteOptions(include_header=False, delimiter=self.delimiter, quoting_style=quoting)
        pa.csv.write_csv(table, content, options)
        return content.getvalue()

    def close(self) -> None:
        self.file.flush()


class _JsonLinesWriter:
    """One object per line."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, table: Any) -> None:
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in table.to_pylist())
        self.file.write("".join(rows).encode())

    def close(self) -> None:
        self.file.flush()


class _ParquetWriter:
    """The first table decides the types of the columns; a column without values is text."""

    def __init__(self, file: Any, schema: Any, path: str) -> None:
        fields = [
            pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in schema
        ]
        self.schema, self.path = pa.schema(fields), path
        self.writer = pa.parquet.ParquetWriter(file, self.schema)

    def write(self, table: Any) -> None:
        for field, new in zip(self.schema, table.schema, strict=True):
            if new.type not in (field.type, pa.null()) and not pa.types.is_string(field.type):
                raise ValueError(
                    f"{self.path} cannot hold a {field.name} of type {new.type} beside {field.type};"
                    " write .csv or .jsonl"
                )
        self.writer.write_table(table.cast(self.schema))

    def close(self) -> None:
        self.writer.close()


class _StandardOutput:
    """Standard output for bytes, also if it was replaced by a text file without a buffer."""

    def write(self, content: bytes) -> None:
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(content.decode())
        else:
            sys.stdout.flush()
            left = memoryview(content)
            while left:  # with PYTHONUNBUFFERED=1, a pipe that breaks may take a part without an error
                left = left[binary.write(left) :]
            binary.flush()

    def flush(self) -> None:
        sys.stdout.flush()


def _check_path(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        raise ValueError(f"cannot write {file}: its name must end in .csv, .tsv, .jsonl or .parquet")
    if file.exists() and not file.is_file():
        raise ValueError(f"cannot write {file}: it is not a file; use another name")
    if not file.absolute().parent.is_dir():
        raise ValueError(f"cannot write {file}: there is no folder {file.parent}; create it first")
    return file


def _arrow_classes(names: Any) -> Any:
    """Convert classes to an Arrow array; integers beyond 64 bits, and those beside text, become text."""
    try:
        return pa.array(np.asarray(names).tolist())
    except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if name is None else str(name) for name in names])


def _arrow_sets(sets: list[list[Any]]) -> Any:
    """Convert sets of classes to an Arrow array of lists."""
    try:
        return pa.array(sets)
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([[str(name) for name in one] for one in sets])


def _arrow_ids(ids: list[Any]) -> Any:
    """Convert ids to an Arrow array: integers if all are, else text."""
    if all(type(name) is int for name in ids):
        try:
            return pa.array(ids, pa.int64())
        except (OverflowError, pa.ArrowInvalid):
            pass
    return pa.array([None if name is None else id_text(name) for name in ids], pa.string())
