"""Data sets of many files, the partitions, and the rows in them: keys, times, votes and labels."""

from __future__ import annotations

import base64
import contextlib
import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.build import ChunkBuilder
from linmax.panels.panel import panel_of
from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import ColumnRole, PanelOptions, Reading
from linmax.panels.streamed_table import EmptyTableError, StreamedTable
from linmax.streams import Chunk, StreamError
from linmax.streams.archives import REMOTE, open_file
from linmax.streams.columns import is_text, label_kind, single_chunk
from linmax.streams.formats import COMPRESSED_SUFFIXES, SUFFIXES
from linmax.streams.schema import missing_column, short_repr

FORMATS = ("CSV", "TSV", "JSONL", "Parquet", "Arrow")
"""What a partition may be."""
BATCH_ROWS = 1 << 17
"""Rows of a partition that are in memory at a time."""
HEAD_ROWS = 20_000
"""Rows of the first partition that decide on the roles of columns."""
READ_BYTES = 1 << 20
KEY, TIME, ROW = "linmax:key", "linmax:time", "linmax:row"
"""Columns of split tables: the key as text, the time, and the number of the row in its partition."""


class Partition(NamedTuple):
    """A file of a data set.

    Attributes
    ----------
    path : str
        The file, perhaps a remote one.
    name : str
        Its path relative to the data set.
    values : tuple of (str, str)
        Columns that the path gives to all of its rows: those of ``customer=c7/part-0.parquet``.
    """

    path: str
    name: str
    values: tuple[tuple[str, str], ...] = ()

    def stamp(self) -> list[Any]:
        """Return what tells quickly that the content has not changed: size, and time or version."""
        if not REMOTE.match(self.path):
            status = os.stat(self.path)
            return [status.st_size, status.st_mtime_ns]
        file_system, path = _remote(self.path)
        info = file_system.info(path)
        version = (info.get(name) for name in ("ETag", "etag", "md5", "mtime", "LastModified", "created"))
        return [info.get("size"), str(next((one for one in version if one is not None), ""))]

    def digest(self) -> str:
        """Return a checksum of the content."""
        total = hashlib.blake2b(digest_size=16)
        file, _ = open_file(self.path)
        with contextlib.closing(file):
            while block := file.read(READ_BYTES):
                total.update(block)
        return total.hexdigest()


