"""Text in blocks of whole lines, with the number of each line."""

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

BLOCK = 1 << 21  # bytes that are read at a time
LONGEST = 1 << 24  # bytes that one row may have
BOM = b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Some whole rows, and the number of their first line."""

    data: bytes
    line: int


def last_line(data: bytes) -> int:
    """Where the last whole line ends."""
    return data.rfind(b"\n") + 1


def blocks(source: Source, end: Callable[[bytes], int] = last_line, size: int = 0) -> Iterator[Block]:
    """Blocks that end where `end` says that a row does; the last one may lack its newline.

    >>> import io
    >>> list(blocks(Source(io.BytesIO(b"one\\ntwo\\nthree")), size=6))
    [Block(data=b'one\\n', line=1), Block(data=b'two\\n', line=2), Block(data=b'three', line=3)]
    """
    rest, line, begun, size = b"", 1, False, size or BLOCK
    while True:
        more = source.read(size)
        last = len(more) < size
        data = rest + more
        if not begun:
            data, begun = data.removeprefix(BOM), True
        cut = len(data) if last else end(data)
        if len(data) - cut > LONGEST:
            start = line + data.count(b"\n", 0, cut)
            raise StreamError(
                f"{source.name}, line {start}: a row of over {LONGEST >> 20} MB;"
                " close its quote, or check that this is text"
            )
        whole, rest = data[:cut], data[cut:]
        if whole:
            _demand_text(whole, line, source.name)
            yield Block(whole, line)
            line += whole.count(b"\n")
        if last:
            return


def _demand_text(data: bytes, line: int, name: str) -> None:
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


ENDINGS = {
    "csv": "CSV", "tsv": "TSV", "tab": "TSV", "jsonl": "JSONL", "ndjson": "JSONL",
    "parquet": "Parquet", "pq": "Parquet", "arrow": "Arrow", "feather": "Arrow", "arrows": "Arrow",
    "ipc": "Arrow", "svm": "svmlight", "svmlight": "svmlight", "libsvm": "svmlight",
    "npy": "npy", "npz": "npz",
}  # fmt: skip
BEGINNINGS = {
    b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow",
    b"\x93NUMPY": "npy", b"PK\x03\x04": "npz",
}  # fmt: skip
PACKED = (".gz", ".zst", ".gzip", ".zstd")
TEXTS = ("CSV", "TSV", "JSONL", "svmlight")
USUAL = {"CSV": "csv", "TSV": "tsv", "JSONL": "jsonl", "Parquet": "parquet", "Arrow": "arrow"}
SPARSE = re.compile(rb"[-+.\w]+([ \t]+(qid:)?\d+:[-+.\w]+)+[ \t]*(#.*)?\r?")
BOMS = (b"\xff\xfe", b"\xfe\xff")


def format_of(source: Source) -> str:
    """The format of a file.

    >>> import io
    >>> format_of(Source(io.BytesIO(b'{"ann": "spam"}')))
    'JSONL'
    >>> file = io.BytesIO(b"ann,bob,truth")
    >>> file.name = "votes.parquet"
    >>> format_of(Source(file))
    Traceback (most recent call last):
    linmax.streams.schema.StreamError: votes.parquet ends like Parquet but begins like CSV; rename it to .csv
    """
    name, head = source.name, source.head
    if not head.strip():
        raise StreamError(f"{name} is empty; it needs a header or at least one row")
    if head.startswith(BOMS):
        raise StreamError(f"{name} is UTF-16 text; save it as UTF-8")
    ending = _ending(name)
    begins = next((kind for magic, kind in BEGINNINGS.items() if head.startswith(magic)), "")
    if ending and begins and ending != begins:
        raise _disagree(name, ending, begins)
    if begins or (ending and ending not in TEXTS):
        if not begins:
            raise _disagree(name, ending, _text(head) or "something else")
        return begins
    if ending == "svmlight":
        return ending
    looks = _text(head)
    if ending in ("CSV", "TSV") and looks == "JSONL":
        raise _disagree(name, ending, looks)
    if ending == "JSONL" and looks != "JSONL":
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            raise StreamError(f"{name} is one JSON list; write one object per line")
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            raise _disagree(name, ending, looks or "something else")
    if not ending and not looks:
        raise StreamError(
            f"{name}: cannot tell the format; name it .csv, .tsv, .jsonl, .parquet, .arrow, .svm,"
            " .npy or .npz"
        )
    return ending or looks


def _ending(name: str) -> str:
    lower = name.lower()
    for packed in PACKED:
        lower = lower.removesuffix(packed)
    return ENDINGS.get(lower.rpartition(".")[2], "") if "." in lower else ""


def _text(head: bytes) -> str:
    """What text looks like, judged by its first line."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    if line.startswith(b"{"):
        try:
            return "JSONL" if isinstance(json.loads(line), dict) else ""
        except (ValueError, RecursionError):
            return "" if b"," in line.split(b"{", 1)[0] else "JSONL" * (b'"' in line)
    if b"\0" in head[:1024]:
        return ""
    if SPARSE.fullmatch(line):
        return "svmlight"
    if b"\t" in line:
        return "TSV"
    return "CSV" if b"," in line or b";" in line else ""


def _disagree(name: str, ending: str, begins: str) -> StreamError:
    cure = f"rename it to .{USUAL.get(begins, begins)}" if begins != "something else" else "check what it is"
    return StreamError(f"{name} ends like {ending} but begins like {begins}; {cure}")


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
