"""The source ValueTables: for each set of columns, a table of what its combinations of values meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from linmax.experts.base import Capacity, State, TrialData
from linmax.experts.generated import GeneratedSource, Generator
from linmax.kernels.forms import Sparse
from linmax.kernels.sources.value_tables import EMPTY, Combination, TableCells, number, vote
from linmax.validation import check_array, is_integer, require


@dataclass(frozen=True, repr=False)
class ValueTables(GeneratedSource):
    """One sub-expert per set of nominal columns, with a table of their combinations of values.

    It votes for the most frequent label of the last `memory` items with the same values in these columns;
    labels that tie share the vote. It abstains where a value is missing or the combination is new. This is
    `Pairs` for any number of columns, with one weight per set of columns instead of one per combination of
    values: few weights are learned fast, but cannot tell which values of a column are informative.

    A column is nominal if its values are texts. Numbers are ignored, so the source can be added to one that
    reads them; but a number whose name is a pair counts as a value of the column that the pair begins with.

    Parameters
    ----------
    order : int, default 2
        The number of columns of a table, 1 to 4.
    memory : int, default 5
        How many labels each combination of values remembers, 1 to 100.
    tables : int, default 1000
        The largest number of tables, up to 100,000. Those of the first columns count.
    limit : int, default 100,000
        The largest number of combinations of values, in all tables together. Later ones abstain.

    Notes
    -----
    The key of a weight is ``("(tables of 2)", column, column)``, for an order of 2. With ``start="equal"``
    all tables begin with weight 1.

    References
    ----------
    A. Blum (1995). Empirical support for Winnow and Weighted-Majority based algorithms: results on a calendar
    scheduling domain.

    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts, sections 5.2
    and 6.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.experts import ValueTables
    >>> from linmax.problems import calendar
    >>> meetings, rooms = calendar(seed=1).task("location")
    >>> for source in (ValueTables(1), ValueTables(2)):
    ...     print(source, Fusion(Winnow(1.5).on(source)).learn(attributes=meetings, labels=rooms).mistakes)
    ValueTables(1) 334
    ValueTables(2) 223
    """

    order: int = 2
    memory: int = field(default=5, kw_only=True)
    tables: int = field(default=1000, kw_only=True)
    limit: int = field(default=100_000, kw_only=True)

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        for name, most, usual in (
            ("order", 4, 2),
            ("memory", 100, 5),
            ("tables", 100_000, 1000),
            ("limit", 10_000_000, 100_000),
        ):
            given = getattr(self, name)
            if not is_integer(given, 1, most):
                raise ValueError(
                    f"ValueTables requires an integer 1 <= {name} <= {most} (got {given!r}); {usual} is usual"
                )

    @property
    def label(self) -> str:
        """The first element of its weights' keys."""
        return f"(tables of {self.order})"

    @property
    def size(self) -> int:
        """The largest number of tables."""
        return self.tables

    @property
    def columns(self) -> int:
        """The number of columns of which some table consists: the tables of later ones are too many."""
        count = self.order
        while comb(count, self.order) < self.tables:
            count += 1
        return count

    def keys(self, names: Any, memory: Any) -> Iterator[tuple[Any, tuple[int, ...]]]:
        """Yield keys by set of columns."""
        columns = list(dict.fromkeys(_column(name) for name in names.attributes.names if _is_value(name)))
        for chosen in combinations(range(min(len(columns), self.columns)), self.order):
            place = sum(comb(c, i + 1) for i, c in enumerate(chosen))
            if place < self.tables:
                yield (self.label, *(columns[c] for c in chosen)), (place,)

    def new_generator(self, names: Any) -> TableMemory:
        """Return tables without any labels."""
        return TableMemory(self, names)