def list_partitions(dataset: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[Partition]:
    """Return the files of a data set.

    Parameters
    ----------
    dataset : str, path-like or sequence
        A folder with files below it, a file, a pattern such as ``votes/*.parquet``, a remote path such as
        ``s3://bucket/votes``, or several of these.

    Returns
    -------
    list of Partition
        Those of a folder in natural order (2 before 10). Hidden files and those that begin with ``_`` are
        left out.

    Raises
    ------
    StreamError
        If there is none.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("part-10.csv", "part-2.csv", "_SUCCESS"):
    ...     _ = (folder / name).write_text("a,b")
    >>> [one.name for one in list_partitions(folder)]
    ['part-2.csv', 'part-10.csv']
    """
    paths = [dataset] if isinstance(dataset, str | os.PathLike) else list(dataset)
    found = [one for path in paths for one in _files_of(os.fspath(path))]
    if not found:
        shown = ", ".join(map(str, paths[:3])) or "nothing"
        raise StreamError(f"{shown} has no Parquet, CSV or JSONL file; check the path")
    names = [one.name for one in found]
    return found if len(set(names)) == len(names) else [one._replace(name=one.path) for one in found]


def _files_of(path: str) -> list[Partition]:
    if REMOTE.match(path):
        file_system, place = _remote(path)
        if file_system.isdir(place):
            found, root = list(file_system.find(place)), place
        else:
            found, root = file_system.glob(place) if glob.has_magic(place) else [place], _fixed_part(place)
        prefix = path.partition("://")[0] + "://"
        found = [prefix + str(one).removeprefix(prefix) for one in found]
        root = prefix + root.removeprefix(prefix)
    elif os.path.isdir(path):
        found, root = [str(one) for one in Path(path).rglob("*") if one.is_file()], path
    elif glob.has_magic(path) and not os.path.exists(path):
        found, root = glob.glob(path, recursive=True), _fixed_part(path)
    else:
        return [Partition(path, os.path.basename(path))]
    names = {one: os.path.relpath(one, root) if not REMOTE.match(one) else _below(one, root) for one in found}
    kept = [one for one in found if _is_table(names[one])]
    return [Partition(one, names[one], _path_values(names[one])) for one in sorted(kept, key=_natural)]


def _remote(path: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise StreamError(
            f"{short_repr(path)} is a remote path, which requires fsspec, which is not installed: pip install"
            " fsspec"
        ) from None
    try:
        file_system, place = url_to_fs(path)
    except (OSError, ValueError, ImportError) as error:
        raise StreamError(f"{short_repr(path)} cannot be opened: {error}") from None
    return file_system, str(place)


def _fixed_part(pattern: str) -> str:
    """Return the folder of a pattern that has no wildcard."""
    parts = pattern.split("/")
    first = next((i for i, part in enumerate(parts) if glob.has_magic(part)), len(parts) - 1)
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def _below(path: str, root: str) -> str:
    return path.removeprefix(root).lstrip("/") or path.rpartition("/")[2]


def _is_table(name: str) -> bool:
    parts = name.split("/")
    last = parts[-1].lower()
    for suffix in COMPRESSED_SUFFIXES:
        last = last.removesuffix(suffix)
    hidden = any(part.startswith((".", "_")) and part not in (".", "..") for part in parts)
    return not hidden and SUFFIXES.get(last.rpartition(".")[2]) in FORMATS


def _path_values(name: str) -> tuple[tuple[str, str], ...]:
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return tuple((key, value) for key, sign, value in pairs if sign and key)


def _natural(path: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", path)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]


@dataclass
class RowReader:
    """Reads the rows of all partitions alike: the first rows of the first one have decided how.

    Parameters
    ----------
    builder : ChunkBuilder
        The roles of the columns and the classes, and what the first rows have decided.
    types : pyarrow.Schema
        The type of each column that is read, with `KEY` and `TIME`.
    by, time : str or None
        The columns of keys and of times.
    encoding : str
        The encoding of text; "" detects it.
    """

    builder: ChunkBuilder
    types: Any
    by: str | None
    time: str | None
    encoding: str = ""

    @classmethod
    def infer(
        cls, partition: Partition, options: PanelOptions, by: str | None, time: str | None = None
    ) -> RowReader:
        """Infer the roles of columns from the first rows of a partition.

        Parameters
        ----------
        partition
            The partition.
        options
            What the user says.
        by, time
            The columns of keys and of times.

        Raises
        ------
        StreamError
            If the roles are not clear, or a table has a row per vote.
        """
        table = _open(partition, HEAD_ROWS, options.encoding, (by, time))
        try:
            head = next(table.batches())
            raw = _with_values(table.table, partition)
        finally:
            table.close()
        named = tuple(name for name in (by, time) if name is not None)
        columns = [*raw.data.column_names, *(name for name in named if name in head.table.column_names)]
        for name in named:
            if name not in columns:
                raise missing_column(partition.name, name, columns)
        ignore = (*options.ignore, *(name for name in named if name in raw.data.column_names))
        panel = panel_of(raw, replace(options, ignore=ignore))
        if panel.reading.problem is not None:
            raise StreamError(panel.reading.problem)
        if panel.reading.shape == "long":
            raise StreamError(f"{partition.name} has a row per vote; a data set needs a row per item")
        builder = ChunkBuilder(
            partition.name, "row", panel.reading, panel.classes, keep=not options.is_stored,
            missing=options.missing,
        )  # fmt: skip
        builder.chunk(raw.coded_data, raw.lines)  # the first chunk decides what is per cent, and a number
        used = [one.name for one in panel.reading.roles if one.role not in ("ignored", "time")]
        fields = [] if by is None else [pa.field(KEY, pa.string())]
        if time is not None:
            kept = head.table if time in head.table.column_names else raw.data
            fields.append(pa.field(TIME, _time_type(single_chunk(kept.column(time)), time, partition)))
        fields += [pa.field(name, _plain_type(raw.data.schema.field(name).type)) for name in used]
        return cls(builder, pa.schema(fields), by, time, options.encoding)

    @property
    def reading(self) -> Reading:
        """The roles of the columns."""
        return self.builder.reading

    def tables(self, partition: Partition, rows: int = BATCH_ROWS, *, labels: bool = True) -> Iterator[Any]:
        """Read a partition, in tables that have the columns of `types` and `ROW`.

        Parameters
        ----------
        partition
            The partition.
        rows
            The rows of a table.
        labels
            Whether a partition without labels is an error.

        Raises
        ------
        StreamError
            If it cannot be read, or lacks a column; the sentence names the partition.
        """
        try:
            table = _open(partition, rows, self.encoding, (self.by, self.time))
        except EmptyTableError:
            return
        try:
            for batch in table.batches():
                yield self._table(batch, partition, labels)
        finally:
            table.close()

    def _table(self, batch: Any, partition: Partition, labels: bool) -> Any:
        data = _with_values(batch.table, partition)
        columns, found = [], False
        for field in self.types:
            name = {KEY: self.by, TIME: self.time}.get(field.name, field.name)
            if name in data.column_names:
                found |= field.name not in (KEY, TIME)
                columns.append(
                    _cast(single_chunk(data.column(name)), field, str(name), partition, batch.lines)
                )
            elif field.name == KEY or (
                labels and (field.name == TIME or name == self.reading.column("label"))
            ):
                raise missing_column(partition.name, str(name), data.column_names)
            else:  # an expert that did not exist yet
                columns.append(pa.nulls(data.num_rows, field.type))
        if not found:
            raise StreamError(
                f"{partition.name} has none of the columns of the first partition; it has"
                f" {', '.join(data.column_names[:6])}"
            )
        table = pa.table(columns, schema=self.types)
        return table.append_column(ROW, pa.array(np.asarray(batch.lines, np.int64)))

    def chunk(self, table: Any, file: str = "") -> Chunk:
        """Return the rows of a table as items.

        Parameters
        ----------
        table
            The rows, with the columns of `types` and `ROW`.
        file
            What errors call the file.
        """
        self.builder.decoder.file = file or self.builder.decoder.file
        return self.builder.chunk(table, table.column(ROW).to_numpy())

    def as_json(self) -> dict[str, Any]:
        """Return the reader as values that JSON has."""
        builder, classes = self.builder, self.builder.classes
        return {
            "by": self.by,
            "time": self.time,
            "encoding": self.encoding,
            "roles": [[one.name, one.role, one.expert, one.label] for one in self.reading.roles],
            "classes": classes.names,
            "abstaining": sorted(classes.abstaining),
            "missing": list(builder.missing),
            "keep": builder.keep,
            "per_cent": builder.per_cent,
            "numeric": builder.decoder.numeric,
            "types": base64.b64encode(self.types.serialize().to_pybytes()).decode(),
        }

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> RowReader:
        """Return the reader that `as_json` was called on."""
        roles = [ColumnRole(name, role, "", expert, label) for name, role, expert, label in stored["roles"]]
        missing = tuple(stored["missing"])
        classes = ClassNames(stored["classes"], (), missing)
        classes.abstaining = frozenset(stored["abstaining"])
        builder = ChunkBuilder(
            "the data set", "row", Reading("wide", roles), classes, keep=stored["keep"], missing=missing
        )
        builder.per_cent.update(stored["per_cent"])
        builder.decoder.numeric.update(stored["numeric"])
        types = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored["types"])))
        return cls(builder, types, stored["by"], stored["time"], stored["encoding"])


