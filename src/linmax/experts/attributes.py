"""The sources Attributes and ScaledAttributes: the linear machine on attributes, plain or standardised."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, ClassVar

import numpy as np

from linmax._jit.vectors import WIDTH
from linmax.experts.base import Capacity, Source, SubVotes, TrialData, VoteReader
from linmax.kernels.forms import Complement, FeatureRows, LinearMachine, Rows, SparseRows
from linmax.validation import is_integer

MOST_ATTRIBUTES = 64  # with a direction
SPREAD = 2.0  # radians of a feature between rows of length 1 at distance 1, on average


@dataclass(frozen=True, repr=False)
class Attributes(Source):
    """k sub-experts per attribute, each of which votes the attribute's value for one class.

    This is a linear machine with one weight per attribute and class. Numbers are used as they are; a text
    becomes one attribute per value, which is 1 where it occurs. Winnow requires attributes in [0, 1].

    Parameters
    ----------
    complement : bool, default False
        Use one sub-expert per attribute, which votes x for the first class and 1 - x for the second. For two
        classes only. An attribute that is not listed is 0, so that those of all items of a call vote from its
        first item on.

    Notes
    -----
    The key of a weight is ``("attribute", attribute, class)``, or ``("attribute", attribute)`` with
    `complement`.

    References
    ----------
    C. Mesterharm (1999). A multi-class linear learning algorithm related to Winnow, sections 4.1 to 4.3.

    Examples
    --------
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
    in_place: ClassVar[bool] = True
    many: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the option."""
        super().__post_init__()
        if not isinstance(self.complement, bool):
            raise ValueError(f"Attributes requires complement True or False (got {self.complement!r})")

    @property
    def single_item(self) -> bool:
        """Whether single items can be run on prepared arrays; complements need a form of their own."""
        return not self.complement

    @property
    def label(self) -> str:
        """The first element of its weights' keys."""
        return "attribute"

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per attribute and class, or per attribute."""
        return (capacity.attributes,) if self.complement else (capacity.attributes, capacity.classes)

    def check(self, classes: int) -> None:
        """Raise a ValueError if there are more than two classes and `complement` is set."""
        if self.complement and classes > 2:
            raise ValueError(
                f"Attributes(complement=True) is for two classes (got {classes}); leave complement out"
            )

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the attributes as a linear machine, or with their complements."""
        if not self.complement:
            return LinearMachine(data.rows, capacity.classes)
        return Complement(_to_dense(data.rows, len(_attributes_of(data, names))))

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by attribute and class."""
        for a, attribute in enumerate(names.attributes.names):
            if self.complement:
                yield ("attribute", attribute), (a,)
            else:
                for c, name in enumerate(names.classes.names):
                    yield ("attribute", attribute, name), (a, c)

    def owner(self, key: Any) -> Any:
        """Return the attribute."""
        return key[:2]


class _OfScaledRows(Source, abstract=True):
    """A source with k sub-experts for each of its inputs, which are made of standardised attributes."""

    needs: ClassVar[str] = "rows"
    scaled: ClassVar[bool] = True
    per_class: ClassVar[bool] = True
    in_place: ClassVar[bool] = True
    many: ClassVar[bool] = True

    def _rows(self, data: TrialData, unit: bool) -> SparseRows:
        """Return the standardised attributes, of length 1 or as they are."""
        rows = data.scaled
        if rows is None:
            raise ValueError(f"{self._name()} needs attributes; pass attributes=")
        return SparseRows(rows.indptr, rows.index, rows.unit if unit else rows.value)


@dataclass(frozen=True, repr=False)
class ScaledAttributes(_OfScaledRows):
    """Attributes standardised on-line, and a constant: k sub-experts for each, as for `Attributes`.

    A column that is not 0 in more than half of the items is centred and divided by its standard deviation.
    Any other is divided by the root mean square of its values other than 0, so that words and indicators stay
    as they are. The statistics are those of the labelled items so far and of the item itself.

    Parameters
    ----------
    unit : bool, default False
        Divide each row by its length, so that no item counts more than others.

    Notes
    -----
    The key of a weight is ``("attribute", attribute, class)``, or ``("(constant)", class)``. Weights are for
    the standardised values.

    References
    ----------
    Welford, Note on a method for calculating corrected sums of squares and products, 1962.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Averaged, Fusion, Perceptron
    >>> from linmax.experts import Attributes, ScaledAttributes
    >>> rng = np.random.default_rng(0)
    >>> heights, weights = rng.normal(1.7, 0.1, 500), rng.normal(70_000, 9_000, 500)  # metres, grams
    >>> rows, labels = np.column_stack([heights, weights]), (weights > 40_000 * heights).astype(int)
    >>> perceptron = Averaged(Perceptron())
    >>> Fusion(perceptron.on(ScaledAttributes())).learn(attributes=rows, labels=labels).mistakes
    13
    >>> Fusion(perceptron.on(Attributes())).learn(attributes=rows, labels=labels).mistakes
    218
    """

    unit: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check the option."""
        super().__post_init__()
        if not isinstance(self.unit, bool):
            raise ValueError(f"ScaledAttributes requires unit True or False (got {self.unit!r})")

    @property
    def label(self) -> str:
        """The first element of its weights' keys."""
        return "attribute"

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per class for the constant and for each attribute."""
        return (1 + capacity.attributes, capacity.classes)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the standardised attributes as a linear machine."""
        return LinearMachine(self._rows(data, self.unit), capacity.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by attribute and class, the constant first."""
        for c, name in enumerate(names.classes.names):
            yield ("(constant)", name), (0, c)
        for a, attribute in enumerate(names.attributes.names):
            for c, name in enumerate(names.classes.names):
                yield ("attribute", attribute, name), (a + 1, c)

    def owner(self, key: Any) -> Any:
        """Return the attribute, or the constant."""
        return key[:2] if key[0] == "attribute" else key[0]

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes of the attributes of the item, and of the constant, for every class."""
        end = int(form.rows.indptr[1])
        index, value = form.rows.index[:end].astype(np.int64), form.rows.value[:end]
        attributes = names.attributes.names
        owners = tuple(("attribute", attributes[a - 1]) if a else "(constant)" for a in index.tolist())
        return _for_all_classes(index, value, np.arange(end), form.stride, k)._replace(owners=owners)


@dataclass(frozen=True, repr=False)
class RandomFeatures(_OfScaledRows):
    """Random cosines of the standardised attributes: a linear learner on them is nearly one with a kernel.

    Feature j of an item is cos(w_j . x + b_j), where x are its `ScaledAttributes(unit=True)`, w_j is drawn
    from a normal distribution and b_j evenly, always the same for the same name of an attribute. A linear
    function of such features
    comes close to any function of a Gaussian kernel, at a cost that does not grow with the items.

    It is meant for few attributes, most of them not 0: an item that lists an attribute beyond the first 64 of
    the session has no features.

    Parameters
    ----------
    count : int, default 64
        The number of features, a multiple of 8.

    Notes
    -----
    The key of a weight is ``("(features)", number, class)``; number 0 is a constant.

    References
    ----------
    Rahimi & Recht, Random features for large-scale kernel machines, 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, SquaredHinge
    >>> from linmax.experts import RandomFeatures
    >>> rows = np.random.default_rng(0).normal(size=(1000, 2))
    >>> rings = (np.abs(rows).sum(axis=1) > 1.5).astype(int)  # no straight line separates them
    >>> Fusion(SquaredHinge()).learn(attributes=rows, labels=rings).mistakes
    446
    >>> Fusion(SquaredHinge().on(RandomFeatures())).learn(attributes=rows, labels=rings).mistakes
    81
    """

    scratch: ClassVar[bool] = True

    count: int = 64

    def __post_init__(self) -> None:
        """Check the number of features."""
        super().__post_init__()
        if not is_integer(self.count, WIDTH, 4096) or self.count % WIDTH:
            raise ValueError(
                f"RandomFeatures requires a multiple of {WIDTH} as count, up to 4096 (got {self.count!r})"
            )

    @property
    def label(self) -> str:
        """The first element of its weights' keys."""
        return "(features)"

    def shape(self, capacity: Capacity) -> tuple[int, ...]:
        """One weight per class for each feature."""
        return (1 + self.count, capacity.classes)

    def form(self, data: TrialData, capacity: Capacity, names: Any, memory: Any) -> Any:
        """Return the features as a linear machine; they are computed when a trial begins."""
        directions = _directions(_attributes_of(data, names), self.count)
        features = FeatureRows(
            self._rows(data, True), directions, _phases(self.count), np.zeros(1 + self.count)
        )
        return LinearMachine(features, capacity.classes)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by feature and class."""
        for j in range(1 + self.count):
            for c, name in enumerate(names.classes.names):
                yield ("(features)", j, name), (j, c)

    def owner(self, key: Any) -> Any:
        """Return what all features are called together."""
        return key[0]

    def sub_votes(self, form: Any, k: int, read: VoteReader, names: Any) -> SubVotes:
        """Return the votes of all features for every class."""
        used = np.flatnonzero(form.rows.value)
        votes = _for_all_classes(used, form.rows.value[used], used, form.stride, k)
        return votes._replace(owner="(features)")


def _attributes_of(data: TrialData, names: Any) -> list[Any]:
    """Return the attributes of the session, and then those of trials that are predicted only."""
    known = names.attributes
    return [*known.names, *(name for name in data.new_attributes if name not in known.codes)]


def _for_all_classes(
    inputs: np.ndarray, value: np.ndarray, owner: np.ndarray, stride: int, k: int
) -> SubVotes:
    """Return the votes of some inputs for each of k classes."""
    label = np.tile(np.arange(k), len(inputs))
    return SubVotes(np.repeat(inputs * stride, k) + label, label, np.repeat(value, k), np.repeat(owner, k))


def _directions(names: list[Any], count: int) -> np.ndarray:
    """Return the directions of features by attribute, the constant first, in turns."""
    rows = [_direction(None, count), *(_direction(name, count) for name in names[:MOST_ATTRIBUTES])]
    return np.concatenate(rows)


@lru_cache(maxsize=4096)
def _direction(name: Any, count: int) -> np.ndarray:
    """Return the numbers of an attribute in all directions: random, but always the same for a name."""
    digest = hashlib.blake2b(repr(name).encode(), digest_size=8).digest()
    numbers = np.random.default_rng([count, int.from_bytes(digest, "little")]).normal(size=count)
    return (numbers * (SPREAD / (2.0 * np.pi))).astype(np.float32)


@cache
def _phases(count: int) -> np.ndarray:
    """Return where the cosines begin, in turns."""
    return np.random.default_rng(count).random(count)


def _to_dense(rows: Any, attributes: int) -> np.ndarray:
    """Return rows with their zeros, because 1 - x votes there."""
    if isinstance(rows, Rows):
        return rows.values
    dense = np.zeros((len(rows.indptr) - 1, attributes))
    trial = np.repeat(np.arange(len(dense)), np.diff(rows.indptr))
    dense[trial, rows.index] = rows.value
    return dense
