"""Arrow tables read from a file, and the votes, labels, scores and attributes in their columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.streams.schema import StreamError, short_repr

NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
MOSTLY, MANY_NUMBERS = 0.99, 20  # the part of cells, and how many different numbers, of a column with a slip
MAX_NUMBER = 1e60  # of scores and attributes, as in Fusion
MAX_LABEL = 2.0**53  # beyond it, floats are not exact


class TableBatch(NamedTuple):
    """Some rows of a file.

    Attributes
    ----------
    table : pyarrow.Table
        The rows.
    lines : ndarray of int64
        The line (or row) of the file at which each row starts, counted from 1.
    """

    table: Any
    lines: NDArray[np.int64]


class TableReader(Protocol):
    """A file whose rows have columns.

    Attributes
    ----------
    format : str
        Name of the format.
    unit : {"line", "row"}
        What `TableBatch.lines` counts.
    arrow_schema : pyarrow.Schema
        The columns and their types, the same for all rows.
    roles : dict
        The columns "label", "id", "attributes", "experts" (votes) and "scores", if the format itself names
        them.
    """

    format: str
    unit: str
    arrow_schema: Any
    roles: dict[str, Any]

    @property
    def num_rows(self) -> int | None:
        """Number of rows of the file, None if the format does not store it."""
        ...

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        """Read these columns in batches of at most `max_rows` rows, in the order of the file."""
        ...


class ColumnDecoder:
    """Decodes the columns of one file into labels and numbers, and reports bad cells with their line.

    Parameters
    ----------
    file : str
        Name of the file.
    unit : {"line", "row"}
        What rows are counted in.
    text : bool
        Whether every cell is text, as in CSV. The first batch then decides which attributes are numeric.
    ignore_case : bool
        Whether to strip whitespace around votes and labels and to ignore their case.
    """

    def __init__(self, file: str, unit: str, *, text: bool, ignore_case: bool) -> None:
        self.file, self.unit = file, unit
        self.text, self.ignore_case = text, ignore_case
        self.numeric: dict[str, bool] = {}

    def error(self, line: Any, message: str) -> StreamError:
        """Return an error that names the file and the line."""
        return StreamError(f"{self.file}, {self.unit} {int(line)}: {message}")

    def arrow_labels(self, batch: TableBatch, name: str) -> Any:
        """Return a column of votes or labels as an Arrow array of integers, texts or booleans."""
        column = single_chunk(batch.table.column(name))
        if is_text(column.type):
            return _normalize_texts(_decode(column)) if self.ignore_case else column
        if pa.types.is_floating(value_type(column.type)):
            return self._integers(_decode(column), name, batch.lines)
        return column

    def labels(self, batch: TableBatch, name: str) -> NDArray[Any]:
        """Return a column of votes or labels as a NumPy array, with None for empty cells."""
        return to_numpy(self.arrow_labels(batch, name))

    def raw_labels(self, batch: TableBatch, name: str) -> Any:
        """Return a column of labels; texts stay an Arrow dictionary array, which is fast to encode."""
        column = self.arrow_labels(batch, name)
        if not is_text(column.type):
            return to_numpy(column)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        names = encoded.dictionary.to_pylist()
        if "" not in names and pa.types.is_string(encoded.dictionary.type):
            return encoded
        return pa.DictionaryArray.from_arrays(
            encoded.indices, pa.array([name or None for name in names], pa.string())
        )

    def scores(self, batch: TableBatch, names: list[str]) -> NDArray[np.float64]:
        """Return columns of scores as a matrix, with NaN for empty cells."""
        scores = np.empty((len(batch.lines), len(names)))
        for j, name in enumerate(names):
            scores[:, j] = self.numbers(batch, name, "the score")
            large = np.abs(scores[:, j]) > MAX_NUMBER
            if large.any():
                i = int(np.argmax(large))
                raise self.error(
                    batch.lines[i], f"{short_repr(name)} is {scores[i, j]}; scale scores to at most 1e60"
                )
        return scores

    def numbers(self, batch: TableBatch, name: str, role: str) -> NDArray[np.float64]:
        """Return a column of numbers, with NaN for empty cells; `role` is for the error message."""
        column = _decode(single_chunk(batch.table.column(name)))
        if is_text(column.type):
            values, bad = parse_numbers(column)
            if bad >= 0:
                cell = short_repr(column[bad].as_py())
                raise self.error(
                    batch.lines[bad], f"{role} {short_repr(name)} is {cell}, which is not a number; fix it"
                )
            return values
        return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)

    def attributes(self, batch: TableBatch, names: tuple[str, ...]) -> Any:
        """Return columns of attributes as an Arrow table of floats and texts, None if there are none."""
        if not names:
            return None
        return pa.table([self._attribute(batch, name) for name in names], names=list(names))

    def _attribute(self, batch: TableBatch, name: str) -> Any:
        column = _decode(single_chunk(batch.table.column(name)))
        if name not in self.numeric:
            self.numeric[name] = not is_text(column.type) or self._has_numbers(batch, name, column)
        if not self.numeric[name]:
            return column.cast(pa.string())
        values = self.numbers(batch, name, "the attribute")
        bad = ~(np.abs(values) <= MAX_NUMBER)
        if bad.any():
            i = int(np.argmax(bad))
            got = "empty" if np.isnan(values[i]) else str(values[i])
            raise self.error(
                batch.lines[i],
                f"the attribute {short_repr(name)} is {got}; fill in a number or drop the row",
            )
        return pa.array(values)

    def _has_numbers(self, batch: TableBatch, name: str, column: Any) -> bool:
        """Whether a column of text holds numbers; an error if nearly all of its cells are numbers."""
        if not self.text or column.null_count == len(column):
            return False
        bad = parse_numbers(column)[1]
        if bad < 0:
            return True
        texts = pc.utf8_trim_whitespace(column)
        numbers = pc.filter(texts, pc.match_substring_regex(texts, NUMBER))
        given = len(texts) - texts.null_count
        if len(numbers) >= MOSTLY * given and pc.count_distinct(numbers).as_py() >= MANY_NUMBERS:
            raise self.error(
                batch.lines[bad],
                f"the attribute {short_repr(name)} is {short_repr(column[bad].as_py())}, and a number in"
                f" {len(numbers):,} of {given:,} rows; fix it, or leave the column out",
            )
        return False

    def _integers(self, column: Any, name: str, lines: NDArray[np.int64]) -> Any:
        """Convert a column of floats, as data frames with missing values have them, to integers."""
        values = np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
        missing = np.isnan(values)
        integers = np.where(missing, 0.0, values)
        bad = (integers != np.trunc(integers)) | ~(np.abs(integers) <= MAX_LABEL)
        if bad.any():
            i = int(np.argmax(bad))
            raise self.error(
                lines[i],
                f"{short_repr(name)} is {values[i]}, but votes and labels must be integers or text; list"
                " the column in attributes=, or rename it to 'expert:class' if it holds scores",
            )
        return pa.array(integers.astype(np.int64), mask=missing)


def parse_numbers(texts: Any) -> tuple[NDArray[np.float64], int]:
    """Parse a column of text as numbers.

    Parameters
    ----------
    texts : pyarrow.Array
        The column; whitespace around numbers is ignored.

    Returns
    -------
    values : ndarray of float64
        The numbers, with NaN for empty cells.
    bad : int
        Index of the first cell that is not a number, or -1.

    Examples
    --------
    >>> parse_numbers(pa.array(["1", " 2.5 ", None]))
    (array([1. , 2.5, nan]), -1)
    >>> parse_numbers(pa.array(["1", "one"]))[1]
    1
    """
    texts = pc.utf8_trim_whitespace(texts)
    try:
        values: NDArray[np.float64] = single_chunk(pc.cast(texts, pa.float64())).to_numpy(
            zero_copy_only=False
        )
        return values, -1
    except pa.ArrowException:  # some cells are empty, written as only Python reads them, or bad
        values = np.full(len(texts), np.nan)
    for i, text in enumerate(texts.to_pylist()):
        try:
            if text:
                values[i] = float(text.replace("_", "no"))  # Python would read 1_0 as 10
        except ValueError:
            return values, i
    return values, -1


def normalize(name: str | None) -> str | None:
    """Strip whitespace around a name and ignore its case; None if nothing is left.

    Examples
    --------
    >>> normalize("Spam "), normalize(" ")
    ('spam', None)
    """
    return (name or "").strip().casefold() or None


def id_text(name: Any) -> str:
    """Return an id as text; floats that are integers are written as integers.

    Examples
    --------
    >>> id_text(7), id_text(7.0), id_text("a7")
    ('7', '7', 'a7')
    """
    return str(int(name)) if isinstance(name, float) and name.is_integer() else str(name)


def single_chunk(column: Any) -> Any:
    """Return a column as one Arrow array."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    # combine_chunks would copy a single chunk
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def value_type(arrow_type: Any) -> Any:
    """Return the type of the values of a column, whether it is dictionary-encoded or not."""
    return arrow_type.value_type if pa.types.is_dictionary(arrow_type) else arrow_type


