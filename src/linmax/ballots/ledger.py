"""A dict that numbers what it is asked for, so that a long list is looked up without a Python loop."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.names import Label, one_kind, plain, unfit


class Ledger(dict[Any, int]):
    """Numbers distinct values in the order in which they are met; what is missing gets -1.

    >>> ledger = Ledger("votes")
    >>> ledger.look_up(["ham", "spam", None, "ham"]).tolist(), ledger.names
    ([0, 1, -1, 0], ['ham', 'spam'])
    """

    def __init__(self, what: str) -> None:
        super().__init__({None: -1})
        self.what = what
        self.names: list[Label] = []
        self._truths: list[Label] = []  # to Python, True is 1: who says which is watched apart
        self._numbers: list[Label] = []

    def __missing__(self, value: Any) -> int:
        name = plain(value, self.what)
        if name is None:
            return -1  # not kept: every NaN may be another object
        if name in self:
            code = self[name]
        else:
            code = self[name] = len(self.names)
            self.names.append(name)
        self[value] = code
        return code

    def look_up(self, values: Sequence[Any], check: bool = False) -> NDArray[np.int32]:
        """The codes of values; with check, true/false among numbers is an error."""
        try:
            codes = np.fromiter(map(self.__getitem__, values), np.int32, len(values))
        except TypeError:
            raise next(unfit(v, self.what) for v in values if not isinstance(v, Hashable)) from None
        if check:
            self._watch(values)
        return codes

    def _watch(self, values: Sequence[Any]) -> None:
        types = set(map(type, values))
        truths = {kind for kind in types if issubclass(kind, bool | np.bool_)}
        numbers = {kind for kind in types if issubclass(kind, int | float | np.number)} - truths
        if truths and not self._truths:
            self._truths = [bool(next(v for v in values if type(v) in truths))]
        if numbers and not self._numbers:
            self._numbers += [int(v) for v in values if type(v) in numbers and v == v][:1]  # NaN is no number
        one_kind([(self.what, self._truths), (self.what, self._numbers)])
