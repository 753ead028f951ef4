"""`Audit`: everything that is counted and kept while a session learns a stream."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.decisions.conformal import named_sets
from linmax.evaluate.audit.counts import CountHistory, MistakeCounts
from linmax.evaluate.audit.sample import (
    CONFIDENT_MISTAKE,
    SAMPLE_SIZE,
    SAMPLED,
    UNCERTAIN,
    ItemRecord,
    Marks,
    Sample,
    SampleRows,
    SelectionThresholds,
    TopK,
    select_rows,
)
from linmax.evaluate.calibration import CalibrationCounts
from linmax.evaluate.experts import expert_contributions, vote_weights
from linmax.evaluate.findings.decisions import AnswerCounts
from linmax.evaluate.findings.verdict import MIN_COVERAGE
from linmax.evaluate.losses import ProbabilityLosses
from linmax.evaluate.margins import margins
from linmax.evaluate.metrics import ClassCounts
from linmax.evaluate.predictions import answers_or_none
from linmax.evaluate.progressive import voted_classes
from linmax.fusion import Fusion
from linmax.inputs import Batch, Hard, NameIndex, UnknownClasses, decode_classes
from linmax.runtime import concurrency
from linmax.runtime.predictor import Predictions

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

Floats = NDArray[np.float64]

MODELS = 3
"""The columns of an audit's counts before the plurality: linmax, the most frequent class, the last label."""
TOP_ITEMS = 20
"""The number of items in each top-k list."""
BACKGROUND_TRIALS = 4096
"""Batches with more trials than this are counted in the background."""
RECENT_ROWS = 2000
"""The rows of the sample on which the contribution of each expert is measured during a run."""
FIRST_CHECK = 32
"""The number of items at which trust is measured first."""
TRUST_CHECKS = sorted(
    {FIRST_CHECK << j for j in range(5)} | {round(FIRST_CHECK * 2 ** (5 + j / 2)) for j in range(80)}
)
"""The numbers of items at which trust is measured: at every doubling, later twice as often."""


class Milestone(NamedTuple):
    """Mistakes after 1, 2, 4, 8, ... items.

    Attributes
    ----------
    items : int
        Items so far.
    guess, truth : object
        The prediction and the label of the last of them.
    linmax : int
        Mistakes so far.
    plurality : int
        Mistakes of the plurality so far. A tie of m classes counts as 1 - 1/m of a mistake; the sum is
        rounded.
    best : int
        Mistakes of the expert that is most accurate so far where it votes; abstentions do not count.
    """

    items: int
    guess: Any
    truth: Any
    linmax: int
    plurality: int
    best: int


@dataclass(frozen=True, eq=False)
class LearnedChunk:
    """A chunk of a stream that was learned.

    Attributes
    ----------
    chunk : Chunk
        The chunk.
    codes : ndarray of shape (n_items,)
        The predictions, as class codes.
    answered : ndarray of shape (n_items,) or None
        Which predictions are answers under the error limit of the audit; None if there is none.
    """

    chunk: Chunk
    codes: NDArray[np.int32]
    answered: NDArray[np.bool_] | None
    _sets: Callable[[], NDArray[np.bool_]]
    _probabilities: Floats
    _margins: Floats
    _classes: NameIndex
    _unknown_classes: UnknownClasses
    _wait: Callable[[], None]

    @cached_property
    def guesses(self) -> NDArray[Any]:
        """The predicted classes, decoded on first access."""
        return decode_classes(self.codes, self._classes, self._unknown_classes)

    @property
    def answers(self) -> NDArray[Any] | None:
        """The predictions that are answers, and None for the others; None if there is no error limit."""
        return None if self.answered is None else answers_or_none(self.guesses, self.answered)

    @property
    def sets(self) -> list[list[Any]]:
        """The set of classes of each item for the coverage that the session watches."""
        return named_sets(self._probabilities, self._sets(), self._classes.names)

    @cached_property
    def margins(self) -> Floats:
        """How far each prediction led the runner-up; waits until the chunk is counted."""
        self._wait()
        return self._margins


