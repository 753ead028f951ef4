"""NumPy's files: tables in .npy, and votes, labels and attributes in .npz; pickled objects are refused."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax.streams.columns import TableBatch
from linmax.streams.files.source import ByteSource
from linmax.streams.schema import StreamError, short_list, short_repr

MAX_BYTES = 1 << 26  # of one array in memory
MAX_COLUMNS = 10_000
DTYPE_KINDS = "biufU"
HEADER_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # version 3 differs in the encoding of names only
}
LABEL_NAMES = ("label", "y", "y_true", "truth", "gold", "target")
"""Other names of the array labels."""
MEMBERS = {"votes": (2, 3), "labels": (1,), "ids": (1,), "attributes": (2,)}  # and their dimensions
NAME_MEMBERS = ("experts", "classes", "names")


class ArrayReader:
    """One array, read row by row from a file, a pipe, a compressed file or a member of an archive.

    NumPy reads the header; the rows are read here. `np.load(mmap_mode="r")` would need a file on disk: it
    loads members of an .npz as a whole, refuses compressed files and pipes, and a memory-mapped file that is
    cut while it is read ends the process.

    Parameters
    ----------
    file : binary file
        The array in NumPy's format.
    name : str
        Name of the file, for messages.
    column_major : bool
        Whether an array that is stored column by column is accepted. It must be read at once.
    """

    def __init__(self, file: Any, name: str, *, column_major: bool = False) -> None:
        self.name, self._file = name, file
        try:
            version = np.lib.format.read_magic(file)
            self.shape, self._column_major, self.dtype = HEADER_READERS[version](file)
            if version == (3, 0) and self.dtype.names:
                self.dtype.names = tuple(field.encode("latin1").decode() for field in self.dtype.names)
        except StreamError:
            raise
        except Exception as error:  # NumPy raises many types of errors for damaged headers
            raise StreamError(f"{name} is damaged or not a NumPy file; write it again") from error
        if min(self.shape, default=0) < 0:
            raise StreamError(f"{name} is damaged: its shape is {self.shape}; write it again")
        if self.dtype.hasobject:
            raise StreamError(f"{name} holds pickled objects, which are not read; save it as text or numbers")
        if self._column_major and not column_major and len(self.shape) > 1:
            raise StreamError(
                f"{name} is stored column by column; save np.ascontiguousarray(...) of it, row by row"
            )
        self.num_columns = 1
        for size in self.shape[1:]:  # with Python's integers: the product of a bad shape may overflow others
            self.num_columns *= int(size)
        self.row_bytes = self.num_columns * self.dtype.itemsize
        if self.row_bytes > MAX_BYTES:
            raise StreamError(
                f"{name} has rows of {self.row_bytes} bytes; at most {MAX_BYTES >> 20} MB are read"
            )
        self.num_rows = int(self.shape[0]) if self.shape else 0
        self.rows_read = 0

    def read(self, rows: int) -> NDArray[Any]:
        """Read the next rows, fewer at the end."""
        rows = min(rows, self.num_rows - self.rows_read)
        size = rows * self.row_bytes
        shape = (rows, *self.shape[1:])
        if not size:
            self.rows_read += rows
            return np.empty(shape, self.dtype)
        try:
            data = self._file.read(size)
        except StreamError:
            raise
        except Exception as error:  # of zlib or zipfile
            raise StreamError(f"{self.name} is damaged; write it again") from error
        if len(data) < size:
            last = self.rows_read + len(data) // self.row_bytes + 1
            raise StreamError(f"{self.name} ends in row {last} of {self.num_rows}; copy it again")
        self.rows_read += rows
        try:
            return np.frombuffer(data, self.dtype).reshape(shape, order="F" if self._column_major else "C")
        except (ValueError, TypeError) as error:
            raise StreamError(f"{self.name} cannot be read ({error}); write it again") from error


class NpyReader:
    """A structured array with one field per column, or a matrix whose columns are named 0, 1, 2, ...

    Parameters
    ----------
    source : ByteSource
        The file.
    """

    format, unit = "npy", "row"

    def __init__(self, source: ByteSource) -> None:
        self.roles: dict[str, Any] = {}
        self._array = array = ArrayReader(source, source.name)
        fields = array.dtype.names
        if len(array.shape) != (1 if fields else 2):
            raise StreamError(
                f"{source.name} has shape {array.shape}; a structured array has one dimension and a table of"
                " votes two (save scores in an .npz, as votes of shape (items, experts, classes))"
            )
        self.num_rows: int | None = array.num_rows
        _check_num_columns(source.name, len(fields) if fields else array.num_columns)
        if fields:
            dtypes = {str(field): array.dtype[field] for field in fields}
        else:
            dtypes = {str(j): array.dtype for j in range(array.num_columns)}
        self.arrow_schema = pa.schema(
            [(column, arrow_type(dtype, source.name, column)) for column, dtype in dtypes.items()]
        )

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns as numbers or text."""
        array = self._array
        max_rows = max(1, min(max_rows, MAX_BYTES // max(array.row_bytes, 1)))
        while array.rows_read < array.num_rows:
            start = array.rows_read
            rows = array.read(max_rows)
            data = {name: rows[name] if array.dtype.names else rows[:, int(name)] for name in columns}
            table = arrow_table(data, array.name, len(rows))
            yield TableBatch(table, np.arange(start + 1, start + 1 + len(rows)))


class NpzReader:
    """An archive of arrays: votes or attributes, and optionally labels, ids and names.

    `votes` has shape (items, experts), or (items, experts, classes) for scores; `attributes` has shape
    (items, attributes). The arrays `experts`, `classes` and `names` hold the names of experts, classes and
    attributes. Labels may also be called `y`, or one of the other `LABEL_NAMES`.

    Parameters
    ----------
    source : ByteSource
        The file.
    """

    format, unit = "npz", "row"

    def __init__(self, source: ByteSource) -> None:
        self.name = source.name
        if not source.seekable:
            raise StreamError(f"{self.name}: an .npz is read from its end; save it to an uncompressed file")
        try:
            self._archive = zipfile.ZipFile(source.seekable_file())
            found = {info.filename.removesuffix(".npy"): info for info in self._archive.infolist()}
        except Exception as error:  # zipfile raises many types of errors for damaged archives
            raise StreamError(f"{self.name} is damaged or not an .npz file; write it again") from error
        other = next((name for name in LABEL_NAMES if name in found), None)
        if other is not None:
            found.setdefault("labels", found[other])
        if not {"votes", "attributes"} & set(found):
            raise StreamError(f"{self.name} has no array votes; it has {short_list(found) or 'none'}")
        self._arrays = {
            member: self._open(found[member]) for member in (*MEMBERS, *NAME_MEMBERS) if member in found
        }
        self._columns = self._name_columns()  # name: the array, and the indices in its rows
        members = [member for member in MEMBERS if member in self._arrays]
        self.num_rows: int | None = self._arrays[members[0]].num_rows
        for member in members:
            rows = self._arrays[member].num_rows
            if rows != self.num_rows:
                raise StreamError(
                    f"{self.name}: {members[0]} has {self.num_rows} rows and {member} {rows};"
                    " save arrays of one length"
                )
        self.arrow_schema = pa.schema(
            [
                (column, arrow_type(self._arrays[member].dtype, self.name, member))
                for column, (member, _) in self._columns.items()
            ]
        )
        self.roles: dict[str, Any] = {
            "label": "labels" if "labels" in self._arrays else "",
            "id": "ids" if "ids" in self._arrays else "",
            "attributes": tuple(
                name for name, (member, _) in self._columns.items() if member == "attributes"
            ),
        }
        voting = tuple(name for name, (member, _) in self._columns.items() if member == "votes")
        if voting:
            self.roles["experts" if len(self._arrays["votes"].shape) == 2 else "scores"] = voting

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns as numbers or text."""
        assert self.num_rows is not None
        members = {self._columns[column][0] for column in columns}
        members = members or {next(member for member in MEMBERS if member in self._arrays)}
        row_bytes = max(self._arrays[member].row_bytes for member in members)
        max_rows = max(1, min(max_rows, MAX_BYTES // max(row_bytes, 1)))
        for start in range(0, self.num_rows, max_rows):
            rows: dict[str, Any] = {member: self._arrays[member].read(max_rows) for member in members}
            size = len(next(iter(rows.values())))
            data = {}
            for column in columns:
                member, indices = self._columns[column]
                data[column] = rows[member][:, *indices]
            yield TableBatch(arrow_table(data, self.name, size), np.arange(start + 1, start + 1 + size))

    def _open(self, info: zipfile.ZipInfo) -> ArrayReader:
        try:
            file: BinaryIO = self._archive.open(info)  # type: ignore[assignment]
        except Exception as error:  # a password, an unknown compression, a damaged entry
            raise StreamError(
                f"{self.name}: {short_repr(info.filename)} cannot be read; write it again"
            ) from error
        return ArrayReader(file, f"{self.name} ({short_repr(info.filename)})")

    def _name_columns(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        columns: list[tuple[str, tuple[str, tuple[int, ...]]]] = []
        for member, dimensions in MEMBERS.items():
            if member not in self._arrays:
                continue
            array = self._arrays[member]
            shape = array.shape
            if len(shape) not in dimensions or array.dtype.names:
                needed = " or ".join(map(str, dimensions))
                raise StreamError(f"{self.name}: {member} has shape {shape}; it needs {needed} dimension(s)")
            _check_num_columns(self.name, array.num_columns)
            if len(shape) == 1:
                columns.append((member, (member, ())))
                continue
            is_votes = member == "votes"
            names = self._read_names("experts" if is_votes else "names", "" if is_votes else "a", shape[1])
            if len(shape) == 2:
                columns += [(name, (member, (i,))) for i, name in enumerate(names)]
            else:
                classes = self._read_names("classes", "", shape[2])
                columns += [
                    (f"{name}:{label}", (member, (i, j)))
                    for i, name in enumerate(names)
                    for j, label in enumerate(classes)
                ]
        repeated = next((name for name, n in Counter(name for name, _ in columns).items() if n > 1), None)
        if repeated is not None:
            raise StreamError(f"{self.name}: two columns {short_repr(repeated)}; rename one")
        return dict(columns)

    def _read_names(self, member: str, prefix: str, size: int) -> list[str]:
        if member not in self._arrays:
            return [f"{prefix}{i}" for i in range(size)]
        array = self._arrays[member]
        if len(array.shape) != 1 or array.num_rows != size or array.dtype.kind not in "iuU":
            raise StreamError(f"{self.name}: {member} has shape {array.shape}; {size} names are needed")
        return [str(name) for name in array.read(size).tolist()]


def _check_num_columns(name: str, columns: int) -> None:
    if columns > MAX_COLUMNS:
        raise StreamError(f"{name} has {columns} columns; at most {MAX_COLUMNS} are read")


def arrow_type(dtype: Any, name: str, column: str) -> Any:
    """Return the Arrow type of a NumPy type; refuse types that are neither numbers nor text."""
    if dtype.kind not in DTYPE_KINDS or dtype.shape or (dtype.kind == "f" and dtype.itemsize > 8):
        raise StreamError(
            f"{name}: {short_repr(column)} is of type {short_repr(str(dtype))}; save integers, floats or text"
        )
    return pa.string() if dtype.kind == "U" else pa.from_numpy_dtype(dtype.newbyteorder("="))


def arrow_table(data: dict[str, NDArray[Any]], name: str, rows: int) -> Any:
    """Return arrays as an Arrow table; `name` is the file, for messages."""
    columns = []
    for values in data.values():
        native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
        try:
            columns.append(_arrow_texts(native) if native.dtype.kind == "U" else pa.array(native))
        except (pa.ArrowException, ValueError, SystemError) as error:  # code points beyond Unicode
            raise StreamError(f"{name} holds text that is not Unicode; write it again") from error
    if not columns:
        return pa.table({"": pa.nulls(rows)}).select([])
    return pa.table(columns, names=list(data))


def _arrow_texts(array: NDArray[Any]) -> Any:
    texts = pa.array([text or None for text in array.tolist()], pa.string())
    texts.validate(full=True)
    return texts
