"""The facts of a session: names, counts, weights and members."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from linmax.experts import ScaledAttributes
from linmax.experts.base import split_key
from linmax.inputs import Names
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, TRIALS
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.runner import Runner


class WeightRow(NamedTuple):
    """One weight, as a row of `Fusion.weight_table`.

    Parameters
    ----------
    source
        The source that the weight belongs to, such as "Votes" or "PerClass".
    expert
        The expert, attribute, pair of attribute values or support vector; None for a threshold.
    says
        The vote that the weight is for; None if it is for any vote.
    label
        The class that the weight counts for; None if it is the class of the vote.
    weight
        The weight.
    """

    source: str
    expert: Any
    says: Any
    label: Any
    weight: float


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
        with self._lock, self._lock.state:
            return int(self.runner.totals()[MOVES])

    @property
    def weights(self) -> dict[Any, float]:
        """The weights that predict, by key: an expert's name, or a tuple such as ``("threshold", class)``."""
        with self._lock, self._lock.state:
            return self.runner.predictor.weights()

    def weight_table(self) -> list[WeightRow]:
        """Return the weights that predict as rows: source, expert, says, label, weight.

        Returns
        -------
        list of WeightRow
            In the order of `weights`. ``pandas.DataFrame(fusion.weight_table())`` makes a data frame of it.

        Examples
        --------
        >>> from linmax import Fusion, Perceptron
        >>> from linmax.experts import PerClass, Thresholds, Votes
        >>> fusion = Fusion(Perceptron().on(Votes() + PerClass() + Thresholds()), classes=["ham", "spam"])
        >>> run = fusion.learn([{"ann": "ham"}], ["spam"])
        >>> for row in fusion.weight_table()[:3]:
        ...     print(*row)
        Votes ann None None -1.0
        PerClass ann ham ham -1.0
        PerClass ann ham spam 1.0
        """
        scaled = any(isinstance(part, ScaledAttributes) for part in self.runner.parts)
        attributes = "ScaledAttributes" if scaled else "Attributes"
        return [_row(key, weight, attributes) for key, weight in self.weights.items()]

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
        with self._lock, self._lock.state:
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
        with self._lock.learning, self._lock, self._lock.state:
            new = [name for name in classes if self.names.classes.get(name) < 0]
            if new:
                self.names.classes.extend(new)
                self.runner.version += 1


def _row(key: Any, weight: float, attributes: str) -> WeightRow:
    match split_key(key):
        case (expert,):
            return WeightRow("Votes", expert, None, None, weight)
        case (expert, label):
            return WeightRow("Split", expert, label, label, weight)
        case (expert, says, label):
            return WeightRow("PerClass", expert, says, label, weight)
    match key:
        case ("threshold", label):
            return WeightRow("Thresholds", None, None, label, weight)
        case ("attribute", attribute, *label):
            return WeightRow(attributes, attribute, None, label[0] if label else None, weight)
        case ("(constant)", label):
            return WeightRow("ScaledAttributes", None, None, label, weight)
        case ("(features)", number, label):
            return WeightRow("RandomFeatures", number, None, label, weight)
        case ("(neighbours)" | "(unit neighbours)", number):
            return WeightRow("Neighbours", number, None, None, weight)
        case (str(name), *columns) if name.startswith("(tables of"):
            return WeightRow("ValueTables", tuple(columns), None, None, weight)
        case ("pair", *values):
            return WeightRow("Pairs", tuple(values), None, None, weight)
    return WeightRow(str(key[0]), key[1] if len(key) == 2 else key[1:], None, None, weight)