class Audit:
    """Mistakes, curves, confusions and notable items of a stream, in memory that does not grow with it.

    Parameters
    ----------
    sample : int
        The largest number of rows in the sample.

    Attributes
    ----------
    items, unlabelled, novel : int
        Items so far, those without a label, and those whose label was not a known class.
    history : CountHistory
        Correct predictions of linmax, the most frequent class so far, the last label, the plurality and the
        experts, with snapshots.
    class_counts : ClassCounts
        Labels and predictions by class.
    calibration : CalibrationCounts
        Confidence and accuracy of linmax and the plurality.
    compared_from : MistakeCounts
        The counts from which on the baselines were counted: empty, unless the run was resumed from a
        checkpoint of version 0.1.
    losses : ProbabilityLosses
        Losses of the experts that vote with probabilities.
    milestones : list of Milestone
        Mistakes at 1, 2, 4, 8, ... items.
    confusion : Counter
        The number of trials of each pair of codes (truth, prediction).
    sample : Sample
        An even sample of the labelled rows.
    hardest : TopK
        Mistakes with the largest margins.
    uncertain : TopK
        Items without a label with the smallest margins.
    answers : AnswerCounts or None
        Answers under an error limit, if one was given.
    trust : list of (int, list of float)
        The contribution of each expert after so many items.

    Examples
    --------
    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> rows = b"ham,spam,spam\\nham,ham,ham\\n" * 4
    >>> fusion, audit = Fusion(Winnow(1.5)), Audit()
    >>> for chunk in open_stream(io.BytesIO(b"ann,bob,truth\\n" + rows), label="truth"):
    ...     learned = audit.learn(fusion, chunk)
    >>> audit.items, audit.counts.trials, audit.counts.correct.tolist()
    (8, 8, [7, 3, 0, 4, 4, 8])
    >>> audit.milestones[-1]
    Milestone(items=8, guess='ham', truth='ham', linmax=1, plurality=2, best=0)
    """

    def __init__(self, sample: int = SAMPLE_SIZE) -> None:
        self.items = self.unlabelled = self.novel = 0
        self.history, self.losses = CountHistory(MODELS), ProbabilityLosses()
        self.class_counts, self.calibration = ClassCounts(), CalibrationCounts()
        self.compared_from = MistakeCounts(MODELS)
        self.milestones: list[Milestone] = []
        self.confusion: Counter[tuple[int, int]] = Counter()
        self.sample = Sample(sample)
        self.hardest, self.uncertain = TopK(TOP_ITEMS), TopK(TOP_ITEMS)
        self.trust: list[tuple[int, list[float]]] = []
        self.answers: AnswerCounts | None = None
        self._background = concurrency.BackgroundTask()

    @property
    def counts(self) -> MistakeCounts:
        """The counts so far."""
        return self.history.counts

    def learn(self, fusion: Fusion, chunk: Chunk, batch: Batch | None = None) -> LearnedChunk:
        """Let a session learn the next chunk of the stream, and count who was correct.

        Large chunks are counted in the background, while the next one is learned; `wait` waits for that.

        Parameters
        ----------
        fusion : Fusion
            The session, the same for all chunks.
        chunk : Chunk
            The next chunk.
        batch : Batch, optional
            What `fusion.read` makes of the chunk, if that is known already.

        Returns
        -------
        learned : LearnedChunk
            The predictions.
        """
        if batch is None:
            labels = np.full(chunk.items, None, object) if chunk.raw_labels is None else chunk.raw_labels
            batch = fusion.read(chunk.votes, labels, attributes=chunk.attributes)
        if self.answers is not None and (self.items in TRUST_CHECKS or self._is_continued(fusion)):
            self.answers.renew(fusion)
        seen, levels = fusion.decisions.seen, fusion.decisions.arrays.levels.copy()
        found = fusion.learn_batch(batch, scores=True, probabilities=True)
        answered = None if self.answers is None else self.answers.add(batch, found, seen, fusion.alarms)
        guess = found.codes
        begin, self.items = self.items, self.items + batch.trials
        margin = np.empty(batch.trials)
        rows = SampleRows(
            np.arange(begin, self.items), batch.labels, guess, margin, voted_classes(batch), chunk
        )
        decoder = _ClassDecoder(fusion, batch)
        weights = vote_weights(fusion) if trust_checks(begin, self.items) else None
        if batch.trials > BACKGROUND_TRIALS and concurrency.thread_count() > 1:
            self._background.submit(self._count, rows, batch, found, decoder, weights)
        else:
            self.wait()
            self._count(rows, batch, found, decoder, weights)
        sets = partial(fusion.decisions.sets_while_learning, found.probabilities, batch, levels)
        return LearnedChunk(
            chunk, guess, answered, sets, found.probabilities, margin, fusion.names.classes,
            batch.unknown_classes, self.wait,
        )  # fmt: skip

    def _is_continued(self, fusion: Fusion) -> bool:
        """Whether the session has learned before the first item of this run."""
        return self.items == 0 and fusion.trials > 0

    def wait(self) -> None:
        """Wait until everything that was learned is counted."""
        self._background.wait()

    def _count(
        self,
        rows: SampleRows,
        batch: Batch,
        found: Predictions,
        decoder: _ClassDecoder,
        weights: Floats | None,
    ) -> None:
        """Count a batch and keep some of its rows; `weights` are those of the votes if trust is measured."""
        truth, guess = rows.truth, rows.guess
        margins(found.scores, batch.known, found.codes, rows.margin)
        begin = self.history.items
        marks = np.empty(batch.trials, np.uint8)
        thresholds = SelectionThresholds(self.sample.limit, self.hardest.threshold, self.uncertain.threshold)
        selection = select_rows(begin, batch, guess, rows.margin, thresholds, marks)

        def add_milestone(items: int) -> None:
            if items & (items - 1) == 0:
                t = items - begin - 1
                self._add_milestone(items, decoder(t, guess), decoder(t, truth))

        baselines = self.class_counts.add(rows.votes, truth, batch.known, guess, decoder.classes)
        self.calibration.add(found.probabilities, rows.votes, truth, batch.known, guess)
        end = begin + batch.trials
        powers = (1 << i for i in range(begin.bit_length(), end.bit_length()))
        self.history.add(
            rows.votes, truth, batch.known, np.vstack((guess, baselines)), batch.classes_seen,
            stops=powers, on_stop=add_milestone,
        )  # fmt: skip
        self.unlabelled += selection.unlabelled
        self.novel += selection.novel
        for pair, count in selection.pairs:
            self.confusion[pair] += count
        if not isinstance(batch.votes, Hard):
            self.losses.add(batch, (truth >= 0) & (truth < batch.known))
        self._keep(rows, marks, decoder)
        if weights is not None:
            votes, labels = self.sample.latest(RECENT_ROWS)
            if len(labels):
                self.trust.append((end, expert_contributions(weights, votes, labels)))

    def _add_milestone(self, items: int, guess: Any, truth: Any) -> None:
        counts = self.counts.since(self.compared_from)
        # in the part of a run that version 0.1 has counted, ties of the plurality went to the first class
        plurality = self.compared_from.mistakes[MODELS] + counts.trials - counts.shared[0]
        expert = self.counts.best_where_it_votes(MIN_COVERAGE)
        best = self.counts.trials if expert is None else int(self.counts.expert_mistakes[expert])
        self.milestones.append(
            Milestone(items, guess, truth, int(self.counts.mistakes[0]), round(float(plurality)), best)
        )

    def _keep(self, rows: SampleRows, marks: Marks, decoder: _ClassDecoder) -> None:
        """Add the marked rows to the sample and to the lists of notable items."""
        sampled = np.flatnonzero(marks & SAMPLED)
        if len(sampled):
            self.sample.add(rows.take(sampled))
        for top, mark in ((self.hardest, CONFIDENT_MISTAKE), (self.uncertain, UNCERTAIN)):
            at = np.flatnonzero(marks & mark)
            lead = np.nan_to_num(rows.margin[at], nan=0.0)
            measure = lead if mark == CONFIDENT_MISTAKE else -np.abs(lead)
            for j in np.argsort(-measure, kind="stable")[:TOP_ITEMS].tolist():
                if measure[j] > top.threshold:
                    top.push(float(measure[j]), _item_record(rows, int(at[j]), decoder))


