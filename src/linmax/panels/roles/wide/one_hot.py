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

from linmax.panels.roles import names
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.roles.profile import strip_missing
from linmax.panels.table import RawTable
from linmax.streams.schema import short_list

ZERO_ONE = frozenset({"0", "1", "0.0", "1.0", "True", "False", "true", "false", "TRUE", "FALSE"})
ONE = ("1", "1.0", "True", "true", "TRUE")
MIN_ROWS = 20
"""In fewer rows, label_1 and label_2 may be two people that happen to disagree always."""
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
        With a note on the columns and the reason of the new one, or the table itself. If only the first rows
        are in memory, with a problem.

    Examples
    --------
    >>> import io
    >>> from linmax.panels.table import load_table
    >>> table = load_table(io.BytesIO(b"ann,truth_bug,truth_fix\\nbug,1,0\\nbug,0,1\\n"))
    >>> merge_one_hot(table, PanelOptions()).data.to_pydict()
    {'ann': ['bug', 'bug'], 'truth': ['bug', 'fix']}
    """
    columns = table.data.column_names
    named = {options.label, options.id, options.labels_id}
    for patterns in (options.experts, options.attributes, options.ignore):
        named.update(name for name in columns for one in patterns or () if _matches(name, one))
    free = [name for name in columns if name not in named]
    if of_labels:  # the others are ids
        free = [name for name in free if _is_zero_one(table.data.column(name), options.missing)]
    for stem, group in _groups(free, of_labels).items():
        others = [name for name in columns if name not in group]
        if stem in columns or (_is_series(stem) and any(map(_is_truth, others))):
            continue
        if all(tail.isdecimal() for tail in group.values()) and table.data.num_rows < MIN_ROWS:
            continue
        merged = _merged(table.data, group, options.missing)
        if merged is not None and not table.complete:
            return _refused(table, stem, list(group))
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
    if of_labels and not found and len(columns) >= MIN_UNNAMED:
        found["label"] = {name: name for name in columns}
    return found


def _is_truth(stem: str) -> bool:
    return names.truth_strength(stem) == 2


def _is_series(stem: str) -> bool:
    """Whether the name may be that of an expert if another column holds the truth, as human is."""
    words = set(names.words_of(stem)) & (names.TRUTH_WORDS | names.PERSON_WORDS)
    return bool(words) and words <= names.SERIES_WORDS


def _is_zero_one(column: Any, missing: tuple[str, ...]) -> bool:
    """Whether all cells are 0, 1 or missing."""
    cells = _texts(column, missing).drop_null()
    return bool(pc.all(pc.is_in(cells, value_set=pa.array(sorted(ZERO_ONE)))).as_py())


def _texts(column: Any, missing: tuple[str, ...]) -> Any:
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return strip_missing(array.cast(pa.string()), missing)


def _merged(data: Any, group: dict[str, str], missing: tuple[str, ...]) -> Any:
    """Return the class of each row, null where all cells are missing; None if a row has not exactly one."""
    ones: list[NDArray[np.bool_]] = []
    present: list[NDArray[np.bool_]] = []
    for name in group:
        if not _is_zero_one(data.column(name), missing):
            return None
        texts = _texts(data.column(name), missing)
        ones.append(_flags(pc.is_in(texts, value_set=pa.array(ONE))))
        present.append(_flags(texts.is_valid()))
    known = np.any(present, axis=0)
    if not known.any() or (np.sum(ones, axis=0)[known] != 1).any():
        return None
    return pa.array(list(group.values())).take(pa.array(np.argmax(ones, axis=0), mask=~known))


def _flags(column: Any) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(column, False).to_numpy(zero_copy_only=False), bool)


def _refused(table: RawTable, name: str, group: list[str]) -> RawTable:
    problem = (
        f"{short_list(group)} of {table.file} are one label with a column per class, which needs a file that"
        f" fits into memory; make one column of classes of them, called {name}"
    )
    return replace(table, hints={**table.hints, "problem": problem})


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
