"""Records whose votes are in a list: each becomes one row per vote.

The votes are objects with an expert and an answer, or two lists of the same length, as in
``{"annotators": ["ann", "bob"], "labels": ["ham", "spam"]}``; such lists may also be texts with commas.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linmax.panels.roles import names
from linmax.panels.whole_files.limits import Loaded
from linmax.panels.whole_files.records import records_table

LOOKED_AT = 200
"""Records from which the place of the votes is found."""
MIN_SHARE = 0.8
"""The share of these records that must have votes in the same place."""
VOTE_WORDS = names.VOTE_WORDS | frozenset({"labels", "votes", "answers", "annotations", "ratings", "values"})
EXPERT_WORDS = names.EXPERT_WORDS | frozenset(
    {"annotators", "raters", "models", "users", "judges", "experts"}
)
ITEM = "item"


class VotePlace(NamedTuple):
    """Where the votes of a record are.

    Attributes
    ----------
    expert, vote : str
        The keys of the experts and of the answers.
    column : str or None
        The key of the list of objects that have these two, ``outer.inner`` in an object; None if they are
        lists beside each other.
    """

    expert: str
    vote: str
    column: str | None = None


def find_votes(records: list[Any]) -> VotePlace | None:
    """Return where records have lists of votes; None if they have none.

    Parameters
    ----------
    records : list
        The records of a file.

    Examples
    --------
    >>> find_votes([{"id": 1, "responses": [{"user_id": "ann", "label": "ham"}]}])
    VotePlace(expert='user_id', vote='label', column='responses')
    >>> find_votes([{"annotators": "ann,bob", "annotations": "0,1"}])
    VotePlace(expert='annotators', vote='annotations', column=None)
    >>> find_votes([{"id": 1, "ann": "ham"}])
    """
    some = [record for record in records[:LOOKED_AT] if isinstance(record, dict)]
    if not some or len(some) < len(records[:LOOKED_AT]):
        return None
    for key in _paths(some[0]):
        found = [_objects(_value(record, key)) for record in some]
        parts = [part for own in found for part in own]
        if parts and sum(map(bool, found)) >= MIN_SHARE * len(some):
            expert, vote = _key(parts, EXPERT_WORDS), _key(parts, VOTE_WORDS)
            if expert is not None and vote is not None and expert != vote:
                return VotePlace(expert, vote, key)
    experts = [key for key in some[0] if names.has_word(key, EXPERT_WORDS)]
    votes = [key for key in some[0] if names.has_word(key, VOTE_WORDS) and key not in experts]
    for expert in experts:
        for vote in votes:
            if _are_parallel(some, expert, vote):
                return VotePlace(expert, vote)
    return None


def read_nested_votes(records: list[dict[str, Any]], lines: list[int], place: VotePlace, file: str) -> Loaded:
    """Return records as a long table with one row per vote.

    Parameters
    ----------
    records : list of dict
        The records.
    lines : list of int
        The line or row of each.
    place : VotePlace
        Where their votes are.
    file : str
        Name of the file, for messages.

    Examples
    --------
    >>> record = {"id": 7, "gold": "ham", "votes": [{"worker": "ann", "label": "ham"}]}
    >>> read_nested_votes([record], [1], VotePlace("worker", "label", "votes"), "a.json").data.to_pylist()
    [{'id': 7, 'gold': 'ham', 'worker': 'ann', 'label': 'ham'}]
    >>> del record["id"]
    >>> read_nested_votes([record], [1], VotePlace("worker", "label", "votes"), "a.json").data.to_pylist()
    [{'gold': 'ham', 'worker': 'ann', 'label': 'ham', 'item': 1}]
    """
    rows, row_lines = [], []
    taken = {place.column, place.expert, place.vote} if place.column is None else {place.column}
    id_ = _id_key(records, {*taken, place.expert, place.vote})
    for number, (record, line) in enumerate(zip(records, lines, strict=True), 1):
        rest = {key: value for key, value in _without(record, place.column).items() if key not in taken}
        item = {} if id_ else {ITEM: number}
        for expert, vote in _votes(record, place):
            rows.append({**rest, place.expert: expert, place.vote: vote, **item})
            row_lines.append(line)
    note = (
        f"votes are in lists ({place.column or f'{place.expert} and {place.vote}'}): one row per vote is read"
    )
    hints = {"shape": "long", "columns": (id_ or ITEM, place.expert, place.vote)}
    return Loaded(records_table(rows, file), np.array(row_lines, np.int64), "row", [note], True, hints)


def _id_key(records: list[dict[str, Any]], taken: set[Any]) -> str | None:
    """Return the first key with the name of an id that has a value of its own in every record."""
    for key in records[0] if records else ():
        if key not in taken and names.has_word(key, names.ID_WORDS):
            values = [record.get(key) for record in records]
            if all(isinstance(value, str | int) for value in values) and len({*values}) == len(values):
                return key
    return None


def _votes(record: dict[str, Any], place: VotePlace) -> list[tuple[Any, Any]]:
    if place.column is not None:
        parts = _objects(_value(record, place.column))
        return [(part.get(place.expert), part.get(place.vote)) for part in parts]
    return list(zip(_list(record.get(place.expert)), _list(record.get(place.vote)), strict=False))


def _paths(record: dict[str, Any]) -> list[str]:
    """Return the keys of a record, and those of the objects in it, such as ``responses.label``."""
    nested = [f"{key}.{inner}" for key, value in record.items() if isinstance(value, dict) for inner in value]
    return [*record, *nested]


def _value(record: dict[str, Any], path: str) -> Any:
    if path in record:
        return record[path]
    key, _, inner = path.partition(".")
    value = record.get(key)
    return value.get(inner) if isinstance(value, dict) else None


def _without(record: dict[str, Any], path: str | None) -> dict[str, Any]:
    """Return a record without what is at a path in one of its objects."""
    key, _, inner = (path or "").partition(".")
    value = record.get(key)
    if not inner or path in record or not isinstance(value, dict):
        return record
    return {**record, key: {name: part for name, part in value.items() if name != inner}}


def _objects(value: Any) -> list[dict[str, Any]]:
    is_list = isinstance(value, list) and bool(value) and all(isinstance(part, dict) for part in value)
    return value if is_list else []


def _key(parts: list[dict[str, Any]], words: frozenset[str]) -> str | None:
    """Return the first key with one of these words whose values are single values."""
    for key in parts[0]:
        scalar = all(not isinstance(part.get(key), dict | list) for part in parts)
        if scalar and names.has_word(key, words):
            return key
    return None


def _are_parallel(records: list[dict[str, Any]], a: str, b: str) -> bool:
    """Whether two keys have lists of the same length in every record, and some have several parts."""
    sizes = [(len(_list(record.get(a))), len(_list(record.get(b)))) for record in records]
    return all(left == right > 0 for left, right in sizes) and max(left for left, _ in sizes) > 1


def _list(value: Any) -> list[Any]:
    """Return the parts of a list, or of a text with commas."""
    if isinstance(value, list):
        return value if not any(isinstance(part, dict | list) for part in value) else []
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and value else []
