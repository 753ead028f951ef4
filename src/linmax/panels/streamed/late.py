"""What the first rows of a stream do not tell: columns without values there, and labels spelled otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.column_role import PanelOptions, Reading
from linmax.panels.roles.profile import ColumnProfile, strip_missing
from linmax.streams.columns import TableBatch, single_chunk
from linmax.streams.schema import short_list, short_repr
from linmax.validation import DataWarning

MIN_CELLS = 20
"""With fewer cells in a piece of a stream, a column without values before does not begin to vote there."""


class LateCells(NamedTuple):
    """How many cells of a column have values, and the line or row of the first."""

    cells: int
    line: int


class LateColumns:
    """Columns without values in the first rows of a stream, and what later rows have.

    Parameters
    ----------
    names : collection of str
        The columns.
    missing : tuple of str
        Cells that are read as missing.
    rows : int
        The number of first rows.
    unit : {"line", "row"}
        What rows are counted in.

    Attributes
    ----------
    names : set of str
        The columns that do not vote yet.
    unread : dict of str to int
        Later cells of these columns, which are not read.
    voting : dict of str to int
        The line or row from which on a column votes.
    """

    def __init__(self, names: Collection[str], missing: tuple[str, ...], rows: int, unit: str) -> None:
        self.names, self.missing, self.rows, self.unit = set(names), missing, rows, unit
        self.unread: dict[str, int] = {}
        self.voting: dict[str, int] = {}

    def with_cells(self, batch: TableBatch) -> dict[str, LateCells]:
        """Return the columns that have values in further rows.

        Parameters
        ----------
        batch : TableBatch
            The rows.
        """
        found = {}
        for name in self.names.intersection(batch.table.column_names):
            column = single_chunk(batch.table.column(name))
            if column.null_count < len(column):
                column = strip_missing(column, self.missing)
                at = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
                if len(at):
                    found[name] = LateCells(len(at), int(batch.lines[at[0]]))
        return dict(sorted(found.items()))

    def add(self, cells: dict[str, LateCells], voting: Collection[str]) -> None:
        """Count the cells of further rows, and remember which columns begin to vote there.

        Parameters
        ----------
        cells : dict of str to LateCells
            What `with_cells` returned.
        voting : collection of str
            The columns that have got a role.
        """
        for name, one in cells.items():
            if name in voting:
                self.names.discard(name)
                self.voting[name] = one.line
            else:
                self.unread[name] = self.unread.get(name, 0) + one.cells

    def warnings(self) -> list[DataWarning]:
        """Return notes on columns that began to vote, and on those whose cells are not read."""
        where = f"in the first {self.rows:,} rows"
        found = []
        if self.voting:
            begin = short_list(f"{name} ({self.unit} {line:,})" for name, line in self.voting.items())
            found.append(f"columns without values {where} are read from where they have some: {begin}")
        for name, count in self.unread.items():
            found.append(
                f"{short_repr(name)} has no values {where}, which decide on the roles of columns, so"
                f" {count:,} later cells of it are not read; if these are votes, name all experts with"
                " --experts"
            )
        return [DataWarning("late-columns", "note", text) for text in found]


def empty_columns(
    reading: Reading, profiles: dict[str, ColumnProfile], options: PanelOptions
) -> tuple[str, ...]:
    """Return the columns without values that nobody has given a role.

    Parameters
    ----------
    reading : Reading
        The roles of columns.
    profiles : dict of str to ColumnProfile
        What is in the columns.
    options : PanelOptions
        What the user says; if this names the experts, or a model does, other columns are ignored for good.
    """
    if options.experts is not None or options.is_stored or options.is_by_name or reading.shape == "long":
        return ()
    return tuple(
        one.name
        for one in reading.columns("ignored")
        if one.name in profiles and profiles[one.name].type == "empty" and one.reason != "named by --ignore"
    )


def empty_column_doubts(
    reading: Reading, profiles: dict[str, ColumnProfile], options: PanelOptions
) -> list[str]:
    """Return a sentence on columns without values, where the first rows decide for good.

    Parameters
    ----------
    reading, profiles, options
        As for `empty_columns`.
    """
    names = empty_columns(reading, profiles, options)
    if not names:
        return []
    return [
        f"there are no values of {short_list(names)}, so later ones are not read; if these are votes, name"
        " all experts with --experts"
    ]


class LateSpelling:
    """Labels that name a class of the first rows in another spelling, and count for it.

    Attributes
    ----------
    found : Counter of (str, str)
        How often each label occurs, by its spelling and its class.

    Examples
    --------
    >>> spelling = LateSpelling()
    >>> spelling.add(pa.array(["bug", "Bug", None, "Bug"]).dictionary_encode(), ClassNames(["bug", "fix"]))
    >>> spelling.found
    Counter({('Bug', 'bug'): 2})
    """

    def __init__(self) -> None:
        self.found: Counter[tuple[str, str]] = Counter()

    def add(self, labels: Any, classes: ClassNames) -> None:
        """Count the labels of some rows.

        Parameters
        ----------
        labels : pyarrow.DictionaryArray
            The labels as they are written.
        classes : ClassNames
            The classes of the first rows.
        """
        named: dict[int, tuple[str, str]] = {}
        for code, label in enumerate(labels.dictionary.to_pylist()):
            found = None if classes.is_missing(label) else classes.find(label)
            if found is not None and str(found) != str(label).strip():
                named[code] = str(label).strip(), str(found)
        if not named:
            return
        codes = pc.drop_null(labels.indices).to_numpy(zero_copy_only=False)
        counts = np.bincount(codes, minlength=len(labels.dictionary)).tolist()
        self.found.update({pair: counts[code] for code, pair in named.items() if counts[code]})

    def warnings(self) -> list[DataWarning]:
        """Return a note if there are such labels."""
        if not self.found:
            return []
        pairs = (f"{short_repr(label)} for {short_repr(name)}" for label, name in self.found)
        total = sum(self.found.values())
        return [
            DataWarning(
                "label-spelling", "note",
                f"{total:,} labels are spelled unlike those of the first rows ({short_list(pairs, 3)}), and"
                " count for the same class; in a smaller file they would be classes of their own, so spell"
                " them alike, or pass --ignore-case",
            )
        ]  # fmt: skip


def as_dictionary(column: Any) -> Any:
    """Return a column of texts as a dictionary array; other columns as they are.

    Parameters
    ----------
    column : pyarrow.Array
        The column.
    """
    return column.dictionary_encode() if pa.types.is_string(column.type) else column
