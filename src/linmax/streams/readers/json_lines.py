"""JSONL files: one JSON object per line, whose keys may differ from line to line."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from linmax.streams.chunk import Chunk
from linmax.streams.columns import MAX_NUMBER, TableBatch, normalize
from linmax.streams.files.source import ByteSource, TextBlock, text_blocks
from linmax.streams.schema import Schema, StreamError, short_repr

SAMPLE_SIZE = 1000  # rows from which the schema is inferred
VOTES_KEY = "votes"  # a key that may hold all votes of an item
MAX_INT = 2**63
LABEL_KINDS = {str: "text", int: "a number", bool: "true/false"}
ARROW_TYPES = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
TYPE_NAMES = {str: "a text", bool: "true or false", int: "an integer", float: "a number"}


class JsonRows(NamedTuple):
    """Some objects of a file, and their lines."""

    dicts: list[dict[str, Any]]
    lines: list[int]


class JsonLinesReader:
    """The objects of a file.

    Parameters
    ----------
    source : ByteSource
        The file.
    constants : mapping, optional
        What NaN, Infinity and -Infinity stand for; without it NaN is missing, and infinity is refused.

    Attributes
    ----------
    sample : list of dict
        The first objects.
    columns : list of str
        The keys of the sample.
    nested : bool
        Whether the votes of an item are in an object of their own, as {"votes": {expert: vote}}.
    """

    def __init__(self, source: ByteSource, constants: Mapping[str, Any] | None = None) -> None:
        self.name = source.name
        constant = _nan_or_refuse if constants is None else constants.__getitem__
        # json.loads would construct a decoder for every line
        self._decoder = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=constant)
        self._blocks = text_blocks(source)
        self._first_block = next((block for block in self._blocks if block.data.strip()), TextBlock(b"", 1))
        self.sample = [row for _, row in islice(self._parse_block(self._first_block), SAMPLE_SIZE)]
        if not self.sample:
            raise StreamError(f"{self.name} is empty; it needs a header or at least one row")
        self.columns = list(dict.fromkeys(key for row in self.sample for key in row))
        votes = [row[VOTES_KEY] for row in self.sample if VOTES_KEY in row]
        self.nested = any(isinstance(vote, dict) for vote in votes) and all(
            isinstance(vote, dict | None) for vote in votes
        )

    def rows(self, max_rows: int) -> Iterator[JsonRows]:
        """Read objects, at most `max_rows` at a time."""
        for block in self._all_blocks():
            objects = self._parse_block(block)
            while part := list(islice(objects, max_rows)):
                yield JsonRows([row for _, row in part], [line for line, _ in part])

    def _all_blocks(self) -> Iterator[TextBlock]:
        yield self._first_block
        self._first_block = TextBlock(b"", 1)
        yield from self._blocks

    def _parse_block(self, block: TextBlock) -> Iterator[tuple[int, dict[str, Any]]]:
        for line, text in enumerate(block.data.decode().split("\n"), block.line):
            if text and not text.isspace():
                yield line, self._parse_line(text, line)

    def _parse_line(self, text: str, line: int) -> dict[str, Any]:
        try:
            row = self._decoder.decode(text)
        except RecursionError:
            problem = "nested too deep; write one flat object"
        except ContentError as error:
            problem = str(error)
        except json.JSONDecodeError as error:
            problem = f"not valid JSON from column {error.colno} on ({error.msg}); fix the line"
        except ValueError:  # an integer with more digits than Python reads
            problem = "a number too long to read; shorten it"
        else:
            if "\\u" in text and not is_unicode(row):
                problem = "half of a surrogate pair (\\ud...); fix the text"
            elif not isinstance(row, dict):
                problem = f"{short_repr(row)} is not an object; write {{...}} on each line"
            else:
                return row
        raise StreamError(f"{self.name}, line {line}: {problem}")


class JsonTableReader:
    """Flat objects as columns, for the long shape; the first value of a column decides its type.

    Parameters
    ----------
    reader : JsonLinesReader
        The file.
    schema : Schema
        The roles of the columns.
    """

    format, unit, num_rows = "JSONL", "line", None

    def __init__(self, reader: JsonLinesReader, schema: Schema) -> None:
        self.reader = reader
        self.roles: dict[str, Any] = {}
        self.arrow_schema: Any = None
        self._numeric = {*schema.experts[3:], *schema.attributes}  # 1 and 1.5 are both numbers there
        self._types: dict[str, type] = {}

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read columns, with null where an object lacks a key."""
        for dicts, lines in self.reader.rows(max_rows):
            data = [self._column(name, [row.get(name) for row in dicts], lines) for name in columns]
            yield TableBatch(pa.table(data, names=list(columns)), np.array(lines, np.int64))

    def _column(self, name: str, values: list[Any], lines: list[int]) -> Any:
        for i, value in enumerate(values):
            if value is None:
                continue
            kind = type(value)
            as_float = self._types.get(name) is float or name in self._numeric
            if kind is int and abs(value) < MAX_INT and as_float:
                values[i], kind = float(value), float
            first = self._types.setdefault(name, kind)
            if kind not in ARROW_TYPES or kind is not first or (kind is int and abs(value) >= MAX_INT):
                raise StreamError(
                    f"{self.reader.name}, line {lines[i]}: {short_repr(name)} is {short_repr(value)}; write"
                    f" {TYPE_NAMES.get(first, 'a text or a number')} on every line"
                )
        return pa.array(values, ARROW_TYPES.get(self._types.get(name, type(None)), pa.string()))