def trust_checks(begin: int, end: int) -> list[int]:
    """Return the numbers of items in (begin, end] at which trust is measured.

    Chunks should end there, so that an audit does not depend on how a stream is cut into chunks.

    Parameters
    ----------
    begin, end : int
        Numbers of items.

    Examples
    --------
    >>> trust_checks(0, 200)
    [32, 64, 128]
    """
    return TRUST_CHECKS[bisect_left(TRUST_CHECKS, begin + 1) : bisect_left(TRUST_CHECKS, end + 1)]


class _ClassDecoder:
    """Decode single class codes of a batch."""

    def __init__(self, fusion: Fusion, batch: Batch) -> None:
        self.classes, self.unknown_classes = fusion.classes, batch.unknown_classes

    def __call__(self, t: int, codes: NDArray[Any]) -> Any:
        code = int(codes[t])
        if code < 0:
            return None
        return self.classes[code] if code < len(self.classes) else self.unknown_classes.name(t, code)


def _item_record(rows: SampleRows, t: int, decoder: _ClassDecoder) -> ItemRecord:
    chunk = rows.chunk
    return ItemRecord(
        int(rows.row[t]), int(chunk.lines[t]), None if chunk.ids is None else chunk.ids[t],
        decoder(t, rows.guess), decoder(t, rows.truth),
        float(np.nan_to_num(rows.margin[t])), chunk.vote_dict(t),
    )  # fmt: skip
