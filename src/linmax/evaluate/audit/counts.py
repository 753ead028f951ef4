"""Counts of correct predictions on the same trials: models, the plurality and every expert.

`MistakeCounts` is the counter behind progressive validation, audits and comparisons of learners, and
`CountHistory` adds evenly spaced snapshots of it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from linmax.evaluate.audit.trial_counter import TrialCounter
from linmax.evaluate.significance import NORMAL_QUANTILE

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

COLUMNS = ("correct", "both_correct", "voted", "heard")
"""The arrays of `MistakeCounts` that have an entry for each expert."""
SNAPSHOTS = 512
"""The largest number of snapshots that a `CountHistory` keeps."""


class MistakeCounts:
    """Correct predictions of some models, of the plurality of the votes, and of each expert.

    Only trials whose label was a known class count: on the others no prediction could be correct. The
    columns of `correct` and `both_correct` are the models, then the plurality, then the experts. An expert
    that abstains is not correct. In the column of the plurality, ties, including trials without votes, go to
    the first class; `shared` shares them between the tied classes.

    Parameters
    ----------
    models : int, default=1
        The number of models whose predictions are counted.

    Attributes
    ----------
    trials : int
        Counted trials.
    correct : ndarray of shape (models + 1 + n_experts,)
        Correct predictions in each column.
    both_correct : ndarray of shape (models + 1 + n_experts,)
        Trials on which both the first model and the column were correct.
    voted : ndarray of shape (n_experts,)
        Trials on which each expert did not abstain.
    heard : ndarray of shape (n_experts,)
        Those of these trials on which the first model was correct.
    shared : ndarray of shape (2,)
        The expected number of correct predictions if the plurality draws one of m tied classes, so that a tie
        counts 1/m; and the same on trials on which the first model was correct.

    Examples
    --------
    >>> counts = MistakeCounts()
    >>> votes = np.array([[0, 1, 1], [1, 1, -1]], np.int32)
    >>> truth, known = np.array([0, 1], np.int32), np.array([2, 2], np.int32)
    >>> counts.add(votes, truth, known, predictions=truth, classes=2)
    >>> counts.trials, counts.correct.tolist(), counts.voted.tolist()
    (2, [2, 1, 2, 1, 0], [2, 2, 1])
    >>> counts.add(np.array([[0, 1, -1]], np.int32), truth[:1], known[:1], predictions=truth[:1], classes=2)
    >>> counts.correct.tolist(), counts.shared.tolist()
    ([3, 2, 3, 1, 0], [1.5, 1.5])
    """

    def __init__(self, models: int = 1) -> None:
        self.models = models
        self.trials = 0
        self.correct = np.zeros(models + 1, np.int64)
        self.both_correct = np.zeros(models + 1, np.int64)
        self.voted, self.heard = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.shared = np.zeros(2)

    def add(self, votes: Codes, truth: Codes, known: Codes, predictions: Codes, classes: int) -> None:
        """Count more trials.

        Parameters
        ----------
        votes : ndarray of shape (n_trials, n_experts)
            The class that each expert votes for; -1 is an abstention. There may be more experts than before.
        truth : ndarray of shape (n_trials,)
            The labels; -1 is a missing label.
        known : ndarray of shape (n_trials,)
            The number of known classes at each trial. A label at or above it is novel.
        predictions : ndarray of shape (n_trials,) or (models, n_trials)
            The predicted classes.
        classes : int
            Every class code in `votes` is below this number.
        """
        TrialCounter(self, votes, truth, known, predictions, classes).count(0, len(truth))

    def add_with_flags(
        self, votes: Codes, truth: Codes, known: Codes, predictions: Codes, classes: int
    ) -> Flags:
        """Count more trials, and return which columns were correct on each counted trial.

        Parameters
        ----------
        votes, truth, known, predictions, classes
            As for `add`.

        Returns
        -------
        flags : ndarray of bool of shape (n_counted_trials, models + 1 + n_experts)
            One row per counted trial.
        """
        counter = TrialCounter(self, votes, truth, known, predictions, classes)
        counter.count(0, len(truth))
        winners = counter.winners
        correct: Flags = np.vstack((predictions, winners, votes.T)) == truth
        return np.ascontiguousarray(correct.T[winners >= 0])

    def grow(self, experts: int) -> None:
        """Add columns of zeros for new experts.

        Parameters
        ----------
        experts : int
            The number of experts known now.
        """
        more = experts - len(self.voted)
        if more > 0:
            for name in COLUMNS:
                setattr(self, name, np.pad(getattr(self, name), (0, more)))

    def copy(self) -> MistakeCounts:
        """Return an independent copy."""
        other = copy.copy(self)
        other.correct, other.both_correct = self.correct.copy(), self.both_correct.copy()
        other.voted, other.heard = self.voted.copy(), self.heard.copy()
        other.shared = self.shared.copy()
        return other

    def since(self, earlier: MistakeCounts) -> MistakeCounts:
        """Return the counts of the trials after an earlier copy.

        Parameters
        ----------
        earlier : MistakeCounts
            A copy of these counts, made before more trials were added.
        """
        return self._minus(earlier)

    def _minus(self, other: MistakeCounts) -> MistakeCounts:
        """Return the difference; `other` may have fewer experts."""
        difference = MistakeCounts(self.models)
        difference.trials = self.trials - other.trials
        difference.shared = self.shared - other.shared
        for name in COLUMNS:
            column, earlier = getattr(self, name).copy(), getattr(other, name)
            column[: len(earlier)] -= earlier
            setattr(difference, name, column)
        return difference

    @property
    def plurality(self) -> int:
        """The column of the plurality."""
        return self.models

    @property
    def first_expert(self) -> int:
        """The column of the first expert; those of the others follow."""
        return self.models + 1

    @property
    def best_expert(self) -> int | None:
        """The column of the expert with the most correct votes; None without experts."""
        if not len(self.voted):
            return None
        return self.first_expert + int(self.correct[self.first_expert :].argmax())

    @property
    def expert_mistakes(self) -> NDArray[np.int64]:
        """Wrong votes of each expert; an abstention is none."""
        wrong: NDArray[np.int64] = self.voted - self.correct[self.first_expert :]
        return wrong

    def best_where_it_votes(self, min_coverage: float) -> int | None:
        """Return the index of the expert that is most accurate where it votes; None if nobody votes.

        Experts are ranked by the lower end of a 95 % interval (Wilson's), so that a few lucky votes do not
        count much. Those that vote on less than a fraction of the trials come last.

        Parameters
        ----------
        min_coverage : float
            The fraction.
        """
        voted = self.voted.astype(np.float64)
        if not voted.any():
            return None
        share = self.correct[self.first_expert :] / np.maximum(voted, 1.0)
        z2 = NORMAL_QUANTILE**2
        spread = np.sqrt(z2 * (share * (1.0 - share) * voted + z2 / 4.0))
        lower = (share * voted + z2 / 2.0 - spread) / (voted + z2)
        lower[voted == 0.0] = -2.0
        lower[voted < min_coverage * self.trials] -= 1.0
        return int(lower.argmax())

    @property
    def mistakes(self) -> Longs:
        """The counted trials on which each column was not correct."""
        return self.trials - self.correct

    def state(self) -> list[Any]:
        """Return the counts as plain lists of numbers, which `from_state` takes."""
        return [self.trials, *(getattr(self, name).tolist() for name in (*COLUMNS, "shared"))]

    @classmethod
    def from_state(cls, state: Any, models: int = 1) -> Self:
        """Restore counts.

        Parameters
        ----------
        state : list
            What `state` has returned, or what it returned in version 0.1: then the first model, the
            plurality and the experts are restored, and everything else is 0.
        models : int
            The number of models.
        """
        trials, *columns = state
        counts = cls(models)
        counts.trials = int(trials)
        if len(columns) == 3:
            correct, both_correct, voted = columns
            others = [0] * (models - 1)
            columns = [[one[0], *others, *one[1:]] for one in (correct, both_correct)]
            columns += [voted, [0] * len(voted), [0.0, 0.0]]
        *columns, shared = columns
        for name, column in zip(COLUMNS, columns, strict=True):
            setattr(counts, name, np.array(column, np.int64))
        counts.shared = np.array(shared, np.float64)
        return counts


class CountHistory:
    """Mistake counts with snapshots at every `step` items; `step` doubles when there are too many snapshots.

    Parameters
    ----------
    models : int, default=1
        The number of models whose predictions are counted.

    Attributes
    ----------
    items : int
        Items so far, with or without a label.
    counts : MistakeCounts
        The counts so far.
    step : int
        The distance of snapshots, a power of 2.
    snapshots : list of (int, MistakeCounts)
        The number of items and the counts at each snapshot; at most `SNAPSHOTS` of them.

    Examples
    --------
    >>> history = CountHistory()
    >>> truth, known = np.array([0, 1, 1], np.int32), np.array([2, 2, 2], np.int32)
    >>> history.add(truth[:, None], truth, known, predictions=np.zeros(3, np.int32), classes=2)
    >>> [(items, int(counts.mistakes[0])) for items, counts in history.snapshots]
    [(1, 0), (2, 1), (3, 2)]
    """

    def __init__(self, models: int = 1) -> None:
        self.items = 0
        self.counts = MistakeCounts(models)
        self.step = 1
        self.snapshots: list[tuple[int, MistakeCounts]] = []

    def add(
        self,
        votes: Codes,
        truth: Codes,
        known: Codes,
        predictions: Codes,
        classes: int,
        *,
        stops: Iterable[int] = (),
        on_stop: Callable[[int], None] = lambda items: None,
    ) -> None:
        """Count more items.

        Parameters
        ----------
        votes, truth, known, predictions, classes
            As for `MistakeCounts.add`.
        stops : iterable of int
            Numbers of items at which `on_stop` is called.
        on_stop : callable
            Called with the number of items at each of `stops`, and after the last item.
        """
        begin, end = self.items, self.items + len(truth)
        counter = TrialCounter(self.counts, votes, truth, known, predictions, classes)
        further = sorted({*(stop for stop in stops if begin < stop < end), end}, reverse=True)
        while self.items < end:
            stop = min(further[-1], (self.items // self.step + 1) * self.step)
            counter.count(self.items - begin, stop - begin)
            self.items = stop
            if stop == further[-1]:
                further.pop()
                on_stop(stop)
            if stop % self.step == 0:
                self._take_snapshot()

    def _take_snapshot(self) -> None:
        self.snapshots.append((self.items, self.counts.copy()))
        if len(self.snapshots) > SNAPSHOTS:
            self.step *= 2
            self.snapshots = [snapshot for snapshot in self.snapshots if snapshot[0] % self.step == 0]

    def with_end(self) -> list[tuple[int, MistakeCounts]]:
        """Return the snapshots and the counts of now, all with columns for all experts."""
        snapshots = list(self.snapshots)
        if self.items and (not snapshots or snapshots[-1][0] < self.items):
            snapshots.append((self.items, self.counts.copy()))
        for _, counts in snapshots:
            counts.grow(len(self.counts.voted))
        return snapshots
