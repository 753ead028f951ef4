"""Bytes of a file: decompression, the detection of its format, and text in blocks of whole rows."""

from __future__ import annotations

import io
import json
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linmax.streams.schema import StreamError

HEAD_SIZE = 1 << 16  # bytes from which the format is detected
BLOCK_SIZE = 1 << 21  # bytes read at a time
MAX_ROW_BYTES = 1 << 24
BOM = b"\xef\xbb\xbf"
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COMPRESSED_SUFFIXES = (".gz", ".zst", ".gzip", ".zstd")
TEXT_FORMATS = ("CSV", "TSV", "JSONL", "JSON", "svmlight")
SUFFIXES = {
    "csv": "CSV", "tsv": "TSV", "tab": "TSV", "jsonl": "JSONL", "ndjson": "JSONL", "json": "JSON",
    "parquet": "Parquet", "pq": "Parquet", "arrow": "Arrow", "feather": "Arrow", "arrows": "Arrow",
    "ipc": "Arrow", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
    "npy": "npy", "npz": "npz",
}  # fmt: skip
USUAL_SUFFIXES = {
    "CSV": "csv", "TSV": "tsv", "JSONL": "jsonl", "JSON": "json", "Parquet": "parquet", "Arrow": "arrow",
    "svmlight": "svm", "npy": "npy", "npz": "npz",
}  # fmt: skip
MAGIC_BYTES = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "npy", b"PK\x03\x04": "npz",
}  # fmt: skip
SVMLIGHT_LINE = re.compile(rb"[-+.\w]+([ \t]+(qid:)?\d+:[-+.\w]+)+[ \t]*(#.*)?\r?")

JSON_LIST = re.compile(rb'\[\s*([\[{"\d\]]|$)')


class ByteSource:
    """The bytes of a file in order; gzip and zstd, detected by their first bytes, are decompressed.

    Parameters
    ----------
    path : str, path-like or binary file
        A path, "-" for standard input, or an open file, which stays open.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    head : bytes
        The first bytes after decompression.
    compression : {"", "gzip", "zstd"}
        How the file is compressed.
    bytes_read, bytes_total : int
        Compressed bytes read so far, and the size of the file (None for a pipe).
    bytes_unpacked : int
        Bytes returned by `read` so far.

    Examples
    --------
    >>> import gzip, io
    >>> source = ByteSource(io.BytesIO(gzip.compress(b"a,b")))
    >>> source.compression, source.head, source.read(2), source.read(2), source.read(2)
    ('gzip', b'a,b', b'a,', b'b', b'')
    """

    def __init__(self, path: str | os.PathLike[str] | BinaryIO) -> None:
        self.raw, self.name = _open(path)
        owned = isinstance(path, os.PathLike) or (isinstance(path, str) and path != "-")
        # a finalizer also closes the file of a stream that is dropped half-read
        self._close = weakref.finalize(self, self.raw.close if owned else bool)
        self.bytes_total = _size(self.raw)
        self.bytes_read = self.bytes_unpacked = 0
        self.closed = False
        self._raw_head = self._read_raw(HEAD_SIZE)
        self.compression = next(
            (kind for magic, kind in COMPRESSIONS.items() if self._raw_head.startswith(magic)), ""
        )
        self._decompressor: Any = None
        self.head = self._raw_head
        if self.compression:
            raw = pa.PythonFile(_RawReader(self), mode="r")
            self._decompressor = pa.CompressedInputStream(raw, self.compression)
            self.head = self._decompress(HEAD_SIZE)
        self._buffer = self.head

    def read(self, size: int) -> bytes:
        """Read `size` bytes; fewer only at the end of the file."""
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        if len(data) < size:
            read = self._read_raw if self._decompressor is None else self._decompress
            data += read(size - len(data))
        self.bytes_unpacked += len(data)
        return data

    @property
    def seekable(self) -> bool:
        """Whether the file can be read in any order: it is on disk and not compressed."""
        return not self.compression and self.bytes_total is not None

    def seekable_file(self) -> BinaryIO:
        """Return the underlying file, at its start, for formats that are read in any order."""
        self.raw.seek(0)
        return self.raw

    def close(self) -> None:
        """Close the file, unless the caller opened it."""
        self.closed = True
        self._close()

    def _read_raw(self, size: int) -> bytes:
        parts, missing = [], size
        while missing:
            part = self.raw.read(missing)
            if not part:
                break
            if not isinstance(part, bytes):
                raise StreamError(f"{self.name} is open as text; open it with mode 'rb'")
            parts.append(part)
            missing -= len(part)
        self.bytes_read += size - missing
        return b"".join(parts)

    def _decompress(self, size: int) -> bytes:
        parts, missing = [], size
        try:
            while missing:
                part = bytes(self._decompressor.read(missing))
                if not part:
                    break
                parts.append(part)
                missing -= len(part)
            return b"".join(parts)
        except (OSError, pa.ArrowException) as error:
            problem = "is cut short" if "runcated" in str(error) else "is damaged"
            raise StreamError(
                f"{self.name} {problem} ({self.compression}, near byte {self.bytes_read});"
                " copy or compress it again"
            ) from error


