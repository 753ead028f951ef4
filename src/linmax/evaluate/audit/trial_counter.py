"""`TrialCounter`: counts correct predictions, plurality and abstentions, the loop behind `MistakeCounts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linmax._jit.compilation import CompiledKernel, inline

if TYPE_CHECKING:
    from linmax.evaluate.audit.counts import MistakeCounts

Codes = NDArray[np.int32]


class TrialCounter:
    """Adds trials to counts, part by part; what all parts have in common is prepared once.

    Parameters
    ----------
    counts : MistakeCounts
        Where to add the trials.
    votes, truth, known, predictions, classes
        As for `MistakeCounts.add`.

    Attributes
    ----------
    winners : ndarray of shape (n_trials,)
        The class with the most votes on each trial, once it is counted; -1 where a trial does not count.

    Examples
    --------
    >>> from linmax.evaluate.audit.counts import MistakeCounts
    >>> truth, known = np.array([0, 1, 1], np.int32), np.array([2, 2, 2], np.int32)
    >>> votes = np.array([[0, 1, 1], [1, 1, -1], [1, 0, 0]], np.int32)
    >>> counts = MistakeCounts()
    >>> counter = TrialCounter(counts, votes, truth, known, predictions=truth, classes=2)
    >>> for begin, end in ((0, 2), (2, 3)):
    ...     counter.count(begin, end)
    ...     print(counts.trials, counts.correct.tolist())
    2 [2, 1, 2, 1, 0]
    3 [3, 1, 3, 1, 0]
    """

    def __init__(
        self,
        counts: MistakeCounts,
        votes: Codes,
        truth: Codes,
        known: Codes,
        predictions: Codes,
        classes: int,
    ) -> None:
        n = votes.shape[1]
        counts.grow(n)
        self.counts, self.winners = counts, np.empty(len(truth), np.int32)
        self._trials = (
            np.ascontiguousarray(votes), truth, known,
            np.ascontiguousarray(predictions.reshape(counts.models, len(truth))),
        )  # fmt: skip
        self._scratch = (
            np.zeros(classes + 1, np.int64), packed_steps(n, classes),
            np.zeros((2, counts.models + 1), np.int64), np.zeros((4, n), np.int64), self.winners,
        )  # fmt: skip

    def count(self, begin: int, end: int) -> None:
        """Count some of the trials.

        Parameters
        ----------
        begin, end : int
            The first of them, and the one after the last.
        """
        counts = self.counts
        counts.trials += int(
            _count_trials(
                begin, end, *self._trials, *self._scratch,
                counts.correct, counts.both_correct, counts.voted, counts.heard, counts.shared,
            )
        )  # fmt: skip


def count_trials(  # type: ignore[no-untyped-def]
    begin, end, votes, truth, known, predictions, support, steps, hits, expert_hits, winners,
    correct, both_correct, voted, heard, shared,
):  # fmt: skip
    """Add the trials whose label is known to the last five arrays, and return how many there are.

    The others are zero before and after, except for `steps`, those of packed counts, and `winners`, which
    gets the class with the most votes, or -1 where a trial does not count. `support` has a cell for each
    class and one for abstentions (code -1). `hits` has columns for the models and the plurality: row 1 counts
    their hits on trials on which the first model is correct, row 0 those on the others. `expert_hits` has the
    same for the experts, and their abstentions in row 2, and in row 3 those on trials on which the first
    model is correct.
    """
    votes, truth, known, winners = votes[begin:end], truth[begin:end], known[begin:end], winners[begin:end]
    n = votes.shape[1]
    models = len(predictions)
    classes = len(support) - 1
    trials = 0
    for t in range(len(truth)):
        y = truth[t]
        if y < 0 or y >= known[t]:
            winners[t] = -1
            continue
        trials += 1
        winner = 0
        most = 0
        tied = 0
        if len(steps) > 0:
            packed = pack_votes(votes, t, steps)
            winner, most, tied, voters = most_votes(packed, classes)
            support_of_truth = votes_for(packed, y)
            abstain = voters < n
        else:
            for i in range(n):
                support[votes[t, i]] += 1
            support_of_truth = support[y]
            if classes <= n:
                for c in range(classes):
                    if support[c] > most:
                        winner = c
                        most = support[c]
                        tied = 0
                    tied += support[c] == most
                    support[c] = 0
            else:  # with many classes, only those that have votes are visited
                for i in range(n):
                    c = votes[t, i]
                    if c >= 0 and (support[c] > most or (support[c] == most and c < winner)):
                        winner = c
                        most = support[c]
                for i in range(n):
                    c = votes[t, i]
                    tied += c >= 0 and support[c] == most
                    support[c] *= c < 0
            abstain = support[classes] > 0
            support[classes] = 0
        winners[t] = winner
        first = 1 * (predictions[0, begin + t] == y)
        if most == 0:  # nobody votes: all known classes are tied
            tied = known[t]
        if support_of_truth == most:
            shared[0] += 1.0 / tied
            shared[1] += first / tied
        hits[first, 0] += first
        for j in range(1, models):
            hits[first, j] += predictions[j, begin + t] == y
        hits[first, models] += winner == y
        for i in range(n):
            expert_hits[first, i] += votes[t, i] == y
        if abstain:
            for i in range(n):
                expert_hits[2, i] += votes[t, i] < 0
                expert_hits[3, i] += votes[t, i] < 0 and first == 1
    first_correct = hits[1, 0]
    for j in range(models + 1):
        correct[j] += hits[0, j] + hits[1, j]
        both_correct[j] += hits[1, j]
        hits[0, j] = 0
        hits[1, j] = 0
    for i in range(n):
        correct[models + 1 + i] += expert_hits[0, i] + expert_hits[1, i]
        both_correct[models + 1 + i] += expert_hits[1, i]
        voted[i] += trials - expert_hits[2, i]
        heard[i] += first_correct - expert_hits[3, i]
        for row in range(4):
            expert_hits[row, i] = 0
    return trials


_count_trials = CompiledKernel(count_trials)


MAX_CLASSES, MAX_EXPERTS = 8, 255
"""All counts fit into 64 bits, 8 for each class."""


def packed_steps(experts: int, classes: int) -> NDArray[np.uint64]:
    """Return what a vote for each class adds to packed counts; empty if there is no room for the counts.

    Parameters
    ----------
    experts, classes : int
        Their numbers.

    Returns
    -------
    steps : ndarray of uint64 of shape (n_classes + 1,) or (0,)
        The last one is that of an abstention, code -1: it adds nothing.

    Examples
    --------
    >>> packed_steps(experts=20, classes=3).tolist(), len(packed_steps(experts=20, classes=9))
    ([1, 256, 65536, 0], 0)
    """
    if classes > MAX_CLASSES or experts > MAX_EXPERTS:
        return np.zeros(0, np.uint64)
    return np.array([*(1 << 8 * c for c in range(classes)), 0], np.uint64)


@inline
def pack_votes(votes: Any, t: Any, steps: Any) -> Any:
    """Return the packed counts of the votes on item t."""
    packed = np.uint64(0)
    for i in range(votes.shape[1]):
        packed += steps[votes[t, i]]
    return packed


@inline
def votes_for(packed: Any, c: Any) -> Any:
    """Return the number of votes for class c."""
    return np.int64((packed >> np.uint64(8 * c)) & np.uint64(255))


@inline
def most_votes(packed: Any, classes: Any) -> Any:
    """Return the first class with the most votes, their number, how many such classes, and all votes."""
    winner = 0
    most = votes_for(packed, 0)
    tied = 1
    total = most
    for c in range(1, classes):
        number = votes_for(packed, c)
        tied = 1 if number > most else tied + (number == most)
        winner = c if number > most else winner
        most = max(most, number)
        total += number
    return winner, most, tied, total
