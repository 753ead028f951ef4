"""Keys: ids of two files compared, and how many of them are in both."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from linmax.streams.columns import single_chunk
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
    is_normalised : bool
        Whether they were compared without case, whitespace and leading zeros, because none was in both.
    nearly : int
        Further ids that would be in both without case, whitespace and leading zeros.
    """

    file: str
    left: str | None
    right: str | None
    matched: int
    left_only: int
    right_only: int
    is_normalised: bool = False
    nearly: int = 0

    def __str__(self) -> str:
        if self.left is None:
            return f"{self.file} joined by row: {self.matched:,} rows"
        by = self.left if self.left == self.right else f"{self.left} = {self.right}"
        by += " (without case, whitespace and leading zeros)" * self.is_normalised
        return (
            f"{self.file} joined by {by}: {self.matched:,} ids are in both, {self.right_only:,} only in"
            f" {self.file}, and {self.left_only:,} only in the files before it"
            + (
                f"; {self.nearly:,} more would be in both without case, whitespace and leading zeros, so"
                " write ids alike in both files"
            )
            * bool(self.nearly)
        )


def key_texts(column: Any) -> Any:
    """Return ids as texts; 7, 7.0 and "7" are the same."""
    array = single_chunk(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    texts = pc.utf8_trim_whitespace(array.cast(pa.string()))
    texts = pc.replace_substring_regex(texts, r"^(-?\d+)\.0+$", r"\1")
    return pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)


def normal_keys(keys: Any) -> Any | None:
    """Return ids without case, whitespace and leading zeros; None if two different ids become the same.

    Parameters
    ----------
    keys : pyarrow.Array
        The ids, as `key_texts` returns them.

    Examples
    --------
    >>> normal_keys(pa.array(["TCK-007", "tck 10", "1.05"])).to_pylist()
    ['tck-7', 'tck10', '1.05']
    >>> normal_keys(pa.array(["7", "07"]))
    """
    texts = normal_form(keys)
    return texts if len(texts.unique()) == len(keys.unique()) else None


def normal_form(keys: Any) -> Any:
    """Return ids without case, whitespace and leading zeros, even if two become the same."""
    texts = pc.replace_substring_regex(pc.utf8_lower(keys), r"\s+", "")
    return pc.replace_substring_regex(texts, r"(^|[^0-9.,])0+([0-9])", r"\1\2")


def common_form(left: Any, right: Any) -> tuple[Any, Any, bool]:
    """Return the ids of two files as they are, or normalised if none is in both as it is, but some are then.

    Parameters
    ----------
    left, right : pyarrow.Array
        The ids, as `key_texts` returns them.

    Returns
    -------
    left, right : pyarrow.Array
        The ids.
    is_normalised : bool

    Examples
    --------
    >>> common_form(pa.array(["007"]), pa.array(["7"]))[0].to_pylist()
    ['7']
    """
    if not _matches(left, right):
        a, b = normal_keys(left), normal_keys(right)
        if a is not None and b is not None and _matches(a, b):
            return a, b, True
    return left, right, False


def _matches(left: Any, right: Any) -> int:
    """Return how many distinct ids are in both."""
    own = left.drop_null().unique()
    return int(pc.sum(pc.is_in(own, value_set=right.drop_null())).as_py() or 0)


def count_matches(file: str, a: str, b: str, left: Any, right: Any, *, is_normalised: bool = False) -> Join:
    """Return how many ids are in both of two columns, and in one only."""
    own, other = left.drop_null().unique(), right.drop_null().unique()
    matched = _matches(own, other)
    left_only, right_only = len(own) - matched, len(other) - matched
    nearly = 0 if is_normalised or not (left_only and right_only) else _nearly_matched(own, other)
    return Join(file, a, b, matched, left_only, right_only, is_normalised, nearly)


def _nearly_matched(left: Any, right: Any) -> int:
    """Return how many distinct ids are in both only if case, whitespace and leading zeros are ignored."""
    a = left.filter(pc.invert(pc.is_in(left, value_set=right)))
    b = right.filter(pc.invert(pc.is_in(right, value_set=left)))
    return _matches(normal_form(a), normal_form(b))


def key_examples(keys: Any) -> str:
    """Return two ids, for messages."""
    return short_list(map(short_repr, keys.drop_null().unique().slice(0, 2).to_pylist()), 2)
