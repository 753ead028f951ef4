"""Opening files: paths, remote paths, standard input, and files inside of compressed ones."""

from __future__ import annotations

import bz2
import importlib
import io
import lzma
import os
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from linmax.streams.schema import StreamError, short_list, short_repr

REMOTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.\-]+://")
FSSPEC_EXTRAS = {
    "http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs", "az": "abfs",
    "abfs": "abfs", "abfss": "abfs", "ssh": "ssh", "sftp": "ssh", "hdfs": "hdfs", "hf": "hf",
}  # fmt: skip
MAX_XZ_MEMORY = 1 << 28
READ_SIZE = 1 << 16
WORKBOOK_MEMBERS = ("xl/workbook.xml", "xl/workbook.bin", "content.xml")
CLUTTER = ("__MACOSX/", ".DS_Store", "Thumbs.db")


def open_file(path: str | os.PathLike[str] | BinaryIO) -> tuple[BinaryIO, str]:
    """Open a file for reading.

    Parameters
    ----------
    path : str, path-like or binary file
        A path, a remote path such as "s3://bucket/votes.csv", "-" for standard input, or an open file.

    Returns
    -------
    file : binary file
        The open file.
    name : str
        Its name, for messages.

    Raises
    ------
    StreamError
        If it cannot be opened.
    """
    if isinstance(path, str) and path == "-":
        return sys.stdin.buffer, "standard input"
    if isinstance(path, str) and REMOTE.match(path):
        return _open_remote(path)
    if not isinstance(path, str | os.PathLike):
        if not hasattr(path, "read"):
            raise StreamError(f"a stream requires a path, '-' or an open file (got {type(path).__name__})")
        name = getattr(path, "name", None)
        return path, Path(name).name if isinstance(name, str) else "the open file"
    name = Path(path).name or str(path)
    try:
        return open(path, "rb"), name
    except FileNotFoundError:
        raise StreamError(f"there is no file {os.fspath(path)!r}; check the path") from None
    except IsADirectoryError:
        raise _folder(os.fspath(path)) from None
    except (OSError, ValueError) as error:
        if os.path.isdir(path):  # on Windows
            raise _folder(os.fspath(path)) from None
        reason = getattr(error, "strerror", error)
        raise StreamError(f"{os.fspath(path)!r} cannot be opened: {reason}") from None


def file_size(raw: BinaryIO) -> int | None:
    """Return the size of a file; None if it cannot seek, as a pipe."""
    try:
        if not raw.seekable():
            return None
        start = raw.tell()
        size = raw.seek(0, io.SEEK_END)
        raw.seek(start)
        return size
    except (AttributeError, OSError, ValueError):
        return None


