"""The items of a fusion as a table: input for `linmax fuse`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from linmax._files import open_atomic, resolve_output
from linmax.service.event_log.chunks import BODY
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import AMENDMENT
from linmax.service.messages.requests import FusionSettings, StoredItem
from linmax.validation import require_extra

ITEMS = f"""
SELECT i.id, e.time, {BODY.format("e")}, {BODY.format("l")}, a.label, a.by
FROM items i JOIN events e ON e.position = i.position
LEFT JOIN events l ON l.position = i.learned
{AMENDMENT.format("i.learned")}
WHERE i.fusion = ? ORDER BY coalesce(l.position, i.position)
"""
ENDINGS = (".csv", ".jsonl", ".parquet")
decode_item = msgspec.json.Decoder(StoredItem).decode


class Export(NamedTuple):
    """What was exported.

    Attributes
    ----------
    rows, labelled : int
        The number of items, and of those with a label that counts.
    votes, attributes : list of str
        The columns with votes and with attributes.
    abstain : str or None
        The option --abstain of `linmax fuse` that reads the votes as the fusion does; None if it takes none.
    """

    rows: int
    labelled: int
    votes: list[str]
    attributes: list[str]
    abstain: str | None


class Columns:
    """The columns of the table.

    An expert that gave scores has a column for each class, ``expert_class``; a class that it named counts 1.
    A column that would have the name of another one gets an underscore.
    """

    def __init__(self) -> None:
        self.experts: dict[str, dict[str, None]] = {}  # an expert and the classes that it gave scores
        self.attributes: dict[str, None] = {}
        self._taken = {"id", "time", "prediction", "label"}
        self.names: dict[tuple[str, ...], str] = {}

    def add(self, item: StoredItem) -> None:
        """Add the columns of an item."""
        for expert, vote in (item.votes or {}).items():
            classes = self.experts.setdefault(expert, {})
            if isinstance(vote, dict):
                classes.update(dict.fromkeys(vote))
        self.attributes.update(dict.fromkeys(item.attributes or {}))

    def finish(self) -> None:
        """Name all columns."""
        for expert, classes in self.experts.items():
            keys: list[tuple[str, ...]] = [(expert, name) for name in classes]
            for key in keys or [(expert,)]:
                self.names[key] = self._free("_".join(key))
        for name in self.attributes:
            self.names["", "attribute", name] = self._free(name)

    def _free(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def row(self, item: StoredItem) -> dict[str, Any]:
        """Return the votes and attributes of an item by column."""
        found: dict[str, Any] = {}
        for expert, vote in (item.votes or {}).items():
            classes = self.experts[expert]
            if not classes:
                found[self.names[expert,]] = vote
            elif vote is not None:
                scores = vote if isinstance(vote, dict) else {str(vote): 1.0}
                found.update({self.names[expert, name]: scores.get(name, 0.0) for name in classes})
        for name, value in (item.attributes or {}).items():
            found[self.names["", "attribute", name]] = value
        return found


def export(database: Database, name: str | None, path: Path) -> Export:
    """Write the items of a fusion, in the order in which they were learned.

    Parameters
    ----------
    database
        The database.
    name
        The fusion; None if there is only one.
    path
        The file: .csv, .jsonl or .parquet.
    """
    if path.suffix not in ENDINGS:
        raise ValueError(f"{path} should end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    with database.consistent():
        number = _find_fusion(database, name)
        abstain = _read_abstain(database, number)
        columns, rows, labelled = Columns(), 0, 0
        for *_, item, label in _items(database, number):
            columns.add(item)
            rows, labelled = rows + 1, labelled + (label is not None)
        columns.finish()
        header = ["id", "time", *columns.names.values(), "prediction", "label"]
        table = (
            {"id": id_, "time": time, **columns.row(item), "prediction": item.prediction, "label": label}
            for id_, time, item, label in _items(database, number)
        )
        with open_atomic(resolve_output(path)) as file:
            WRITERS[path.suffix](file, header, table)
    attributes = [column for key, column in columns.names.items() if len(key) == 3]
    votes = [one for one in columns.names.values() if one not in attributes]
    return Export(rows, labelled, votes, attributes, abstain)


def _find_fusion(database: Database, name: str | None) -> int:
    known: dict[str, int] = dict(database.rows("SELECT name, fusion FROM fusions ORDER BY name"))
    if name is None and len(known) == 1:
        return next(iter(known.values()))
    if name not in known:
        what = "pass --fusion" if name is None else f"there is no fusion {name!r}"
        raise ValueError(f"{what}; the folder has {', '.join(list(known)[:10]) or 'none'}")
    return known[name]


def _read_abstain(database: Database, number: int) -> str | None:
    ((settings,),) = database.rows("SELECT settings FROM fusions WHERE fusion = ?", number)
    abstain = msgspec.json.decode(settings, type=FusionSettings).abstain
    if abstain is msgspec.UNSET:
        return None
    return "none" if abstain is None else str(abstain)


def _items(database: Database, number: int) -> Iterator[tuple[str, float, StoredItem, Any]]:
    for id_, time, body, taught, amended, by in database.iterate(ITEMS, number):
        item = decode_item(body)
        label = None if taught is None else decode_item(taught).label
        if by is not None:
            label = None if amended is None else msgspec.json.decode(amended)
        yield id_, time, item, label


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _write_csv(file: Any, header: list[str], table: Iterator[dict[str, Any]]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    text.detach()


def _write_jsonl(file: Any, header: list[str], table: Iterator[dict[str, Any]]) -> None:
    for row in table:
        file.write(json.dumps({name: row.get(name) for name in header}, ensure_ascii=False).encode() + b"\n")


def _write_parquet(file: Any, header: list[str], table: Iterator[dict[str, Any]]) -> None:
    """Write columns of text, and of numbers where all values are."""
    arrow = require_extra("pyarrow", "cli", "linmax serve export to Parquet")
    parquet = require_extra("pyarrow.parquet", "cli", "linmax serve export to Parquet")
    rows = list(table)
    columns = {}
    for name in header:
        values = [row.get(name) for row in rows]
        floats = all(value is None or type(value) is float for value in values) and any(
            value is not None for value in values
        )
        columns[name] = arrow.array(
            values if floats else list(map(_text, values)), arrow.float64() if floats else arrow.string()
        )
    parquet.write_table(arrow.table(columns), file)


WRITERS: dict[str, Callable[[Any, list[str], Iterator[dict[str, Any]]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