def is_text(arrow_type: Any) -> bool:
    """Return whether a column of this type holds text."""
    kind = value_type(arrow_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def label_kind(arrow_type: Any) -> str:
    """Return the kind of labels of a type: "text", "numbers" or "true/false"; "" if it cannot be labels.

    Examples
    --------
    >>> label_kind(pa.int8()), label_kind(pa.dictionary(pa.int32(), pa.string())), label_kind(pa.date32())
    ('numbers', 'text', '')
    """
    kind = value_type(arrow_type)
    if pa.types.is_boolean(kind):
        return "true/false"
    if is_text(kind):
        return "text"
    return "numbers" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else ""


def to_numpy(column: Any) -> NDArray[Any]:
    """Convert an Arrow array to integers, booleans, or objects with None for missing values.

    Examples
    --------
    >>> to_numpy(pa.array([1, None])), to_numpy(pa.array(["a", ""])), to_numpy(pa.array([3]))
    (array([1, None], dtype=object), array(['a', None], dtype=object), array([3]))
    """
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
        names = [None if name == "" else name for name in encoded.dictionary.to_pylist()]
        table = np.array([*names, None], object)
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        if encoded.indices.null_count:
            codes = np.nan_to_num(codes, nan=-1.0).astype(np.int64)
        values: NDArray[Any] = table[codes]
        return values
    if column.null_count or pa.types.is_null(column.type):
        return np.array([*column.to_pylist(), None], object)[:-1]
    plain: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return plain


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where an array contains None."""
    if values.dtype.kind != "O":
        return np.zeros(len(values), np.bool_)
    return np.array([value is None for value in values.tolist()], np.bool_)


def _normalize_texts(texts: Any) -> Any:
    encoded = single_chunk(texts).dictionary_encode()
    names = pa.array([normalize(name) for name in encoded.dictionary.to_pylist()], pa.string())
    return names.take(encoded.indices)


def _decode(column: Any) -> Any:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
