"""The partitions of a data set: the files of a folder, of a pattern or of a remote path."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from linmax.streams import StreamError
from linmax.streams.files.archives import REMOTE, open_file
from linmax.streams.files.detect_format import COMPRESSED_SUFFIXES, SUFFIXES
from linmax.streams.schema import short_repr

FORMATS = ("CSV", "TSV", "JSONL", "Parquet", "Arrow")
"""What a partition may be."""
READ_BYTES = 1 << 20
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The folder of rows without a value."""


class Partition(NamedTuple):
    """A file of a data set.

    Attributes
    ----------
    path : str
        The file, perhaps a remote one.
    name : str
        Its path relative to the data set.
    values : tuple of (str, str or None)
        Columns that the path gives to all of its rows: those of ``customer=c7/part-0.parquet``.
    """

    path: str
    name: str
    values: tuple[tuple[str, str | None], ...] = ()

    @property
    def place(self) -> str:
        """The path, whatever the current folder is."""
        return self.path if REMOTE.match(self.path) else os.path.abspath(self.path)

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


def list_partitions(
    dataset: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    outside: str | os.PathLike[str] | None = None,
) -> list[Partition]:
    """Return the files of a data set.

    Parameters
    ----------
    dataset : str, path-like or sequence
        A folder with files below it, a file, a pattern such as ``votes/*.parquet``, a remote path such as
        ``s3://bucket/votes``, or several of these.
    outside : str or path-like, optional
        A folder of results, whose files are not read as data.

    Returns
    -------
    list of Partition
        Those of a folder in natural order (2 before 10). Hidden files and those that begin with ``_`` are
        left out.

    Raises
    ------
    StreamError
        If there is none, or if one is found twice.

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
    if not paths:
        raise StreamError("no file is named; pass a folder, a file or a pattern")
    found = [one for path in paths for one in _files_of(os.fspath(path))]
    if not found:
        shown = ", ".join(map(str, paths[:3]))
        raise StreamError(f"{shown} has no Parquet, CSV, JSONL or Arrow file; check the path")
    times = Counter(one.place for one in found)
    for one in found:
        if times[one.place] > 1:
            raise StreamError(f"{one.name} is named {times[one.place]} times; name each file once")
    if outside is not None:
        home = os.path.realpath(outside) + os.sep
        found = [one for one in found if not os.path.realpath(one.path).startswith(home)]
        if not found:
            raise StreamError(
                f"all files of the data set are in {os.fspath(outside)}, the folder for results; name another"
                " folder"
            )
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


def _path_values(name: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns of folders, as pandas, Arrow and Spark write them: a slash is %2F, for example."""
    pairs = (part.partition("=") for part in name.split("/")[:-1])
    return tuple(
        (unquote(key), None if value == NO_VALUE else unquote(value))
        for key, sign, value in pairs
        if sign and key
    )


def _natural(path: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", path)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
