"""Whom a fusion has learned to trust: one figure per expert, whatever sources its votes go through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import inputs as ballots
from linmax.evaluate.progressive import picks
from linmax.evaluate.sample import Rows
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard, Sparse
from linmax.runtime.predictor import Head
from linmax.techniques.mixture import OfScores

CELLS = 1 << 25  # of a table in memory


class Trust(NamedTuple):
    """What a fusion makes of an expert, over some items whose labels are known."""

    expert: Any
    accuracy: float  # of its votes, when it speaks
    speaks: float  # on this part of the items
    pull: float  # how far its votes draw the score of the truth above the mean of all classes
    means: dict[Any, Any]  # what it says, and the class that this counts for most


def trust(fusion: Fusion, votes: Any, labels: Any) -> list[Trust]:
    """Every expert as the weights of now read it on labelled items, the strongest pull to the truth first.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import PerClass, Votes
    >>> from linmax.evaluate import trust
    >>> votes = [["yes", "no"], ["no", "no"], ["yes", "no"], ["no", "no"]]  # ann says the opposite
    >>> labels = ["no", "yes", "no", "yes"]
    >>> fusion = Fusion(Perceptron().on(Votes() + PerClass()), experts=["ann", "bob"])
    >>> run = fusion.learn(votes, labels, passes=3)
    >>> first, second = trust(fusion, votes, labels)
    >>> first.expert, first.accuracy, first.means
    ('ann', 0.0, {'yes': 'no', 'no': 'yes'})
    >>> second.expert, second.pull
    ('bob', 0.0)
    """
    batch = ballots.read(
        votes, labels, None, fusion.names,
        needs=frozenset({"votes"}), on_new_class="ignore", abstain=fusion.abstain,
    )  # fmt: skip
    labelled = batch.labels >= 0
    return trusted(fusion, picks(batch)[labelled], batch.labels[labelled])


def trusted(fusion: Fusion, said: NDArray[np.int32], truth: NDArray[np.int32]) -> list[Trust]:
    """The same for votes in codes, a column per expert, and the codes of the labels."""
    found = []
    table = readings(fusion)
    for i, expert in enumerate(fusion.experts[: said.shape[1]]):
        there = said[:, i] >= 0
        says, truths = said[there, i], truth[there]
        found.append(
            Trust(
                expert,
                float((says == truths).mean()) if len(says) else 0.0,
                float(there.mean()) if len(there) else 0.0,
                _pull(table[i], says, truths, len(there)) if len(table) else 0.0,
                {fusion.classes[a]: fusion.classes[int(table[i][a].argmax())] for a in np.unique(says)}
                if len(table)
                else {},
            )
        )
    return sorted(found, key=lambda one: -one.pull)


def pulls(table: NDArray[np.float64], said: NDArray[np.int32], truth: NDArray[np.int32]) -> list[float]:
    """How far each expert draws the score of the truth above the mean of all classes, by their `readings`."""
    return [
        _pull(reading, said[said[:, i] >= 0, i], truth[said[:, i] >= 0], len(said))
        for i, reading in enumerate(table[: said.shape[1]])
    ]


def _pull(
    reading: NDArray[np.float64], says: NDArray[np.int32], truths: NDArray[np.int32], trials: int
) -> float:
    lead = reading[says, truths] - reading.mean(axis=1)[says]
    return float(lead.sum()) / max(trials, 1)


def readings(fusion: Fusion) -> NDArray[np.float64]:
    """What expert i adds to class c when it says a, at [i, a, c]: its own weight and those by class.

    Nothing, where there are so many classes that the table would not fit.
    """
    seats = {expert: i for i, expert in enumerate(fusion.experts)}
    codes = {label: c for c, label in enumerate(fusion.classes)}
    k = len(codes)
    if len(seats) * k * k > CELLS:
        return np.zeros((0, k, k))
    reading = np.zeros((len(seats), k, k))
    for part, weights in _weights(fusion._council.head):
        for key, weight in weights.items():
            match key:
                case _ if key in seats:
                    reading[seats[key]] += part * weight * np.eye(k)
                case (expert, says) if expert in seats and says in codes:
                    reading[seats[expert], codes[says], codes[says]] += part * weight
                case (expert, says, means) if expert in seats and says in codes and means in codes:
                    reading[seats[expert], codes[says], codes[means]] += part * weight
    return reading


def _weights(head: Head) -> list[tuple[float, dict[Any, float]]]:
    """The weights of who decides or, where scores of members are combined, of the members by their parts."""
    parts: dict[Head, float] = {}
    _gather(head, 1.0, parts)
    return [(part, one.weights()) for one, part in parts.items()]


def _gather(head: Head, part: float, parts: dict[Head, float]) -> None:
    if isinstance(head, OfScores):
        for member, share in head.shares():
            _gather(member, part * share, parts)
    else:
        parts[head] = parts.get(head, 0.0) + part


TRIALS = 40_000  # of all these runs together
LEAST_ITEMS = 50  # items, below which it tells nothing


class Without(NamedTuple):
    """What happens on some items when an expert is left out."""

    expert: Any
    accuracy: float
    costs: float  # accuracy that is lost


def without_each(
    fusion: Fusion,
    rows: Rows,
    *,
    trials: int = TRIALS,
    told: Callable[[int, int], None] = lambda done, of: None,
) -> tuple[int, list[Without]]:
    """How many items were looked at, and what each expert's absence costs on them, the dearest first.

    A new session of the same learner goes over the first items of the sample with everybody, and then once
    without each; with many experts over fewer items, so that `trials` are run in all.

    >>> import io
    >>> from linmax import Winnow
    >>> from linmax.evaluate.audit import Audit
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,eve,truth\\n" + b"a,b,a,b\\nb,a,b,a\\na,a,b,a\\nb,b,a,b\\n" * 30
    >>> fusion, audit = Fusion(Winnow(1.5)), Audit()
    >>> for piece in open_stream(io.BytesIO(text)):
    ...     outcome = audit.learn(fusion, piece)
    >>> items, found = without_each(fusion, audit.sample.rows())
    >>> items, found[0].expert, found[0].costs > 0.3
    (120, 'bob', True)
    """
    experts = fusion.experts
    items = min(len(rows.row), trials // (len(experts) + 1))
    if items < LEAST_ITEMS or len(experts) < 2:
        return 0, []
    piece, labels = rows.piece.part(0, items), named(fusion, rows.truth[:items])
    fresh = _afresh(fusion)
    batch = fresh.read(piece.votes, labels, attributes=piece.attributes)
    whole = _right(fresh, batch)
    found = []
    for i, expert in enumerate(experts):
        told(i, len(experts))
        right = _right(_afresh(fusion), replace(batch, votes=silenced(batch.votes, i)))
        found.append(Without(expert, right, whole - right))
    return items, sorted(found, key=lambda one: -one.costs)


def _afresh(fusion: Fusion) -> Fusion:
    """A new session that knows all classes and experts from the start."""
    return Fusion(
        fusion.learner,
        classes=fusion.classes,
        experts=fusion.experts,
        abstain=fusion.abstain,
        seed=fusion.seed,
    )


def _right(fusion: Fusion, batch: Batch) -> float:
    return float((fusion.learn_batch(batch).guesses == batch.labels).mean())


def silenced(votes: Any, i: int) -> Any:
    """The same votes, but for those of one expert, who abstains.

    >>> silenced(Hard(np.array([[0, 1], [1, 1]], np.int32)), 1).codes.tolist()
    [[0, -1], [1, -1]]
    """
    if isinstance(votes, Hard):
        codes = votes.codes.copy()
        codes[:, i : i + 1] = -1
        return Hard(codes)
    if isinstance(votes, Dense):
        values = votes.values.copy()
        values[:, i : i + 1] = 0.0
        return Dense(values)
    there = votes.expert != i
    trial = np.repeat(np.arange(len(votes.indptr) - 1), np.diff(votes.indptr))[there]
    starts = np.searchsorted(trial, np.arange(len(votes.indptr)))
    return Sparse(starts, votes.expert[there], votes.label[there], votes.value[there])


def named(fusion: Fusion, codes: NDArray[np.int32]) -> NDArray[Any]:
    """The labels behind codes."""
    return np.array([*fusion.classes, None], object)[codes]


Floats = NDArray[np.float64]

NEAR = 1e-3  # probabilities add up to 1 up to this
LEAST_PROBABILITY = 1e-15  # a class that was held impossible costs -ln of this, not infinity


class Losses:
    """Sums of losses of each expert; one that once gave no probabilities is not rated at all."""

    def __init__(self, table: Floats | None = None) -> None:
        self.table = np.zeros((0, 5)) if table is None else table

    def add(self, batch: Batch, counted: NDArray[np.bool_]) -> None:
        """Rate what was said on some trials whose label was known."""
        if not isinstance(batch.votes, Dense | Sparse):
            return
        more = batch.experts_seen - len(self.table)
        self.table = np.pad(self.table, ((0, max(more, 0)), (0, 0)))
        spoke, fair, hit, squares, shaded = _forecasts(batch.votes, batch)
        rated = spoke & counted[:, None]
        good = rated & fair
        true = np.where(good, hit, 1.0)
        self.table[: spoke.shape[1]] += np.stack(
            (
                good.sum(axis=0),
                np.where(good, squares - 2.0 * hit + 1.0, 0.0).sum(axis=0),  # sum of (p_c - [c = y])^2
                -np.log(np.maximum(true, LEAST_PROBABILITY)).sum(axis=0),
                (rated & ~fair).sum(axis=0),
                (good & shaded).sum(axis=0),
            ),
            axis=1,
        )

    def of(self, i: int) -> tuple[float, float] | None:
        """The mean square loss and log loss of an expert; None if it does not give probabilities."""
        if i >= len(self.table):
            return None
        rated, square, log, unfair, shaded = self.table[i].tolist()
        return (square / rated, log / rated) if rated and not unfair and shaded else None


def _forecasts(votes: Dense | Sparse, batch: Batch) -> tuple[Any, ...]:
    """Of each trial and expert: did it speak, in probabilities, that of the truth, the sum of squares."""
    shape = (batch.trials, batch.experts_seen)
    if isinstance(votes, Dense):
        p = votes.values
        seen = shape[1] - p.shape[1]
        truth = np.clip(batch.labels, 0, max(p.shape[2] - 1, 0))
        hit = np.take_along_axis(p, truth[:, None, None], axis=2)[:, :, 0] if p.shape[2] else p.sum(axis=2)
        total, squares = p.sum(axis=2), (p * p).sum(axis=2)
        least, most = p.min(axis=2, initial=0.0), p.max(axis=2, initial=0.0)
        total, squares, hit, least, most = (
            np.pad(one, ((0, 0), (0, max(seen, 0)))) for one in (total, squares, hit, least, most)
        )
        spoke = most > 0.0
    else:
        trial = np.repeat(np.arange(shape[0]), np.diff(votes.indptr))
        cell = trial * shape[1] + votes.expert
        size = shape[0] * shape[1]
        true = votes.label == batch.labels[trial]

        def summed(weights: Floats) -> Floats:
            return np.bincount(cell, weights, minlength=size).reshape(shape).astype(np.float64)

        total, squares, hit = summed(votes.value), summed(votes.value**2), summed(votes.value * true)
        least, most = np.zeros(size), np.zeros(size)
        np.minimum.at(least, cell, votes.value)
        np.maximum.at(most, cell, votes.value)
        least, most = least.reshape(shape), most.reshape(shape)
        spoke = summed(np.ones(len(cell))) > 0
    return spoke, (abs(total - 1.0) <= NEAR) & (least >= 0.0), hit, squares, most < 1.0
