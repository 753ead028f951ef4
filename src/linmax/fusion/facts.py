"""The facts of a session: names, counts, weights and members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linmax.inputs import Names
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, TRIALS
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.runner import Runner


class Facts:
    """What a session knows and has counted; the base class of `Fusion`."""

    names: Names
    runner: Runner
    _lock: SessionLock

    @property
    def classes(self) -> list[Any]:
        """The known classes, in the order of the columns of `scores`."""
        return list(self.names.classes.names)

    @property
    def experts(self) -> list[Any]:
        """The experts that have been seen so far."""
        return list(self.names.experts.names)

    @property
    def trials(self) -> int:
        """The number of labelled items that were learned."""
        return int(self.runner.counts[TRIALS])

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions among them."""
        return int(self.runner.counts[MISTAKES])

    @property
    def novel(self) -> int:
        """The number of labels that were unknown when their item was predicted."""
        return int(self.runner.counts[NOVEL])

    @property
    def moves(self) -> int:
        """The number of updates of all rules in the learner."""
        with self._lock:
            return int(self.runner.totals()[MOVES])

    @property
    def weights(self) -> dict[Any, float]:
        """The weights that predict, by key: an expert's name, or a tuple such as ``("threshold", class)``."""
        with self._lock:
            return self.runner.predictor.weights()

    @property
    def members(self) -> dict[str, float]:
        """The members of an ensemble and the share that each has in a prediction now.

        Empty for a single learner.

        Examples
        --------
        >>> from linmax import Fusion, Perceptron, WeightedMajority, Winnow
        >>> Fusion(WeightedMajority([Perceptron(), Winnow(1.2)])).members
        {'Perceptron()': 0.5, 'Winnow(1.2)': 0.5}
        """
        shares: dict[str, float] = {}
        with self._lock:
            for member, share in self.runner.predictor.leaves():
                shares[repr(member.learner)] = shares.get(repr(member.learner), 0.0) + share
        return shares

    def add_classes(self, classes: Iterable[Any]) -> None:
        """Make classes known that no vote or label has named yet.

        Parameters
        ----------
        classes
            Their names; those that are known already are left alone.

        Examples
        --------
        >>> from linmax import Fusion, Winnow
        >>> fusion = Fusion(Winnow(1.2), classes=["cat"])
        >>> fusion.add_classes(["dog", "cat"])
        >>> fusion.classes
        ['cat', 'dog']
        """
        with self._lock.learning, self._lock:
            new = [name for name in classes if self.names.classes.get(name) < 0]
            if new:
                self.names.classes.extend(new)
                self.runner.version += 1
