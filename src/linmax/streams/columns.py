"""Columns of text: the numbers they spell, and names without blanks and capitals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.streams.schema import StreamError, short_repr


class Batch(NamedTuple):
    """Some rows: an Arrow table, and the line or row of the file that each came from."""

    table: Any
    lines: NDArray[np.int64]


class Reader(Protocol):
    """A file with columns."""

    format: str
    unit: str  # what rows are counted in: "line" or "row", from 1 on
    schema: Any  # of Arrow: the columns and their types, the same for all rows
    roles: dict[str, Any]  # label, id and attributes, where the format itself names them

    @property
    def rows(self) -> int | None:
        """How many in all, if the format knows."""
        ...

    def batches(self, columns: Sequence[str], most: int) -> Iterator[Batch]:
        """These columns, at most so many rows at a time, in the order of the file."""
        ...


class Texts(NamedTuple):
    """A column of text."""

    array: Any

    def numbers(self) -> tuple[NDArray[np.float64], int]:
        """The numbers it spells, NaN where a cell is empty; and where the first is that is none, or -1.

        >>> Texts(pa.array(["1", " 2.5 ", None])).numbers()
        (array([1. , 2.5, nan]), -1)
        >>> Texts(pa.array(["1", "one"])).numbers()[1]
        1
        """
        texts = pc.utf8_trim_whitespace(self.array)
        try:
            return _numpy(pc.cast(texts, pa.float64())), -1
        except pa.ArrowException:
            pass
        values = np.full(len(texts), np.nan)
        for i, text in enumerate(texts.to_pylist()):
            try:
                if text:
                    values[i] = float(text.replace("_", "no"))
            except ValueError:
                return values, i
        return values, -1

    def folded(self) -> Any:
        """Without blanks around and without capitals; what is then empty is missing.

        >>> Texts(pa.array(["Spam ", "spam", " "])).folded().to_pylist()
        ['spam', 'spam', None]
        """
        coded = combined(self.array).dictionary_encode()
        names = pa.array([fold(name) for name in coded.dictionary.to_pylist()], pa.string())
        return names.take(coded.indices)


def fold(name: str | None) -> str | None:
    """One name without blanks around and without capitals, None if nothing is left."""
    return (name or "").strip().casefold() or None


def combined(column: Any) -> Any:
    """A column in one chunk."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which would copy it


def _numpy(column: Any) -> NDArray[np.float64]:
    values: NDArray[np.float64] = combined(column).to_numpy(zero_copy_only=False)
    return values


types = pa.types
LARGEST = 1e60  # of scores and attributes, as for Fusion


def value_type(kind: Any) -> Any:
    """The type of the values, whether they stand in a dictionary or not."""
    return kind.value_type if types.is_dictionary(kind) else kind


def is_text(kind: Any) -> bool:
    """Whether this is a type of texts."""
    kind = value_type(kind)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_number(kind: Any) -> bool:
    """Whether this is a type of numbers."""
    return bool(types.is_integer(kind) or types.is_floating(kind))


def kind_of(kind: Any) -> str:
    """What labels of a type are: "text", "numbers", "true/false"; "" for types that are no labels.

    >>> kind_of(pa.int8()), kind_of(pa.dictionary(pa.int32(), pa.string())), kind_of(pa.date32())
    ('numbers', 'text', '')
    """
    kind = value_type(kind)
    if types.is_boolean(kind):
        return "true/false"
    return "text" if is_text(kind) else "numbers" if is_number(kind) else ""


