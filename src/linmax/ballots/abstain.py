"""Which votes abstain, though they look like labels."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from linmax.ballots.cells import Cells, Flags
from linmax.ballots.names import Label, plain
from linmax.ballots.roll import Roll


class Default:
    """-1 and the empty text abstain."""

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT = Default()


class Quiet(NamedTuple):
    """The names that abstain, and those of them that are also labels: nobody may vote for these."""

    names: tuple[Label, ...]
    contested: frozenset[tuple[type, Label]] = frozenset()

    def silences(self, name: Any) -> bool:
        """Whether a hard vote for this name abstains."""
        for quiet in self.names:
            if type(name) is type(quiet) and name == quiet:
                if name in self.contested:
                    raise ValueError(
                        f"votes contain {name!r}, which is also a label:"
                        " pass abstain= (the value that abstains, or None if none does)"
                    )
                return True
        return False

    def hush(self, said: Cells) -> Cells:
        """The cells, with those that abstain saying nothing."""
        names = list(said.names)
        for i, name in enumerate(names):
            if name in self.names and said_somewhere(said, i) and self.silences(name):
                names[i] = None
        if names == said.names:
            return said
        return said._replace(names=names, present=[name for name in said.present if not self.silences(name)])


def said_somewhere(said: Cells, i: int) -> bool:
    """Whether any cell says the i-th name."""
    return bool((said.codes == said.low + i).any())


def quiet(abstain: Any, classes: Roll, labels: Cells | None) -> Quiet:
    """Read the option ``abstain``: unless the caller decides, a label that abstains is contested.

    >>> quiet(DEFAULT, Roll([-1, 1], what="class"), None)
    Quiet(names=(-1, ''), contested=frozenset({(<class 'int'>, -1)}))
    >>> quiet(0, Roll(), None), quiet(None, Roll(), None).names
    (Quiet(names=(0,), contested=frozenset()), ())
    """
    if not isinstance(abstain, Default):
        name = plain(abstain, "abstain=")
        return Quiet(() if name is None else (name,))
    names: tuple[Label, ...] = (-1, "")
    contested = {(type(name), name) for name in names if classes.get(name) >= 0}
    if labels is not None:
        for code in Quiet(names).codes(labels):
            if _occurs(labels, code):
                name = labels.names[code - labels.low]
                if name is not None:
                    contested.add((type(name), name))
    return Quiet(names, frozenset(contested))


def _occurs(said: Cells, code: int, hard: Flags | None = None) -> bool:
    found = said.codes == code
    return bool(np.any(found if hard is None else found & hard))
