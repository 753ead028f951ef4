"""Limits on how much of a file is read into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.streams.files.source import ByteSource
from linmax.streams.schema import StreamError

DEFAULT_LIMIT = 512 << 20  # bytes after decompression
HEAD_ROWS = 100_000  # rows that are read of a file beyond the limit
MAX_CELLS = 40_000_000  # of a text file, beyond which only the head is used
MAX_RATIO, MIN_BOMB_BYTES = 100, 32 << 20  # of unpacked to packed bytes, and where the check begins
READ_SIZE = 1 << 22


class Loaded(NamedTuple):
    """What the reader of a format returns.

    Attributes
    ----------
    data : pyarrow.Table
        The records, in columns of any type.
    lines : ndarray of int64
        The line or row of each record.
    unit : {"line", "row"}
        What `lines` counts.
    notes : list of str
        What a user should know about the reading.
    complete : bool
        Whether this is the whole file.
    hints : dict
        Roles of columns that the format itself fixes.
    """

    data: Any
    lines: NDArray[np.int64]
    unit: str
    notes: list[str]
    complete: bool = True
    hints: dict[str, Any] = {}  # noqa: RUF012


class ReadLimit:
    """How much of a file may be read.

    Parameters
    ----------
    source : ByteSource
        The file.
    limit_bytes : int
        Bytes after decompression beyond which only the first rows are read.
    head_only : bool
        Whether only the first rows are read in any case.
    """

    def __init__(self, source: ByteSource, limit_bytes: int, *, head_only: bool) -> None:
        self.source, self.limit_bytes = source, limit_bytes
        total = None if source.compression else source.bytes_total
        self.head_only = head_only or (total is not None and total > limit_bytes)

    def reached(self, rows: int, columns: int = 1) -> bool:
        """Return whether reading stops after so many rows; refuse files that unpack to far more bytes."""
        self._check_ratio()
        large = rows * columns > MAX_CELLS or self.source.bytes_unpacked > self.limit_bytes
        return large or (self.head_only and rows >= HEAD_ROWS)

    def read_all(self, what: str) -> bytes:
        """Read the rest of a file that makes sense only as a whole."""
        return b"".join(self.blocks(what))

    def blocks(self, what: str) -> Iterator[bytes]:
        """Read the rest of the file in blocks."""
        while block := self.source.read(READ_SIZE):
            self.check_bytes(what)
            yield block

    def check_bytes(self, what: str) -> None:
        """Refuse a file beyond the limit that makes sense only as a whole."""
        self._check_ratio()
        if self.source.bytes_unpacked > self.limit_bytes:
            raise StreamError(
                f"{self.source.name} is {what} of over {self.limit_bytes >> 20} MB, which is read as a whole;"
                " write it as CSV, JSONL or Parquet, which are read in chunks"
            )

    def _check_ratio(self) -> None:
        source = self.source
        unpacked = source.bytes_unpacked
        if source.compression and unpacked > max(MIN_BOMB_BYTES, MAX_RATIO * source.bytes_read):
            raise StreamError(
                f"{source.name} unpacks to over {unpacked >> 20} MB, more than {MAX_RATIO} times its size"
                f" ({source.compression}); unpack it yourself if you trust it"
            )
