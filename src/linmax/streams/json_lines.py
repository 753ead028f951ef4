"""Flat objects of JSON as columns, for the long shape."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linmax.streams.chunk import Chunk
from linmax.streams.columns import Batch, fold
from linmax.streams.schema import Schema, StreamError, short_repr
from linmax.streams.source import Block, Source, blocks

ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
KINDS_SAID = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


class JsonColumns:
    """The columns of a JSONL file; the first value of each says what kind its values are."""

    format, unit, rows = "JSONL", "line", None

    def __init__(self, reader: Jsonl, layout: Schema) -> None:
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
            if kind not in ARROW_TYPES or kind is not first or (kind is int and abs(value) >= 2**63):
                raise StreamError(
                    f"{self.reader.name}, line {lines[i]}: {short_repr(name)} is {short_repr(value)}; write"
                    f" {KINDS_SAID.get(first, 'a text or a number')} on every line"
                )
        return pa.array(values, ARROW_TYPES.get(self._kinds.get(name, type(None)), pa.string()))

    def _scored(self, name: str) -> bool:
        return name in (*self.layout.experts[3:], *self.layout.attributes)


LARGEST = 1e60
KINDS = {str: "text", int: "a number", bool: "true/false"}
BOX = "votes"  # a key that may hold all votes of an item


class Objects:
    """Rows of a JSONL file become items; all votes and labels are of one kind."""

    def __init__(self, reader: Jsonl, layout: Schema, folding: bool, chosen: bool) -> None:
        self.reader, self.layout, self.folding, self.chosen = reader, layout, folding, chosen
        self.boxed = boxed(reader)
        self.apart = {name for name in (layout.label, layout.id, *layout.attributes, *layout.ignored) if name}
        self.kind: type | None = None
        self.numeric: dict[str, bool] = {}

    def chunks(self, most: int) -> Iterator[Chunk]:
        """The items, some at a time."""
        layout, first = self.layout, 0
        for dicts, lines in self.reader.objects(most):
            rows = list(zip(dicts, lines, strict=True))
            labels = None
            if layout.label:
                labels = np.empty(len(rows), object)
                labels[:] = [self.name(row.get(layout.label), layout.label, line) for row, line in rows]
            yield Chunk(
                first,
                np.array(lines, np.int64),
                [self.votes(row, line) for row, line in rows],
                labels,
                [self.attributes(row, line) for row, line in rows] if layout.attributes else None,
                [self.id(row.get(layout.id), line) for row, line in rows] if layout.id else None,
            )
            first += len(rows)

    def votes(self, row: dict[str, Any], line: int) -> dict[str, Any]:
        """What the experts say of one item; who says nothing is left out."""
        if self.boxed:
            row = row.get(BOX) or {}
            if not isinstance(row, dict):
                raise self.error(line, f"{BOX!r} is {short_repr(row)}; write an object {{expert: vote}}")
        elif self.chosen:
            row = {name: row[name] for name in self.layout.experts if name in row}
        votes: dict[str, Any] = {}
        for expert, vote in row.items():
            if vote is None or (not self.boxed and expert in self.apart):
                continue
            if isinstance(vote, dict):
                votes[expert] = self.scores(vote, expert, line)
            else:
                name = self.name(vote, expert, line)
                if name is not None:
                    votes[expert] = name
        return votes

    def scores(self, vote: dict[str, Any], expert: str, line: int) -> dict[Any, float]:
        """One expert's scores, by class."""
        out: dict[Any, float] = {}
        for key, score in vote.items():
            if score is None:
                continue
            if type(score) not in (int, float) or not abs(score) <= LARGEST:
                raise self.error(
                    line, f"{expert} gives {short_repr(key)} the score {short_repr(score)}; write a number"
                )
            name = self.name(key, expert, line)
            if name in out:
                raise self.error(line, f"{expert} scores {short_repr(name)} twice; keep one")
            if name is not None:
                out[name] = float(score)
        return out

    def name(self, value: Any, column: str, line: int) -> Any:
        """A label, None if it is missing."""
        kind = type(value)
        if kind is float and value.is_integer():
            value, kind = int(value), int
        if kind is str:
            value = fold(value) if self.folding else value or None
        if value is None:
            return None
        if kind not in KINDS:
            cure = "scores are an object {class: score}, other columns go into attributes="
            raise self.error(line, f"{short_repr(column)} is {short_repr(value)}, which is no label; {cure}")
        if self.kind is None:
            self.kind = kind
        elif kind is not self.kind:
            raise self.error(
                line,
                f"{short_repr(column)} is {short_repr(value)}, {KINDS[kind]}, but votes and labels before it are"
                f" {KINDS[self.kind]}; write all alike, or name those that vote with experts=",
            )
        return value

    def attributes(self, row: dict[str, Any], line: int) -> dict[str, Any]:
        """The attributes of one item."""
        out = {}
        for name in self.layout.attributes:
            value = row.get(name)
            if value is None:
                continue
            numeric = isinstance(value, int | float)
            if not (numeric or isinstance(value, str)) or (numeric and not abs(value) <= LARGEST):
                raise self.error(
                    line, f"the attribute {short_repr(name)} is {short_repr(value)}; write a number or a text"
                )
            if self.numeric.setdefault(name, numeric) != numeric:
                raise self.error(
                    line,
                    f"the attribute {short_repr(name)} is {short_repr(value)}, unlike those before; write all alike",
                )
            out[name] = float(value) if numeric else value
        return out

    def id(self, value: Any, line: int) -> Any:
        """The id of one item."""
        if isinstance(value, list | dict):
            raise self.error(line, f"the id {short_repr(value)} is no text or number; write one")
        return value

    def error(self, line: int, what: str) -> StreamError:
        """A sentence with its place."""
        return StreamError(f"{self.reader.name}, line {line}: {what}")


