"""Profiles of columns: what the values of a column look like, whatever its name is."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.streams.columns import single_chunk

MISSING = (
    "", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A", "#NA", "NaT", "nil", "NIL", "\\N",
)  # fmt: skip
"""Cells that are read as missing unless the user lists others."""

MAX_VALUES = 10_000
"""Distinct values that are looked at, the most frequent ones."""
SAMPLE = 400
"""Distinct values from which the type of a column is found."""
LONG_TEXT, MANY_WORDS = 40, 6
"""Texts are free text if their mean length, or number of words, is larger."""

NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
INTEGER = re.compile(r"[-+]?[0-9]+(\.0*)?")
TIME = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?"  # 2025-01-31 17:09:00
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( \d{1,2}:\d{2}.*)?"  # 3/24/2016 17:57:02
    r"|(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d{1,2}:\d{2}.*"  # Mon Mar 25 07:39:42 PDT 2019
    r"|\d{1,2}:\d{2}(:\d{2})?(\.\d+)?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class ColumnProfile:
    """What the values of a column look like.

    Parameters
    ----------
    name : str
        The name of the column.
    type : str
        "empty", "boolean", "integer", "number", "time", "text" or "free text".
    rows, missing, distinct : int
        Rows, rows without a value, and different values.
    counts : dict
        How often each value occurs; at most `MAX_VALUES` of them, the most frequent first.
    low, high : float or None
        The range of numbers.
    merged : tuple of str
        Some texts as they are written that differ only by whitespace around them, and are one value.
    markers : dict
        How often each text occurs that is read as a missing value.

    Examples
    --------
    >>> import pyarrow as pa
    >>> profile = profile_column("gpt4", pa.array(["bug", "NA", "billing", "bug"]))
    >>> profile.type, profile.missing, profile.counts, profile.markers
    ('text', 1, {'bug': 2, 'billing': 1}, {'NA': 1})
    """

    name: str
    type: str
    rows: int
    missing: int
    distinct: int
    counts: dict[Any, int] = field(repr=False)
    low: float | None = None
    high: float | None = None
    merged: tuple[str, ...] = ()
    markers: dict[str, int] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """Rows with a value."""
        return self.rows - self.missing

    @property
    def is_unique(self) -> bool:
        """Whether nearly every row has a value of its own."""
        return (
            self.present > 1
            and self.distinct >= 0.95 * self.present
            and self.distinct > 20 * (self.type in ("integer", "text"))
        )

    @property
    def is_discrete(self) -> bool:
        """Whether the values can be classes: few, and neither times, decimals nor free text."""
        few = self.distinct <= max(20, min(MAX_VALUES, self.present // 2))
        return self.type in ("text", "integer", "boolean") and few

    @property
    def is_constant(self) -> bool:
        """Whether every row has the same value."""
        return self.distinct == 1 and not self.missing

    @property
    def has_lists(self) -> bool:
        """Whether all values are lists, written as text."""
        return bool(self.counts) and all(
            isinstance(value, str) and value[:1] == "[" and value[-1:] == "]" for value in self.counts
        )

    @cached_property
    def examples(self) -> list[str]:
        """Some frequent values as short texts."""
        values = list(self.counts)[:4]
        if self.type == "number":
            return [f"{float(value):.4g}" for value in values]
        texts = [" ".join(str(value).split()) for value in values]
        return [text if len(text) <= 24 else text[:21] + "..." for text in texts]


def profile_column(name: str, column: Any, missing: tuple[str, ...] = MISSING) -> ColumnProfile:
    """Profile one column.

    Parameters
    ----------
    name : str
        The name of the column.
    column : pyarrow.Array or pyarrow.ChunkedArray
        Its values.
    missing : tuple of str
        Texts that are read as a missing value; whitespace around them does not matter.
    """
    array = single_chunk(column)
    values, counts, merged, markers = _count_values(array, missing)
    is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
    kind = _type_of_texts(values, counts) if is_text else _type_of_array(values)
    low, high = _range(values) if kind in ("integer", "number") else (None, None)
    found = dict(zip(values[:MAX_VALUES].to_pylist(), counts[:MAX_VALUES].tolist(), strict=True))
    absent = len(array) - int(counts.sum())
    return ColumnProfile(name, kind, len(array), absent, len(values), found, low, high, merged, markers)


def profile_columns(data: Any, missing: tuple[str, ...] = MISSING) -> dict[str, ColumnProfile]:
    """Return the profiles of all columns of a table, by name."""
    return {name: profile_column(name, data.column(name), missing) for name in data.column_names}


def _count_values(
    array: Any, missing: tuple[str, ...]
) -> tuple[Any, NDArray[np.int64], tuple[str, ...], dict[str, int]]:
    """Return the distinct values and how often they occur, the most frequent first, else as they appear.

    Texts are stripped after they are counted, because there are few different ones; two that become equal by
    that are returned, too, and so are texts that mean a missing value.
    """
    pairs = array.value_counts()
    values, counts = pairs.field("values"), np.asarray(pairs.field("counts"))
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    written, merged, markers = values, tuple[str, ...](), dict[str, int]()
    values = strip_missing(values, missing)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    if values.null_count:
        present = values.is_valid()
        absent = written.filter(pc.invert(present)).to_pylist(), counts[~np.asarray(present)].tolist()
        markers = {text: n for text, n in zip(*absent, strict=True) if isinstance(text, str) and text.strip()}
        values, counts, written = values.filter(present), counts[np.asarray(present)], written.filter(present)
    encoded = values.dictionary_encode() if pa.types.is_string(values.type) else None
    if encoded is not None and len(encoded.dictionary) < len(values):  # some differ by whitespace only
        sums = np.zeros(len(encoded.dictionary), np.int64)
        indices = np.asarray(encoded.indices)
        np.add.at(sums, indices, counts)
        values, counts = encoded.dictionary, sums
        first = int(np.argmax(np.bincount(indices) > 1))
        merged = tuple(written.filter(pa.array(indices == first)).to_pylist()[:2])
    if len(counts) > 1 and (np.diff(counts) > 0).any():
        order = np.argsort(-counts, kind="stable")
        return values.take(pa.array(order)), counts[order], merged, markers
    return values, counts, merged, markers


def _range(values: Any) -> tuple[float, float]:
    ends = pc.min_max(values if not pa.types.is_string(values.type) else _numbers(values))
    return float(ends["min"].as_py()), float(ends["max"].as_py())


def _numbers(texts: Any) -> Any:
    return pc.cast(pc.utf8_ltrim(texts, "+"), pa.float64())


def strip_missing(array: Any, missing: tuple[str, ...]) -> Any:
    """Strip texts, and replace those that mean a missing value by null; numbers stay as they are.

    Parameters
    ----------
    array : pyarrow.Array
        The cells.
    missing : tuple of str
        Texts that mean a missing value.

    Examples
    --------
    >>> strip_missing(pa.array([" bug", "NA "]), MISSING).to_pylist()
    ['bug', None]
    """
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return array
    texts = pc.utf8_trim_whitespace(array)
    is_missing = pc.is_in(texts, value_set=pa.array([text.strip() for text in missing], texts.type))
    return pc.if_else(is_missing, pa.scalar(None, texts.type), texts)


def _type_of_array(values: Any) -> str:
    if not len(values):
        return "empty"
    if pa.types.is_boolean(values.type):
        return "boolean"
    if pa.types.is_integer(values.type):
        return "integer"
    return "integer" if pc.all(pc.equal(pc.trunc(values), values)).as_py() else "number"


def _type_of_texts(values: Any, counts: NDArray[np.int64]) -> str:
    if not len(values):
        return "empty"
    sample = values[:SAMPLE].to_pylist()
    if len(values) <= 6 and {value.lower() for value in sample} <= {"true", "false"}:
        return "boolean"
    if _all_match(values, sample, NUMBER):  # all values, because they are made numbers of
        return "integer" if _all_match(values, sample, INTEGER) else "number"
    if sum(bool(TIME.fullmatch(value)) for value in sample) >= 0.95 * len(sample):
        return "time"
    often = counts[: len(sample)]  # votes among refusals in prose are no free text
    mean_length = np.average([len(value) for value in sample], weights=often)
    mean_words = np.average([len(value.split()) for value in sample], weights=often)
    if len(sample) > 20 and (mean_length > LONG_TEXT or mean_words > MANY_WORDS):
        return "free text"
    return "text"


def _all_match(values: Any, sample: list[str], pattern: re.Pattern[str]) -> bool:
    if not all(pattern.fullmatch(value) for value in sample):
        return False
    rest = values[len(sample) :]
    return not len(rest) or bool(pc.all(pc.match_substring_regex(rest, f"^(?:{pattern.pattern})$")).as_py())
