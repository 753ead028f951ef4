"""Labels of later rows of a stream that are spelled unlike those of its first rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from linmax.panels.roles.classes import ClassNames
from linmax.streams.schema import short_list, short_repr
from linmax.validation import DataWarning


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