def boxed(reader: Jsonl) -> bool:
    """Whether the votes of an item stand together, as {"votes": {expert: vote}}."""
    return any(isinstance(row.get(BOX), dict) for row in reader.sample) and all(
        isinstance(row.get(BOX, {}), dict | None) for row in reader.sample
    )


SAMPLE = 1000  # rows that are looked at to find out what there is


class Rows(NamedTuple):
    """Some objects, and the lines they stand in."""

    dicts: list[dict[str, Any]]
    lines: list[int]


class Jsonl:
    """Objects in order; keys may come and go."""

    format, unit = "JSONL", "line"
    rows = None

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.roles: dict[str, Any] = {}
        self._blocks = blocks(source)
        self._first = next((block for block in self._blocks if block.data.strip()), Block(b"", 1))
        self.sample = [row for _, row in islice(self._objects(self._first), SAMPLE)]
        if not self.sample:
            raise StreamError(f"{self.name} is empty; it needs a header or at least one row")
        self.columns = list(dict.fromkeys(key for row in self.sample for key in row))

    def objects(self, most: int) -> Iterator[Rows]:
        """At most so many rows at a time."""
        for block in self._every():
            found = self._objects(block)
            while part := list(islice(found, most)):
                yield Rows([row for _, row in part], [line for line, _ in part])

    def _every(self) -> Iterator[Block]:
        yield self._first
        self._first = Block(b"", 1)
        yield from self._blocks

    def _objects(self, block: Block) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, text in enumerate(block.data.decode().split("\n"), block.line):
            if text and not text.isspace():
                yield line, self._object(text, line)

    def _object(self, text: str, line: int) -> dict[str, Any]:
        try:
            row = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
        except RecursionError:
            raise StreamError(
                f"{self.name}, line {line}: nested too deep; a row is one flat object"
            ) from None
        except _FaultError as fault:
            raise StreamError(f"{self.name}, line {line}: {fault}") from None
        except json.JSONDecodeError as error:
            raise StreamError(
                f"{self.name}, line {line}: no JSON from column {error.colno} on ({error.msg}); mend the line"
            ) from None
        except ValueError:  # a whole number of more digits than Python takes
            raise StreamError(f"{self.name}, line {line}: a number too long to read; shorten it") from None
        if "\\u" in text and not _encodes(row):
            raise StreamError(f"{self.name}, line {line}: half of a surrogate pair (\\ud...); mend the text")
        if not isinstance(row, dict):
            raise StreamError(
                f"{self.name}, line {line}: {short_repr(row)} is no object; write {{...}} on each line"
            )
        return row


class _FaultError(Exception):
    """JSON that is valid but means nothing here."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _FaultError(f"two values for {short_repr(twice)}; keep one")
    return row


def _refused(constant: str) -> Any:
    raise _FaultError(f"{constant} is no number; write null where there is none")


def _encodes(row: Any) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
