"""Which votes abstain, though they look like labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linmax.ballots.cells import Cells
from linmax.ballots.names import Label, plain
from linmax.ballots.roll import Roll


class Default:
    """-1 and the empty text abstain."""

    def __repr__(self) -> str:
        return "DEFAULT"

    def __reduce__(self) -> str:
        return "DEFAULT"  # copies and pickles are the same object


DEFAULT = Default()


class Quiet(NamedTuple):
    """The names that abstain, and those of them that are also labels: nobody may vote for these."""

    names: tuple[Label, ...]
    contested: tuple[Label, ...] = ()

    def silences(self, name: Label | None) -> bool:
        """Whether a vote for this name abstains."""
        # to Python, True is 1: the types are compared too
        if name not in self.names or type(name) is not type(self.names[self.names.index(name)]):
            return False
        if name in self.contested:
            raise ValueError(
                f"votes contain {name!r}, which is also a label:"
                " pass abstain= (the value that abstains, or None if none does)"
            )
        return True

    def hush(self, said: Cells) -> Cells:
        """The cells, with those that abstain saying nothing."""
        names = list(said.names)
        for i, name in enumerate(names):
            if name in self.contested and not occurs(said, i):
                continue
            if name is not None and self.silences(name):
                names[i] = None
        return said._replace(names=names, present=[name for name in said.present if not self.silences(name)])


def quiet(abstain: Any, classes: Roll, labels: Cells | Sequence[Label | None] | None) -> Quiet:
    """Read the option ``abstain``: unless the caller decides, a label that abstains is contested.

    >>> quiet(DEFAULT, Roll([-1, 1], what="class"), None).contested
    (-1,)
    >>> quiet(0, Roll(), None), quiet(None, Roll(), None)
    (Quiet(names=(0,), contested=()), Quiet(names=(), contested=()))
    """
    if not isinstance(abstain, Default):
        name = settled(abstain)
        return Quiet(() if name is None else (name,))
    names: tuple[Label, ...] = (-1, "")
    return Quiet(names, tuple(name for name in names if classes.get(name) >= 0 or _among(labels, name)))


def settled(abstain: Any) -> Any:
    """The option as a plain label, None or DEFAULT.

    >>> settled(np.int64(0)), settled(DEFAULT)
    (0, DEFAULT)
    """
    if isinstance(abstain, Default):
        return DEFAULT
    try:
        return plain(abstain, "abstain")
    except ValueError:
        shown = abstain.item() if isinstance(abstain, np.generic) else abstain
        raise ValueError(
            f"abstain must be one whole number, one text, true/false or None (got {shown!r})"
        ) from None


def occurs(said: Cells, i: int) -> bool:
    """Whether any cell says the i-th name."""
    return bool((said.codes == said.low + i).any())


def _among(labels: Cells | Sequence[Label | None] | None, name: Label) -> bool:
    if isinstance(labels, Cells):
        return name in labels.names and occurs(labels, labels.names.index(name))
    return labels is not None and name in labels
