"""The rows of a stream that an audit keeps: an even sample, and the top k by a measure.

`Sample` keeps labelled rows evenly spread over the stream, `TopK` the items with the largest values of a
measure, and `select_rows` finds the candidates for both in one pass over a batch.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import CompiledKernel
from linmax.inputs import Batch

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Marks = NDArray[np.uint8]

SAMPLE_SIZE = 20_000
"""The largest number of rows in a sample."""
ALL_KEYS = 1 << 64
"""Every key of a row is below this number."""
TABLE_CELLS = 1 << 12
"""Confusion tables up to this size are filled directly; with more classes, pairs are sorted."""

SAMPLED, CONFIDENT_MISTAKE, UNCERTAIN = 1, 2, 4
"""The bits that `select_rows` sets in its marks."""


class ItemRecord(NamedTuple):
    """One item of a stream as it was when it was predicted.

    Attributes
    ----------
    row : int
        The number of the item in the stream, from 0.
    line : int
        The line or row of the file, from 1.
    id : object
        The identifier of the item, or None.
    guess : object
        The predicted class.
    truth : object
        The label; None if it is missing.
    margin : float
        How far the prediction led the runner-up.
    votes : dict
        The votes on the item.
    """

    row: int
    line: int
    id: Any
    guess: Any
    truth: Any
    margin: float
    votes: dict[Any, Any]


class TopK:
    """Keep the k items with the largest values of a measure; of equal values, the earlier items.

    Parameters
    ----------
    k : int
        The number of items to keep.

    Examples
    --------
    >>> top = TopK(2)
    >>> for row, measure in enumerate([1.0, 3.0, 2.0]):
    ...     top.push(measure, ItemRecord(row, row + 2, "abc"[row], 0, 1, measure, {}))
    >>> [item.id for item in top.items], top.threshold
    (['b', 'c'], 2.0)
    """

    def __init__(self, k: int) -> None:
        self.k = k
        self._heap: list[tuple[float, int, ItemRecord]] = []

    @property
    def threshold(self) -> float:
        """The value that the measure of a further item has to exceed."""
        return self._heap[0][0] if len(self._heap) >= self.k else -math.inf

    def push(self, measure: float, item: ItemRecord) -> None:
        """Add an item, and remove the item with the smallest measure if there are more than k.

        Parameters
        ----------
        measure : float
            The value by which items are ranked.
        item : ItemRecord
            The item.
        """
        heapq.heappush(self._heap, (measure, -item.row, item))
        if len(self._heap) > self.k:
            heapq.heappop(self._heap)

    @property
    def items(self) -> list[ItemRecord]:
        """The items, the largest measure first."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]

    def state(self) -> list[Any]:
        """Return the items as plain lists, which `restore` takes."""
        return [
            [measure, *item[:-1], list(item.votes.items())]
            for measure, _, item in sorted(self._heap, key=lambda entry: entry[:2])
        ]

    def restore(self, state: Any) -> None:
        """Replace the items by saved ones.

        Parameters
        ----------
        state : list
            What `state` has returned.
        """
        self._heap = []
        for measure, row, line, name, guess, truth, margin, votes in state:
            item = ItemRecord(int(row), int(line), name, guess, truth, float(margin), dict(votes))
            self.push(float(measure), item)


@dataclass
class SampleRows:
    """Labelled rows of a stream with their predictions.

    Attributes
    ----------
    row : ndarray of shape (n_rows,)
        The numbers of the rows in the stream, from 0.
    truth, guess : ndarray of shape (n_rows,)
        The labels and the predictions, as class codes.
    margin : ndarray of shape (n_rows,)
        The margins of the predictions.
    votes : ndarray of shape (n_rows, n_experts)
        The class code that each expert voted for; -1 is an abstention.
    chunk : Chunk
        The rows as they were read.
    """

    row: NDArray[np.int64]
    truth: Codes
    guess: Codes
    margin: Floats
    votes: Codes
    chunk: Chunk

    def take(self, at: NDArray[Any]) -> SampleRows:
        """Return some of the rows.

        Parameters
        ----------
        at : ndarray of int
            The positions of the rows.
        """
        return SampleRows(
            self.row[at], self.truth[at], self.guess[at], self.margin[at], self.votes[at], self.chunk.take(at)
        )


