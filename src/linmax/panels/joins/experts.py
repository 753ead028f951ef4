"""One file per expert: files with the same columns joined to one table, by id or by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.panels.joins.expert_names import expert_names
from linmax.panels.joins.keys import Join, count_matches, key_examples, key_texts, normal_keys
from linmax.panels.roles import names
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.table import RawTable
from linmax.streams.columns import single_chunk
from linmax.streams.schema import StreamError, missing_column, short_list, short_repr


def join_experts(tables: list[RawTable], options: PanelOptions, joins: list[Join]) -> RawTable:
    """Join files with one expert each; columns that are equal in all files are kept once."""
    first = tables[0]
    if has_expert_column(first) and all(t.data.column_names == first.data.column_names for t in tables):
        data = pa.concat_tables([table.data for table in tables], promote_options="permissive")
        lines = np.concatenate([table.lines for table in tables])
        return replace(first, data=data, lines=lines, file=_name(tables))
    key = _shared_key(tables, options)
    rows: list[NDArray[np.int64]]
    if key is None:
        rows = _match_by_row(tables, joins)
        ids = None
    else:
        ids, rows = _match_by_key(tables, key, joins)
    columns: dict[str, Any] = {} if key is None else {key: ids}
    parts = [
        {
            name: table.data.column(name).combine_chunks().take(pa.array(at, mask=at < 0))
            for name in table.data.column_names
            if name != key
        }
        for table, at in zip(tables, rows, strict=True)
    ]
    experts = expert_names([table.expert or table.file for table in tables])
    every = dict.fromkeys(name for part in parts for name in part)
    different = {
        name
        for name in every
        if _is_vote(name) or not _is_shared([part[name] for part in parts if name in part], len(parts))
    }
    for name in every:
        if name not in different:
            columns[name] = _first_present([part[name] for part in parts])
    voting = []
    for expert, part in zip(experts, parts, strict=True):
        own = [name for name in part if name in different]
        for name in own:
            columns[_column_name(expert, name, own)] = part[name]
            if len(own) == 1 or names.has_word(name, names.VOTE_WORDS):
                voting.append(_column_name(expert, name, own))
    data = pa.table(list(columns.values()), names=list(columns))
    lines = first.lines if len(first.lines) == data.num_rows else np.arange(1, data.num_rows + 1)
    hints = {name: value for name, value in first.hints.items() if name in ("label", "id", "reasons")}
    hints["file_experts"] = tuple(voting)
    if key is not None:
        hints |= {"id": key, "reasons": {**hints.get("reasons", {}), key: "joins the files"}}
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    complete = all(table.complete for table in tables)
    return replace(
        first, data=data, lines=lines, file=_name(tables), hints=hints, notes=notes, complete=complete
    )


def has_expert_column(table: RawTable) -> bool:
    """Whether a column names the expert of each row."""
    return any(names.has_word(name, names.EXPERT_WORDS) for name in table.data.column_names)


def _name(tables: list[RawTable]) -> str:
    return short_list([table.file for table in tables], 2)


def _shared_key(tables: list[RawTable], options: PanelOptions) -> str | None:
    """Return the column of ids that all files have."""
    if options.id:
        for table in tables:
            if options.id not in table.data.column_names:
                raise missing_column(table.file, options.id, table.data.column_names)
        return options.id
    common = [n for n in tables[0].data.column_names if all(n in t.data.column_names for t in tables)]
    hinted = tables[0].hints.get("id")
    unique = [
        name
        for name in common
        if all(
            key_texts(t.data.column(name)).unique().drop_null().__len__() >= 0.95 * t.data.num_rows
            for t in tables
        )
    ]
    named = [name for name in unique if name == hinted or names.is_id_name(name)]
    items = [name for name in unique if names.has_word(name, names.ITEM_WORDS)]
    return next(iter(named or items), None)


def _match_by_row(tables: list[RawTable], joins: list[Join]) -> list[NDArray[np.int64]]:
    sizes = [table.data.num_rows for table in tables]
    if len(set(sizes)) > 1:
        raise StreamError(
            f"{tables[0].file} has {sizes[0]:,} rows and {tables[1].file} {sizes[1]:,}, and no column of ids"
            " is in both; name it with --id"
        )
    joins.extend(Join(table.file, None, None, sizes[0], 0, 0) for table in tables[1:])
    return [np.arange(sizes[0])] * len(tables)


def _match_by_key(tables: list[RawTable], key: str, joins: list[Join]) -> tuple[Any, list[NDArray[np.int64]]]:
    """Return all ids, and the row of each in every file; -1 where it is missing."""
    texts, is_normalised = _comparable([key_texts(table.data.column(key)) for table in tables])
    every = pa.chunked_array(texts)
    ids = every.unique().drop_null()
    seen = texts[0]
    for table, own in zip(tables[1:], texts[1:], strict=True):
        joins.append(count_matches(table.file, key, key, seen, own, is_normalised=is_normalised))
        if not joins[-1].matched:
            raise StreamError(
                f"no {short_repr(key)} of {table.file} (such as {key_examples(own)}) is in {tables[0].file}"
                f" (such as {key_examples(seen)}); check the files, or name the ids with --id"
            )
        seen = pa.chunked_array([seen, own]).unique()
        seen = single_chunk(seen)
    rows = []
    for own in texts:
        at = pc.index_in(ids, value_set=own)
        rows.append(np.asarray(pc.fill_null(at, -1).to_numpy(zero_copy_only=False), np.int64))
    if is_normalised:  # as the first file that has the id writes it
        written = pa.chunked_array([key_texts(table.data.column(key)) for table in tables])
        ids = written.take(pc.index_in(ids, value_set=every.combine_chunks())).combine_chunks()
    return ids, rows


def _comparable(texts: list[Any]) -> tuple[list[Any], bool]:
    """Return the ids of files, normalised if a file has none of the ids before as they are written."""
    for i, own in enumerate(texts[1:], start=1):
        before = pa.chunked_array(texts[:i]).unique()
        if not pc.any(pc.is_in(own.drop_null(), value_set=before)).as_py():
            normal = [normal_keys(one) for one in texts]
            return (texts, False) if any(one is None for one in normal) else (normal, True)
    return texts, False


def _is_vote(name: str) -> bool:
    """Whether a column holds the votes of an expert, even if they are equal in all files."""
    return names.has_word(name, names.VOTE_WORDS) and names.truth_strength(name) == 0


def _is_shared(columns: list[Any], files: int) -> bool:
    """Whether a column is in all files, with equal values where both have one."""
    if len(columns) < files:
        return False
    first = columns[0]
    for other in columns[1:]:
        if other.type != first.type:
            return False
        if pc.all(pc.equal(first, other)).as_py() not in (True, None):
            return False
    return True


def _first_present(columns: list[Any]) -> Any:
    return pc.coalesce(*columns) if len(columns) > 1 else columns[0]


def _column_name(expert: str, name: str, own: list[str]) -> str:
    """Return the name of a column of one file in the joined table."""
    if name.startswith("score:"):
        return f"{expert}:{name.removeprefix('score:')}"
    return expert if len(own) == 1 else f"{expert}_{name}"
