"""Whom a fusion has learned to trust: one figure per expert, whatever sources its votes go through."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import ballots
from linmax.evaluate import picks
from linmax.fusion import Fusion
from linmax.techniques.head import Head
from linmax.techniques.mixture import OfScores


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
    >>> from linmax.report import trust
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
    said, truth = picks(batch)[labelled], batch.labels[labelled]
    found = []
    for i, (expert, reading) in enumerate(zip(fusion.experts, readings(fusion), strict=True)):
        there = said[:, i] >= 0
        says, truths = said[there, i], truth[there]
        lead = reading - reading.mean(axis=1, keepdims=True)
        found.append(
            Trust(
                expert,
                float((says == truths).mean()) if len(says) else 0.0,
                float(there.mean()) if len(there) else 0.0,
                float(lead[says, truths].sum()) / max(len(there), 1),
                {fusion.classes[a]: fusion.classes[int(reading[a].argmax())] for a in np.unique(says)},
            )
        )
    return sorted(found, key=lambda one: -one.pull)


def readings(fusion: Fusion) -> NDArray[np.float64]:
    """What expert i adds to class c when it says a, at [i, a, c]: its own weight and those by class."""
    seats = {expert: i for i, expert in enumerate(fusion.experts)}
    codes = {label: c for c, label in enumerate(fusion.classes)}
    k = len(codes)
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
    if isinstance(head, OfScores):
        return [(part * p, w) for member, part in head.shares() for p, w in _weights(member)]
    return [(1.0, head.weights())]
