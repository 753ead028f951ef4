"""Costs of mistakes: the class of least expected cost is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linmax._jit.compilation import inline
from linmax.inputs.names import Label, NameIndex, check_one_kind, to_label
from linmax.spec import short
from linmax.validation import is_number, require

LARGEST = 1e12


class MistakeCosts:
    """What it costs to predict one class when another one is true.

    Parameters
    ----------
    costs
        A square matrix, rows are the true classes and columns the predicted ones, in the order of `classes`;
        or a dict ``{(truth, guess): cost}``. A pair that is not listed costs 1, and 0 if both are the same: a
        right prediction may cost something, too.
    classes
        The classes that a matrix is for.
    closed
        Whether there will be no other classes, so that costs of others are refused.

    Examples
    --------
    >>> costs = MistakeCosts({("spam", "ham"): 1, ("ham", "spam"): 20}, [])
    >>> costs.matrix(["ham", "spam", "eggs"])
    array([[ 0., 20.,  1.],
           [ 1.,  0.,  1.],
           [ 1.,  1.,  0.]])
    """

    def __init__(self, costs: Any, classes: Sequence[Any], *, closed: bool = False) -> None:
        self.pairs: dict[tuple[Any, Any], float] = {}
        if isinstance(costs, Mapping):
            for pair, cost in costs.items():
                self.pairs[_classes_of(pair)] = _checked(cost)
            for name in self.names if closed else ():
                require(
                    name in classes,
                    f"mistake_costs has the class {name!r}, which is not among classes="
                    f" (got {short(list(classes))})",
                )
            return
        try:
            table = np.asarray(costs)
        except ValueError:  # rows of several lengths
            table = np.array(None)
        require(
            table.dtype.kind in "iufO" and table.ndim > 0,
            "mistake_costs must be a square matrix of numbers or a dict {(truth, guess): cost}"
            f" (got {short(costs)})",
        )
        require(len(classes) > 0, "a matrix of mistake_costs needs the order of the classes: pass classes=")
        require(
            table.shape == (len(classes), len(classes)),
            f"mistake_costs must have a row and a column for each of the {len(classes)} classes"
            f" (got shape {table.shape})",
        )
        for i, truth in enumerate(classes):
            for j, guess in enumerate(classes):
                cost = _checked(table[i, j])
                if cost != _default(i == j):
                    self.pairs[truth, guess] = cost

    @classmethod
    def of(cls, costs: Any, classes: NameIndex, *, closed: bool = False) -> MistakeCosts | None:
        """Return the costs of a session, whose classes must be of their kind; None if there are none.

        Parameters
        ----------
        costs
            What `MistakeCosts` takes, or one of these: that of a model file is not checked, because costs for
            classes of another kind, which never apply, were once accepted.
        classes
            The classes of the session.
        closed
            Whether there will be no other classes.
        """
        if costs is None or isinstance(costs, cls):
            return costs
        made = cls(costs, classes.names, closed=closed)
        check_one_kind([classes.sample, ("mistake_costs", made.names)])
        classes.expected = ("mistake_costs", made.names[:1])
        return made

    @property
    def names(self) -> list[Label]:
        """The classes of all pairs."""
        return [name for pair in self.pairs for name in pair]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MistakeCosts) and self.pairs == other.pairs

    __hash__ = None  # type: ignore[assignment]

    def matrix(self, classes: Sequence[Any]) -> np.ndarray:
        """Return the costs of all pairs of classes, rows are the true ones.

        Parameters
        ----------
        classes
            The classes in the order of their codes.
        """
        table = 1.0 - np.eye(len(classes))
        codes = {name: code for code, name in enumerate(classes)}
        for (truth, guess), cost in self.pairs.items():
            if truth in codes and guess in codes:
                table[codes[truth], codes[guess]] = cost
        return table


def _classes_of(pair: Any) -> tuple[Label, Label]:
    """Return the classes of a key of a dict of costs."""
    require(
        isinstance(pair, tuple) and len(pair) == 2,
        f"mistake_costs needs pairs (truth, guess) as keys (got {pair!r})",
    )
    truth, guess = (to_label(name, "mistake_costs") for name in pair)
    if truth is None or guess is None:
        raise ValueError(f"mistake_costs needs two classes in each key (got {pair!r})")
    return truth, guess


def _default(same: bool) -> float:
    return 0.0 if same else 1.0


def is_cost(value: Any) -> bool:
    """Whether a value is a number that can be a cost or a price; sums of these stay finite.

    >>> is_cost(0.5), is_cost(-1), is_cost(True), is_cost("3"), is_cost(1e308), is_cost(10**400)
    (True, False, False, False, False, False)
    """
    number = is_number(value) or isinstance(value, np.integer | np.floating)
    return number and bool(0.0 <= value <= LARGEST)


def _checked(cost: Any) -> float:
    require(
        is_cost(cost),
        f"a cost of mistake_costs must be a number from 0 to {LARGEST:g} (got {cost!r})",
    )
    return float(cost)


@inline
def cheapest(p, k, costs, best):
    """Return the class of least expected cost; of several, `best` or the first."""
    found, least = best, 0.0
    for y in range(k):
        least += p[y] * costs[y, best]
    for c in range(k):
        expected = 0.0
        for y in range(k):
            expected += p[y] * costs[y, c]
        if expected < least:
            found, least = c, expected
    return found
