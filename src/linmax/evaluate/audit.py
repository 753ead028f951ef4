"""The few items of a stream that matter most by some measure."""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.evaluate.counts import (
    DOUBTFUL,
    HARD,
    LINMAX,
    PLURALITY,
    SAMPLED,
    Bars,
    Counts,
    Marks,
    margins,
    sift,
)
from linmax.evaluate.experts import Losses, pulls, readings
from linmax.evaluate.progressive import picks
from linmax.evaluate.sample import MOST, Rows, Sample
from linmax.fusion import Fusion
from linmax.inputs import Batch, Hard, Roll, Strangers, to_names
from linmax.runtime import concurrency as threads
from linmax.runtime.concurrency import Beside
from linmax.streams import Piece


class Item(NamedTuple):
    """One item of a stream, as it was when it was guessed."""

    row: int  # from 0 on
    line: int  # of the file, from 1 on
    id: Any
    guess: Any
    truth: Any  # None: nobody knows
    margin: float  # how far the guess was ahead of the runner-up
    votes: dict[Any, Any]


class Heap:
    """Keeps the items of the largest measure; of equals, those that came first.

    >>> heap = Heap(2)
    >>> [heap.admits(1.0) or None, heap.push(1.0, Item(0, 2, "a", 0, 1, 1.0, {}))]
    [True, None]
    >>> heap.push(3.0, Item(1, 3, "b", 0, 1, 3.0, {})); heap.push(2.0, Item(2, 4, "c", 0, 1, 2.0, {}))
    >>> [item.id for item in heap.items], heap.admits(2.0)
    (['b', 'c'], False)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._heap: list[tuple[float, int, Item]] = []

    def admits(self, measure: float) -> bool:
        """Whether an item that comes now would stay."""
        return measure > self.least

    @property
    def least(self) -> float:
        """What an item that comes now has to exceed."""
        return self._heap[0][0] if len(self._heap) >= self.most else -math.inf

    def push(self, measure: float, item: Item) -> None:
        """Take an item in, and let the least go when there are too many."""
        heapq.heappush(self._heap, (measure, -item.row, item))
        if len(self._heap) > self.most:
            heapq.heappop(self._heap)

    @property
    def items(self) -> list[Item]:
        """The largest measure first."""
        return [item for _, _, item in sorted(self._heap, key=lambda entry: (-entry[0], -entry[1]))]

    def state(self) -> list[Any]:
        """As plain values."""
        return [
            [measure, *item[:-1], list(item.votes.items())]
            for measure, _, item in sorted(self._heap, key=lambda entry: entry[:2])
        ]

    def restore(self, state: Any) -> None:
        """From plain values."""
        self._heap = []
        for measure, row, line, name, guess, truth, margin, votes in state:
            item = Item(int(row), int(line), name, guess, truth, float(margin), dict(votes))
            self.push(float(measure), item)


Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

MOMENTS = 512  # points of a curve at most
FEW = 20  # items that are worth a look
PART = 4096  # more trials than these are worth being counted while others are learned
RECENT = 2000  # rows of the sample that tell whom weights trust now
FIRST = 32  # items before trust is first looked at; then after every doubling, later at every half


class Milestone(NamedTuple):
    """One line of progress: after 1, 2, 4, 8 ... items."""

    items: int
    guess: Any
    truth: Any
    linmax: int  # mistakes so far
    plurality: int
    best: int  # of the expert with fewest so far


@dataclass(frozen=True, eq=False)
class Outcome:
    """Some items that were learned."""

    piece: Piece
    codes: NDArray[np.int32]
    leads: NDArray[np.float64]  # the margins, once these items are counted
    classes: Roll
    strangers: Strangers
    settle: Callable[[], None]

    @cached_property
    def guesses(self) -> NDArray[Any]:
        """The names of the classes, made when somebody asks for them."""
        return to_names(self.codes, self.classes, self.strangers)

    @cached_property
    def margins(self) -> NDArray[np.float64]:
        """How far each guess was ahead of the runner-up."""
        self.settle()
        return self.leads


class Audit:
    """What happened on a stream so far; pieces are added in the order of the stream.

    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,spam,spam\\nham,ham,ham\\n" * 4
    >>> fusion, audit = Fusion(Winnow(1.5)), Audit()
    >>> for piece in open_stream(io.BytesIO(b"ann,bob,truth\\n" + rows)):
    ...     outcome = audit.learn(fusion, piece)
    >>> audit.items, audit.counts.trials, audit.counts.right.tolist()
    (8, 8, [7, 4, 4, 8])
    >>> audit.milestones[-1]
    Milestone(items=8, guess='ham', truth='ham', linmax=1, plurality=4, best=0)
    """

    def __init__(self, sample: int = MOST) -> None:
        self.items = self.unlabelled = self.novel = 0
        self.counts, self.losses = Counts(), Losses()
        self.moments: list[tuple[int, Counts]] = []  # evenly spaced
        self.step = 1
        self.milestones: list[Milestone] = []
        self.confusion: Counter[tuple[int, int]] = Counter()  # (truth, guess)
        self.sample = Sample(sample)
        self.hardest, self.doubtful = Heap(FEW), Heap(FEW)
        self.trust: list[tuple[int, list[float]]] = []  # the pull of each expert after so many items
        self._beside = Beside()

    def learn(self, fusion: Fusion, piece: Piece, batch: Batch | None = None) -> Outcome:
        """Let a session learn the next items of the stream, and note how everyone did on them.

        Many are counted while the next are learned: `settle` waits until all are.
        """
        if batch is None:
            labels = np.full(piece.items, None, object) if piece.truth is None else piece.truth
            batch = fusion.read(piece.votes, labels, attributes=piece.attributes)
        guess, board = fusion.learn_batch(batch, scores=True)
        begin, self.items = self.items, self.items + batch.trials
        row, margin = np.arange(begin, self.items), np.empty(batch.trials)
        seen = Rows(row, batch.labels, guess, margin, picks(batch), piece)
        names = _Names(fusion, batch)
        table = readings(fusion) if self.looks(begin, self.items) else None
        if batch.trials > PART and threads.count() > 1:
            self._beside.do(self._count, seen, batch, board, names, table)
        else:
            self.settle()
            self._count(seen, batch, board, names, table)
        return Outcome(piece, guess, margin, fusion.names.classes, batch.strangers, self.settle)

    def settle(self) -> None:
        """Wait until all that was learned is counted."""
        self._beside.settle()

    def _count(self, seen: Rows, batch: Batch, board: Floats, name: _Names, table: Floats | None) -> None:
        """Count some trials, keep a few, and note whom the weights trust now, if there is a table of that."""
        truth, guess = seen.truth, seen.guess
        margins(board, batch.known, guess, seen.margin)
        begin = int(seen.row[0]) if batch.trials else 0
        marks = np.empty(batch.trials, np.uint8)
        bars = Bars(self.sample.limit, self.hardest.least, self.doubtful.least)
        found = sift(begin, batch, guess, seen.margin, bars, marks)
        at = begin
        for stop in self._stops(begin, begin + batch.trials):
            part = slice(at - begin, stop - begin)
            self.counts.add(seen.said[part], truth[part], batch.known[part], guess[part], batch.classes_seen)
            at = stop
            self._mark(at, name(at - begin - 1, guess), name(at - begin - 1, truth))
        self.unlabelled += found.unlabelled
        self.novel += found.novel
        for pair, count in found.pairs:
            self.confusion[pair] += count
        if not isinstance(batch.votes, Hard):
            self.losses.add(batch, (truth >= 0) & (truth < batch.known))
        self._keep(seen, marks, name)
        if table is not None:
            self._look(at, table)

    def _look(self, at: int, table: Floats) -> None:
        """Note whom the weights trust."""
        said, truth = self.sample.latest(RECENT)
        if len(truth):
            self.trust.append((at, pulls(table, said, truth)))

    def _stops(self, begin: int, end: int) -> list[int]:
        """Where something is noted: at moments of the curves, powers of 2, and the end."""
        step = self.step
        even = range((begin // step + 1) * step, end + 1, step)
        doubled = (1 << i for i in range(begin.bit_length(), end.bit_length()))
        return sorted({*even, *doubled, end} - {begin} if end > begin else ())

    def _mark(self, at: int, guess: Any, truth: Any) -> None:
        counts = self.counts
        if at & (at - 1) == 0:
            missed = counts.mistakes
            best = int(missed[counts.leader]) if counts.leader is not None else counts.trials
            self.milestones.append(
                Milestone(at, guess, truth, int(missed[LINMAX]), int(missed[PLURALITY]), best)
            )
        if at % self.step == 0:
            self.moments.append((at, counts.copy()))
            if len(self.moments) > MOMENTS:
                self.step *= 2
                self.moments = [moment for moment in self.moments if moment[0] % self.step == 0]

    def _keep(self, rows: Rows, marks: Marks, name: _Names) -> None:
        """Rows for the sample, confident mistakes, and what is in doubt and without a label."""
        wanted = np.flatnonzero(marks & SAMPLED)
        if len(wanted):
            self.sample.add(rows.take(wanted))
        for heap, mark, sign in ((self.hardest, HARD, 1.0), (self.doubtful, DOUBTFUL, -1.0)):
            at = np.flatnonzero(marks & mark)
            measure = sign * np.nan_to_num(rows.margin[at], nan=0.0)
            for j in np.argsort(-measure, kind="stable")[:FEW].tolist():
                if heap.admits(float(measure[j])):
                    heap.push(float(measure[j]), _item(rows, int(at[j]), name))

    @staticmethod
    def looks(begin: int, end: int) -> list[int]:
        """Where pieces should end, so that trust is looked at in the same moments however pieces come."""
        return _LOOKS[bisect_left(_LOOKS, begin + 1) : bisect_left(_LOOKS, end + 1)]


class _Names:
    """The class behind a code."""

    def __init__(self, fusion: Fusion, batch: Batch) -> None:
        self.classes, self.strangers = fusion.classes, batch.strangers

    def __call__(self, t: int, codes: NDArray[Any]) -> Any:
        code = int(codes[t])
        if code < 0:
            return None
        return self.classes[code] if code < len(self.classes) else self.strangers.name(t, code)


def _item(rows: Rows, t: int, name: _Names) -> Item:
    piece = rows.piece
    return Item(
        int(rows.row[t]), int(piece.lines[t]), None if piece.ids is None else piece.ids[t],
        name(t, rows.guess), name(t, rows.truth), float(np.nan_to_num(rows.margin[t])), piece.item(t),
    )  # fmt: skip


_LOOKS = sorted({FIRST << j for j in range(5)} | {round(FIRST * 2 ** (5 + j / 2)) for j in range(80)})
