"""JSONL: one object per line, {expert: label} or {expert: {class: score}}, and the other columns beside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from linmax.streams.errors import StreamError, shown
from linmax.streams.lines import Block, blocks
from linmax.streams.source import Source

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
                f"{self.name}, line {line}: {shown(row)} is no object; write {{...}} on each line"
            )
        return row


class _FaultError(Exception):
    """JSON that is valid but means nothing here."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise _FaultError(f"two values for {shown(twice)}; keep one")
    return row


def _refused(constant: str) -> Any:
    raise _FaultError(f"{constant} is no number; write null where there is none")


def _encodes(row: Any) -> bool:
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
