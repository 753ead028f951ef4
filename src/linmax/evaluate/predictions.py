"""Predictions for the chunks of a stream, without learning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.decisions.answers import answers_of, doubts_of
from linmax.evaluate.margins import margins
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard, decode_classes

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk, PredictionWriter

SCORE_CELLS = 1 << 22
"""Scores in memory at once."""
MAX_PROBABILITIES = 1000
"""With more classes, no probabilities are written."""


class PredictedChunk(NamedTuple):
    """Predictions for some items.

    Attributes
    ----------
    chunk : Chunk
        The items.
    guesses : ndarray of shape (n_items,)
        The predicted classes.
    margins : ndarray of shape (n_items,)
        How far each prediction leads the runner-up; NaN with fewer than two classes.
    experts : list
        The experts that have a column or, where there are no columns, a vote.
    probabilities : ndarray of shape (n_items, n_classes)
        The probability of each known class, as from `Fusion.predict_proba`.
    answers : ndarray of shape (n_items,) or None
        The predictions that are answers under an error limit, and None where there is none.
    sets : list of list or None
        The set of classes of each item, as from `Fusion.predict_set`.
    """

    chunk: Chunk
    guesses: NDArray[Any]
    margins: NDArray[np.float64]
    experts: list[Any]
    probabilities: NDArray[np.float64]
    answers: NDArray[Any] | None
    sets: list[list[Any]] | None

    def count_hits(self) -> tuple[int, int]:
        """Return the number of labels, and of those that were predicted."""
        labels = self.chunk.labels
        if labels is None:
            return 0, 0
        known = np.array([label is not None for label in labels.tolist()], bool)
        hits = np.array(self.guesses, object) == np.array(labels, object)
        return int(known.sum()), int((hits & known).sum())

    def unknown_labels(self, classes: Collection[Any]) -> Counter[Any]:
        """Return the labels that name none of the classes of a model, and how often each occurs.

        Parameters
        ----------
        classes : collection
            The classes of the model.
        """
        found = Counter([] if self.chunk.labels is None else self.chunk.labels.tolist())
        return Counter({name: n for name, n in found.items() if name is not None and name not in classes})


def predict_chunks(
    fusion: Fusion, chunk: Chunk, *, max_error: float | None = None, coverage: float | None = None
) -> Iterator[PredictedChunk]:
    """Predict a chunk with the present weights, in parts whose scores fit into memory; nothing is learned.

    Parameters
    ----------
    fusion : Fusion
        The session.
    chunk : Chunk
        The items.
    max_error : float, optional
        The allowed share of wrong answers, at a confidence of 95 %; there are no answers without it.
    coverage : float, optional
        The share of sets that have the label; there are no sets without it.

    Yields
    ------
    predicted : PredictedChunk
        A part of the chunk with its predictions.

    Examples
    --------
    >>> import io
    >>> from linmax import Fusion, Winnow
    >>> from linmax.streams import open_stream
    >>> (chunk,) = open_stream(io.BytesIO(b"ann,bob\\nham,ham\\nham,eggs\\n"), label="")
    >>> fusion = Fusion(Winnow(1.5), classes=["spam", "ham"])
    >>> for part in predict_chunks(fusion, chunk):
    ...     print(part.guesses, part.margins, part.experts)
    ['ham' 'ham'] [0.66666667 0.        ] ['ann', 'bob']
    """
    rows = max(1, SCORE_CELLS // max(1, len(fusion.classes)))
    for begin in range(0, chunk.items, rows):
        part = chunk.slice(begin, begin + rows)
        batch = fusion.read(part.votes, attributes=part.attributes, new_experts="ignore")
        _check_attributes(fusion, batch.left_out.attributes)
        predicted = fusion.predict_batch(batch, scores=True, probabilities=True)
        guesses = decode_classes(predicted.codes, fusion.names.classes, batch.unknown_classes)
        p, answers, sets = predicted.probabilities, None, None
        if p.shape[1] > len(fusion.classes):  # votes name classes that have no column
            p = fusion.decisions.probabilities(predicted.scores[:, : len(fusion.classes)])
        if max_error is not None:
            threshold = fusion.answer_threshold(max_error)
            doubts = doubts_of(predicted.probabilities, predicted.codes)
            answers = answers_or_none(guesses, answers_of(doubts, threshold))
        if coverage is not None:
            sets = fusion.named_sets(batch, predicted, coverage)
        yield PredictedChunk(
            part, guesses, margins(predicted.scores, batch.known, predicted.codes),
            _voting_experts(fusion, part, batch), p, answers, sets,
        )  # fmt: skip


def _check_attributes(fusion: Fusion, unknown: list[Any]) -> None:
    """Refuse numbers in a column whose text the session has learned; they would not count."""
    pairs = [name for name in fusion.names.attributes.names if isinstance(name, tuple)] if unknown else []
    columns = {name[0] for name in pairs}
    for name in unknown:
        if name in columns:
            raise ValueError(
                f"the attribute {name!r} has been text so far, and has numbers or truth values here; write it"
                " as in the file that the model learned"
            )


def write_part(writer: PredictionWriter, part: PredictedChunk, fusion: Fusion) -> None:
    """Write predictions, with a column for the probability of each class unless there are too many.

    Parameters
    ----------
    writer : PredictionWriter
        The file.
    part : PredictedChunk
        The predictions.
    fusion : Fusion
        The session that has made them.
    """
    columns = {} if len(fusion.classes) > MAX_PROBABILITIES else dict(enumerate(fusion.classes))
    probabilities = {str(name): part.probabilities[:, i] for i, name in columns.items()}
    writer.write(
        part.chunk, part.guesses, part.margins, part.chunk.labels, probabilities, part.answers, part.sets
    )


def answers_or_none(guesses: NDArray[Any], answered: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the predictions that are answers, and None for the others.

    Parameters
    ----------
    guesses : ndarray of shape (n_items,)
        The predictions.
    answered : ndarray of bool, shape (n_items,)
        Which of them are answers.

    Examples
    --------
    >>> answers_or_none(np.array(["ham", "spam"]), np.array([True, False])).tolist()
    ['ham', None]
    """
    answers = guesses.astype(object)
    answers[~answered] = None
    return answers


def _voting_experts(fusion: Fusion, chunk: Chunk, batch: Batch) -> list[Any]:
    """Return the experts that have a column or, where there are no columns, a vote."""
    votes = batch.votes
    if hasattr(chunk.votes, "column_names"):  # an Arrow table
        return list(chunk.votes.column_names)
    if votes is None:
        return []
    if isinstance(votes, Hard):
        codes = np.flatnonzero((votes.codes >= 0).any(axis=0))
    elif isinstance(votes, Dense):
        codes = np.flatnonzero(votes.values.any(axis=(0, 2)))
    else:
        codes = np.unique(votes.expert)
    names = [*fusion.names.experts.names, *batch.new_experts]
    return [names[code] for code in codes.tolist()]
