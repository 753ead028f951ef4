"""Tables: whole files of any format, read into memory as plain columns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from linmax.panels.joins.expert_names import file_expert
from linmax.panels.whole_files.excel import read_excel
from linmax.panels.whole_files.json_tables import read_json, read_json_lines
from linmax.panels.whole_files.label_studio import flat_export_hints
from linmax.panels.whole_files.limits import DEFAULT_LIMIT, Loaded, ReadLimit
from linmax.panels.whole_files.text_tables import read_csv
from linmax.panels.whole_files.typed_tables import read_columns, read_npy, read_npz, read_svmlight
from linmax.streams.files.detect_format import detect_format
from linmax.streams.files.encoding import has_foreign_letters
from linmax.streams.files.source import ByteSource
from linmax.streams.schema import StreamError

SHOWN_ROWS = 100
"""Rows in which the letters of a text are looked at."""


@dataclass(frozen=True, eq=False)
class RawTable:
    """The records of a file, before the roles of its columns are known.

    Parameters
    ----------
    file : str
        Name of the file, for messages.
    format : str
        Name of its format, such as "CSV".
    compression : str
        How it is compressed, "" if it is not.
    data : pyarrow.Table
        The records, in columns of type string, int64, float64 or bool. All cells of a CSV file are strings;
        null is a missing value.
    lines : ndarray of int64
        The line or row of the file at which each record starts, counted from 1.
    unit : {"line", "row"}
        What `lines` counts.
    notes : tuple of str
        What a user should know about the reading, one sentence each.
    complete : bool
        Whether this is the whole file, not only its first rows.
    expert : str or None
        The panel member whose votes the file contains, from its name.
    hints : dict
        Roles that the format itself fixes, for example {"label": "y", "id": "doc_id"} or
        {"shape": "long", "columns": (item, expert, vote)}.
    dictionaries : tuple of pyarrow.Table or None
        `data`, and the same records with texts in dictionaries, if the file has them so.

    Examples
    --------
    >>> import io
    >>> load_table(io.BytesIO(b"ann,truth\\nham,spam\\n"))
    RawTable(file='the open file', format='CSV', 1 rows, columns=['ann', 'truth'])
    """

    file: str
    format: str
    compression: str
    data: Any
    lines: NDArray[np.int64]
    unit: Literal["line", "row"]
    notes: tuple[str, ...] = ()
    complete: bool = True
    expert: str | None = None
    hints: dict[str, Any] = field(default_factory=dict)
    dictionaries: tuple[Any, Any] | None = None

    @property
    def coded_data(self) -> Any:
        """The records with texts in dictionaries, which are faster to count; `data` if there are none."""
        plain, coded = self.dictionaries or (None, None)
        return coded if plain is self.data else self.data  # other data may have replaced the file's

    def __repr__(self) -> str:
        return (
            f"RawTable(file={self.file!r}, format={self.format!r}, {len(self.data)} rows,"
            f" columns={self.data.column_names})"
        )


def load_table(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    header: bool = True,
    limit_bytes: int = DEFAULT_LIMIT,
    encoding: str = "",
    sheet: str = "",
) -> RawTable:
    """Read a file into memory.

    Parameters
    ----------
    path : str, path-like or binary file
        A path, a remote path such as "s3://bucket/votes.csv", "-" for standard input, or an open file. A
        sheet of a workbook, a file in a zip archive or a key of a JSON object is named as in
        "book.xlsx#Sheet2".
    header : bool
        Whether the first row of a text file names the columns. Otherwise they are "column 1", "column 2", ...
    limit_bytes : int
        Bytes after decompression beyond which only the first 100,000 rows are read, as they are of standard
        input.
    encoding : str
        The encoding of text, such as "cp1251"; "" detects UTF-8, UTF-16 and Windows-1252.
    sheet : str
        The sheet of a workbook; other files do not have one.

    Returns
    -------
    RawTable

    Raises
    ------
    StreamError
        If the file cannot be read. The message is one sentence with the place and the fix.

    Examples
    --------
    >>> import io
    >>> table = load_table(io.BytesIO(b'[{"votes": {"ann": "ham"}, "y": 1}, {"votes": {"ann": "spam"}}]'))
    >>> table.format, table.data.column_names, table.data["votes.ann"].to_pylist()
    ('JSON', ['votes.ann', 'y'], ['ham', 'spam'])
    """
    place, part = _split_part(path)
    source = ByteSource(place, part, encoding)
    try:
        limit = ReadLimit(source, limit_bytes, head_only=source.bytes_total is None or place == "-")
        format = detect_format(source)
        source.part = sheet if sheet and format == "Excel" else source.part
        loaded = _load(source, format, limit, header=header)
        if not loaded.data.num_columns:
            raise StreamError(f"{source.name} has no rows; it needs at least one below the header")
        notes = loaded.notes
        notes = [*notes, *encoding_notes(source, loaded.data, encoding)]
        return RawTable(
            source.name,
            format,
            source.compression,
            loaded.data,
            loaded.lines,
            "line" if loaded.unit == "line" else "row",
            tuple(notes),
            loaded.complete,
            file_expert(source.inner_name),
            loaded.hints or flat_export_hints(loaded.data),
        )
    finally:
        source.close()


def encoding_notes(source: ByteSource, data: Any, encoding: str) -> list[str]:
    """Return a note on an encoding that was detected, not given, and is not UTF-8.

    Parameters
    ----------
    source : ByteSource
        The file.
    data : pyarrow.Table
        Its columns.
    encoding : str
        The encoding that the user names.
    """
    if encoding or source.encoding == "UTF-8":
        return []
    if source.encoding != "Windows-1252":
        return [f"the text is {source.encoding}, not UTF-8"]
    cells = [str(cell) for row in data.slice(0, SHOWN_ROWS).to_pylist() for cell in row.values()]
    if has_foreign_letters(" ".join([*data.column_names, *cells])):
        return [
            "the text is not UTF-8, and looks wrong as Windows-1252; name its encoding with --encoding, such"
            " as cp1251"
        ]
    return ["the text is not UTF-8, and is read as Windows-1252; --encoding names another encoding"]


def _split_part(path: Any) -> tuple[Any, str]:
    """Split book.xlsx#Sheet2 into the file and its part, unless there is a file of this name."""
    if not isinstance(path, str) or "#" not in path or os.path.exists(path):
        return path, ""
    place, _, part = path.partition("#")
    return place, part


def _load(source: ByteSource, format: str, limit: ReadLimit, *, header: bool) -> Loaded:
    if format in ("CSV", "TSV"):
        return read_csv(source, format, limit, header=header)
    if format == "JSONL":
        return read_json_lines(source, limit)
    if format == "JSON":
        return read_json(source, limit, header=header)
    if format == "Excel":
        return read_excel(source, limit, header=header)
    if format == "npy":
        return read_npy(source, limit)
    if format == "npz":
        return read_npz(source, limit)
    if format == "svmlight":
        return read_svmlight(source, limit)
    return read_columns(source, format, limit)