class Columns:
    """Reads columns of one file; what an attribute is, its first cells decide for the whole file."""

    def __init__(self, file: str, unit: str, *, text: bool, ignore_case: bool) -> None:
        self.file, self.unit = file, unit
        self.text, self.ignore_case = (
            text,
            ignore_case,
        )  # whether all cells are text; whether to fold votes and labels
        self._numeric: dict[str, bool] = {}

    def error(self, line: Any, what: str) -> StreamError:
        """A sentence with its place."""
        return StreamError(f"{self.file}, {self.unit} {int(line)}: {what}")

    def said(self, batch: Batch, name: str) -> Any:
        """A column of votes or labels, as an Arrow array of whole numbers, texts or truth values."""
        column = combined(batch.table.column(name))
        if is_text(column.type):
            return Texts(_plain(column)).folded() if self.ignore_case else column
        if types.is_floating(value_type(column.type)):
            return self._whole(_plain(column), name, batch.lines)
        return column

    def labels(self, batch: Batch, name: str) -> NDArray[Any]:
        """A column as an array, with None where a cell is empty."""
        return as_numpy(self.said(batch, name))

    def truth(self, batch: Batch, name: str) -> Any:
        """The same, but that texts stay in an Arrow dictionary: they are as many as there are classes."""
        column = self.said(batch, name)
        if not is_text(column.type):
            return as_numpy(column)
        coded = column if types.is_dictionary(column.type) else column.dictionary_encode()
        names = coded.dictionary.to_pylist()
        if "" not in names and types.is_string(coded.dictionary.type):
            return coded
        return pa.DictionaryArray.from_arrays(
            coded.indices, pa.array([name or None for name in names], pa.string())
        )

    def scores(self, batch: Batch, names: list[str]) -> NDArray[np.float64]:
        """Columns of numbers, NaN where a cell is empty."""
        out = np.empty((len(batch.lines), len(names)))
        for j, name in enumerate(names):
            out[:, j] = self.numbers(batch, name, "the score")
            large = np.abs(out[:, j]) > LARGEST
            if large.any():
                i = int(np.argmax(large))
                raise self.error(
                    batch.lines[i], f"{short_repr(name)} is {out[i, j]}; scale scores to at most 1e60"
                )
        return out

    def numbers(self, batch: Batch, name: str, what: str) -> NDArray[np.float64]:
        """A column of numbers, NaN where a cell is empty."""
        column = _plain(combined(batch.table.column(name)))
        if is_text(column.type):
            values, bad = Texts(column).numbers()
            if bad >= 0:
                cell = short_repr(column[bad].as_py())
                raise self.error(
                    batch.lines[bad], f"{what} {short_repr(name)} is {cell}, which is no number; mend it"
                )
            return values
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)

    def attributes(self, batch: Batch, names: tuple[str, ...]) -> Any:
        """A table of floats and texts."""
        if not names:
            return None
        return pa.table([self._attribute(batch, name) for name in names], names=list(names))

    def _attribute(self, batch: Batch, name: str) -> Any:
        column = _plain(combined(batch.table.column(name)))
        if name not in self._numeric:
            texts = is_text(column.type)
            self._numeric[name] = not texts or (
                self.text and column.null_count < len(column) and Texts(column).numbers()[1] < 0
            )
        if not self._numeric[name]:
            return column.cast(pa.string())
        values = self.numbers(batch, name, "the attribute")
        unfit = ~(np.abs(values) <= LARGEST)
        if unfit.any():
            i = int(np.argmax(unfit))
            got = "empty" if np.isnan(values[i]) else str(values[i])
            raise self.error(
                batch.lines[i], f"the attribute {short_repr(name)} is {got}; fill in a number or drop the row"
            )
        return pa.array(values)

    def _whole(self, column: Any, name: str, lines: NDArray[np.int64]) -> Any:
        values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        missing = np.isnan(values)
        whole = np.where(missing, 0.0, values)
        broken = (whole != np.trunc(whole)) | ~(np.abs(whole) <= 2.0**53)
        if broken.any():
            i = int(np.argmax(broken))
            raise self.error(
                lines[i],
                f"{short_repr(name)} is {values[i]}, but votes and labels are whole numbers or text;"
                " name the column in attributes=, or call it 'expert:class' if it holds scores",
            )
        return pa.array(whole.astype(np.int64), mask=missing)


def as_numpy(column: Any) -> NDArray[Any]:
    """An Arrow array as numpy has it: whole numbers, truth values, or objects with None for what is missing.

    >>> as_numpy(pa.array([1, None])), as_numpy(pa.array(["a", ""])), as_numpy(pa.array([3]))
    (array([1, None], dtype=object), array(['a', None], dtype=object), array([3]))
    """
    if is_text(column.type) or types.is_dictionary(column.type):
        coded = column if types.is_dictionary(column.type) else column.dictionary_encode("encode")
        names = [None if name == "" else name for name in coded.dictionary.to_pylist()]
        table = np.array([*names, None], object)
        codes = coded.indices.to_numpy(zero_copy_only=False)
        if coded.indices.null_count:
            codes = np.nan_to_num(codes, nan=-1.0).astype(np.int64)
        found: NDArray[Any] = table[codes]
        return found
    if column.null_count or types.is_null(column.type):
        return np.array([*column.to_pylist(), None], object)[:-1]
    plain: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return plain


def absent(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where an array has None."""
    if values.dtype.kind != "O":
        return np.zeros(len(values), np.bool_)
    return np.array([value is None for value in values.tolist()], np.bool_)


def _plain(column: Any) -> Any:
    return column.dictionary_decode() if types.is_dictionary(column.type) else column