@dataclass
class Sample:
    """An even sample of labelled rows.

    A row is in the sample if its key (`row_keys`) is below a limit, which is halved when there are too many
    rows. The sample therefore depends only on the rows and not on how they arrive in chunks, and every row
    is equally likely to be in it.

    Parameters
    ----------
    size : int
        The largest number of rows.
    limit : int
        Rows with keys below this number are in the sample.
    parts : list of SampleRows
        The rows, in the order of the stream.
    count : int
        The number of rows in `parts`.
    """

    size: int = SAMPLE_SIZE
    limit: int = ALL_KEYS
    parts: list[SampleRows] = field(default_factory=list, repr=False)
    count: int = 0

    def selects(self, first: int, rows: int) -> NDArray[np.bool_]:
        """Return which of some consecutive rows belong to the sample.

        Parameters
        ----------
        first : int
            The number of the first row.
        rows : int
            The number of rows.
        """
        if self.limit >= ALL_KEYS:
            return np.ones(rows, np.bool_)
        selected: NDArray[np.bool_] = row_keys(np.arange(first, first + rows)) < np.uint64(self.limit)
        return selected

    def add(self, rows: SampleRows) -> None:
        """Add rows that the sample selects, and halve the limit while there are too many.

        Parameters
        ----------
        rows : SampleRows
            The rows, later in the stream than those before.
        """
        self.append(rows)
        while self.count > self.size:
            self.limit //= 2
            all_rows = self.rows()
            assert all_rows is not None
            below = np.flatnonzero(row_keys(all_rows.row) < np.uint64(self.limit))
            self.parts, self.count = [all_rows.take(below)], len(below)

    def append(self, rows: SampleRows) -> None:
        """Add rows without checking the number of rows.

        Parameters
        ----------
        rows : SampleRows
            Rows of a saved sample.
        """
        self.parts.append(rows)
        self.count += len(rows.row)

    def latest(self, rows: int) -> tuple[Codes, Codes]:
        """Return the votes and labels of the last rows.

        Parameters
        ----------
        rows : int
            The largest number of rows.
        """
        parts: list[SampleRows] = []
        missing = rows
        for part in reversed(self.parts):
            parts.append(part)
            missing -= len(part.row)
            if missing <= 0:
                break
        parts.reverse()
        if not parts:
            return np.empty((0, 0), np.int32), np.empty(0, np.int32)
        votes = np.concatenate(_same_width(parts))
        return votes[-rows:], np.concatenate([part.truth for part in parts])[-rows:]

    def rows(self) -> SampleRows | None:
        """Return all rows of the sample; None if there are none."""
        parts = [part for part in self.parts if len(part.row)]
        if not parts:
            return None
        from linmax.streams.chunk import concat_chunks

        parts = [replace(part, votes=votes) for part, votes in zip(parts, _same_width(parts), strict=True)]
        row, truth, guess, margin, votes = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("row", "truth", "guess", "margin", "votes")
        )
        all_rows = SampleRows(row, truth, guess, margin, votes, concat_chunks([part.chunk for part in parts]))
        self.parts = [all_rows]
        return all_rows


def row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a pseudo-random key for each row, which depends only on its number (splitmix64).

    Parameters
    ----------
    rows : ndarray of int
        The numbers of the rows.

    Returns
    -------
    keys : ndarray of uint64
        The keys.

    Examples
    --------
    >>> [hex(key) for key in row_keys(np.array([1, 2])).tolist()]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    x = rows.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class SelectionThresholds(NamedTuple):
    """The conditions under which `select_rows` marks a row.

    Attributes
    ----------
    key : int
        A labelled row is sampled if its key is below this number.
    confident_mistake : float
        A mistake is marked if its margin is above this value.
    uncertain : float
        A row without a label is marked if minus its margin is above this value.
    """

    key: int
    confident_mistake: float
    uncertain: float


