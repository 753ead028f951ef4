"""The running mean of the leaders' hypotheses, which the paper tried before it added averages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from experiments.fusion import learn
from linmax import Fusion


class Means(NamedTuple):
    """Mistakes of the means, and the leaders."""

    raw: int
    scaled: int  # every hypothesis brought to sum |w| = 1 first
    last: int  # the member with the fewest mistakes in the end
    leaders: int  # members that ever led


def mean_of_leaders(members: Sequence[Any], panel: Any, classes: int) -> Means:
    """Predict with the mean of the leaders' hypotheses at the start of their trials.

    The leader of a trial has made the fewest mistakes before it; the current hypothesis is in the mean.
    Members must move on mistakes only, as those of 2008 do when they are not averaged.
    """
    wrong = np.stack([learn(member, panel, classes=classes).wrong for member in members])
    leader = (np.cumsum(wrong, axis=1) - wrong).argmin(axis=0)
    held = hypotheses(members, panel, classes, wrong, leader)
    sizes = np.abs(held).sum(axis=1, keepdims=True)
    counts = []
    for weights in (held, held / np.where(sizes > 0, sizes, 1.0)):
        sums = np.cumsum(weights, axis=0)  # guess as the mean does, and exact for integers
        counts.append(int((guesses(sums, panel.votes, classes) != panel.labels).sum()))
    return Means(*counts, int(wrong.sum(axis=1).argmin()), len(np.unique(leader)))


def hypotheses(
    members: Sequence[Any], panel: Any, classes: int, wrong: np.ndarray, leader: np.ndarray
) -> np.ndarray:
    """Return the weights of the leader at the start of each trial: experts, then thresholds.

    A first trial that was guessed wrong counts with zeros.
    """
    trials, experts = panel.votes.shape
    names = [*range(experts), *(("threshold", j) for j in range(classes))]
    held = np.zeros((trials, len(names)))
    for member in np.unique(leader):
        fusion, done = Fusion(members[member], classes=range(classes)), 0
        moved = [0, *(np.flatnonzero(wrong[member]) + 1), trials]
        for begin, end in pairwise(moved):
            leads = begin + np.flatnonzero(leader[begin:end] == member)
            if len(leads):
                until = begin or int(end > 1)  # nobody has spoken before the first trial
                if done < until:
                    fusion.learn(panel.votes[done:until], panel.labels[done:until])
                weights, done = fusion.weights, until
                held[leads] = [weights.get(name, 0.0) for name in names]
    return held


def guesses(weights: np.ndarray, votes: np.ndarray, classes: int) -> np.ndarray:
    """Return the class with the highest score of each trial; row t of the weights is for trial t."""
    experts = votes.shape[1]
    scores = weights[:, experts:].copy()
    for j in range(classes):
        scores[:, j] += np.where(votes == j, weights[:, :experts], 0.0).sum(axis=1)
    return np.asarray(scores.argmax(axis=1))