def _open(partition: Partition, rows: int, encoding: str, keep: Iterable[str | None]) -> StreamedTable:
    names = tuple(name for name in keep if name is not None)
    try:
        return StreamedTable(partition.path, rows, encoding, names)
    except EmptyTableError:
        raise
    except (StreamError, OSError) as error:
        reason = str(error)
        raise StreamError(reason if partition.name in reason else f"{partition.name}: {reason}") from None


def _with_values(table: Any, partition: Partition) -> Any:
    """Return a table, or a RawTable, with the columns that the path of its partition has."""
    if not partition.values:
        return table
    if not hasattr(table, "append_column"):
        return replace(table, data=_with_values(table.data, partition), dictionaries=None)
    for name, value in partition.values:
        if name not in table.column_names:
            table = table.append_column(name, pa.array([value] * table.num_rows, pa.string()))
    return table


def _plain_type(kind: Any) -> Any:
    """Return the type in which a column of votes, labels or attributes is stored."""
    found = {"text": pa.string(), "true/false": pa.bool_(), "": pa.string()}.get(label_kind(kind))
    return found if found is not None else pa.int64() if pa.types.is_integer(kind) else pa.float64()


def _time_type(column: Any, name: str, partition: Partition) -> Any:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_temporal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return kind
    if is_text(kind):
        for wanted in (pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("us", "UTC")):
            with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
                column.cast(kind).cast(wanted)
                return wanted
    raise StreamError(
        f"{partition.name}: {short_repr(name)} holds neither numbers nor dates such as 2026-01-31T12:00:00;"
        " order rows by another column"
    )


def _cast(column: Any, field: Any, name: str, partition: Partition, lines: Any) -> Any:
    """Return a column in the type that it has in the first partition."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
    if column.type != field.type:
        try:
            column = column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            reason = " ".join(str(error).split())[:100]
            raise StreamError(
                f"{partition.name}: {short_repr(name)} is not of type {field.type} as in the first partition"
                f" ({reason}); write the same type everywhere"
            ) from None
    if field.name == TIME and column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise StreamError(f"{partition.name}, row {lines[row]}: {short_repr(name)} is empty; fill it in")
    return column
