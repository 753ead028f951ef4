"""One-hot labels: a column of 0 and 1 per class, one 1 in each row, read as one column of classes."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.panels import names
from linmax.panels.profile import strip_missing
from linmax.panels.reading import PanelOptions
from linmax.panels.table import RawTable
from linmax.streams.schema import short_list

ZERO_ONE = frozenset({"0", "1", "0.0", "1.0", "True", "False", "true", "false", "TRUE", "FALSE"})
ONE = ("1", "1.0", "True", "true", "TRUE")
MIN_UNNAMED = 3
"""Columns of a file of labels that are named after classes alone are one label if there are as many."""


def merge_one_hot(table: RawTable, options: PanelOptions, *, of_labels: bool = False) -> RawTable:
    """Return a table in which columns such as truth_bug and truth_fix, with 0 and 1, are one column truth.

    Parameters
    ----------
    table : RawTable
        The table.
    options : PanelOptions
        What the user says; columns that are named there stay as they are.
    of_labels : bool
        Whether the table holds labels only, so that columns named bug and fix will do.

    Returns
    -------
    RawTable
        With a note on the columns and the reason of the new one, or the table itself.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> table = load_table(io.BytesIO(b"ann,truth_bug,truth_fix\\nbug,1,0\\nbug,0,1\\n"))
    >>> merge_one_hot(table, PanelOptions()).data.to_pydict()
    {'ann': ['bug', 'bug'], 'truth': ['bug', 'fix']}
    """
    if not table.complete:
        return table
    columns = table.data.column_names
    named = {options.label, options.id, options.labels_id}
    for patterns in (options.experts, options.attributes, options.ignore):
        named.update(name for name in columns for one in patterns or () if _matches(name, one))
    free = [name for name in columns if name not in named]
    for stem, group in _groups(free, of_labels).items():
        if stem in columns:
            continue
        merged = _merged(table.data, group, options.missing)
        if merged is not None:
            return _replaced(table, stem, list(group), merged)
    return table


def _matches(name: str, pattern: str) -> bool:
    return name == pattern or fnmatchcase(name, pattern)


def _groups(columns: list[str], of_labels: bool) -> dict[str, dict[str, str]]:
    """Return the columns, with the class of each, by the name that they have in common."""
    found: dict[str, dict[str, str]] = {}
    for name in columns:
        for cut in re.finditer("|".join(map(re.escape, names.SEPARATORS)), name):
            head, tail = name[: cut.start()], name[cut.end() :]
            if head and tail and _is_truth(head):
                found.setdefault(head, {})[name] = tail
            elif head and tail and _is_truth(tail):
                found.setdefault(tail, {})[name] = head
    several = [stem for stem, group in found.items() if len(group) > 1]
    found = {stem: found[stem] for stem in sorted(several, key=lambda one: (-len(found[one]), -len(one)))}
    others = [name for name in columns if not names.is_id_name(name)]
    others = [name for name in others if not names.has_word(name, names.ITEM_WORDS)]
    if of_labels and not found and len(others) >= MIN_UNNAMED:
        found["label"] = {name: name for name in others}
    return found


def _is_truth(stem: str) -> bool:
    return names.truth_strength(stem) == 2


def _merged(data: Any, group: dict[str, str], missing: tuple[str, ...]) -> Any:
    """Return the class of each row, null where all cells are missing; None if a row has not exactly one."""
    ones: list[NDArray[np.bool_]] = []
    present: list[NDArray[np.bool_]] = []
    for name in group:
        column = data.column(name).combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        texts = strip_missing(column.cast(pa.string()), missing)
        if not pc.all(pc.is_in(texts.drop_null(), value_set=pa.array(sorted(ZERO_ONE)))).as_py():
            return None
        ones.append(_flags(pc.is_in(texts, value_set=pa.array(ONE))))
        present.append(_flags(texts.is_valid()))
    known = np.any(present, axis=0)
    if not known.any() or (np.sum(ones, axis=0)[known] != 1).any():
        return None
    return pa.array(list(group.values())).take(pa.array(np.argmax(ones, axis=0), mask=~known))


def _flags(column: Any) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), bool)


def _replaced(table: RawTable, name: str, group: list[str], merged: Any) -> RawTable:
    at = table.data.column_names.index(group[0])
    data = table.data.drop_columns(group)
    at = min(at, data.num_columns)
    note = f"{short_list(group)} have 0 and 1, one 1 in each row, and are read as one label, {name}"
    reasons = {**table.hints.get("reasons", {}), name: f"made of {short_list(group, 3)}"}
    return replace(
        table,
        data=data.add_column(at, name, merged),
        notes=(*table.notes, note),
        hints={**table.hints, "reasons": reasons},
    )
