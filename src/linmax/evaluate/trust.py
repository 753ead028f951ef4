"""Whom a fusion has learned to trust: one figure per expert, whatever sources its votes go through."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import ballots
from linmax.evaluate.progress import picks
from linmax.fusion import Fusion
from linmax.techniques.head import Head
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
