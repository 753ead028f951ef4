"""svmlight: a label and a few numbered attributes on each line, and nobody who votes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from linmax.streams.chunk import Chunk
from linmax.streams.columns import Texts
from linmax.streams.schema import StreamError, short_repr
from linmax.streams.source import Source, blocks

LARGEST = 1e60  # as for all attributes
REST = re.compile(rb"#[^\n]*|[ \t]qid:\d+")
LINE = re.compile(rb"[ \t]*([-+.\w]+)((?:[ \t]+\d{1,18}:[-+.\w]+)*)[ \t]*\r?")
WHOLE = re.compile(rb"(?:[ \t]*[-+.\w]+(?:[ \t]+\d{1,18}:[-+.\w]+)*[ \t]*\r?\n)*")


class Svmlight:
    """Rows `label index:value index:value # comment`; `qid` is passed over."""

    format, unit = "svmlight", "line"
    rows = None

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self._blocks = blocks(source)

    def chunks(self, most: int) -> Iterator[Chunk]:
        """Attributes as dicts {index: value}, with labels that are whole numbers."""
        first = 0
        for block in self._blocks:
            data = REST.sub(b"", block.data)
            data = data if data.endswith(b"\n") else data + b"\n"
            rows = data.split(b"\n")[:-1]
            lines = [block.line + i for i, row in enumerate(rows) if row.strip()]
            rows = [row for row in rows if row.strip()]
            if not WHOLE.fullmatch(b"\n".join(rows) + b"\n" if rows else b""):
                raise self._diagnosis(rows, lines)
            for start in range(0, len(rows), most):
                here = lines[start : start + most]
                labels, attributes = self._read(rows[start : start + most], here)
                yield Chunk(first, np.array(here), None, labels, attributes, None)
                first += len(here)

    def _read(self, rows: list[bytes], lines: list[int]) -> tuple[Any, list[dict[int, float]]]:
        words = [row.replace(b":", b" ").split() for row in rows]
        labels = self._numbers([row[0] for row in words], lines, "label")
        if (labels != np.trunc(labels)).any():
            i = int(np.argmax(labels != np.trunc(labels)))
            raise StreamError(
                f"{self.name}, line {lines[i]}: label {labels[i]} is no whole number; classes are 0, 1, 2 ..."
            )
        sizes = [len(row) // 2 for row in words]
        where = np.repeat(lines, sizes).tolist()
        index = [int(word) for row in words for word in row[1::2]]
        value = self._numbers([word for row in words for word in row[2::2]], where, "value").tolist()
        attributes, at = [], 0
        for size, line in zip(sizes, lines, strict=True):
            row = dict(zip(index[at : at + size], value[at : at + size], strict=True))
            if len(row) < size:
                raise StreamError(f"{self.name}, line {line}: an index comes twice; keep one")
            attributes.append(row)
            at += size
        return labels.astype(np.int64), attributes

    def _numbers(self, words: list[bytes], lines: list[int], what: str) -> Any:
        texts = Texts(pa.array(words, pa.binary()).cast(pa.string()))
        values, bad = texts.numbers()
        if bad < 0:
            beyond = ~(np.abs(values) <= (2.0**53 if what == "label" else LARGEST))
            bad = int(np.argmax(beyond)) if beyond.any() else -1
        if bad >= 0:
            raise StreamError(
                f"{self.name}, line {lines[bad]}: {what} {short_repr(words[bad].decode())} is no number, or too"
                " large; mend it"
            )
        return values

    def _diagnosis(self, rows: list[bytes], lines: list[int]) -> StreamError:
        for row, line in zip(rows, lines, strict=True):
            if not LINE.fullmatch(row):
                return StreamError(
                    f"{self.name}, line {line}: {short_repr(row.decode(errors='replace'))} is not"
                    " 'label index:value ...'; mend the line"
                )
        return StreamError(f"{self.name}, line {lines[0]} or later is not svmlight; mend it")
