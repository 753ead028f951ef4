"""Long streams are made a block of rows at a time, so that what is made on the way stays small."""

from collections.abc import Iterator

CELLS = 1 << 18  # in one block: 2 MB of float64, which a core's cache still holds


def blocks(start: int, stop: int, width: int) -> Iterator[slice]:
    """Cut the rows from start to stop into slices of about CELLS / width rows, at least one row each.

    >>> list(blocks(0, 5, CELLS // 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    rows = max(1, CELLS // width)
    for first in range(start, stop, rows):
        yield slice(first, min(first + rows, stop))
