"""Learners that learn a stream side by side, compared on the same items."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from linmax import inputs
from linmax._jit.tiers import compile_now
from linmax.evaluate.audit.counts import CountHistory, MistakeCounts
from linmax.evaluate.findings.verdict import MIN_COVERAGE
from linmax.evaluate.progressive import voted_classes
from linmax.evaluate.significance import Gain, gain
from linmax.fusion import Fusion
from linmax.inputs import Batch, Names
from linmax.spec import Learner

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

WARM_UP_ITEMS = 64
"""Items that copies of the learners learn before times are measured."""


class ComparisonResult(NamedTuple):
    """The result of one learner, of the plurality or of the best expert in a comparison.

    Attributes
    ----------
    name : str
        The name of the learner, "plurality" or "best expert".
    detail : str
        Which expert is the best one; otherwise empty.
    mistakes : int
        Wrong predictions. A tie of m classes of the plurality counts as 1 - 1/m, and the sum is rounded.
    accuracy : float
        The fraction of correct predictions.
    accuracy_last_half : float
        The accuracy since the middle of the stream; NaN without labels since then.
    microseconds : float or None
        Processor time per item; None for those that do not learn.
    gain : Gain or None
        The difference to the first learner on the same items; None for the first learner.
    trials : int
        The items: all with a known label, and those on which it votes for the best expert.
    """

    name: str
    detail: str
    mistakes: int
    accuracy: float
    accuracy_last_half: float
    microseconds: float | None
    gain: Gain | None
    trials: int = 0


class LearnerComparison:
    """Let several learners learn the same stream, and count their mistakes.

    A chunk is counted when all learners have learned it.

    Parameters
    ----------
    learners : mapping of str to Learner
        The learners by name; the others are compared with the first.

    Attributes
    ----------
    names : list of str
        The names of the learners.
    fusions : list of Fusion
        Their sessions.
    items, trials, unlabelled, novel : int
        Items so far, those whose label was a known class, those without a label, and those with a novel
        label.

    Examples
    --------
    >>> import io
    >>> from linmax import Perceptron, Winnow
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,spam,spam\\nham,ham,ham\\n" * 50
    >>> comparison = LearnerComparison({"a": Winnow(1.5), "b": Perceptron()})
    >>> for chunk in open_stream(io.BytesIO(b"ann,bob,truth\\n" + rows), label="truth"):
    ...     comparison.learn(chunk)
    >>> [(result.name, result.detail, result.mistakes) for result in comparison.results()]
    [('best expert', 'bob', 0), ('a', '', 1), ('b', '', 2), ('plurality', '', 25)]
    """

    def __init__(self, learners: Mapping[str, Learner]) -> None:
        if not learners:
            raise ValueError("a comparison requires at least one learner (got none), such as Winnow(1.2)")
        self.names = list(learners)
        self.fusions = [Fusion(learner) for learner in learners.values()]
        self.unlabelled = self.novel = 0
        self.seconds = np.zeros(len(self.names))
        self.history = CountHistory(len(self.names))
        self._panel = Names()

    @property
    def items(self) -> int:
        """Items so far."""
        return self.history.items

    @property
    def trials(self) -> int:
        """Items so far whose label was a known class."""
        return self.history.counts.trials

    def warm_up(self, chunk: Chunk, labels: Any = None) -> None:
        """Let copies of the learners learn some items, so that compilation is not measured.

        Parameters
        ----------
        chunk : Chunk
            The first chunk of the stream.
        labels : array-like, optional
            Labels to use instead of those of the chunk.
        """
        compile_now()
        items = chunk.slice(0, WARM_UP_ITEMS)
        labels = _labels(chunk, labels)[: items.items]
        for fusion in self.fusions:
            Fusion(fusion.learner).learn(items.votes, labels, attributes=items.attributes)

    def learn(self, chunk: Chunk, labels: Any = None) -> None:
        """Let all learners learn the next chunk, and count who was correct.

        Parameters
        ----------
        chunk : Chunk
            The next chunk of the stream.
        labels : array-like, optional
            Labels to use instead of those of the chunk.
        """
        labels = _labels(chunk, labels)
        correct = np.zeros((len(self.fusions), chunk.items), np.bool_)
        spent = np.zeros(len(self.fusions))
        for i, fusion in enumerate(self.fusions):
            begun = time.process_time()
            own = fusion.read(chunk.votes, labels, attributes=chunk.attributes)
            predictions = fusion.learn_batch(own)
            spent[i] = time.process_time() - begun
            correct[i] = predictions.codes == own.labels
        self.count(chunk, correct, spent, labels)

    def count(self, chunk: Chunk, correct: Any, seconds: Any, labels: Any = None) -> None:
        """Count the next chunk, which the learners have learned elsewhere.

        Parameters
        ----------
        chunk : Chunk
            The next chunk of the stream.
        correct : ndarray of bool of shape (n_learners, n_items)
            Which predictions of each learner were correct.
        seconds : ndarray of shape (n_learners,)
            The processor time of each learner.
        labels : array-like, optional
            Labels to use instead of those of the chunk.
        """
        batch = self._read(chunk, _labels(chunk, labels))
        self._panel.classes.extend(batch.new_classes)
        self._panel.experts.extend(batch.new_experts)
        self.seconds += seconds
        truth = batch.labels
        self.unlabelled += int((truth < 0).sum())
        self.novel += int((truth >= batch.known).sum())
        # sessions may use different codes, so their predictions are written in those of the panel
        predicted = np.where(correct, truth, -1).astype(np.int32)
        self.history.add(voted_classes(batch), truth, batch.known, predicted, batch.classes_seen)

    def _read(self, chunk: Chunk, labels: Any) -> Batch:
        """Encode the votes with the classes and experts of all chunks so far."""
        needs = frozenset() if chunk.votes is None else frozenset({"votes"})
        return inputs.read(chunk.votes, labels, None, self._panel, needs=needs)

    def results(self) -> list[ComparisonResult]:
        """Return the results of all learners, the plurality and the best expert, the most accurate first."""
        counts, half = self.history.counts, self.history.counts.since(self._middle())
        columns: list[tuple[int, str, str]] = [(i, name, "") for i, name in enumerate(self.names)]
        if counts.trials:
            columns += self._panel_columns()
        results = [
            ComparisonResult(
                name, detail, _mistakes(counts, column),
                _fraction(_correct(counts, column), _trials(counts, column)),
                _fraction(_correct(half, column), _trials(half, column)),
                1e6 * float(self.seconds[column]) / max(self.items, 1) if column < len(self.names) else None,
                self._gain(column) if column else None, _trials(counts, column),
            )
            for column, name, detail in columns
        ]  # fmt: skip
        return sorted(results, key=lambda result: -result.accuracy)

    def _panel_columns(self) -> list[tuple[int, str, str]]:
        """Return the columns of the plurality and of the best expert where it votes, if anybody votes."""
        counts = self.history.counts
        best = counts.best_where_it_votes(MIN_COVERAGE)
        if best is None:
            return []
        name = str(self._panel.experts.names[best])
        return [(counts.plurality, "plurality", ""), (counts.first_expert + best, "best expert", name)]

    def _gain(self, column: int) -> Gain:
        counts = self.history.counts
        correct, both = _correct(counts, column), float(counts.both_correct[column])
        first = int(counts.correct[0])
        if column == counts.plurality:
            both = float(counts.shared[1])
        elif column > counts.plurality:
            first = int(counts.heard[column - counts.first_expert])
        return gain(_trials(counts, column), max(correct - both, 0.0), max(first - both, 0.0))

    def _middle(self) -> MistakeCounts:
        """Return the counts of the snapshot nearest to the middle of the stream."""
        start = (0, MistakeCounts(len(self.names)))
        return min([start, *self.history.snapshots], key=lambda snapshot: abs(2 * snapshot[0] - self.items))[
            1
        ]

    def curves(self) -> tuple[list[int], dict[str, list[int]]]:
        """Return numbers of items, and the mistakes of everyone in `results` by then."""
        snapshots = self.history.with_end()
        columns = [(i, name) for i, name in enumerate(self.names)]
        columns += [(column, name) for column, name, _ in self._panel_columns()]
        curves = {name: [_mistakes(counts, column) for _, counts in snapshots] for column, name in columns}
        return [items for items, _ in snapshots], curves


def _labels(chunk: Chunk, labels: Any) -> Any:
    labels = chunk.labels if labels is None else labels
    return np.full(chunk.items, None, object) if labels is None else labels


def _correct(counts: MistakeCounts, column: int) -> float:
    """Return the correct predictions of a column; the plurality shares ties."""
    return float(counts.shared[0] if column == counts.plurality else counts.correct[column])


def _trials(counts: MistakeCounts, column: int) -> int:
    """Return the trials on which a column is judged: those on which an expert votes, otherwise all."""
    expert = column - counts.first_expert
    return counts.trials if expert < 0 else int(counts.voted[expert]) if expert < len(counts.voted) else 0


def _mistakes(counts: MistakeCounts, column: int) -> int:
    return round(_trials(counts, column) - _correct(counts, column)) if column < len(counts.correct) else 0


def _fraction(part: Any, whole: int) -> float:
    return float(part) / whole if whole else float("nan")
