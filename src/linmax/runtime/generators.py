"""Generated votes: what sources vote by themselves on the attributes, once for all learners of a session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from linmax.experts.base import Capacity, Source, TrialData
from linmax.experts.generated import GeneratedSource, Generator
from linmax.kernels.forms import Sparse
from linmax.runtime.layout import strip_prefix
from linmax.runtime.scaling import Scaling

State = dict[str, np.ndarray]


class Generators:
    """The generators of a session, one per different source.

    Parameters
    ----------
    parts
        All sources of the session.
    names
        The names of classes, experts, attributes and values of the session.

    Attributes
    ----------
    sources : tuple of GeneratedSource
        The different sources that generate votes.
    generators : tuple of Generator
        The generator of each.
    """

    def __init__(self, parts: Iterable[Source], names: Any) -> None:
        self.names = names
        self.sources = tuple(dict.fromkeys(part for part in parts if isinstance(part, GeneratedSource)))
        self.generators = tuple(source.new_generator(names) for source in self.sources)

    def vote(
        self, data: TrialData, labels: np.ndarray, sizes: Capacity, new: Sequence[Any]
    ) -> dict[Source, Sparse]:
        """Return the votes of each source on some trials; those with a label are learned.

        `new` are the attributes of the trials that the session does not know yet.
        """
        return {
            source: one.vote(data, labels, sizes, new)
            for source, one in zip(self.sources, self.generators, strict=True)
        }

    def most_votes(self, classes: int) -> int:
        """Return the largest number of votes on a trial."""
        return sum(one.most_votes(classes) for one in self.generators)

    def state(self) -> State:
        """Return what all have learned, as arrays."""
        return {
            f"{i}.{name}": array
            for i, one in enumerate(self.generators)
            for name, array in one.state().items()
        }

    def _parts_of(self, state: State) -> Iterator[tuple[Generator, State]]:
        for i, one in enumerate(self.generators):
            yield one, strip_prefix(state, f"{i}.")

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        for one, part in self._parts_of(state):
            one.restore(part)

    def validate(self, state: State) -> None:
        """Raise a ValueError if these are not the arrays of such generators."""
        for one, part in self._parts_of(state):
            one.validate(part, self.names)


def add_derived(
    scaling: Scaling | None,
    generators: Generators,
    sizes: Capacity,
    new: Sequence[Any],
    data: TrialData,
    labels: np.ndarray,
) -> TrialData:
    """Add to the data of some trials what sources read besides: standardised attributes, generated votes."""
    if scaling is not None and data.rows is not None:
        data = replace(data, scaled=scaling.scale(data.rows, labels))
    if generators.sources and data.rows is not None:
        data = replace(data, generated=generators.vote(data, labels, sizes, new))
    return data
