"""What fixed weights could have done, had all labels been known: nobody can be asked to do as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax import inputs as ballots
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard
from linmax.rules.perceptron import Perceptron
from linmax.techniques import Averaged

PASSES = 20
VOTES = 1 << 22  # that are gone over in all passes: more of them tell little more


def in_hindsight(said: NDArray[np.int32], truth: NDArray[np.int32], classes: int) -> tuple[int, int]:
    """How many of the last trials fixed weights have wrong that were fitted to these very labels.

    The weights are those that do best of three: the mean of all that the Perceptron has in many passes, equal
    ones (the plurality), and all for one (the best expert). They predict the same trials.

    >>> said = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 5, np.int32)
    >>> in_hindsight(said, said[:, 1], classes=2)
    (20, 0)
    """
    some = max(1, VOTES // (PASSES * max(said.shape[1], 1)))
    said, truth = said[-some:], truth[-some:]
    fusion = Fusion(Averaged(Perceptron(start="equal")), classes=range(classes))
    fusion.learn(said, truth, passes=PASSES)
    wrong = [(fusion.predict(said) != truth).sum(), (plurality(said, classes) != truth).sum()]
    return len(truth), int(min(*wrong, *(said != truth[:, None]).sum(axis=0)))


Flags = NDArray[np.bool_]
Counts = NDArray[np.int64]

CELLS = 1 << 18  # counts of votes in memory at once


@dataclass(frozen=True, eq=False)
class Progress:
    """Who was right on which trial; progress on what came later is added with `+`.

    An expert that abstains is not right. Items without a label and novel labels are no trials here: on them
    nobody could be right.

    >>> from linmax import Fusion, Winnow
    >>> from linmax.evaluate import progressive
    >>> fusion = Fusion(Winnow(2.0), experts=["ann", "bob", "eve"])
    >>> first = progressive(fusion, [["a", "b", "b"], ["b", "a", "a"]], ["a", "b"])
    >>> both = first + progressive(fusion, [["a", "b", "b"], ["a", "b", "b"]], ["a", "a"])
    >>> both.linmax.tolist(), both.plurality.tolist()
    ([False, False, True, True], [False, False, False, False])
    >>> both.mistakes
    {'linmax': 2, 'plurality': 4, 'best expert': 0}
    >>> both.leader, both.each.sum(axis=0).tolist()
    ('ann', [4, 0, 0])
    """

    experts: tuple[Any, ...]
    linmax: Flags  # (trials,)
    plurality: Flags  # (trials,)
    each: Flags  # (trials, experts)
    spoke: Flags  # (trials, experts)

    def __add__(self, later: Progress) -> Progress:
        if not isinstance(later, Progress):
            return NotImplemented
        experts = (*self.experts, *later.experts[len(self.experts) :])
        if experts[: len(later.experts)] != later.experts:
            raise ValueError("only progress of one fusion, in the order of its trials, can be added up")
        n = len(experts)
        return Progress(
            experts,
            np.concatenate((self.linmax, later.linmax)),
            np.concatenate((self.plurality, later.plurality)),
            np.concatenate((_widened(self.each, n), _widened(later.each, n))),
            np.concatenate((_widened(self.spoke, n), _widened(later.spoke, n))),
        )

    @property
    def trials(self) -> int:
        """Trials on which somebody could be right."""
        return len(self.linmax)

    @property
    def expert_curves(self) -> Counts:
        """Mistakes of each expert up to each trial."""
        return np.cumsum(~self.each, axis=0)

    @property
    def curves(self) -> dict[str, Counts]:
        """Mistakes up to each trial, of linmax, the plurality, and whichever expert had fewest by then."""
        best = self.expert_curves.min(axis=1) if self.experts else np.arange(1, self.trials + 1)
        return {
            "linmax": np.cumsum(~self.linmax),
            "plurality": np.cumsum(~self.plurality),
            "best expert": best,
        }

    @property
    def best(self) -> Flags:
        """Whether the best expert in hindsight was right: its mistakes so far did not grow."""
        still: Flags = np.diff(self.curves["best expert"], prepend=0) == 0
        return still

    @property
    def mistakes(self) -> dict[str, int]:
        """Where the three curves end."""
        return {name: int(curve[-1]) if len(curve) else 0 for name, curve in self.curves.items()}

    @property
    def leader(self) -> Any:
        """The expert with the fewest mistakes, the first of several; None when there is none."""
        return self.experts[int((~self.each).sum(axis=0).argmin())] if self.experts else None


def progressive(fusion: Fusion, votes: Any, labels: Any, *, attributes: Any = None) -> Progress:
    """Let a fusion learn, and compare its guesses with the plurality's and each expert's on the same trials.

    Ties of the plurality go to the first class, as those of linmax do. An expert that gives scores says the
    class it scores highest. Guesses in pieces are those of the whole: add the pieces' progress up to watch.

    >>> from linmax import Averaged, Fusion, Recycled, Winnow
    >>> from linmax.evaluate import progressive
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, relevant=3, experts=20)
    >>> progressive(Fusion(Averaged(Recycled(Winnow(1.2)))), votes, labels).mistakes
    {'linmax': 47, 'plurality': 1284, 'best expert': 959}
    """
    if votes is None:
        raise ValueError("progressive needs votes: without them there is nobody to compare with")
    batch = ballots.read(
        votes, labels, None, fusion.names,
        needs=frozenset({"votes"}), on_new_class=fusion.on_new_class, abstain=fusion.abstain,
    )  # fmt: skip
    run = fusion.learn(votes, labels, attributes=attributes)
    counted = (batch.labels >= 0) & (batch.labels < batch.known)
    said = picks(batch)[counted]
    truth = batch.labels[counted]
    return Progress(
        tuple(fusion.experts),
        ~run.wrong[counted],
        plurality(said, batch.classes_seen) == truth,
        said == truth[:, None],
        said >= 0,
    )


def picks(batch: Batch) -> NDArray[np.int32]:
    """The class each expert says, as a code: the first of those it scores highest; -1 is silence."""
    votes = batch.votes
    if isinstance(votes, Hard):
        return votes.codes
    said = np.full((batch.trials, batch.experts_seen), -1, np.int32)
    if isinstance(votes, Dense):
        scores = np.where(votes.values == 0.0, -np.inf, votes.values)
        if scores.shape[2]:
            said[:] = np.where(np.isfinite(scores).any(axis=2), scores.argmax(axis=2), -1)
    elif votes is not None:
        trial = np.repeat(np.arange(batch.trials), np.diff(votes.indptr))
        order = np.lexsort(
            (-votes.label, votes.value)
        )  # the last one written stays: highest score, first class
        said[trial[order], votes.expert[order]] = votes.label[order]
    return said


def plurality(said: NDArray[np.integer[Any]], classes: int) -> Counts:
    """The class that most experts say, trial by trial; ties, also of no votes at all, go to the first class.

    >>> plurality(np.array([[2, 1, 1, 2], [-1, 2, -1, -1], [-1, -1, -1, -1]]), 3).tolist()
    [1, 2, 0]
    """
    guess = np.zeros(len(said), np.int64)
    rows = max(1, CELLS // max(classes, said.shape[1], 1))
    for start in range(0, len(said), rows):
        some = said[start : start + rows]
        cells = (some + np.arange(len(some))[:, None] * classes)[some >= 0]
        support = np.bincount(cells, minlength=len(some) * classes).reshape(len(some), classes)
        guess[start : start + rows] = support.argmax(axis=1)
    return guess


def _widened(flags: Flags, experts: int) -> Flags:
    """Columns for experts who came later: until then they were not right, and silent."""
    return np.pad(flags, ((0, 0), (0, experts - flags.shape[1])))
