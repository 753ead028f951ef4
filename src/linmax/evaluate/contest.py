"""Several learners on one stream, each guessing every item before its label is heard."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import ballots
from linmax.ballots import Batch, Rolls
from linmax.evaluate.counts import EXPERTS, PLURALITY, Counts
from linmax.evaluate.paired import Gain, gain
from linmax.evaluate.progress import picks
from linmax.fusion import Fusion
from linmax.learner import Learner
from linmax.streams.pieces import Piece

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
