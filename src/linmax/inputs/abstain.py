"""The option ``abstain``: which votes abstain although they look like labels."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from linmax.inputs.encode import CodedArray
from linmax.inputs.names import Label, NameIndex, to_label


class Default:
    """The type of `DEFAULT`: -1 and the empty text abstain."""

    def __repr__(self) -> str:
        return "DEFAULT"

    def __reduce__(self) -> str:
        return "DEFAULT"  # copies and pickles are the same object


DEFAULT = Default()


class Abstentions(NamedTuple):
    """The values that abstain.

    Attributes
    ----------
    names : tuple of labels
        Votes for these abstain.
    ambiguous : tuple of labels
        Those that are also labels. A vote for one of them is an error.
    """

    names: tuple[Label, ...]
    ambiguous: tuple[Label, ...] = ()

    def includes(self, name: Label | None) -> bool:
        """Whether a vote for this name abstains."""
        # types are compared too, because True == 1 in Python
        if name not in self.names or type(name) is not type(self.names[self.names.index(name)]):
            return False
        if name in self.ambiguous:
            raise ValueError(
                f"votes contain {name!r}, which is also a label:"
                " pass abstain= (the value that abstains, or None if none does)"
            )
        return True

    def mask(self, coded: CodedArray) -> CodedArray:
        """Return the array with abstaining cells as missing ones."""
        names = list(coded.names)
        for i, name in enumerate(names):
            if name in self.ambiguous and not _occurs(coded, i):
                continue
            if name is not None and self.includes(name):
                names[i] = None
        present = [name for name in coded.present if not self.includes(name)]
        return coded._replace(names=names, present=present)


def read_abstain(
    abstain: Any, classes: NameIndex, labels: CodedArray | Sequence[Label | None] | None
) -> Abstentions:
    """Read the option ``abstain``; by default -1 and "" abstain, and are ambiguous if they are labels.

    >>> read_abstain(DEFAULT, NameIndex([-1, 1], what="class"), None).ambiguous
    (-1,)
    >>> read_abstain(0, NameIndex(), None), read_abstain(None, NameIndex(), None)
    (Abstentions(names=(0,), ambiguous=()), Abstentions(names=(), ambiguous=()))
    """
    if not isinstance(abstain, Default):
        name = check_abstain(abstain)
        return Abstentions(() if name is None else (name,))
    names: tuple[Label, ...] = (-1, "")
    ambiguous = tuple(name for name in names if classes.get(name) >= 0 or _is_label(labels, name))
    return Abstentions(names, ambiguous)


def check_abstain(abstain: Any) -> Any:
    """Return the option ``abstain`` as a label, None or DEFAULT; raise a ValueError if it is none of these.

    >>> check_abstain(np.int64(0)), check_abstain(DEFAULT)
    (0, DEFAULT)
    """
    if isinstance(abstain, Default):
        return DEFAULT
    try:
        return to_label(abstain, "abstain")
    except ValueError:
        shown = abstain.item() if isinstance(abstain, np.generic) else abstain
        raise ValueError(
            f"abstain must be one whole number, one text, true/false or None (got {shown!r})"
        ) from None


def _occurs(coded: CodedArray, i: int) -> bool:
    """Whether any cell has the i-th name."""
    return bool((coded.codes == coded.low + i).any())


def _is_label(labels: CodedArray | Sequence[Label | None] | None, name: Label) -> bool:
    if isinstance(labels, CodedArray):
        return name in labels.names and _occurs(labels, labels.names.index(name))
    return labels is not None and name in labels