class JsonItemReader:
    """Objects as items, for the wide and the scores shape; all votes and labels are of one kind.

    Parameters
    ----------
    reader : JsonLinesReader
        The file.
    schema : Schema
        The roles of the columns. If it is open, every key without another role is an expert.
    ignore_case : bool
        Whether to strip whitespace around votes and labels and to ignore their case.
    """

    def __init__(self, reader: JsonLinesReader, schema: Schema, ignore_case: bool) -> None:
        self.reader, self.schema, self.ignore_case = reader, schema, ignore_case
        self._other_roles = {
            name for name in (schema.label, schema.id, *schema.attributes, *schema.ignored) if name
        }
        self._label_type: type | None = None
        self._numeric: dict[str, bool] = {}

    def chunks(self, max_rows: int) -> Iterator[Chunk]:
        """Read items, at most `max_rows` at a time."""
        schema, first = self.schema, 0
        for dicts, lines in self.reader.rows(max_rows):
            rows = list(zip(dicts, lines, strict=True))
            labels = None
            if schema.label:
                labels = np.empty(len(rows), object)
                labels[:] = [self._label(row.get(schema.label), schema.label, line) for row, line in rows]
            yield Chunk(
                first,
                np.array(lines, np.int64),
                [self._votes(row, line) for row, line in rows],
                labels,
                [self._attributes(row, line) for row, line in rows] if schema.attributes else None,
                [self._id(row.get(schema.id), line) for row, line in rows] if schema.id else None,
            )
            first += len(rows)

    def _votes(self, row: dict[str, Any], line: int) -> dict[str, Any]:
        """Return the votes on one item, without abstentions."""
        nested = self.reader.nested
        if nested:
            row = row.get(VOTES_KEY) or {}
            if not isinstance(row, dict):
                raise self._error(
                    line, f"{VOTES_KEY!r} is {short_repr(row)}; write an object {{expert: vote}}"
                )
        if not self.schema.open:
            row = {name: row[name] for name in self.schema.experts if name in row}
        votes: dict[str, Any] = {}
        for expert, vote in row.items():
            if vote is None or (not nested and expert in self._other_roles):
                continue
            if isinstance(vote, dict):
                votes[expert] = self._scores(vote, expert, line)
            else:
                label = self._label(vote, expert, line)
                if label is not None:
                    votes[expert] = label
        return votes

    def _scores(self, scores: dict[str, Any], expert: str, line: int) -> dict[Any, float]:
        """Return the scores of one expert, by class."""
        by_class: dict[Any, float] = {}
        for name, score in scores.items():
            if score is None:
                continue
            if type(score) not in (int, float) or not abs(score) <= MAX_NUMBER:
                hint = "scale scores to at most 1e60" if _is_finite(score) else "write a finite number"
                raise self._error(
                    line, f"{expert} gives {short_repr(name)} the score {short_repr(score)}; {hint}"
                )
            label = self._label(name, expert, line)
            if label in by_class:
                raise self._error(line, f"{expert} scores {short_repr(label)} twice; keep one")
            if label is not None:
                by_class[label] = float(score)
        return by_class

    def _label(self, value: Any, column: str, line: int) -> Any:
        """Return a vote or label, None if it is missing."""
        kind = type(value)
        if kind is float and value.is_integer():
            value, kind = int(value), int
        if kind is str:
            value = normalize(value) if self.ignore_case else value or None
        if value is None:
            return None
        if kind not in LABEL_KINDS:
            raise self._error(
                line,
                f"{short_repr(column)} is {short_repr(value)}, which is not a label; write scores as an"
                " object {class: score}, and list other columns in attributes=",
            )
        if self._label_type is None:
            self._label_type = kind
        elif kind is not self._label_type:
            raise self._error(
                line,
                f"{short_repr(column)} is {short_repr(value)}, {LABEL_KINDS[kind]}, but votes and labels"
                f" before it are {LABEL_KINDS[self._label_type]}; write all in the same way, or select the"
                " columns with votes with experts=",
            )
        return value

    def _attributes(self, row: dict[str, Any], line: int) -> dict[str, Any]:
        attributes = {}
        for name in self.schema.attributes:
            value = row.get(name)
            if value is None:
                continue
            numeric = isinstance(value, int | float)
            if not (numeric or isinstance(value, str)) or (numeric and not abs(value) <= MAX_NUMBER):
                hint = "scale it to at most 1e60" if _is_finite(value) else "write a finite number or a text"
                raise self._error(line, f"the attribute {short_repr(name)} is {short_repr(value)}; {hint}")
            if self._numeric.setdefault(name, numeric) != numeric:
                raise self._error(
                    line,
                    f"the attribute {short_repr(name)} is {short_repr(value)}, but it was"
                    f" {'a text' if numeric else 'a number'} before; write all in the same way",
                )
            attributes[name] = float(value) if numeric else value
        return attributes

    def _id(self, value: Any, line: int) -> Any:
        if isinstance(value, list | dict):
            raise self._error(line, f"the id {short_repr(value)} is not a text or number; write one")
        return value

    def _error(self, line: int, message: str) -> StreamError:
        return StreamError(f"{self.reader.name}, line {line}: {message}")


class ContentError(Exception):
    """Valid JSON that cannot be used."""


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; refuse a key that occurs twice."""
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ContentError(f"two values for {short_repr(key)}; keep one")
            seen.add(key)
    return row


def _nan_or_refuse(constant: str) -> Any:
    if constant == "NaN":
        return None
    raise ContentError(f"{constant} is not a number; write null for a missing value")


def is_unicode(row: Any) -> bool:
    """Return whether no text in a JSON value has half of a surrogate pair."""
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_finite(value: Any) -> bool:
    return type(value) is int or (type(value) is float and math.isfinite(value))
