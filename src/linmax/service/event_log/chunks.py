"""Chunks: what the events of a batch say, stored once for all of them as codes.

Such an event has its own row in the log, with an empty body; the chunk that its position is in has its votes,
label and prediction. `BODY` is how queries read bodies: as JSON, wherever they are stored.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from linmax.fusion import Fusion
from linmax.service.event_log.vote_codes import Codes
from linmax.service.messages.class_keys import class_key
from linmax.service.messages.requests import Label, StoredItem

BODY = "CASE WHEN length({0}.body) = 0 THEN body_of({0}.position) ELSE {0}.body END"
EMPTY = b""  # the body of an event whose content is in a chunk
COLUMNS = "first, last, names, votes, labels, predictions, probabilities"
INSERT_CHUNK = "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
FIND_CHUNK = f"SELECT {COLUMNS} FROM chunks WHERE first <= ? ORDER BY first DESC LIMIT 1"
MAX_CHUNKS, MAX_BYTES = 16, 8 << 20  # that a connection keeps in memory
MAX_SMALL = 128  # classes of which codes have one byte
NEW = -2  # a class without a code
encode = msgspec.json.encode


class ChunkNames(msgspec.Struct, omit_defaults=True):
    """The names that codes stand for.

    Attributes
    ----------
    experts, classes : list
        A column of the votes per expert; a code is the place of a class.
    version : int
        The version of the model that has predicted.
    """

    experts: list[str]
    classes: list[Label]
    version: int = 0


decode_names = msgspec.json.Decoder(ChunkNames).decode


class EventChunk:
    """What events at consecutive positions say; each has what the others have.

    Parameters
    ----------
    first
        The position of the first event.
    names
        What the codes stand for.
    votes
        The votes as codes, a row per event and a column per expert; -1 is an abstention.
    labels, predictions
        Codes; a prediction may be -1, no class.
    probabilities
        A row per event and a column per class.

    Attributes
    ----------
    last : int
        The position of the last event.
    nbytes, bytes_per_row : int
        The bytes of its arrays.

    Examples
    --------
    >>> codes = np.array([0, 1], np.int8)
    >>> votes = np.array([[0, -1], [1, 0]], np.int8)
    >>> chunk = EventChunk(7, ChunkNames(["ann", "bob"], ["x", "y"]), votes, codes, codes[::-1])
    >>> chunk.body(7), chunk.body(8)[:27]
    (b'{"votes":{"ann":"x"},"label":"x","prediction":"y","right":false}', b'{"votes":{"ann":"y","bob":"')
    """

    def __init__(
        self,
        first: int,
        names: ChunkNames,
        votes: NDArray[Any] | None,
        labels: NDArray[Any] | None,
        predictions: NDArray[Any],
        probabilities: NDArray[np.float64] | None = None,
    ) -> None:
        self.first = first
        self.last = first + len(predictions) - 1
        self.names = names
        self.votes = votes
        self.labels = labels
        self.predictions = predictions
        self.probabilities = probabilities
        self._parts = votes, labels, predictions, probabilities
        self.nbytes = sum(0 if part is None else part.nbytes for part in self._parts)
        self.bytes_per_row = self.nbytes // len(predictions)
        self._keys: list[str] | None = None

    def row(self, position: int) -> int:
        """Return the row of an event."""
        return position - self.first

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of events."""
        return positions - self.first

    def take(self, positions: list[int]) -> EventChunk:
        """Return some of the events, in ascending order, without the memory of the others."""
        start, stop = self.row(positions[0]), self.row(positions[-1]) + 1
        if stop - start > len(positions):
            return ChunkRows(self, positions)
        parts = [None if part is None else part[start:stop].copy() for part in self._parts]
        return EventChunk(positions[0], self.names, *parts)  # type: ignore[arg-type]

    def statement(self, number: int) -> tuple[str, tuple[Any, ...]]:
        """Return the statement that writes it, for a fusion."""
        blobs = [None if part is None else _little(part).tobytes() for part in self._parts]
        return INSERT_CHUNK, (self.first, self.last, number, encode(self.names), *blobs)

    def item(self, position: int, *, probabilities: bool = True) -> StoredItem:
        """Return what an event says, the probabilities only if they are wanted."""
        classes, row = self.names.classes, self.row(position)
        predicted = int(self.predictions[row])
        item = StoredItem(
            prediction=None if predicted < 0 else classes[predicted], version=self.names.version
        )
        if self.votes is not None:
            codes = zip(self.names.experts, self.votes[row].tolist(), strict=True)
            item.votes = {name: classes[code] for name, code in codes if code >= 0}
        if self.labels is not None:
            item.label, item.right = self.label(position), self.is_right(position)
        if probabilities and self.probabilities is not None:
            self._keys = self._keys or list(map(class_key, classes))
            item.probabilities = dict(zip(self._keys, self.probabilities[row].tolist(), strict=True))
        return item

    def body(self, position: int) -> bytes:
        """Return the body of an event as JSON."""
        return encode(self.item(position))

    def label(self, position: int) -> Any:
        """Return the label of an event."""
        assert self.labels is not None
        return self.names.classes[self.labels[self.row(position)]]

    def is_right(self, position: int) -> bool:
        """Whether the prediction of an event was its label."""
        assert self.labels is not None
        row = self.row(position)
        return bool(self.labels[row] == self.predictions[row])

    # --- as codes of others

    def votes_for(self, experts: Mapping[str, int], classes: Mapping[Any, int], rows: Any) -> Codes | None:
        """Return the votes of rows as `KnownNames.encode_votes` does; None if a name has no code.

        Parameters
        ----------
        experts, classes
            The codes of names.
        rows
            An array of rows, or a slice.
        """
        columns = [experts.get(name, -1) for name in self.names.experts]
        if self.votes is None or -1 in columns:
            return None
        codes = _recode(self.votes[rows], self.names.classes, classes)
        if codes is None or columns == list(range(len(experts))):
            return codes
        table = np.full((len(codes), len(experts)), -1, np.int32)
        table[:, columns] = codes
        return table

    def labels_for(self, classes: Mapping[Any, int]) -> Codes | None:
        """Return all labels as other codes; None if one has none."""
        return None if self.labels is None else _recode(self.labels, self.names.classes, classes)

    def predictions_for(self, classes: Mapping[Any, int], rows: Any) -> Codes | None:
        """Return the predictions of rows as other codes, -1 for none; None if one has no code."""
        return _recode(self.predictions[rows], self.names.classes, classes)


