"""The source Neighbours: the labels of the most similar items among the latest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax.experts.base import Capacity, State, TrialData
from linmax.experts.generated import GeneratedSource, Generator
from linmax.kernels.forms import Sparse, SparseRows
from linmax.kernels.sources.neighbours import Search, StoredItems, vote
from linmax.validation import check_array, is_integer, require

SIZES = (1, 3, 7)  # neighbours that vote together
SUB_EXPERTS = (*SIZES, "distance")


@dataclass(frozen=True, repr=False)
class Neighbours(GeneratedSource):
    """Four sub-experts that vote for the classes of the most similar items among the latest.

    Three vote for the classes of the nearest one, three and seven neighbours, in equal shares. The fourth
    votes for every class that is stored: the distance of the nearest neighbour, divided by that of the
    nearest one of the class, so 1 for the class of the nearest. The distance is that of the attributes,
    standardised on-line as in `ScaledAttributes` when the item is met. All abstain at the first item.

    It finds classes of any shape, but learns nothing about which attributes are relevant: add it to
    `ScaledAttributes`, for rules, or have it vote with others in a `Mixture`.

    Parameters
    ----------
    memory : int, default 2000
        How many of the latest labelled items are stored, 1 to 1,000,000. A prediction takes time in
        proportion to it.
    unit : bool, default False
        Divide each row by its length, so that only directions are compared.

    Notes
    -----
    The key of a weight is ``("(neighbours)", 1)``, ``("(neighbours)", 3)``, ``("(neighbours)", 7)`` or
    ``("(neighbours)", "distance")``; with `unit` it begins with ``"(unit neighbours)"``. With
    ``start="equal"`` all begin with weight 1.

    References
    ----------
    T. M. Cover and P. E. Hart (1967). Nearest neighbor pattern classification.

    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts, section 6,
    which plans standard sub-experts.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, Logistic
    >>> from linmax.experts import Neighbours, ScaledAttributes
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(400, 2))
    >>> rings = (np.hypot(*rows.T) * 2).astype(int)  # no straight lines separate them
    >>> rule = Logistic(1.0, decay="adagrad", initial=0.01)
    >>> for source in (ScaledAttributes(), ScaledAttributes() + Neighbours()):
    ...     print(source, Fusion(rule.on(source)).learn(attributes=rows, labels=rings).mistakes)
    ScaledAttributes() 276
    ScaledAttributes() + Neighbours(2000) 137
    """

    memory: int = 2000
    unit: bool = field(default=False, kw_only=True)

    scaled: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if not is_integer(self.memory, 1, 1_000_000):
            raise ValueError(
                f"Neighbours requires an integer 1 <= memory <= 1000000 (got {self.memory!r}); 2000 is usual"
            )
        if not isinstance(self.unit, bool):
            raise ValueError(f"Neighbours requires unit True or False (got {self.unit!r})")

    @property
    def label(self) -> str:
        """The first element of its weights' keys."""
        return "(unit neighbours)" if self.unit else "(neighbours)"

    @property
    def size(self) -> int:
        """The number of sub-experts."""
        return len(SUB_EXPERTS)

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by sub-expert."""
        for i, name in enumerate(SUB_EXPERTS):
            yield (self.label, name), (i,)

    def new_generator(self, names: Any) -> NeighbourMemory:
        """Return a memory without items."""
        return NeighbourMemory(self.memory, self.unit)


class NeighbourMemory(Generator):
    """The latest labelled items.

    Parameters
    ----------
    memory : int
        How many of them count.
    unit : bool
        Whether rows are divided by their lengths.
    """

    def __init__(self, memory: int, unit: bool) -> None:
        self.memory = memory
        self.unit = unit
        self.items = _with_space(_no_items(), 0, 0, 0)

    def vote(self, data: TrialData, labels: np.ndarray, sizes: Capacity, new: Sequence[Any]) -> Sparse:
        """Return the votes on some trials, and store those with a label."""
        scaled = data.scaled
        assert scaled is not None
        rows = SparseRows(scaled.indptr, scaled.index, scaled.unit if self.unit else scaled.value)
        learned = int(np.count_nonzero(labels >= 0))
        entries = len(rows.index) if learned else 0
        count = int(self.items.count[0])
        if count + learned > len(self.items.labels) or (
            self.items.starts[count] + entries > len(self.items.index)
        ):
            self.items = _with_space(self.items, self.memory, learned, entries)
        classes, most = max(sizes.classes, 1), len(labels) * self.most_votes(sizes.classes)
        work = Search(
            np.zeros(sizes.attributes + 1),
            np.zeros(max(SIZES)),
            np.zeros(max(SIZES), dtype=np.int32),
            np.zeros(classes),
            np.zeros(classes),
        )
        indptr = np.zeros(len(labels) + 1, dtype=np.int64)
        out = Sparse(indptr, np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most))
        vote(rows, labels, self.items, self.memory, np.array(SIZES), work, out)
        return Sparse(indptr, *(column[: indptr[-1]].copy() for column in out[1:]))

    def most_votes(self, classes: int) -> int:
        """Return the largest number of votes on a trial."""
        return classes + sum(SIZES)

    def state(self) -> State:
        """Return the items that count."""
        items = _latest(self.items, self.memory)
        return {name: getattr(items, name) for name in items._fields if name != "count"}

    def restore(self, state: State) -> None:
        """Take over the items."""
        count = np.array([len(state["labels"])], dtype=np.int64)
        self.items = _with_space(StoredItems(count, **state), self.memory, 0, 0)

    def validate(self, state: State, names: Any) -> None:
        """Check that the items have known labels and attributes."""
        items, entries = len(state["labels"]), len(state["index"])
        require(items <= self.memory, "it stores more neighbours than the learner keeps")
        check_array(state, "labels", (items,), np.int32, 0, max(len(names.classes), 1))
        check_array(state, "squares", (items,), np.float64)
        check_array(state, "starts", (items + 1,), np.int64, 0, entries + 1)
        starts = state["starts"]
        require(
            starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all()),
            "starts do not ascend from 0 to the number of entries",
        )
        check_array(state, "index", (entries,), np.int32, 0, len(names.attributes) + 1)
        check_array(state, "value", (entries,), np.float64)


def _no_items() -> StoredItems:
    return StoredItems(
        np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(0),
        np.zeros(0, np.int32),
    )  # fmt: skip


def _latest(items: StoredItems, memory: int) -> StoredItems:
    """Return the latest items alone, without spare capacity."""
    end = int(items.count[0])
    first = max(end - memory, 0)
    entries = slice(int(items.starts[first]), int(items.starts[end]))
    return StoredItems(
        np.array([end - first], dtype=np.int64),
        items.starts[first : end + 1] - items.starts[first],
        items.index[entries],
        items.value[entries],
        items.squares[first:end],
        items.labels[first:end],
    )


def _with_space(items: StoredItems, memory: int, more: int, entries: int) -> StoredItems:
    """Return the latest items with space for more: half as many again, so that few copies are made."""
    kept = _latest(items, memory)
    spare = more + len(kept.labels) // 2 + 8
    space = entries + len(kept.index) // 2 + 8
    return StoredItems(
        kept.count,
        np.pad(kept.starts, (0, spare)),
        np.pad(kept.index, (0, space)),
        np.pad(kept.value, (0, space)),
        np.pad(kept.squares, (0, spare)),
        np.pad(kept.labels, (0, spare)),
    )
