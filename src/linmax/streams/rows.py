"""Flat objects of JSON as columns, for the long shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from linmax.streams.batch import Batch
from linmax.streams.errors import StreamError, shown
from linmax.streams.jsonl import Jsonl
from linmax.streams.layout import Layout

KINDS = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
KINDS_SAID = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


class JsonColumns:
    """The columns of a JSONL file; the first value of each says what kind its values are."""

    format, unit, rows = "JSONL", "line", None

    def __init__(self, reader: Jsonl, layout: Layout) -> None:
        self.reader, self.layout = reader, layout
        self.roles: dict[str, Any] = {}
        self.schema: Any = None
        self._kinds: dict[str, type] = {}

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """The columns, with null where a row lacks one."""
        for dicts, lines in self.reader.objects(most):
            data = [self._column(name, [row.get(name) for row in dicts], lines) for name in columns]
            yield Batch(pa.table(data, names=list(columns)), np.array(lines, np.int64))

    def _column(self, name: str, values: list[Any], lines: list[int]) -> Any:
        for i, value in enumerate(values):
            if value is None:
                continue
            kind = type(value)
            if kind is int and abs(value) < 2**63 and (self._kinds.get(name) is float or self._scored(name)):
                values[i], kind = float(value), float
            first = self._kinds.setdefault(name, kind)
            if kind not in KINDS or kind is not first or (kind is int and abs(value) >= 2**63):
                raise StreamError(
                    f"{self.reader.name}, line {lines[i]}: {shown(name)} is {shown(value)}; write"
                    f" {KINDS_SAID.get(first, 'a text or a number')} on every line"
                )
        return pa.array(values, KINDS.get(self._kinds.get(name, type(None)), pa.string()))

    def _scored(self, name: str) -> bool:
        return name in (*self.layout.experts[3:], *self.layout.attributes)