class ChunkRows(EventChunk):
    """Some events of a chunk, which need not be at consecutive positions.

    Parameters
    ----------
    chunk
        The chunk.
    positions
        The events, in ascending order.

    Examples
    --------
    >>> codes = np.array([0, 1, 0], np.int8)
    >>> part = EventChunk(7, ChunkNames(["ann"], ["x", "y"]), codes[:, None], None, codes).take([7, 9])
    >>> len(part.predictions), part.item(9).votes, part.rows(np.array([9, 7]))
    (2, {'ann': 'x'}, array([1, 0]))
    """

    def __init__(self, chunk: EventChunk, positions: list[int]) -> None:
        self._positions = np.array(positions, np.int64)
        rows = chunk.rows(self._positions)
        parts = [None if part is None else part[rows] for part in chunk._parts]
        super().__init__(positions[0], chunk.names, *parts)  # type: ignore[arg-type]
        self.last = positions[-1]

    def row(self, position: int) -> int:
        """Return the row of an event."""
        return int(self._positions.searchsorted(position))

    def rows(self, positions: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows of events."""
        return self._positions.searchsorted(positions)


def _recode(codes: NDArray[Any], names: list[Any], classes: Mapping[Any, int]) -> Codes | None:
    """Return codes of names as other codes; None if one of those that occur has none."""
    kind = type(next(iter(classes), None))
    places = [classes.get(name, NEW) if type(name) is kind else NEW for name in names]
    if places == list(range(len(places))):
        return codes.astype(np.int32)
    found = np.array([*places, -1], np.int32)[codes]
    return None if (found == NEW).any() else found


def codes_of(names: list[Any], classes: Mapping[Any, int]) -> Codes | None:
    """Return names as codes; None if one has none, or they are of several kinds.

    Examples
    --------
    >>> codes_of(["y", "x", "y"], {"x": 0, "y": 1}), codes_of([True], {1: 0}), codes_of([1, True], {1: 0})
    (array([1, 0, 1], dtype=int32), None, None)
    """
    if len(set(map(type, names))) > 1:
        return None
    distinct = list(dict.fromkeys(names))
    places = {name: place for place, name in enumerate(distinct)}
    return _recode(np.array([places[name] for name in names]), distinct, classes)


def make_chunk(
    first: int,
    fusion: Fusion,
    votes: Codes | None,
    labels: Codes | None,
    predictions: Codes,
    probabilities: NDArray[np.float64] | None = None,
    version: int = 0,
) -> EventChunk:
    """Return what a session has learned or predicted as a chunk; it has the names that occur.

    Parameters
    ----------
    first
        The position of the first event.
    fusion
        The session.
    votes, labels, predictions
        Its codes.
    probabilities
        A column per class of the session.
    version
        The version of the model, if it has predicted.

    Examples
    --------
    >>> fusion = Fusion(classes=["x", "y"], experts=["ann", "bob"])
    >>> chunk = make_chunk(7, fusion, np.array([[-1, 1]], np.int32), None, np.array([0], np.int32))
    >>> chunk.names.experts, chunk.body(7)
    (['bob'], b'{"votes":{"bob":"y"},"prediction":"x"}')
    """
    experts, classes = fusion.names.experts.names, fusion.names.classes.names
    if votes is not None:
        used = find_used(votes)
        if len(used) < votes.shape[1]:
            votes = votes[:, used]
        experts = [experts[column] for column in used.tolist()]
    parts = [votes, labels, predictions]
    if probabilities is None and len(classes) > MAX_SMALL:
        places = np.unique(np.concatenate([part.ravel() for part in parts if part is not None]))
        places = places[places >= 0]
        parts = [
            None if part is None else np.where(part < 0, -1, np.searchsorted(places, part)) for part in parts
        ]
        classes = [classes[place] for place in places.tolist()]
    kind = _code_type(len(classes))
    small: tuple[Any, ...] = tuple(None if part is None else part.astype(kind) for part in parts)
    names = ChunkNames([] if votes is None else list(experts), list(classes), version)
    return EventChunk(first, names, small[0], small[1], small[2], probabilities)


def find_used(votes: Codes) -> NDArray[np.intp]:
    """Return the columns that have a vote.

    Parameters
    ----------
    votes
        Codes; -1 is an abstention.

    Examples
    --------
    >>> find_used(np.array([[-1, 1, 0], [-1, -1, 2]], np.int32))
    array([1, 2])
    """
    if votes.min(initial=0) >= 0:  # as in most tables, all are given
        return np.arange(votes.shape[1] if len(votes) else 0)
    return np.flatnonzero((votes >= 0).any(axis=0))


def code_size(classes: int) -> int:
    """Return the bytes of a code, for a number of classes."""
    return np.dtype(_code_type(classes)).itemsize


def _code_type(classes: int) -> type:
    return np.int8 if classes <= MAX_SMALL else np.int16 if classes <= MAX_SMALL << 8 else np.int32


def _little(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it is stored, with the low bytes first."""
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def read_chunk(
    first: int, last: int, names: bytes, votes: bytes | None, labels: bytes | None, predictions: bytes,
    probabilities: bytes | None,
) -> EventChunk:  # fmt: skip
    """Return a chunk from a row of the log."""
    known, rows = decode_names(names), last - first + 1
    kind = np.dtype(_code_type(len(known.classes))).newbyteorder("<")

    def codes(blob: bytes | None, shape: Sequence[int], dtype: Any = kind) -> Any:
        return None if blob is None else np.frombuffer(blob, dtype).reshape(shape)

    try:
        return EventChunk(
            first,
            known,
            codes(votes, (rows, len(known.experts))),
            codes(labels, (rows,)),
            codes(predictions, (rows,)),
            codes(probabilities, (rows, len(known.classes)), "<f8"),
        )
    except ValueError as error:
        raise ValueError(f"the chunk at position {first} is damaged: {error}") from None


class ChunkReader:
    """Reads chunks with a connection, and keeps the latest ones in memory.

    Parameters
    ----------
    connection
        The connection; `body_of` is a function of its queries from now on.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._latest: OrderedDict[int, EventChunk] = OrderedDict()
        self._bytes = 0
        connection.create_scalar_function("body_of", self.body, 1)  # type: ignore[arg-type]

    def body(self, position: int) -> bytes:
        """Return the body of an event that is in a chunk."""
        return self.find(position).body(position)

    def find(self, position: int) -> EventChunk:
        """Return the chunk of an event."""
        for first in reversed(self._latest):
            chunk = self._latest[first]
            if first <= position <= chunk.last:
                self._latest.move_to_end(first)
                return chunk
        row = self._connection.execute(FIND_CHUNK, (position,)).fetchone()
        if row is None or row[1] < position:
            raise ValueError(f"the content of the event at position {position} is missing")
        chunk = read_chunk(*row)
        self._latest[chunk.first] = chunk
        self._bytes += chunk.nbytes
        while len(self._latest) > MAX_CHUNKS or (self._bytes > MAX_BYTES and len(self._latest) > 1):
            self._bytes -= self._latest.popitem(last=False)[1].nbytes
        return chunk

    def forget(self) -> None:
        """Forget all chunks: some of them may not be in the log any more."""
        self._latest.clear()
        self._bytes = 0
