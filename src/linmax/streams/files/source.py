"""Bytes of a file: decompression, conversion to UTF-8, and text in blocks of whole rows."""

from __future__ import annotations

import codecs
import os
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from lzma import LZMAError
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from linmax.streams.files.archives import XzReader, ZipMember, file_size, open_bz2, open_file
from linmax.streams.files.encoding import (
    BOM,
    check_encoding,
    from_windows_1252,
    is_windows_1252,
    utf16_encoding,
)
from linmax.streams.schema import StreamError

HEAD_SIZE = 1 << 16  # bytes from which the format is detected
BLOCK_SIZE = 1 << 21  # bytes read at a time
MAX_ROW_BYTES = 1 << 24
COMPRESSIONS = {
    b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"PK\x03\x04": "zip",
    **{b"BZh%d1AY&SY" % level: "bz2" for level in range(1, 10)},
}  # fmt: skip
BINARY_MAGIC = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff", b"\x93NUMPY", b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
DECOMPRESSION_ERRORS = (OSError, EOFError, LZMAError, zlib.error, zipfile.BadZipFile, pa.ArrowException)


class ByteSource:
    """The bytes of a file in order, decompressed; text in UTF-16 is converted to UTF-8.

    gzip, zstd, bz2, xz, zip archives with one file, and UTF-16 are detected by the first bytes.

    Parameters
    ----------
    path : str, path-like or binary file
        A path, perhaps a remote one, "-" for standard input, or an open file, which stays open.
    part : str
        The file to read in a zip archive with several.
    encoding : str
        The encoding of text, such as "cp1251"; "" detects it.

    Attributes
    ----------
    name : str
        Name of the file, for messages.
    head : bytes
        The first bytes after decompression.
    compression : {"", "gzip", "zstd", "bz2", "xz", "zip"}
        How the file is compressed.
    inner_name : str
        Name of the file in a zip archive; otherwise that of the file.
    zip_format : {"", "npz", "Excel"}
        The format whose files are zip archives themselves.
    encoding : str
        The encoding of text, as far as it is known.
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

    def __init__(self, path: str | os.PathLike[str] | BinaryIO, part: str = "", encoding: str = "") -> None:
        check_encoding(encoding)
        self.raw, self.name = open_file(path)
        self.inner_name, self.part, self.zip_format = self.name, part, ""
        owned = isinstance(path, os.PathLike) or (isinstance(path, str) and path != "-")
        # a finalizer also closes the file of a stream that is dropped half-read
        self._close = weakref.finalize(self, self.raw.close if owned else bool)
        self.bytes_total = file_size(self.raw)
        self.bytes_read = self.bytes_unpacked = 0
        self.closed = False
        self._raw_head = self._read_raw(HEAD_SIZE)
        self.compression = next(
            (kind for magic, kind in COMPRESSIONS.items() if self._raw_head.startswith(magic)), ""
        )
        self._decompressor = self._open_compressed()
        self.encoding, self.has_utf8 = "UTF-8", False
        self._decoder: Any = None
        self.head = self._read_plain(HEAD_SIZE) if self.compression else self._raw_head
        if not self.head.startswith(BINARY_MAGIC) and (encoding := encoding or utf16_encoding(self.head)):
            self.encoding, self._decoder = encoding, codecs.getincrementaldecoder(encoding)()
            self.head = self._decode(self.head, final=len(self.head) < HEAD_SIZE)
        self._buffer = self.head

    def read(self, size: int) -> bytes:
        """Read `size` bytes; fewer only at the end of the file."""
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        if len(data) < size and self._decoder is None:
            data += self._read_plain(size - len(data))
        while len(data) < size and self._decoder is not None:
            plain = self._read_plain(size)
            text = data + self._decode(plain, final=len(plain) < size)
            data, self._buffer = text[:size], text[size:]
            if len(plain) < size:
                break
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

    def _open_compressed(self) -> Any:
        """Return an object whose `read` returns decompressed bytes; None for other files."""
        raw = _RawReader(self)
        if self.compression == "zip":
            member = ZipMember(
                self.seekable_file() if self.bytes_total is not None else None, self.name, self.part
            )
            if member.format:  # the archive is read as a whole
                self.compression, self.zip_format = "", member.format
                self.raw.seek(len(self._raw_head))
                return None
            self.inner_name, self.part = member.name, ""
            self.bytes_read = member.packed_bytes
            return member
        if self.compression == "bz2":
            return open_bz2(raw)
        if self.compression == "xz":
            return XzReader(raw)
        if self.compression:
            return pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), self.compression)
        return None

    def _read_plain(self, size: int) -> bytes:
        """Read bytes after decompression."""
        if self._decompressor is None:
            return self._read_raw(size)
        parts, missing = [], size
        try:
            while missing:
                part = bytes(self._decompressor.read(missing))
                if not part:
                    break
                parts.append(part)
                missing -= len(part)
            return b"".join(parts)
        except StreamError:
            raise
        except DECOMPRESSION_ERRORS as error:
            is_short = isinstance(error, EOFError) or "runcated" in str(error)
            problem = "is cut short" if is_short else "is damaged"
            raise StreamError(
                f"{self.name} {problem} ({self.compression}, near byte {self.bytes_read});"
                " copy or compress it again"
            ) from error

    def _decode(self, data: bytes, *, final: bool) -> bytes:
        """Convert bytes to UTF-8."""
        try:
            text: str = self._decoder.decode(data, final)
        except UnicodeError as error:
            raise StreamError(
                f"{self.name} is damaged {self.encoding} text, or cut short (near byte {self.bytes_read});"
                " save it as UTF-8"
            ) from error
        return text.encode()


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
        The file. Text in Windows-1252 is converted to UTF-8; a byte order mark is removed.
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
            yield TextBlock(_utf8(rows, line, source), line)
            line += rows.count(b"\n")
        if is_last:
            return


def _utf8(data: bytes, line: int, source: ByteSource) -> bytes:
    """Return a text as UTF-8; Windows-1252 is converted if nothing before it was in UTF-8."""
    if source.encoding == "Windows-1252":
        data = from_windows_1252(data)
    elif not data.isascii():
        try:
            data.decode()
            source.has_utf8 = True
        except UnicodeDecodeError as error:
            if source.has_utf8 or not is_windows_1252(data):
                at = line + data.count(b"\n", 0, error.start)
                raise StreamError(
                    f"{source.name}, line {at}: byte 0x{data[error.start]:02x} is not UTF-8;"
                    " save the file as UTF-8"
                ) from None
            source.encoding = "Windows-1252"
            data = from_windows_1252(data)
    if b"\0" in data:
        at = line + data.count(b"\n", 0, data.index(b"\0"))
        raise StreamError(f"{source.name}, line {at}: a NUL byte; save the file as UTF-8 text")
    return data


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
