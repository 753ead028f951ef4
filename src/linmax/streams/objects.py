"""Objects of JSON as items: a dict of votes each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from linmax.streams.errors import StreamError, shown
from linmax.streams.jsonl import Jsonl
from linmax.streams.layout import Layout
from linmax.streams.pieces import Piece
from linmax.streams.texts import fold

LARGEST = 1e60
KINDS = {str: "text", int: "a number", bool: "true/false"}
BOX = "votes"  # a key that may hold all votes of an item


class Objects:
    """Rows of a JSONL file become items; all votes and labels are of one kind."""

    def __init__(self, reader: Jsonl, layout: Layout, folding: bool, chosen: bool) -> None:
        self.reader, self.layout, self.folding, self.chosen = reader, layout, folding, chosen
        self.boxed = boxed(reader)
        self.apart = {name for name in (layout.label, layout.id, *layout.attributes, *layout.ignored) if name}
        self.kind: type | None = None
        self.numeric: dict[str, bool] = {}

    def pieces(self, most: int) -> Iterator[Piece]:
        """The items, some at a time."""
        layout, first = self.layout, 0
        for dicts, lines in self.reader.objects(most):
            rows = list(zip(dicts, lines, strict=True))
            labels = None
            if layout.label:
                labels = np.empty(len(rows), object)
                labels[:] = [self.name(row.get(layout.label), layout.label, line) for row, line in rows]
            yield Piece(
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
                raise self.error(line, f"{BOX!r} is {shown(row)}; write an object {{expert: vote}}")
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
                    line, f"{expert} gives {shown(key)} the score {shown(score)}; write a number"
                )
            name = self.name(key, expert, line)
            if name in out:
                raise self.error(line, f"{expert} scores {shown(name)} twice; keep one")
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
            raise self.error(line, f"{shown(column)} is {shown(value)}, which is no label; {cure}")
        if self.kind is None:
            self.kind = kind
        elif kind is not self.kind:
            raise self.error(
                line,
                f"{shown(column)} is {shown(value)}, {KINDS[kind]}, but votes and labels before it are"
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
                    line, f"the attribute {shown(name)} is {shown(value)}; write a number or a text"
                )
            if self.numeric.setdefault(name, numeric) != numeric:
                raise self.error(
                    line,
                    f"the attribute {shown(name)} is {shown(value)}, unlike those before; write all alike",
                )
            out[name] = float(value) if numeric else value
        return out

    def id(self, value: Any, line: int) -> Any:
        """The id of one item."""
        if isinstance(value, list | dict):
            raise self.error(line, f"the id {shown(value)} is no text or number; write one")
        return value

    def error(self, line: int, what: str) -> StreamError:
        """A sentence with its place."""
        return StreamError(f"{self.reader.name}, line {line}: {what}")


def boxed(reader: Jsonl) -> bool:
    """Whether the votes of an item stand together, as {"votes": {expert: vote}}."""
    return any(isinstance(row.get(BOX), dict) for row in reader.sample) and all(
        isinstance(row.get(BOX, {}), dict | None) for row in reader.sample
    )