class TableMemory(Generator):
    """The combinations of values that occurred, and the last labels of each.

    Parameters
    ----------
    source : ValueTables
        The options.
    names
        The names of the session: those of attributes tell which are nominal values, and of which column.
    """

    def __init__(self, source: ValueTables, names: Any) -> None:
        self.source = source
        self.names = names
        self.most_columns = source.columns
        self.columns: dict[Any, int] = {}
        self.column_of = np.zeros(0, dtype=np.int64)  # of the attributes that the session knows
        self.cells = self._empty(16)

    def _empty(self, capacity: int) -> TableCells:
        size = 1 << (2 * capacity - 1).bit_length()  # at most half is used
        return TableCells(
            np.zeros(1, np.int64), np.full(size, EMPTY, np.int32),
            np.zeros((capacity, self.source.order), np.int32),
            np.zeros((capacity, self.source.memory), np.int32), np.zeros(capacity, np.int64),
        )  # fmt: skip

    def _fill(self, capacity: int, members: np.ndarray, labels: np.ndarray, seen: np.ndarray) -> None:
        """Store combinations in new arrays."""
        self.cells = self._empty(capacity)
        count = self.cells.count[0] = len(seen)
        for array, given in zip(self.cells[2:], (members, labels, seen), strict=True):
            array[:count] = given
        number(self.cells, np.arange(self.source.order))

    def _columns_of(self, new: Sequence[Any]) -> np.ndarray:
        """Return the column of each attribute of the session, and of new ones; -1 if no table has it."""
        known = self.names.attributes.names
        if len(known) > len(self.column_of):
            self.column_of = self._extended(known[len(self.column_of) :], self.columns)
        return self._extended(new, dict(self.columns)) if new else self.column_of

    def _extended(self, names: Sequence[Any], columns: dict[Any, int]) -> np.ndarray:
        """Return the columns of the known attributes and of more, which may have new columns."""
        numbers = [
            columns.setdefault(_column(name), len(columns)) if _is_value(name) else -1 for name in names
        ]
        return np.concatenate(
            (self.column_of, [column if column < self.most_columns else -1 for column in numbers])
        ).astype(np.int64)

    def vote(self, data: TrialData, labels: np.ndarray, sizes: Capacity, new: Sequence[Any]) -> Sparse:
        """Return the votes on some trials, and store the labels."""
        source, cells = self.source, self.cells
        columns = self._columns_of(new)
        used = int(columns.max(initial=-1)) + 1
        each = min(comb(used, source.order), source.tables)
        count, learned = int(cells.count[0]), int(np.count_nonzero(labels >= 0))
        needed = min(count + learned * each, source.limit)
        if needed > len(cells.seen):
            self._fill(max(needed, 2 * len(cells.seen)), *(array[:count] for array in cells[2:]))
        work = Combination(
            columns, _ranks(used, source.order), np.zeros(used, np.int32), np.zeros(source.order, np.int64)
        )
        most = len(labels) * each * min(source.memory, max(sizes.classes, 1))
        indptr = np.zeros(len(labels) + 1, dtype=np.int64)
        out = Sparse(indptr, np.zeros(most, np.int32), np.zeros(most, np.int32), np.zeros(most))
        vote(data.rows, labels, source.tables, source.limit, self.cells, work, out)
        return Sparse(indptr, *(column[: indptr[-1]].copy() for column in out[1:]))

    def most_votes(self, classes: int) -> int:
        """Return the largest number of votes on a trial."""
        return self.source.tables * min(self.source.memory, max(classes, 1))

    def state(self) -> State:
        """Return the combinations, their labels and how often each occurred."""
        count = int(self.cells.count[0])
        return {name: getattr(self.cells, name)[:count] for name in ("members", "labels", "seen")}

    def restore(self, state: State) -> None:
        """Take over the combinations."""
        self._fill(max(len(state["seen"]), 16), state["members"], state["labels"], state["seen"])

    def validate(self, state: State, names: Any) -> None:
        """Check that combinations are of known attributes, each once, with known labels."""
        cells, source = len(state["seen"]), self.source
        check_array(state, "members", (cells, source.order), np.int32, 0, len(names.attributes))
        check_array(state, "labels", (cells, source.memory), np.int32, 0, max(len(names.classes), 1))
        check_array(state, "seen", (cells,), np.int64, 1, 2**62)
        require(cells <= source.limit, "it stores more combinations than the learner allows")
        require(len(np.unique(state["members"], axis=0)) == cells, "members has a combination twice")


def _is_value(name: Any) -> bool:
    """Tell whether an attribute is a value of a text column."""
    return isinstance(name, tuple) and len(name) == 2


def _column(name: Any) -> Any:
    return name[0]


@lru_cache(maxsize=16)
def _ranks(columns: int, order: int) -> np.ndarray:
    """Return the numbers of which that of a table is the sum, by column and by its place in the table."""
    ranks = [[comb(c, i + 1) for i in range(order)] for c in range(columns)]
    return np.array(ranks, dtype=np.int64).reshape(columns, order)
