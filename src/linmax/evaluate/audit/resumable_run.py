"""`ResumableRun`: a session learns a stream, can stop after any row, and resumes from a checkpoint.

`encode_ahead` encodes chunks before their turn, for example in another thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from linmax.evaluate.audit.audit import Audit, LearnedChunk, trust_checks
from linmax.evaluate.audit.checkpoint import NO_PREFIX, LearnedPrefix, RestoredAudit, StreamFingerprint
from linmax.fusion import Fusion
from linmax.inputs import Batch

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

STEP_SECONDS = 0.2
"""The learning time between two stops of a run: an interrupt waits so long."""
FIRST_ROWS = 256
"""Rows of the first step, before the speed is known."""
FIRST_SCORES = 5000
"""The largest number of scores in the first step: with many classes it has fewer rows."""
SCORE_CELLS = 1 << 22
"""Scores in memory at once."""


class ResumableRun:
    """A session that learns a stream, with an audit of all that is counted on the way.

    Iterating yields a `LearnedChunk` for every few rows; these always end at multiples of `every`. The
    number of rows learned at a time depends on the speed of the machine, but the results do not depend on
    it.

    Parameters
    ----------
    fusion : Fusion
        The session.
    stream : iterable of Chunk or EncodedChunk
        The chunks of the stream from its beginning.
    prefix : LearnedPrefix
        The rows that the session has learned already; they are skipped.
    restored : RestoredAudit, optional
        The audit of the run that is resumed.
    every : int, default=0
        Stop at multiples of this number of items, for checkpoints; 0 is nowhere.
    fingerprint : bool, default=True
        Whether to compute the fingerprint of all rows. It is needed to resume the run later.

    Attributes
    ----------
    audit : Audit
        Everything that is counted.
    fingerprint : StreamFingerprint
        The fingerprint of the rows so far.

    Examples
    --------
    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,truth\\n" + b"ham,spam,spam\\nham,ham,ham\\n" * 4
    >>> run = ResumableRun(Fusion(Winnow(1.5)), open_stream(io.BytesIO(text), label="truth"))
    >>> [learned.guesses.tolist() for learned in run]
    [['ham', 'ham', 'spam', 'ham', 'spam', 'ham', 'spam', 'ham']]
    >>> run.audit.counts.mistakes.tolist()
    [1, 5, 8, 4, 4, 0]
    """

    def __init__(
        self,
        fusion: Fusion,
        stream: Iterable[Chunk | EncodedChunk],
        *,
        prefix: LearnedPrefix = NO_PREFIX,
        restored: RestoredAudit | None = None,
        every: int = 0,
        fingerprint: bool = True,
    ) -> None:
        self.fusion, self.stream = fusion, stream
        self.prefix, self.restored, self.every = prefix, restored, every
        self.audit = Audit() if restored is None else restored.audit
        self.fingerprint = StreamFingerprint()
        self._fingerprints_all = fingerprint
        self._rows_per_second = 0.0

    def __iter__(self) -> Iterator[LearnedChunk]:
        for item in self.stream:
            encoded = item if isinstance(item, EncodedChunk) else None
            chunk = item.chunk if isinstance(item, EncodedChunk) else item
            yield from self._learn(chunk, self._skip_prefix(chunk), encoded)
        self.audit.wait()
        if self.fingerprint.rows < self.prefix.rows:
            raise ValueError(_wrong_file(f"it has {self.fingerprint.rows:,} rows", self.prefix))

    def _skip_prefix(self, chunk: Chunk) -> int:
        """Return how many rows of a chunk were learned already, after checking that they are the same."""
        rows = min(self.prefix.rows - chunk.first, chunk.items)
        if rows <= 0:
            return 0
        learned = chunk.slice(0, rows)
        self.fingerprint.add(learned)
        if self.restored is not None:
            self.restored.add_sample_rows(self.fusion, learned)
        if self.fingerprint.rows == self.prefix.rows and self.fingerprint.digest != self.prefix.digest:
            raise ValueError(_wrong_file("its rows differ", self.prefix))
        return rows

    def _learn(self, chunk: Chunk, begin: int, encoded: EncodedChunk | None) -> Iterator[LearnedChunk]:
        ahead = _EncodedRows(self.fusion, chunk, encoded)
        while begin < chunk.items:
            end = self._next_stop(chunk, begin)
            started = time.perf_counter()
            learned = self.audit.learn(self.fusion, chunk.slice(begin, end), ahead.batch(begin, end))
            self._rows_per_second = (end - begin) / max(time.perf_counter() - started, 1e-9)
            if self._fingerprints_all:
                self.fingerprint.add(learned.chunk)
            yield learned
            begin = end

    def _next_stop(self, chunk: Chunk, begin: int) -> int:
        """Return the end of the next step: by time, where trust is measured, or at a checkpoint."""
        classes = max(len(self.fusion.classes), 1)
        rows = int(self._rows_per_second * STEP_SECONDS)
        rows = rows if self._rows_per_second else min(FIRST_ROWS, FIRST_SCORES // classes)
        rows = max(1, min(rows, SCORE_CELLS // classes))
        items = self.audit.items
        last = items + min(rows, chunk.items - begin)
        stops = [last, *trust_checks(items, last)]
        if self.every:
            stops.append((items // self.every + 1) * self.every)
        return begin + min(stops) - items


def _wrong_file(reason: str, prefix: LearnedPrefix) -> str:
    return (
        f"this is not the file of which {prefix.rows:,} rows were learned before: {reason};"
        " pass the original file, or resume from another model"
    )


class EncodedChunk(NamedTuple):
    """A chunk that was encoded before its turn.

    Attributes
    ----------
    chunk : Chunk
        The chunk.
    batch : Batch
        The encoded chunk.
    sizes : tuple of int
        The numbers of classes and experts that the session knew when it was encoded.
    """

    chunk: Chunk
    batch: Batch
    sizes: tuple[int, int]

    def batch_for(self, fusion: Fusion) -> Batch | None:
        """Return the batch, or None if the session has met new classes or experts since it was encoded.

        Parameters
        ----------
        fusion : Fusion
            The session.
        """
        return self.batch if _known_sizes(fusion) == self.sizes else None


class _EncodedRows:
    """Rows of a chunk, encoded for several steps at once, because encoding few rows takes as long as many.

    New names end what was encoded. The more rows in a row had none, the more are encoded next.
    """

    def __init__(self, fusion: Fusion, chunk: Chunk, encoded: EncodedChunk | None) -> None:
        self.fusion, self.chunk, self.encoded = fusion, chunk, encoded
        self.first, self.rows = 0, FIRST_ROWS

    def batch(self, begin: int, end: int) -> Batch | None:
        """Return encoded rows, or None if they bring new names and must be read by themselves."""
        batch = self._known(end)
        if batch is None and _can_be_encoded(self.chunk):
            self.rows = max(self.rows, end - begin)
            part = self.chunk.slice(begin, begin + self.rows)
            self.encoded, self.first = _encode(self.fusion, part), begin
            self.rows = 2 * self.rows if self.encoded is not None else max(self.rows // 4, FIRST_ROWS)
            batch = self._known(end)
        return None if batch is None else batch.slice(begin - self.first, end - self.first)

    def _known(self, end: int) -> Batch | None:
        if self.encoded is None or end > self.first + self.encoded.chunk.items:
            return None
        return self.encoded.batch_for(self.fusion)


def encode_ahead(fusion: Fusion, chunks: Iterable[Chunk]) -> Iterator[Chunk | EncodedChunk]:
    """Encode chunks that bring no new classes or experts; another thread may do so while the session learns.

    Parameters
    ----------
    fusion : Fusion
        The session.
    chunks : iterable of Chunk
        The chunks.

    Yields
    ------
    chunk : Chunk or EncodedChunk
        The chunks in their order, encoded where that is possible.

    Examples
    --------
    >>> import io
    >>> from linmax import Perceptron
    >>> from linmax.streams import open_stream
    >>> fusion = Fusion(Perceptron(), classes=["a", "b"], experts=["ann"])
    >>> stream = open_stream(io.BytesIO(b"ann,truth\\na,b\\nb,b\\nc,b\\n"), chunk_size=2, label="truth")
    >>> [type(chunk).__name__ for chunk in encode_ahead(fusion, stream)]
    ['EncodedChunk', 'Chunk']
    """
    for chunk in chunks:
        yield _encode(fusion, chunk) or chunk


def _can_be_encoded(chunk: Chunk) -> bool:
    is_table = hasattr(chunk.votes, "column_names")  # an Arrow table
    return is_table and chunk.raw_labels is not None and chunk.attributes is None


def _encode(fusion: Fusion, chunk: Chunk) -> EncodedChunk | None:
    """Encode a chunk that brings no new names; None if it does, or cannot be read."""
    sizes, batch = _known_sizes(fusion), None
    if _can_be_encoded(chunk):
        with suppress(Exception):  # it is read again in its turn, and raises then
            batch = fusion.read(chunk.votes, chunk.raw_labels)
    return None if batch is None or not batch.sliceable else EncodedChunk(chunk, batch, sizes)


def _known_sizes(fusion: Fusion) -> tuple[int, int]:
    return len(fusion.names.classes), len(fusion.names.experts)