class TextBlock(NamedTuple):
    """Some whole rows of a text file, and the number of their first line."""

    data: bytes
    line: int


def last_line_end(data: bytes) -> int:
    """Return the end of the last whole line."""
    return data.rfind(b"\n") + 1


def text_blocks(
    source: ByteSource, row_end: Callable[[bytes], int] = last_line_end, block_size: int = 0
) -> Iterator[TextBlock]:
    r"""Split a text file into blocks of whole rows.

    Parameters
    ----------
    source : ByteSource
        The file. It must be UTF-8; a byte order mark is removed.
    row_end : callable
        Returns the end of the last whole row in some bytes. By default rows are lines.
    block_size : int
        Bytes to read at a time, by default `BLOCK_SIZE`.

    Yields
    ------
    TextBlock
        The last one may lack the newline at its end.

    Raises
    ------
    StreamError
        If a byte is not UTF-8 text or a row has more than `MAX_ROW_BYTES`.

    Examples
    --------
    >>> import io
    >>> list(text_blocks(ByteSource(io.BytesIO(b"one\ntwo\nthree")), block_size=6))
    [TextBlock(data=b'one\n', line=1), TextBlock(data=b'two\n', line=2), TextBlock(data=b'three', line=3)]
    """
    block_size = block_size or BLOCK_SIZE
    rest, line, is_first = b"", 1, True
    while True:
        new = source.read(block_size)
        is_last = len(new) < block_size
        data = rest + new
        if is_first:
            data, is_first = data.removeprefix(BOM), False
        end = len(data) if is_last else row_end(data)
        if len(data) - end > MAX_ROW_BYTES:
            start = line + data.count(b"\n", 0, end)
            raise StreamError(
                f"{source.name}, line {start}: a row of over {MAX_ROW_BYTES >> 20} MB;"
                " close its quote, or check that the file is text"
            )
        rows, rest = data[:end], data[end:]
        if rows:
            _check_text(rows, line, source.name)
            yield TextBlock(rows, line)
            line += rows.count(b"\n")
        if is_last:
            return


