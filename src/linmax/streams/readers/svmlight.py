"""svmlight files: a label and a few numbered attributes on each line, and no votes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.streams.chunk import Chunk
from linmax.streams.columns import MAX_LABEL, MAX_NUMBER
from linmax.streams.files.source import ByteSource, text_blocks
from linmax.streams.schema import StreamError, short_repr
from linmax.validation import require_extra

FAILURES = (ValueError, OverflowError, TypeError, IndexError)


class SvmlightReader:
    """Lines `label index:value index:value ... # comment`, parsed by scikit-learn; `qid` is ignored.

    Parameters
    ----------
    source : ByteSource
        The file.
    """

    def __init__(self, source: ByteSource) -> None:
        datasets = require_extra("sklearn.datasets", "sklearn", "reading svmlight files")
        self.name = source.name
        self._load = datasets.load_svmlight_file
        self._blocks = text_blocks(source)

    def chunks(self, max_rows: int) -> Iterator[Chunk]:
        """Read items with attributes as dicts {index: value} and integer labels."""
        first = 0
        for block in self._blocks:
            rows = block.data.split(b"\n")
            numbers = [i for i, row in enumerate(rows) if row.partition(b"#")[0].strip()]
            lines = np.array(numbers, np.int64) + block.line
            for start in range(0, len(lines), max_rows):
                here = lines[start : start + max_rows]
                labels, attributes = self._parse([rows[i] for i in numbers[start : start + max_rows]], here)
                yield Chunk(first, here, None, labels, attributes, None)
                first += len(here)

    def _parse(self, rows: list[bytes], lines: NDArray[np.int64]) -> tuple[Any, list[dict[int, float]]]:
        try:
            values, labels = self._load_rows(rows)
        except FAILURES:
            raise self._first_error(rows, lines) from None
        bad_label = (labels != np.trunc(labels)) | ~(np.abs(labels) <= MAX_LABEL)
        if bad_label.any():
            i = int(np.argmax(bad_label))
            raise StreamError(
                f"{self.name}, line {lines[i]}: the label {labels[i]} is not an integer; use 0, 1, 2, ..."
            )
        bad_value = ~(np.abs(values.data) <= MAX_NUMBER)
        if bad_value.any():
            j = int(np.argmax(bad_value))
            line = lines[np.searchsorted(values.indptr, j, side="right") - 1]
            raise StreamError(
                f"{self.name}, line {line}: the value {values.data[j]} is not a number up to 1e60; fix it"
            )
        index, value, ends = values.indices.tolist(), values.data.tolist(), values.indptr.tolist()
        attributes = [
            dict(zip(index[start:end], value[start:end], strict=True)) for start, end in pairwise(ends)
        ]
        return labels.astype(np.int64), attributes

    def _load_rows(self, rows: list[bytes]) -> Any:
        return self._load(io.BytesIO(b"\n".join(rows)), zero_based=True)

    def _first_error(self, rows: list[bytes], lines: NDArray[np.int64]) -> StreamError:
        """Find the first line that scikit-learn refuses, by bisection: its errors do not name the line."""
        start, end = 0, len(rows)
        while end - start > 1:
            middle = (start + end) // 2
            try:
                self._load_rows(rows[start:middle])
                start = middle
            except FAILURES:
                end = middle
        return StreamError(
            f"{self.name}, line {lines[start]}: {short_repr(rows[start].decode())} is not 'label index:value"
            " ...' with numbers as values and increasing indices below 2**31; fix the line"
        )
