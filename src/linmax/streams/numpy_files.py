"""numpy's files, row after row, and never with pickled objects in them."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from linmax.streams.columns import Batch
from linmax.streams.schema import StreamError, short_list, short_repr
from linmax.streams.source import Source

ATMOST = 1 << 26  # bytes of one array that are read at a time
COLUMNS = 10_000
KINDS = "biufU"
HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,  # the same in UTF-8
}
MEMBERS = ("votes", "labels", "ids", "attributes", "experts", "classes", "names")


class Array:
    """One array whose rows come in order, from anything that can be read."""

    def __init__(self, file: Any, name: str) -> None:
        self.name, self._file = name, file
        try:
            version = np.lib.format.read_magic(file)
            self.shape, fortran, self.dtype = HEADERS[version](file)
            if version == (3, 0) and self.dtype.names:  # numpy has a reader for it, but not in public
                self.dtype.names = tuple(name.encode("latin1").decode() for name in self.dtype.names)
        except StreamError:
            raise
        except Exception as error:  # numpy raises whatever the header makes it stumble over
            raise StreamError(f"{name} is damaged or no file of numpy's; write it again") from error
        if min(self.shape, default=0) < 0:
            raise StreamError(f"{name} is damaged: its shape is {self.shape}; write it again")
        if self.dtype.hasobject:
            raise StreamError(f"{name} holds pickled objects, which are not read; save it as text or numbers")
        if fortran and len(self.shape) > 1:
            raise StreamError(
                f"{name} is stored column by column; save np.ascontiguousarray(...) of it, row by row"
            )
        self.width = 1
        for size in self.shape[1:]:
            self.width *= int(size)  # Python's integers: a declared shape may be beyond any machine
        self.bytes = self.width * self.dtype.itemsize
        if self.bytes > ATMOST:
            raise StreamError(f"{name} has rows of {self.bytes} bytes; at most {ATMOST >> 20} MB are read")
        self.rows = int(self.shape[0]) if self.shape else 0
        self.at = 0

    def take(self, rows: int) -> NDArray[Any]:
        """The next rows."""
        rows = min(rows, self.rows - self.at)
        wanted = rows * self.bytes
        data = b""
        if wanted:
            try:
                data = self._file.read(wanted)
            except StreamError:
                raise
            except Exception as error:  # of zlib or zipfile
                raise StreamError(f"{self.name} is damaged; write it again") from error
        if len(data) < wanted:
            last = self.at + len(data) // self.bytes + 1
            raise StreamError(f"{self.name} ends in row {last} of {self.rows}; copy it again")
        self.at += rows
        shape = (rows, *self.shape[1:])
        if not wanted:
            return np.empty(shape, self.dtype)
        try:
            return np.frombuffer(data, self.dtype).reshape(shape)
        except (ValueError, TypeError) as error:
            raise StreamError(f"{self.name} cannot be read ({error}); write it again") from error


class Npy:
    """A structured array with a field per column, or a table whose columns are called 0, 1, 2 ..."""

    format, unit = "npy", "row"

    def __init__(self, source: Source) -> None:
        self.roles: dict[str, Any] = {}
        self._array = Array(source, source.name)
        array, name = self._array, source.name
        fields = array.dtype.names
        if len(array.shape) != (1 if fields else 2):
            raise StreamError(
                f"{name} has shape {array.shape}; a structured array has one dimension, a table of votes two"
                " (scores go into an .npz as votes of shape (items, experts, classes))"
            )
        self.rows: int | None = array.rows
        _demand_few(name, len(fields) if fields else array.width)
        if fields:
            types = {str(field): array.dtype[field] for field in fields}
        else:
            types = {str(j): array.dtype for j in range(array.width)}
        self.schema = pa.schema([(column, _type(kind, name, column)) for column, kind in types.items()])

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns as numbers or text."""
        array = self._array
        most = max(1, min(most, ATMOST // max(array.bytes, 1)))
        while array.at < array.rows:
            at = array.at
            rows = array.take(most)
            parts = [rows[name] if array.dtype.names else rows[:, int(name)] for name in columns]
            table = _table(dict(zip(columns, parts, strict=True)), array.name, len(rows))
            yield Batch(table, np.arange(at + 1, at + 1 + len(rows)))


class Npz:
    """An archive with votes, and perhaps labels, ids, attributes, and the names of experts and classes."""

    format, unit = "npz", "row"

    def __init__(self, source: Source) -> None:
        self.name = source.name
        if not source.seekable:
            raise StreamError(f"{self.name}: an .npz is read from its end; save it to a plain file")
        try:
            self._zip = zipfile.ZipFile(source.whole())
            found = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}
        except Exception as error:  # zipfile raises whatever a damaged directory makes it stumble over
            raise StreamError(f"{self.name} is damaged or no .npz; write it again") from error
        if not {"votes", "attributes"} & set(found):
            raise StreamError(f"{self.name} has no array votes; it has {short_list(found) or 'none'}")
        self._arrays = {part: self._open(found[part]) for part in MEMBERS if part in found}
        self._named: dict[str, tuple[str, Any]] = {}  # column: which array, and where in its row
        self._name_columns()
        sizes = {part: self._arrays[part].rows for part in self._parts()}
        self.rows: int | None = next(iter(sizes.values()))
        for part, rows in sizes.items():
            if rows != self.rows:
                raise StreamError(f"{self.name}: {next(iter(sizes))} has {self.rows} rows, {part} {rows}")
        self.schema = pa.schema(
            [
                (column, _type(self._arrays[part].dtype, self.name, part))
                for column, (part, _) in self._named.items()
            ]
        )
        self.roles: dict[str, Any] = {
            "label": "labels" if "labels" in self._arrays else "",
            "id": "ids" if "ids" in self._arrays else "",
            "attributes": tuple(name for name, (part, _) in self._named.items() if part == "attributes"),
        }

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns as numbers or text."""
        parts = {self._named[column][0] for column in columns} or set(self._parts()[:1])
        widest = max(self._arrays[part].bytes for part in parts)
        most = max(1, min(most, ATMOST // max(widest, 1)))
        assert self.rows is not None
        for at in range(0, self.rows, most):
            taken = {part: self._arrays[part].take(most) for part in parts}
            size = len(next(iter(taken.values())))
            data = {}
            for column in columns:
                part, place = self._named[column]
                data[column] = taken[part][(slice(None), *place)]
            yield Batch(_table(data, self.name, size), np.arange(at + 1, at + 1 + size))

    def _parts(self) -> list[str]:
        return [part for part in self._arrays if part not in ("experts", "classes", "names")]

    def _open(self, info: zipfile.ZipInfo) -> Array:
        try:
            file: BinaryIO = self._zip.open(info)  # type: ignore[assignment]
        except Exception as error:  # a password, an unknown compression, a damaged entry
            raise StreamError(
                f"{self.name}: {short_repr(info.filename)} cannot be read; write it again"
            ) from error
        return Array(file, f"{self.name} ({short_repr(info.filename)})")

    def _name_columns(self) -> None:
        arrays = self._arrays
        names: list[tuple[str, tuple[str, Any]]] = []
        for part, dimensions in (("votes", (2, 3)), ("labels", (1,)), ("ids", (1,)), ("attributes", (2,))):
            if part not in arrays:
                continue
            shape = arrays[part].shape
            if len(shape) not in dimensions or arrays[part].dtype.names:
                wanted = " or ".join(map(str, dimensions))
                raise StreamError(f"{self.name}: {part} has shape {shape}; it needs {wanted} dimension(s)")
            _demand_few(self.name, arrays[part].width)
            if part == "votes":
                experts = self._names("experts", shape[1])
                if len(shape) == 2:
                    names += [(who, (part, (i,))) for i, who in enumerate(experts)]
                else:
                    classes = self._names("classes", shape[2])
                    names += [
                        (f"{who}:{what}", (part, (i, j)))
                        for i, who in enumerate(experts)
                        for j, what in enumerate(classes)
                    ]
            elif part == "attributes":
                names += [(name, (part, (j,))) for j, name in enumerate(self._names("names", shape[1], "a"))]
            else:
                names.append((part, (part, ())))
        twice = [name for name, times in Counter(name for name, _ in names).items() if times > 1]
        if twice:
            raise StreamError(f"{self.name}: two columns {short_repr(twice[0])}; rename one")
        self._named = dict(names)

    def _names(self, part: str, size: int, prefix: str = "") -> list[str]:
        if part not in self._arrays:
            return [f"{prefix}{i}" for i in range(size)]
        array = self._arrays[part]
        if len(array.shape) != 1 or array.rows != size or array.dtype.kind not in "iuU":
            raise StreamError(f"{self.name}: {part} has shape {array.shape}; {size} names are needed")
        return [str(name) for name in array.take(size).tolist()]


def _demand_few(name: str, columns: int) -> None:
    if columns > COLUMNS:
        raise StreamError(f"{name} has {columns} columns; up to {COLUMNS} are read")


def _type(kind: Any, name: str, column: str) -> Any:
    if kind.kind not in KINDS or kind.shape or (kind.kind == "f" and kind.itemsize > 8):
        raise StreamError(
            f"{name}: {short_repr(column)} is of type {short_repr(str(kind))}; save whole numbers, floats or text"
        )
    return pa.string() if kind.kind == "U" else pa.from_numpy_dtype(kind.newbyteorder("="))


def _table(parts: dict[str, NDArray[Any]], name: str, rows: int) -> Any:
    columns = []
    for part in parts.values():
        flat = np.ascontiguousarray(part, part.dtype.newbyteorder("="))
        try:
            columns.append(_texts(flat) if flat.dtype.kind == "U" else pa.array(flat))
        except (pa.ArrowException, ValueError, SystemError) as error:  # letters beyond Unicode
            raise StreamError(f"{name} holds text that is none; write it again") from error
    if not columns:
        return pa.table({"": pa.nulls(rows)}).select([])
    return pa.table(columns, names=list(parts))


def _texts(array: NDArray[Any]) -> Any:
    texts = pa.array([text or None for text in array.tolist()], pa.string())
    texts.validate(full=True)
    return texts