class Selection(NamedTuple):
    """What `select_rows` has found besides its marks.

    Attributes
    ----------
    unlabelled : int
        Rows without a label.
    novel : int
        Rows whose label was not a known class.
    pairs : list of ((int, int), int)
        The pairs of truth and prediction in ascending order, each with its number of rows.
    """

    unlabelled: int
    novel: int
    pairs: list[tuple[tuple[int, int], int]]


def select_rows(
    first: int, batch: Batch, guess: Codes, margin: Floats, thresholds: SelectionThresholds, marks: Marks
) -> Selection:
    """Mark the rows of a batch that are candidates for a sample or a top-k list, and count pairs of classes.

    Parameters
    ----------
    first : int
        The number of the first row in the stream.
    batch : Batch
        The rows.
    guess, margin : ndarray of shape (n_rows,)
        The predictions and their margins.
    thresholds : SelectionThresholds
        The conditions for the marks.
    marks : ndarray of uint8 of shape (n_rows,)
        Where the marks are written: sums of `SAMPLED`, `CONFIDENT_MISTAKE` and `UNCERTAIN`.

    Returns
    -------
    selection : Selection
        The numbers of unlabelled and novel rows, and the pairs of truth and prediction.
    """
    k = batch.classes_seen
    table = np.zeros(k * k if k * k <= TABLE_CELLS else 0, np.int64)
    last_key = np.uint64(max(thresholds.key - 1, 0))
    truth = batch.labels
    with np.errstate(over="ignore"):  # keys are products modulo 2**64, of which NumPy warns if interpreted
        unlabelled, novel = _mark_rows(
            truth, batch.known, guess, margin, first, k, last_key,
            thresholds.confident_mistake, thresholds.uncertain, table, marks,
        )  # fmt: skip
    if len(table) or not k:
        pairs, counts, width = np.flatnonzero(table), table[table > 0], max(k, 1)
    else:
        counted = (truth >= 0) & (truth < batch.known)
        codes = truth[counted].astype(np.int64) << 32 | guess[counted]
        (pairs, counts), width = np.unique(codes, return_counts=True), 1 << 32
    found = zip(pairs.tolist(), counts.tolist(), strict=True)
    return Selection(unlabelled, novel, [(divmod(pair, width), count) for pair, count in found])


def mark_rows(  # type: ignore[no-untyped-def]
    truth, known, guess, margin, first, classes, last_key, confident_mistake, uncertain, table, marks
):
    """Fill `marks` and `table`; keys are computed as in `row_keys`, without an array of them."""
    unlabelled = 0
    novel = 0
    for t in range(len(truth)):
        y = truth[t]
        lead = margin[t]
        if lead != lead:
            lead = 0.0
        mark = 0
        if y < 0:
            unlabelled += 1
            mark = UNCERTAIN * (-abs(lead) > uncertain)
        elif y >= known[t]:
            novel += 1
        else:
            x = np.uint64(first + t) * np.uint64(0x9E3779B97F4A7C15)
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            x = x ^ (x >> np.uint64(31))
            mark = SAMPLED * (x <= last_key) + CONFIDENT_MISTAKE * (
                guess[t] != y and lead > confident_mistake
            )
            if len(table) > 0:
                table[y * classes + guess[t]] += 1
        marks[t] = mark
    return unlabelled, novel


def _same_width(parts: list[SampleRows]) -> list[Codes]:
    """Return the votes of each part, with abstentions of the experts that it does not know."""
    width = max(part.votes.shape[1] for part in parts)
    return [
        np.pad(part.votes, ((0, 0), (0, width - part.votes.shape[1])), constant_values=-1) for part in parts
    ]


_mark_rows = CompiledKernel(mark_rows)