class ZipMember:
    """The one file inside of a zip archive, unless the archive itself is an .npz or a workbook.

    Parameters
    ----------
    raw : binary file
        The archive; None if it cannot seek.
    name : str
        Its name, for messages.
    part : str
        The file to read, needed if there are several.

    Attributes
    ----------
    format : {"npz", "Excel", ""}
        The format of which the archive is a part; "" for a compressed file.
    name : str
        Name of the file inside.
    packed_bytes, bytes : int
        Its size in the archive, and that after decompression.
    """

    def __init__(self, raw: BinaryIO | None, name: str, part: str = "") -> None:
        self.format, self.name, self.packed_bytes, self.bytes = "", "", 0, 0
        if raw is None:
            raise StreamError(f"{name} is a zip archive, which is read from its end; save it to a file")
        self._archive_name = name
        try:
            self._archive = zipfile.ZipFile(raw)
            entries = [entry for entry in self._archive.infolist() if not entry.is_dir()]
        except Exception as error:  # zipfile raises many types of errors for damaged archives
            raise StreamError(f"{name} is a damaged zip archive; copy it again") from error
        names = [entry.filename for entry in entries]
        if any(member in names for member in WORKBOOK_MEMBERS):
            self.format = "Excel"
        elif names and all(member.endswith(".npy") for member in names) and (len(names) > 1 or not part):
            self.format = "npz"
        else:
            self._open(entries, part)

    def read(self, size: int) -> bytes:
        """Read so many bytes of the file inside."""
        data: bytes = self._file.read(size)
        return data

    def _open(self, entries: list[zipfile.ZipInfo], part: str) -> None:
        name = self._archive_name
        files = [entry for entry in entries if not any(sign in entry.filename for sign in CLUTTER)]
        if not files:
            raise StreamError(f"{name} is an empty zip archive; it needs one file")
        if part:
            found = [entry for entry in files if part in (entry.filename, Path(entry.filename).name)]
            if len(found) != 1:
                inside = short_list(entry.filename for entry in files)
                raise StreamError(f"{name} has no file {short_repr(part)}; it has {inside}")
            files = found
        if len(files) > 1:
            inside = short_list(entry.filename for entry in files)
            raise StreamError(
                f"{name} has {len(files)} files ({inside}); name one as {name}#{files[0].filename}"
            )
        entry = files[0]
        self.name = Path(entry.filename).name
        self.packed_bytes, self.bytes = entry.compress_size, entry.file_size
        try:
            self._file: Any = self._archive.open(entry)
        except RuntimeError as error:
            raise StreamError(f"{name} is protected by a password; save it without one") from error
        except Exception as error:  # an unknown compression, a damaged entry
            raise StreamError(
                f"{name}: {short_repr(entry.filename)} cannot be unpacked; copy it again"
            ) from error


class XzReader:
    """An xz file, decompressed with limited memory.

    Parameters
    ----------
    raw : binary file
        The compressed file.
    """

    def __init__(self, raw: Any) -> None:
        self._raw = raw
        self._decompressor = lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)

    def read(self, size: int) -> bytes:
        """Read at most so many bytes after decompression; none at the end."""
        while True:
            decompressor = self._decompressor
            if decompressor.eof:
                rest = decompressor.unused_data.lstrip(b"\0") or self._raw.read(READ_SIZE).lstrip(b"\0")
                if not rest:
                    return b""
                self._decompressor = decompressor = lzma.LZMADecompressor(memlimit=MAX_XZ_MEMORY)
            elif decompressor.needs_input:
                rest = self._raw.read(READ_SIZE)
                if not rest:
                    raise EOFError("truncated")
            else:
                rest = b""
            if data := decompressor.decompress(rest, size):
                return data


def open_bz2(raw: Any) -> Any:
    """Return a bz2 file, decompressed."""
    return bz2.BZ2File(raw)


def _folder(path: str) -> StreamError:
    try:
        names = sorted(os.listdir(path))
    except OSError:
        names = []
    return StreamError(f"{path!r} is a folder with {short_list(names) or 'no files'}; name a file in it")


def _open_remote(path: str) -> tuple[BinaryIO, str]:
    protocol = path.partition("://")[0].lower()
    name = path.partition("://")[2].partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2] or path
    extra = FSSPEC_EXTRAS.get(protocol)
    install = f"pip install 'fsspec[{extra}]'" if extra else "pip install fsspec"
    try:
        fsspec = importlib.import_module("fsspec")
    except ImportError:
        raise StreamError(
            f"{short_repr(path)} is a remote path, which requires fsspec, which is not installed: {install}"
        ) from None
    try:
        return fsspec.open(path, "rb").open(), name
    except ImportError:
        raise StreamError(f"{short_repr(path)} requires a package that is not installed: {install}") from None
    except FileNotFoundError:
        raise StreamError(f"there is no file {short_repr(path)}; check the path") from None
    except IsADirectoryError:
        raise StreamError(f"{short_repr(path)} is a folder; name a file in it") from None
    except Exception as error:  # each file system raises errors of its own
        reason = " ".join(str(error).split()).rstrip(".")[:120] or type(error).__name__
        raise StreamError(
            f"{short_repr(path)} cannot be opened ({reason}); check the path and access"
        ) from error
