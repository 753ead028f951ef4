"""Plain attributes: the linear machine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import Capacity, Source, TrialData
from linmax.kernels.forms import Complement, LinearMachine, Rows


@dataclass(frozen=True, repr=False)
class Attributes(Source):
    """k sub-experts per attribute, each voting its value for one class: a weight per attribute and class.

    1999, section 4. Numbers count as they are, text as one attribute per value. Winnow wants attributes in
    [0, 1]. With two classes `complement=True` has one sub-expert per attribute instead, voting x for the
    first class and 1 - x for the second.

    >>> import numpy as np
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import Attributes
    >>> fusion = Fusion(Perceptron().on(Attributes()))
    >>> run = fusion.learn(attributes=np.eye(3)[[0, 1, 2] * 4], labels=["a", "b", "c"] * 4)
    >>> fusion.predict(attributes=np.eye(3))
    array(['a', 'b', 'c'], dtype='<U1')
    """

    complement: bool = field(default=False, kw_only=True)

    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        """Refuse a flag that is none."""
        super().__post_init__()
        if not isinstance(self.complement, bool):
            raise ValueError(f"Attributes needs complement True or False (got {self.complement!r})")

    def shape(self, room: Capacity) -> tuple[int, ...]:
        """One weight per attribute and class, or per attribute."""
        return (room.attributes,) if self.complement else (room.attributes, room.classes)

    def check(self, classes: int) -> None:
        """The short form is for two classes."""
        if self.complement and classes > 2:
            raise ValueError(
                f"Attributes(complement=True) is for two classes (got {classes}); leave complement out"
            )

    def form(self, data: TrialData, room: Capacity, names: Any, memory: Any) -> Any:
        """The linear machine, or its short form."""
        if not self.complement:
            return LinearMachine(data.rows, room.classes)
        return Complement(_all_of(data.rows, len(names.attributes)))

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Weights by attribute and class."""
        for a, attribute in enumerate(names.attributes.names):
            if self.complement:
                yield ("attribute", attribute), (a,)
            else:
                for c, name in enumerate(names.classes.names):
                    yield ("attribute", attribute, name), (a, c)

    def owner(self, key: Any) -> Any:
        """The attribute, whatever the class."""
        return key[:2]


def _all_of(rows: Any, attributes: int) -> np.ndarray:
    """Rows with their zeros, which vote too when 1 - x does."""
    if isinstance(rows, Rows):
        return rows.values
    whole = np.zeros((len(rows.indptr) - 1, attributes))
    trial = np.repeat(np.arange(len(whole)), np.diff(rows.indptr))
    whole[trial, rows.index] = rows.value
    return whole
