"""Progressive validation: each item is predicted before its label is seen, and compared with the experts.

`progressive` runs it and returns a `Progress`, and `mistakes_in_hindsight` counts the mistakes of the best
fixed weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax import inputs
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard
from linmax.rules.perceptron import Perceptron
from linmax.techniques import Averaged

Flags = NDArray[np.bool_]
Longs = NDArray[np.int64]

HINDSIGHT_PASSES = 20
"""Passes over the trials in which the fixed weights of `mistakes_in_hindsight` are fitted."""
HINDSIGHT_VOTES = 1 << 22
"""The largest number of votes in all these passes."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Who was correct on which trial.

    Only items whose label was a known class are trials: on the others no prediction could be correct. An
    expert that abstains is not correct. The progress of consecutive parts of a stream is added with ``+``.

    Attributes
    ----------
    experts : tuple
        The names of the experts.
    linmax, plurality : ndarray of bool of shape (n_trials,)
        Whether linmax and the plurality of the votes were correct.
    each : ndarray of bool of shape (n_trials, n_experts)
        Whether each expert was correct.
    voted : ndarray of bool of shape (n_trials, n_experts)
        Whether each expert voted.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.evaluate import progressive
    >>> fusion = Fusion(Winnow(2.0), experts=["ann", "bob", "eve"])
    >>> first = progressive(fusion, [["a", "b", "b"], ["b", "a", "a"]], ["a", "b"])
    >>> both = first + progressive(fusion, [["a", "b", "b"], ["a", "b", "b"]], ["a", "a"])
    >>> both.linmax.tolist(), both.plurality.tolist()
    ([False, False, True, True], [False, False, False, False])
    >>> both.mistakes
    {'linmax': 2, 'plurality': 4, 'best expert': 0}
    >>> both.best_expert, both.each.sum(axis=0).tolist()
    ('ann', [4, 0, 0])
    """

    experts: tuple[Any, ...]
    linmax: Flags
    plurality: Flags
    each: Flags
    voted: Flags

    def __add__(self, later: Progress) -> Progress:
        if not isinstance(later, Progress):
            return NotImplemented
        experts = (*self.experts, *later.experts[len(self.experts) :])
        if experts[: len(later.experts)] != later.experts:
            raise ValueError(
                "only the progress of consecutive parts of one session can be added"
                f" (got experts {list(self.experts)} and {list(later.experts)})"
            )
        n = len(experts)
        return Progress(
            experts,
            np.concatenate((self.linmax, later.linmax)),
            np.concatenate((self.plurality, later.plurality)),
            np.concatenate((_pad_experts(self.each, n), _pad_experts(later.each, n))),
            np.concatenate((_pad_experts(self.voted, n), _pad_experts(later.voted, n))),
        )

    @property
    def trials(self) -> int:
        """The number of trials."""
        return len(self.linmax)

    @property
    def expert_curves(self) -> Longs:
        """Mistakes of each expert up to each trial, of shape (n_trials, n_experts)."""
        return np.cumsum(~self.each, axis=0)

    @property
    def curves(self) -> dict[str, Longs]:
        """Mistakes up to each trial of linmax, the plurality, and the expert with the fewest by then."""
        best = self.expert_curves.min(axis=1) if self.experts else np.arange(1, self.trials + 1)
        return {
            "linmax": np.cumsum(~self.linmax),
            "plurality": np.cumsum(~self.plurality),
            "best expert": best,
        }

    @property
    def best(self) -> Flags:
        """Trials on which the curve of the best expert did not rise, of shape (n_trials,)."""
        unchanged: Flags = np.diff(self.curves["best expert"], prepend=0) == 0
        return unchanged

    @property
    def mistakes(self) -> dict[str, int]:
        """The last values of `curves`."""
        return {name: int(curve[-1]) if len(curve) else 0 for name, curve in self.curves.items()}

    @property
    def best_expert(self) -> Any:
        """The expert with the fewest mistakes, the first of several; None without experts."""
        return self.experts[int((~self.each).sum(axis=0).argmin())] if self.experts else None


def progressive(fusion: Fusion, votes: Any, labels: Any, *, attributes: Any = None) -> Progress:
    """Let a session learn, and compare its predictions with the plurality and each expert on the same trials.

    Ties of the plurality go to the first class, as those of linmax do. An expert that gives scores votes for
    the class with its highest score. Learning in parts gives the same predictions as learning at once, so
    the progress of the parts can be added to watch a run.

    Parameters
    ----------
    fusion : Fusion
        The session; it learns the items.
    votes, labels, attributes
        As for `Fusion.learn`.

    Returns
    -------
    progress : Progress
        Who was correct on which trial.

    Examples
    --------
    >>> from linmax import Averaged, Fusion, Recycled, Winnow
    >>> from linmax.evaluate import progressive
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, relevant=3, experts=20)
    >>> progressive(Fusion(Averaged(Recycled(Winnow(1.2)))), votes, labels).mistakes
    {'linmax': 47, 'plurality': 1284, 'best expert': 959}
    """
    if votes is None:
        raise ValueError("progressive requires votes (got None); without experts there is nothing to compare")
    batch = inputs.read(
        votes, labels, None, fusion.names,
        needs=frozenset({"votes"}), on_new_class=fusion.on_new_class, abstain=fusion.abstain,
    )  # fmt: skip
    run = fusion.learn(votes, labels, attributes=attributes)
    votes, truth = voted_classes(batch), batch.labels
    predictions = np.where(run.wrong, -1, truth)
    counts = MistakeCounts()
    correct = counts.add_with_flags(votes, truth, batch.known, predictions, batch.classes_seen)
    counted = (truth >= 0) & (truth < batch.known)
    return Progress(
        tuple(fusion.experts),
        correct[:, 0],
        correct[:, counts.plurality],
        correct[:, counts.first_expert :],
        votes[counted] >= 0,
    )


def voted_classes(batch: Batch) -> NDArray[np.int32]:
    """Return the class that each expert votes for.

    Parameters
    ----------
    batch : Batch
        Items as `Fusion.read` returns them.

    Returns
    -------
    votes : ndarray of shape (n_items, n_experts)
        Class codes, the first of those with the highest score; -1 is an abstention.
    """
    votes = batch.votes
    if isinstance(votes, Hard):
        return votes.codes.astype(np.int32, copy=False)
    classes = np.full((batch.trials, batch.experts_seen), -1, np.int32)
    if isinstance(votes, Dense):
        scores = np.where(votes.values == 0.0, -np.inf, votes.values)
        if scores.shape[2]:
            classes[:] = np.where(np.isfinite(scores).any(axis=2), scores.argmax(axis=2), -1)
    elif votes is not None:
        trial = np.repeat(np.arange(batch.trials), np.diff(votes.indptr))
        # of several writes to one cell the last one stays: the highest score and, among equals, the first
        # class
        order = np.lexsort((-votes.label, votes.value))
        classes[trial[order], votes.expert[order]] = votes.label[order]
    return classes


def mistakes_in_hindsight(
    votes: NDArray[np.int32], truth: NDArray[np.int32], classes: int
) -> tuple[int, int]:
    """Count the mistakes of the best fixed weights, fitted to the very trials that they predict.

    The weights are the best of three: the average of those of a Perceptron over several passes, equal weights
    (the plurality), and a single expert.

    Parameters
    ----------
    votes : ndarray of shape (n_trials, n_experts)
        Class codes; -1 is an abstention.
    truth : ndarray of shape (n_trials,)
        The labels.
    classes : int
        The number of classes.

    Returns
    -------
    trials, mistakes : int
        The number of trials, at most the last `HINDSIGHT_VOTES / HINDSIGHT_PASSES` votes, and the mistakes.

    Examples
    --------
    >>> votes = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5, np.int32)
    >>> mistakes_in_hindsight(votes, votes[:, 1], classes=2)
    (20, 0)
    """
    trials = max(1, HINDSIGHT_VOTES // (HINDSIGHT_PASSES * max(votes.shape[1], 1)))
    votes, truth = votes[-trials:], truth[-trials:]
    fusion = Fusion(Averaged(Perceptron(start="equal")), classes=range(classes))
    fusion.learn(votes, truth, passes=HINDSIGHT_PASSES)
    counts = MistakeCounts()
    known = np.full(len(truth), classes, np.int32)
    counts.add(votes, truth, known, fusion.predict(votes).astype(np.int32), classes)
    return counts.trials, int(counts.mistakes.min())


def _pad_experts(flags: Flags, experts: int) -> Flags:
    """Add columns for experts that came later: before, they were not correct and did not vote."""
    return np.pad(flags, ((0, 0), (0, experts - flags.shape[1])))
