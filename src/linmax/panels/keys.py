"""Keys: ids of two files compared, and how many of them are in both."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linmax.streams.schema import short_list, short_repr


class Join(NamedTuple):
    """How a file was joined to the files before it.

    Attributes
    ----------
    file : str
        The file.
    left, right : str or None
        The columns of ids in the files before it and in this one; None if they were joined by row.
    matched : int
        Ids that are in both.
    left_only, right_only : int
        Ids that are in one of them only.
    """

    file: str
    left: str | None
    right: str | None
    matched: int
    left_only: int
    right_only: int

    def __str__(self) -> str:
        if self.left is None:
            return f"{self.file} joined by row: {self.matched:,} rows"
        by = self.left if self.left == self.right else f"{self.left} = {self.right}"
        return (
            f"{self.file} joined by {by}: {self.matched:,} matched, {self.left_only:,} without a partner"
            f" before, {self.right_only:,} in {self.file}"
        )


def key_texts(column: Any) -> Any:
    """Return ids as texts; 7, 7.0 and "7" are the same."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    texts = pc.utf8_trim_whitespace(array.cast(pa.string()))
    texts = pc.replace_substring_regex(texts, r"^(-?\d+)\.0+$", r"\1")
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def count_matches(file: str, a: str, b: str, left: Any, right: Any) -> Join:
    """Return how many ids are in both of two columns, and in one only."""
    own, other = left.drop_null().unique(), right.drop_null().unique()
    matched = int(pc.sum(pc.is_in(own, value_set=other)).as_py() or 0)
    return Join(file, a, b, matched, len(own) - matched, len(other) - matched)


def key_examples(keys: Any) -> str:
    """Return two ids, for messages."""
    return short_list(map(short_repr, keys.drop_null().unique().slice(0, 2).to_pylist()), 2)
