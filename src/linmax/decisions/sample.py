"""Which labelled trials decisions learn from: all, or a sample at fixed positions.

The sample has the first 5120 labelled trials, and then 1024 from 65,536 and every multiple of 1,048,576 on:
the scale of scores may grow with the trials. Its trials follow one another, so that a single rule need not
store the scores of all other trials. The positions depend on nothing but the number of labelled trials
before, so that learning in chunks or one by one gives the same sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax._jit.compilation import inline

FIRST, PERIOD, WINDOW = 4096, 1 << 20, 1024
FOURTH_BITS = 0x4444_4444_4444_4444  # one of these is set in 4, 64, 1024 and so on


@inline
def is_used(seen, every):
    """Tell whether a labelled trial is used, given the number of those before it."""
    block = seen // WINDOW
    return (
        every > 0
        or seen < FIRST
        or seen & (PERIOD - 1) < WINDOW
        or (block & (block - 1) == 0 and block & FOURTH_BITS != 0)
    )


def boundaries(begin: int, end: int) -> list[int]:
    """Return the numbers of labelled trials between these at which a part of the sample starts or ends.

    Examples
    --------
    >>> boundaries(0, 100_000)
    [5120, 65536, 66560]
    """
    starts = {PERIOD * i for i in range(begin // PERIOD, end // PERIOD + 1)}
    starts |= {WINDOW << i for i in range((end // WINDOW).bit_length())}
    edges = sorted({FIRST, *starts, *(start + WINDOW for start in starts)})
    return [at for at in edges if begin < at < end and is_used(at, 0) != is_used(at - 1, 0)]


def split(chunks: list[slice], batch: Any, seen: int, longest: int) -> list[tuple[slice, bool]]:
    """Cut chunks of rows where parts of the sample start and end; tell which are in the sample.

    Parameters
    ----------
    chunks
        Consecutive rows.
    batch
        The encoded trials of all rows.
    seen
        The number of labelled trials before.
    longest
        The largest number of rows in the sample that are run at once.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> batch = SimpleNamespace(trials=9000, counted=None)
    >>> for rows, used in split([slice(0, 8000), slice(8000, 9000)], batch, 0, 3000):
    ...     print(rows.start, rows.stop, used)
    0 3000 True
    3000 5120 True
    5120 8000 False
    8000 9000 False
    """
    if seen + batch.trials <= FIRST and batch.trials <= longest:
        return [(rows, True) for rows in chunks]
    if not boundaries(seen, seen + batch.trials) and not is_used(seen, 0):
        return [(rows, False) for rows in chunks]
    counted = batch.counted
    total = batch.trials if counted is None else int(np.count_nonzero(counted))
    stops = boundaries(seen, seen + total)
    rows = [number - seen for number in stops]
    if stops and total < batch.trials:
        rows = np.flatnonzero(counted)[rows].tolist()
    found: list[tuple[slice, bool]] = []
    at, number = 0, seen
    edges = [*zip(rows, stops, strict=True), (batch.trials, seen + total)]
    for chunk in chunks:
        begin = chunk.start
        while begin < chunk.stop:
            used = bool(is_used(number, 0))
            end = min(edges[at][0], chunk.stop)
            step = longest if used else max(1, end - begin)
            found += [(slice(i, min(i + step, end)), used) for i in range(begin, end, step)]
            begin = end
            if end == edges[at][0] and at < len(edges) - 1:
                number = edges[at][1]
                at += 1
    return found
