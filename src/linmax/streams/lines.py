"""Text in blocks of whole lines, with the number of each line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from linmax.streams.errors import StreamError
from linmax.streams.source import Source

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
