"""The recorded answers of experts: labels or scores of all experts of a session, by item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.fusion import Fusion
from linmax.inputs.names import to_label
from linmax.kernels.forms import Hard, Sparse

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class RecordedVotes(NamedTuple):
    """Items with the answers of all experts of a session.

    Attributes
    ----------
    votes : ndarray of int, shape (n_items, n_experts)
        The code of the class that each expert votes for; -1 abstains. Of scores, the class with the largest.
    available : ndarray of bool, shape (n_items, n_experts)
        Which experts can be asked.
    labels : ndarray of int, shape (n_items,)
        The codes of the labels; -1 if there is none.
    scores : ndarray of shape (n_items, n_experts, n_classes) or None
        The scores, if experts answer with scores.
    attributes : pyarrow.Table, list of dict, or None
        The attributes, if the learner reads them.
    new_labels : int
        How many labels name classes that the session does not know; they are not counted. Votes for such
        classes abstain.
    """

    votes: Ints
    available: NDArray[np.bool_]
    labels: Ints
    scores: Floats | None = None
    attributes: Any = None
    new_labels: int = 0


def recorded_votes(fusion: Fusion, chunk: Chunk) -> RecordedVotes:
    """Return the votes of a chunk by the experts of a session.

    In a table with a column per expert, an empty cell is an abstention; in a list of votes, experts without a
    vote cannot be asked.

    Parameters
    ----------
    fusion : Fusion
        The session.
    chunk : Chunk
        The items.
    """
    attributes = chunk.attributes if fusion.needs - {"votes"} else None
    batch = fusion.read(chunk.votes, attributes=attributes, new_experts="ignore")
    n, k = len(fusion.experts), len(fusion.classes)
    votes, scores = np.full((chunk.items, n), -1, dtype=np.int64), None
    given = batch.votes
    if isinstance(given, Hard):
        votes[:, : given.codes.shape[1]] = given.codes[:, :n]
    elif isinstance(given, Sparse) and bool((given.value == 1.0).all()):
        item = np.repeat(np.arange(chunk.items), np.diff(given.indptr))
        votes[item, given.expert] = given.label
    else:
        scores = _dense(given, chunk.items, n, k)
        votes = np.where(scores.any(axis=2), scores.argmax(axis=2), -1)
    votes[votes >= k] = -1  # classes that the session does not know
    available = votes >= 0
    if hasattr(chunk.votes, "column_names"):  # an Arrow table
        available[:] = [name in set(chunk.votes.column_names) for name in fusion.experts]
    labels = np.full(chunk.items, -1, dtype=np.int64)
    new_labels = 0
    if chunk.labels is not None:
        labels[:] = [
            -1 if label is None else fusion.names.classes.get(to_label(label, "labels"))
            for label in chunk.labels.tolist()
        ]
        new_labels = sum(label is not None for label in chunk.labels.tolist()) - int((labels >= 0).sum())
    return RecordedVotes(votes, available, labels, scores, attributes, new_labels)


def join_recorded(parts: Sequence[RecordedVotes], classes: int) -> RecordedVotes:
    """Return the items of several chunks as one; if some have scores, votes of others become scores of 1.

    Parameters
    ----------
    parts : sequence of RecordedVotes
        The chunks.
    classes : int
        The number of classes.
    """
    votes, available, labels = (np.concatenate([part[i] for part in parts]) for i in range(3))
    scores = attributes = None
    if any(part.scores is not None for part in parts):
        scores = np.concatenate(
            [
                part.votes[:, :, None] == np.arange(classes) if part.scores is None else part.scores
                for part in parts
            ]
        ).astype(np.float64)
    if hasattr(parts[0].attributes, "column_names"):
        import pyarrow as pa

        attributes = pa.concat_tables([part.attributes for part in parts])
    elif parts[0].attributes is not None:
        attributes = [row for part in parts for row in part.attributes]
    new_labels = sum(part.new_labels for part in parts)
    return RecordedVotes(votes, available, labels, scores, attributes, new_labels)


def _dense(given: Any, items: int, n: int, k: int) -> Floats:
    """Return scores as an array of items by experts by classes."""
    scores = np.zeros((items, n, k))
    if isinstance(given, Sparse):
        item = np.repeat(np.arange(items), np.diff(given.indptr))
        kept = (given.label >= 0) & (given.label < k)
        scores[item[kept], given.expert[kept], given.label[kept]] = given.value[kept]
    else:
        values = given.values[:, :n, :k]
        scores[:, : values.shape[1], : values.shape[2]] = values
    return scores
