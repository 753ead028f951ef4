"""Is a gain real? Two guessers on the same items differ only where one is right and the other is not."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import inputs as ballots
from linmax.evaluate.counts import EXPERTS, PLURALITY, Counts
from linmax.evaluate.progressive import picks
from linmax.fusion import Fusion
from linmax.inputs import Batch, Rolls
from linmax.spec import Learner
from linmax.streams.chunk import Piece

CONFIDENT = 1.959963984540054  # of a normal distribution, 95 % lie so far from 0 at most


class Gain(NamedTuple):
    """By how much one guesser is right more often than another, with a 95 % interval and a paired test."""

    trials: int
    better: int  # items where only the first was right
    worse: int  # items where only the other was
    gain: float  # the difference of their accuracies
    low: float
    high: float
    p: float  # of McNemar's exact test: how likely so lopsided a split is among equals

    @property
    def verdict(self) -> str:
        """Whether the test tells the two apart: "better", "worse" or "no difference seen"."""
        if self.p >= 0.05 or not self.trials:
            return "no difference seen"
        return "better" if self.better > self.worse else "worse"


def gain(trials: int, better: int, worse: int) -> Gain:
    """Compare two guessers on the same items.

    McNemar's exact test, and the interval of Agresti and Min (2005): Wald's with half an item added to each
    of the four cells. Both take the items for independent draws; of a stream that drifts they tell less.

    >>> found = gain(1000, better=60, worse=30)
    >>> round(found.gain, 3), round(found.low, 3), round(found.high, 3), round(found.p, 4), found.verdict
    (0.03, 0.011, 0.049, 0.0021, 'better')
    >>> gain(0, 0, 0).verdict
    'no difference seen'
    """
    if not trials:
        return Gain(0, 0, 0, 0.0, -1.0, 1.0, 1.0)
    size = trials + 2.0
    up, down = (better + 0.5) / size, (worse + 0.5) / size
    middle = up - down
    reach = CONFIDENT * math.sqrt(max(up + down - middle * middle, 0.0) / size)
    return Gain(
        trials, better, worse, (better - worse) / trials,
        max(middle - reach, -1.0), min(middle + reach, 1.0), mcnemar(better, worse),
    )  # fmt: skip


def mcnemar(better: int, worse: int) -> float:
    """How likely a split at least as lopsided is when both are as likely to be the one that is right.

    >>> round(mcnemar(0, 5), 12), mcnemar(3, 3)
    (0.0625, 1.0)
    """
    few, items = min(better, worse), better + worse
    if few == items - few:
        return 1.0
    # P(X = few), then each term from the one above it, until what is left cannot matter
    term = math.exp(
        math.lgamma(items + 1) - math.lgamma(few + 1) - math.lgamma(items - few + 1) - items * math.log(2.0)
    )
    total = 0.0
    for i in range(few, -1, -1):
        total += term
        term *= i / (items - i + 1)
        if term <= 1e-17 * total:
            break
    return min(1.0, 2.0 * total)


MOMENTS = 512  # points of a curve at most
WARM = 64  # items from which a learner's double learns first, so that compiling is not measured


class Place(NamedTuple):
    """How one contender did."""

    name: str
    who: str  # the expert who is best
    mistakes: int
    accuracy: float
    last_half: float  # accuracy since the middle of the stream; NaN where no label was met since
    microseconds: float | None  # of processor time for an item; None of those who do not learn
    gain: Gain | None  # against the first learner; None of itself


class Moment(NamedTuple):
    """The counts after so many items."""

    items: int
    right: NDArray[np.int64]  # of each learner
    panel: Counts


class Contest:
    """Learners that are fed the same pieces; a piece counts when all have learned it.

    >>> import io
    >>> from linmax import Perceptron, Winnow
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,spam,spam\\nham,ham,ham\\n" * 50
    >>> contest = Contest({"a": Winnow(1.5), "b": Perceptron()})
    >>> for piece in open_stream(io.BytesIO(b"ann,bob,truth\\n" + rows)):
    ...     contest.learn(piece)
    >>> [(place.name, place.who, place.mistakes) for place in contest.places()]
    [('best expert', 'bob', 0), ('a', '', 1), ('b', '', 2), ('plurality', '', 50)]
    """

    def __init__(self, learners: Mapping[str, Learner]) -> None:
        if not learners:
            raise ValueError("a contest needs a learner; name one such as Winnow(1.2)")
        self.names = list(learners)
        self.fusions = [Fusion(learner) for learner in learners.values()]
        self.items = self.trials = self.unlabelled = self.novel = 0
        self.right = np.zeros(len(self.names), np.int64)
        self.both = np.zeros(len(self.names), np.int64)  # the first learner and the other
        self.seconds = np.zeros(len(self.names))
        self.panel = Counts()  # whose own guess is the first learner's
        self.moments: list[Moment] = []
        self.step = 1
        self._rolls = Rolls()

    def warm(self, piece: Piece, labels: Any = None) -> None:
        """Let doubles of the learners learn some items, so that everything is compiled."""
        some = piece.part(0, WARM)
        labels = _labels(piece, piece.labels if labels is None else labels)[: some.items]
        for fusion in self.fusions:
            Fusion(fusion.learner).learn(some.votes, labels, attributes=some.attributes)

    def learn(self, piece: Piece, labels: Any = None) -> None:
        """Let everyone learn the next items, and count who was right."""
        labels = _labels(piece, piece.labels if labels is None else labels)
        batch = self._read(piece, labels)
        counted = (batch.labels >= 0) & (batch.labels < batch.known)
        hits = np.zeros((len(self.fusions), piece.items), np.bool_)
        spent = np.zeros(len(self.fusions))
        for i, fusion in enumerate(self.fusions):
            begun = time.process_time()
            own = fusion.read(piece.votes, labels, attributes=piece.attributes)
            verdict = fusion.learn_batch(own)
            spent[i] = time.process_time() - begun
            hits[i] = (verdict.guesses == own.labels) & counted
        self._rolls.classes.extend(batch.new_classes)
        self._rolls.experts.extend(batch.new_experts)
        self.seconds += spent
        self.unlabelled += int((batch.labels < 0).sum())
        self.novel += int(((batch.labels >= 0) & ~counted).sum())
        self._count(batch, hits)

    def _read(self, piece: Piece, labels: Any) -> Batch:
        """The votes as a panel that knows everyone met so far."""
        needs = frozenset() if piece.votes is None else frozenset({"votes"})
        return ballots.read(piece.votes, labels, None, self._rolls, needs=needs)

    def _count(self, batch: Batch, hits: NDArray[np.bool_]) -> None:
        said, truth = picks(batch), batch.labels
        first = np.where(hits[0], truth, -1).astype(np.int32)
        begin, end = self.items, self.items + batch.trials
        even = range((begin // self.step + 1) * self.step, end + 1, self.step)
        for stop in sorted({*even, end} - {begin}):
            part = slice(self.items - begin, stop - begin)
            self.panel.add(said[part], truth[part], batch.known[part], first[part], batch.classes_seen)
            self.right += hits[:, part].sum(axis=1)
            self.both += (hits[:, part] & hits[0, part]).sum(axis=1)
            self.items, self.trials = stop, self.panel.trials
            if stop % self.step == 0:
                self._mark()

    def _mark(self) -> None:
        self.moments.append(Moment(self.items, self.right.copy(), self.panel.copy()))
        if len(self.moments) > MOMENTS:
            self.step *= 2
            self.moments = [moment for moment in self.moments if moment.items % self.step == 0]

    # --- what came of it

    def places(self) -> list[Place]:
        """Everyone, the most accurate first; of equals, who was named first."""
        half = self._middle()
        places = [
            Place(
                name, "", self.trials - int(self.right[i]),
                *self._accuracies(self.right[i], half.right[i], half),
                1e6 * float(self.seconds[i]) / max(self.items, 1),
                self._gain(int(self.right[i]), int(self.both[i])) if i else None,
            )
            for i, name in enumerate(self.names)
        ]  # fmt: skip
        return sorted([*places, *self._panel_places(half)], key=lambda place: place.mistakes)

    def _panel_places(self, half: Moment) -> Iterable[Place]:
        leader = self.panel.leader
        if leader is None or not self.trials:
            return
        half.panel.widen(len(self.panel.spoke))
        for seat, name, who in (
            (PLURALITY, "plurality", ""),
            (leader, "best expert", str(self._rolls.experts.names[leader - EXPERTS])),
        ):
            right = int(self.panel.right[seat])
            yield Place(
                name, who, self.trials - right, *self._accuracies(right, half.panel.right[seat], half),
                None, self._gain(right, int(self.panel.both[seat])),
            )  # fmt: skip

    def _accuracies(self, right: Any, then: Any, half: Moment) -> tuple[float, float]:
        since = self.trials - half.panel.trials
        last = float(right - then) / since if since else float("nan")
        return (float(right) / self.trials if self.trials else float("nan")), last

    def _gain(self, right: int, both: int) -> Gain:
        return gain(self.trials, better=right - both, worse=int(self.right[0]) - both)

    def _middle(self) -> Moment:
        """The moment nearest to the middle of the stream."""
        start = Moment(0, np.zeros(len(self.names), np.int64), Counts())
        return min([start, *self.moments], key=lambda moment: abs(2 * moment.items - self.items))

    def curves(self) -> tuple[list[int], dict[str, list[int]]]:
        """Items so far, and the mistakes that each had made by then."""
        ends = [*self.moments]
        if not ends or ends[-1].items < self.items:
            ends.append(Moment(self.items, self.right.copy(), self.panel.copy()))
        trials = [moment.panel.trials for moment in ends]
        found = {
            name: [t - int(moment.right[i]) for t, moment in zip(trials, ends, strict=True)]
            for i, name in enumerate(self.names)
        }
        leader = self.panel.leader
        if leader is not None:
            for name, seat in (("plurality", PLURALITY), ("best expert", leader)):
                found[name] = [
                    t - (int(moment.panel.right[seat]) if seat < len(moment.panel.right) else 0)
                    for t, moment in zip(trials, ends, strict=True)
                ]
        return [moment.items for moment in ends], found


def _labels(piece: Piece, labels: Any) -> Any:
    return np.full(piece.items, None, object) if labels is None else labels