def detect_format(source: ByteSource) -> str:
    """Detect the format of a file by its suffix and its first bytes.

    Parameters
    ----------
    source : ByteSource
        The file.

    Returns
    -------
    str
        A format as in `Schema.format`.

    Raises
    ------
    StreamError
        If the format is unknown, or the suffix and the first bytes disagree.

    Examples
    --------
    >>> import io
    >>> detect_format(ByteSource(io.BytesIO(b'{"ann": "spam"}')))
    'JSONL'
    >>> file = io.BytesIO(b"ann,bob,truth")
    >>> file.name = "votes.parquet"
    >>> detect_format(ByteSource(file))
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: votes.parquet ends like Parquet but begins like CSV; rename it to .csv
    """
    name, head = source.name, source.head
    if not head.strip():
        raise StreamError(f"{name} is empty; it needs a header or at least one row")
    if head.startswith(UTF16_BOMS):
        raise StreamError(f"{name} is UTF-16 text; save it as UTF-8")
    suffix = _format_of_suffix(name)
    magic = next((kind for start, kind in MAGIC_BYTES.items() if head.startswith(start)), "")
    if suffix and magic and suffix != magic:
        raise _contradiction(name, suffix, magic)
    if magic:
        return magic
    content = _format_of_text(head)
    if suffix and suffix not in TEXT_FORMATS:
        raise _contradiction(name, suffix, content)
    if suffix in ("CSV", "TSV") and content in ("JSONL", "JSON"):
        raise _contradiction(name, suffix, content)
    if suffix in ("JSONL", "JSON"):
        if not head.lstrip(BOM + b" \t\r\n").startswith((b"[", b"{")):
            raise _contradiction(name, suffix, content)
        return content or suffix
    if not suffix and not content:
        raise StreamError(f"{name}: unknown format; name it .{', .'.join(USUAL_SUFFIXES.values())}")
    return suffix or content


def _format_of_suffix(name: str) -> str:
    lower = name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        lower = lower.removesuffix(suffix)
    return SUFFIXES.get(lower.rpartition(".")[2], "") if "." in lower else ""


def _format_of_text(head: bytes) -> str:
    """Return the format that the first line of a text looks like, or ""."""
    text = head.removeprefix(BOM).lstrip()
    line, _, more = text.partition(b"\n")
    if JSON_LIST.match(text):
        return "JSON"
    if line.startswith(b"{"):
        try:
            return "JSONL" if isinstance(json.loads(line), dict) else ""
        except (ValueError, RecursionError):  # broken JSON; reading it reports the line
            if more and line.rstrip().endswith((b"{", b"[", b",", b":")):
                return "JSON"
            return "JSONL" if b'"' in line and more else ""
    if b"\0" in head[:1024]:
        return ""
    if SVMLIGHT_LINE.fullmatch(line):
        return "svmlight"
    if b"\t" in line:
        return "TSV"
    return "CSV" if any(sign in line for sign in (b",", b";", b"|")) else ""


def _contradiction(name: str, suffix: str, content: str) -> StreamError:
    fix = f"rename it to .{USUAL_SUFFIXES.get(content, content)}" if content else "check what it is"
    return StreamError(f"{name} ends like {suffix} but begins like {content or 'something else'}; {fix}")


def _check_text(data: bytes, line: int, name: str) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        raise StreamError(
            f"{name}, line {at}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    if b"\0" in data:
        at = line + data.count(b"\n", 0, data.index(b"\0"))
        raise StreamError(f"{name}, line {at}: a NUL byte; save the file as UTF-8 text")


class _RawReader:
    """The compressed bytes of a source, with the interface that pyarrow requires of a file."""

    closed = False

    def __init__(self, source: ByteSource) -> None:
        self.source, self.buffer = source, source._raw_head

    def read(self, size: int) -> bytes:
        if self.buffer:
            data, self.buffer = self.buffer[:size], self.buffer[size:]
            return data
        return self.source._read_raw(size)

    def close(self) -> None:
        """Do nothing: the source closes the file."""


def _open(path: str | os.PathLike[str] | BinaryIO) -> tuple[BinaryIO, str]:
    """Open a file; return it and its name for messages."""
    if isinstance(path, str) and path == "-":
        return sys.stdin.buffer, "standard input"
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
        raise StreamError(f"{os.fspath(path)!r} is a folder; name a file in it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise StreamError(f"{os.fspath(path)!r} cannot be opened: {reason}") from None


def _size(raw: BinaryIO) -> int | None:
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
