"""The classes in columns of Arrow as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.service.event_log.vote_codes import Codes
from linmax.service.http.arrow_stream import MAX_ROWS, load_arrow
from linmax.service.messages.errors import ServiceError

FEW_VALUES = 256  # that columns of votes may have in common
LARGEST_FLOAT = 2.0**53  # up to which every whole number is a float
ABSENT, INVALID = -1, -2  # codes that are not those of a class
# texts of at most so many bytes, at most so many different ones, and at least so many of them are told apart
# in less time than Arrow takes
SHORT, FEW, MANY = 8, 8, 4000
WORDS = {size: np.dtype(f"<u{size}") for size in (1, 2, 4, 8)}
MASKS = {
    size: np.array([(1 << 8 * length) - 1 for length in range(size + 1)], word)
    for size, word in WORDS.items()
}


class ColumnCodes:
    """The codes of the classes in columns.

    Parameters
    ----------
    arrow
        The module.

    Attributes
    ----------
    values : list
        The classes; a code is the place of its class.
    """

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow
        self._codes: dict[tuple[type, Any], int] = {}
        self.values: list[Any] = []

    def encode_all(self, columns: list[Any], rows: int) -> Codes:
        """Return columns as codes, a row for each; those of one type at once, if they have few values."""
        found = np.full((len(columns), rows), ABSENT, np.int32)
        by_type: dict[Any, list[int]] = {}
        for place, column in enumerate(columns if rows else []):
            by_type.setdefault(column.type, []).append(place)
        for kind, places in by_type.items():
            if len(places) > 1 and not self._arrow.types.is_null(kind):
                chunks = [chunk for place in places for chunk in columns[place].chunks]
                codes, values = self._split(chunks, kind)
                if len(values) <= FEW_VALUES:
                    found[places] = self._recode(codes, values).reshape(len(places), rows)
                    continue
            for place in places:
                found[place] = self.encode(columns[place])
        return found

    def encode(self, column: Any) -> Codes:
        """Return a column as codes, ABSENT for null and INVALID for what is no class."""
        if self._arrow.types.is_null(column.type) or not len(column):
            return np.full(len(column), ABSENT, np.int32)
        codes, values = self._split(column.chunks, column.type)
        if len(values) > MAX_ROWS:
            raise ServiceError(413, "too_large", f"a dictionary may have {MAX_ROWS} values")
        return self._recode(codes, values)

    def _split(self, chunks: list[Any], kind: Any) -> tuple[NDArray[Any], Any]:
        """Return arrays as places in an array of their different values, ABSENT for null, and that array."""
        types, array = self._arrow.types, self._join(chunks, kind)
        text = types.is_string(array.type) or types.is_large_string(array.type)
        if text and len(array) >= MANY and isinstance(array, self._arrow.Array):
            found = split_short(array)
            if found is not None:
                return found[0], self._arrow.array(found[1], array.type)
        if not types.is_dictionary(array.type):
            array = array.dictionary_encode()
        if isinstance(array, self._arrow.ChunkedArray):
            array = array.unify_dictionaries().combine_chunks()
        codes = array.indices
        if codes.null_count:
            codes = codes.cast(self._arrow.int64()).fill_null(ABSENT)
        return np.asarray(codes), array.dictionary

    def _join(self, chunks: list[Any], kind: Any) -> Any:
        """Return arrays of one type as one array."""
        try:
            return self._arrow.chunked_array(chunks, kind).combine_chunks()
        except self._arrow.ArrowInvalid:  # their dictionaries have too many values for the type of the places
            from_arrays, wide = self._arrow.DictionaryArray.from_arrays, self._arrow.int32()
            widened = [from_arrays(chunk.indices.cast(wide), chunk.dictionary) for chunk in chunks]
            return self._arrow.chunked_array(widened).combine_chunks()

    def _recode(self, codes: NDArray[Any], values: Any) -> Codes:
        """Return places in an array of values as codes."""
        places = np.empty(len(values) + 1, np.int32)
        places[-1] = ABSENT
        for place, raw in enumerate(values.to_pylist()):
            value, valid = _to_label(raw)
            if value is None:
                places[place] = ABSENT if valid else INVALID
            else:
                places[place] = code = self._codes.setdefault((type(value), value), len(self.values))
                if code == len(self.values):
                    self.values.append(value)
        found: Codes = places[codes]
        return found


def split_short(array: Any) -> tuple[NDArray[np.int32], list[str]] | None:
    """Return texts as places in a list of different ones, ABSENT for null, and that list.

    None if they are not short, or too many are different.

    Parameters
    ----------
    array
        An array of texts.

    Examples
    --------
    >>> split_short(load_arrow().array(["spam", "ham", None, "spam"]))
    (array([ 0,  1, -1,  0], dtype=int32), ['spam', 'ham'])
    """
    _, ends, content = array.buffers()
    size = np.int64 if array.type == load_arrow().large_string() else np.int32
    offsets = np.frombuffer(ends, size)[array.offset : array.offset + len(array) + 1]
    starts, lengths = offsets[:-1] - offsets[0], np.diff(offsets)
    longest = int(lengths.max())
    if longest > SHORT:
        return None
    width = next(width for width in WORDS if width >= longest)
    data = np.zeros(int(offsets[-1] - offsets[0]) + width, np.uint8)
    if longest:
        data[:-width] = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
    if not data[:-width].all():  # a text could end with it
        return None
    words = np.ndarray(len(data) - width + 1, WORDS[width], data.data, strides=(1,))[starts]
    if lengths.min() < width:
        words &= MASKS[width][lengths]
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        words = words[valid]
    numbers, texts = np.zeros(len(words), np.uint8), list[str]()
    while len(words) and not numbers[first := int(numbers.argmin())]:  # the first one without a number
        if len(texts) == FEW:
            return None
        word = words[first]
        texts.append(int(word).to_bytes(SHORT, "little").rstrip(b"\0").decode())
        numbers += (words == word) * np.uint8(len(texts))
    if valid is None:
        return numbers.astype(np.int32) - 1, texts
    places = np.full(len(array), ABSENT, np.int32)
    places[valid] = numbers.astype(np.int32) - 1
    return places, texts


def _to_label(raw: Any) -> tuple[Any, bool]:
    """Return a value as a class, and whether it is valid; NaN is an abstention, and 1.0 the class 1."""
    if not isinstance(raw, float):
        return raw, True
    if raw != raw:
        return None, True
    if raw.is_integer() and abs(raw) <= LARGEST_FLOAT:
        return int(raw), True
    return None, False
