"""PredictionWriter as a file or on standard output, chunk by chunk: whole at the end, or not there at all."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
import pyarrow as pa

from linmax._files import open_atomic
from linmax.streams.chunk import Chunk
from linmax.streams.late_labels import id_text

ENDINGS = (".csv", ".tsv", ".jsonl", ".parquet")


class _Format(Protocol):
    def write(self, table: Any) -> None: ...
    def close(self) -> None: ...


class PredictionWriter:
    """Rows of guesses, written as they come; what they are written as is told by the ending of the file.

    A row has the line of the file that its item begins in, its id where there are ids, the guess, the margin
    and, where labels are given, the truth. A file appears under its name when all is written, and not at all
    on an error or an interrupt. None and "-" are standard output, as CSV.

    >>> import io
    >>> from linmax.streams import open_stream
    >>> with PredictionWriter(None) as guesses:
    ...     for chunk in open_stream(io.BytesIO(b"id,ann\\n7,ham\\n8,spam\\n")):
    ...         guesses.write(chunk, np.array(["ham", "a, b"]), np.array([0.5, np.nan]))
    row,id,guess,margin
    2,"7","ham",0.5
    3,"8","a, b",
    >>> PredictionWriter("guesses.txt")
    Traceback (most recent call last):
    ValueError: guesses.txt does not end in .csv, .tsv, .jsonl or .parquet; call it so
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.rows = 0  # written so far
        self.path = None if path is None or os.fspath(path) == "-" else _file(path)
        self._format: _Format | None = None
        self._file: BinaryIO | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if self.path is not None:
            self._file = self._stack.enter_context(open_atomic(Path(os.path.realpath(self.path))))
        return self

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            with suppress(
                Exception
            ):  # what is written last is thrown away, but must be written while it can be
                if self._format is not None:
                    self._format.close()
            self._stack.__exit__(*error)
            return
        try:
            with self._stack:
                self._opened(_NONE).close()
        except BrokenPipeError:  # nobody reads on: that is no failure of ours
            raise
        except OSError as failed:
            raise self._failed(failed) from None

    def write(self, chunk: Chunk, guesses: Any, margins: Any, truths: Any = None) -> None:
        """Write the rows of a chunk, or of a part of one; columns are those of the first time."""
        columns: dict[str, Any] = {"row": pa.array(chunk.lines, pa.int64())}
        if chunk.ids is not None:
            columns["id"] = _ids(chunk.ids)
        columns["guess"] = _names(guesses)
        columns["margin"] = pa.array(np.asarray(margins, np.float64), from_pandas=True)  # NaN is empty
        if truths is not None:
            columns["truth"] = _names(truths)
        table = pa.table(columns)
        try:
            self._opened(table).write(table)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._failed(error) from None
        self.rows += chunk.items

    def _opened(self, table: Any) -> _Format:
        if self._format is None:
            ending = ".csv" if self.path is None else self.path.suffix.lower()
            file = _Stdout() if self._file is None else self._file
            if ending == ".parquet":
                self._format = _Parquet(file, table.schema, str(self.path))
            elif ending == ".jsonl":
                self._format = _Jsonl(file)
            else:
                self._format = _Delimited(file, "\t" if ending == ".tsv" else ",", table.column_names)
        return self._format

    def _failed(self, error: OSError) -> ValueError:
        return ValueError(f"cannot write {self.path or 'standard output'}: {error.strerror or error}")


class _Delimited:
    """CSV, or with tabs; what needs no quotes has none."""

    def __init__(self, file: Any, sign: str, names: list[str]) -> None:
        self.file, self.sign = file, sign
        file.write((sign.join(names) + "\n").encode())

    def write(self, table: Any) -> None:
        try:
            text = self._text(table, "none")
        except pa.ArrowInvalid:
            text = self._text(table, "needed")
        self.file.write(text)

    def _text(self, table: Any, quoting: str) -> bytes:
        from pyarrow import csv

        content = io.BytesIO()
        options = csv.WriteOptions(include_header=False, delimiter=self.sign, quoting_style=quoting)
        csv.write_csv(table, content, options)
        return content.getvalue()

    def close(self) -> None:
        self.file.flush()


class _Jsonl:
    """An object per line."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, table: Any) -> None:
        rows = (json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in table.to_pylist())
        self.file.write("".join(rows).encode())

    def close(self) -> None:
        self.file.flush()


class _Parquet:
    """Columns of the types that the first rows have; where those are all empty, text."""

    def __init__(self, file: Any, schema: Any, path: str) -> None:
        from pyarrow import parquet

        fields = [
            pa.field(one.name, pa.string() if pa.types.is_null(one.type) else one.type) for one in schema
        ]
        self.schema, self.path = pa.schema(fields), path
        self.writer = parquet.ParquetWriter(file, self.schema)

    def write(self, table: Any) -> None:
        for mine, theirs in zip(self.schema, table.schema, strict=True):
            if theirs.type not in (mine.type, pa.null()) and not pa.types.is_string(mine.type):
                raise ValueError(
                    f"{self.path} cannot hold a {mine.name} of type {theirs.type} beside {mine.type};"
                    " call it .csv or .jsonl"
                )
        self.writer.write_table(table.cast(self.schema))

    def close(self) -> None:
        self.writer.close()


class _Stdout:
    """Standard output for bytes, also where a test has put text in its place."""

    def write(self, content: bytes) -> None:
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:
            sys.stdout.write(content.decode())
        else:
            sys.stdout.flush()
            binary.write(content)
            binary.flush()

    def flush(self) -> None:
        sys.stdout.flush()


_NONE = pa.schema([("row", pa.int64()), ("guess", pa.string()), ("margin", pa.float64())]).empty_table()


def _file(path: str | os.PathLike[str]) -> Path:
    found = Path(path)
    if found.suffix.lower() not in ENDINGS:
        raise ValueError(f"{found} does not end in .csv, .tsv, .jsonl or .parquet; call it so")
    if found.exists() and not found.is_file():
        raise ValueError(f"cannot write {found}: it is no file; name another")
    if not found.absolute().parent.is_dir():
        raise ValueError(f"cannot write {found}: there is no folder {found.parent}; make it first")
    return found


def _names(names: Any) -> Any:
    """Classes as an Arrow array; whole numbers that are too large for one are written as text."""
    try:
        return pa.array(np.asarray(names).tolist())
    except (OverflowError, pa.ArrowInvalid):
        return pa.array([None if name is None else str(name) for name in names])


def _ids(ids: list[Any]) -> Any:
    """Whole numbers stay what they are, all others are written out."""
    if all(type(name) is int for name in ids):
        try:
            return pa.array(ids, pa.int64())
        except (OverflowError, pa.ArrowInvalid):
            pass
    return pa.array([None if name is None else id_text(name) for name in ids], pa.string())
