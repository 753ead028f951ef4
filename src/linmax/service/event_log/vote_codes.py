"""Votes and labels as codes, for many items at once that bring no new names.

Learning and predicting such items together gives the same result as one by one, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.fusion import Fusion
from linmax.inputs.abstain import read_abstain

Codes = NDArray[np.int32]


class KnownNames:
    """The experts and classes that a session knows.

    Parameters
    ----------
    fusion
        The session.

    Examples
    --------
    >>> names = KnownNames(Fusion(classes=[1, 2], experts=["ann", "bob"]))
    >>> names.have({"ann": 1, "bob": None}, 2), names.have({"eve": 1}, 2), names.have({"ann": True}, 2)
    (True, False, False)
    """

    def __init__(self, fusion: Fusion) -> None:
        self._experts = fusion.names.experts
        self._classes = fusion.names.classes
        self._labels = {**self._classes.codes, None: -1}
        self._votes = {**vote_codes(fusion), None: -1}
        self._kinds = {type(name) for name in self._classes.names[:1]} | {type(None)}

    def have(self, votes: dict[str, Any] | None, label: Any = None) -> bool:
        """Whether votes and a label have only known names, and no scores."""
        if votes is None or not self._experts.codes.keys() >= votes.keys():
            return False
        if not self._classes.names or self._encode([label], self._labels) is None:
            return False
        return self._encode(list(votes.values()), self._votes) is not None

    def encode_votes(self, votes: Sequence[dict[str, Any]]) -> Codes | None:
        """Return votes as codes of the classes, a column per expert of the session; -1 is an abstention.

        None if some of them have names that are not known, or scores.

        Parameters
        ----------
        votes
            The votes of each item.
        """
        if not self._experts.names or not self._classes.names:
            return None
        table = np.full((len(votes), len(self._experts)), -1, np.int32)
        rows, names, values = _split(votes)
        columns = np.fromiter(map(self._experts.codes.get, names, repeat(-1)), np.intp, len(names))
        codes = self._encode(values, self._votes) if columns.min(initial=0) >= 0 else None
        if codes is None:
            return None
        table[rows, columns] = codes if isinstance(rows, np.ndarray) else codes.reshape(-1, len(columns))
        return table

    def encode_labels(self, labels: Sequence[Any]) -> Codes | None:
        """Return labels as codes; None if some of them are not known.

        Parameters
        ----------
        labels
            The labels.
        """
        codes = self._encode(labels, self._labels)
        return None if codes is None or (codes < 0).any() else codes

    def encode_predictions(self, predictions: Sequence[Any]) -> Codes | None:
        """Return predictions as codes, -1 where there is none; None if some of them are not known.

        Parameters
        ----------
        predictions
            The predictions.
        """
        return self._encode(predictions, self._labels)

    def _encode(self, values: Sequence[Any], names: dict[Any, int]) -> Codes | None:
        try:
            codes = np.fromiter(map(names.__getitem__, values), np.int32, len(values))
        except (KeyError, TypeError):  # a new class, or scores
            return None
        if str not in self._kinds and not self._kinds.issuperset(map(type, values)):
            return None  # 1 and True are equal
        return codes


def vote_codes(fusion: Fusion) -> dict[Any, int]:
    """Return the codes of what a vote may be: those of classes, and -1 for values that abstain.

    Values that are ambiguous have none, and neither have those of another type than the classes.

    Parameters
    ----------
    fusion
        The session.

    Examples
    --------
    >>> vote_codes(Fusion(classes=[0, 1], abstain=0)), vote_codes(Fusion(classes=["x", "y"]))
    ({1: 1, 0: -1}, {'x': 0, 'y': 1, '': -1})
    >>> vote_codes(Fusion(classes=[-1, 1])), vote_codes(Fusion(classes=[-1, 1], abstain=None))
    ({1: 1}, {-1: 0, 1: 1})
    """
    classes = fusion.names.classes
    silent, kinds = read_abstain(fusion.abstain, classes, None), set(map(type, classes.names[:1]))
    codes = {name: code for name, code in classes.codes.items() if name not in silent.names}
    abstaining = [name for name in silent.names if type(name) in kinds and name not in silent.ambiguous]
    return codes | dict.fromkeys(abstaining, -1)


def _split(votes: Sequence[dict[str, Any]]) -> tuple[Any, list[str], list[Any]]:
    """Return the rows, experts and values of votes; the rows are all if every item has the same experts."""
    names = list(votes[0]) if votes else []
    if len(names) > 1 and all(len(one) == len(names) for one in votes):
        with suppress(KeyError):
            return slice(None), names, list(chain.from_iterable(map(itemgetter(*names), votes)))
    rows = np.arange(len(votes)).repeat(list(map(len, votes)))
    return rows, list(chain.from_iterable(votes)), list(chain.from_iterable(map(dict.values, votes)))


class NamesSeen:
    """The names that a session knew at a moment: codes stay the same as long as it knows no others.

    Parameters
    ----------
    fusion
        The session.

    Examples
    --------
    >>> fusion = Fusion(classes=["x", "y"])
    >>> seen = NamesSeen(fusion)
    >>> seen.are_those_of(fusion), fusion.learn_one({"ann": "x"}, "x"), seen.are_those_of(fusion)
    (True, 'x', False)
    """

    def __init__(self, fusion: Fusion) -> None:
        self._names = fusion.names
        self._counts = len(self._names.classes), len(self._names.experts)

    def are_those_of(self, fusion: Fusion) -> bool:
        """Whether a session knows these names and no others."""
        names = fusion.names
        return names is self._names and self._counts == (len(names.classes), len(names.experts))


def can_read_codes(fusion: Fusion) -> bool:
    """Whether a session learns from votes alone, and knows experts and classes.

    Parameters
    ----------
    fusion
        The session.

    Examples
    --------
    >>> [can_read_codes(Fusion(classes=["x", "y"], experts=experts)) for experts in ([], ["ann"])]
    [False, True]
    """
    return fusion.needs == {"votes"} and bool(fusion.names.experts.names and fusion.names.classes.names)
