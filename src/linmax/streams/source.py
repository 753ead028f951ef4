"""Bytes from a file, from standard input or from an open file: counted, decompressed, and looked at first."""

from __future__ import annotations

import io
import os
import sys
import weakref
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa  # type: ignore[import-untyped]

from linmax.streams.errors import StreamError

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
HEAD = 1 << 16  # bytes that are looked at before anything is decided


class Source:
    """Bytes in order; compressed ones (known by how they begin) come decompressed.

    >>> import gzip, io
    >>> source = Source(io.BytesIO(gzip.compress(b"a,b")))
    >>> source.compression, source.head, source.read(2), source.read(2), source.read(2)
    ('gzip', b'a,b', b'a,', b'b', b'')
    """

    def __init__(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        self.raw, self.name = _opened(path)
        own = isinstance(path, os.PathLike) or (isinstance(path, str) and path != "-")
        self._close = weakref.finalize(
            self, self.raw.close if own else bool
        )  # also of a stream left half-read
        self.total = _size(self.raw)  # bytes in the file, if that can be told
        self.at = 0  # bytes of the file taken so far
        self.closed = False
        self._begun = self._raw(HEAD)
        self.compression = next((kind for magic, kind in MAGIC.items() if self._begun.startswith(magic)), "")
        self._stream: Any = None
        self.head = self._begun
        if self.compression:
            self._stream = pa.CompressedInputStream(pa.PythonFile(_Taken(self), mode="r"), self.compression)
            self.head = self._decompressed(HEAD)
        self._ahead = self.head

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end."""
        taken, self._ahead = self._ahead[:size], self._ahead[size:]
        if len(taken) == size:
            return taken
        more = self._decompressed if self._stream is not None else self._raw
        return taken + more(size - len(taken))

    @property
    def seekable(self) -> bool:
        """Whether the file can be read in any order: it is one on disk, and not compressed."""
        return not self.compression and self.total is not None

    def whole(self) -> BinaryIO:
        """The file itself, from its beginning, for readers that look here and there."""
        self.raw.seek(0)
        return self.raw

    def close(self) -> None:
        """Close the file; one that came open stays open, as standard input does."""
        self.closed = True
        self._close()

    def _raw(self, size: int) -> bytes:
        parts, wanted = [], size
        while wanted:
            part = self.raw.read(wanted)
            if not part:
                break
            if not isinstance(part, bytes):
                raise StreamError(f"{self.name} is open as text; open it with mode 'rb'")
            parts.append(part)
            wanted -= len(part)
        self.at += size - wanted
        return b"".join(parts)

    def _decompressed(self, size: int) -> bytes:
        parts, wanted = [], size
        try:
            while wanted:
                part = bytes(self._stream.read(wanted))
                if not part:
                    break
                parts.append(part)
                wanted -= len(part)
            return b"".join(parts)
        except (OSError, pa.ArrowException) as error:
            cut = "is cut short" if "runcated" in str(error) else "is damaged"
            raise StreamError(
                f"{self.name} {cut} ({self.compression}, near byte {self.at}); copy or compress it again"
            ) from error


class _Taken:
    """The bytes of a source before decompression, as pyarrow wants a file."""

    closed = False

    def __init__(self, source: Source) -> None:
        self.source, self.begun = source, source._begun

    def read(self, size: int) -> bytes:
        if self.begun:
            taken, self.begun = self.begun[:size], self.begun[size:]
            return taken
        return self.source._raw(size)

    def close(self) -> None:
        """The source closes the file."""


def _opened(path: str | os.PathLike[str] | BinaryIO) -> tuple[BinaryIO, str]:
    if isinstance(path, str) and path == "-":
        return sys.stdin.buffer, "standard input"
    if not isinstance(path, str | os.PathLike):
        if not hasattr(path, "read"):
            raise StreamError(
                f"a stream is read from a path, '-' or an open file (got {type(path).__name__})"
            )
        name = getattr(path, "name", None)
        return path, Path(name).name if isinstance(name, str) else "the open file"
    name = Path(path).name or str(path)
    try:
        return open(path, "rb"), name
    except FileNotFoundError:
        raise StreamError(f"there is no file {os.fspath(path)!r}; check the path") from None
    except IsADirectoryError:
        raise StreamError(f"{os.fspath(path)!r} is a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        raise StreamError(
            f"{os.fspath(path)!r} cannot be opened: {getattr(error, 'strerror', error)}"
        ) from None


def _size(raw: BinaryIO) -> int | None:
    try:
        if not raw.seekable():
            return None
        start = raw.tell()
        size = raw.seek(0, io.SEEK_END)
        raw.seek(start)
        return size
    except (AttributeError, OSError, ValueError):
        return None
