"""What the rows of a table tell beyond profiles: agreement with labels, copies, groups of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from linmax.panels.roles.classes import ClassNames
from linmax.panels.roles.profile import MISSING, strip_missing
from linmax.streams.columns import single_chunk

Codes = NDArray[np.int64]

MIN_ITEMS = 200
"""With fewer labelled votes, a column may agree with the labels by chance."""
MIN_SCORE_ITEMS = 50
"""The same for columns of probabilities."""
SIGNIFICANT = 3.0
"""Standard deviations from chance."""


MAX_ROWS = 20_000
"""Of more rows, so many are compared, evenly spaced."""
MAX_CELLS = 1 << 20
"""Pairs of classes are counted in a table up to this size."""
ALWAYS, MOSTLY, OFTEN = 1.0, 0.98, 0.8
"""Shares of rows in which a column has the same value as in other rows of a group."""


class Evidence:
    """Compares the columns of a table with each other.

    Parameters
    ----------
    data : pyarrow.Table or None
        The rows; without them nothing is known.
    missing : tuple of str
        Cells that are read as missing.

    Examples
    --------
    >>> columns = {"label": [0, 1, 0, 1], "label_text": ["no", "yes", "no", "yes"], "ann": [0, 1, 1, 1]}
    >>> data = pa.table(columns)
    >>> evidence = Evidence(data)
    >>> evidence.are_one_to_one("label", "label_text"), evidence.are_one_to_one("label", "ann")
    (True, False)
    """

    def __init__(self, data: Any, missing: tuple[str, ...] = MISSING) -> None:
        if data is not None and data.num_rows > MAX_ROWS:
            data = data.take(pa.array(np.linspace(0, data.num_rows - 1, MAX_ROWS).astype(np.int64)))
        self.data, self.missing = data, missing
        self._coded: dict[str, tuple[ClassNames, Codes]] = {}

    def are_one_to_one(self, a: str, b: str) -> bool:
        """Whether two columns tell the same, each in its own words."""
        if self.data is None:
            return False
        left, right = self._codes(a), self._codes(b)
        if not np.array_equal(left < 0, right < 0):
            return False
        present = left >= 0
        pairs = np.unique(left[present] * (int(right.max(initial=0)) + 1) + right[present])
        return len(pairs) == len(np.unique(left[present])) == len(np.unique(right[present])) > 1

    def is_class_minus_one(self, label: str, columns: list[str]) -> bool:
        """Whether -1 is a class: the columns say -1 where the label is -1 rather than elsewhere."""
        if self.data is None:
            return True
        is_negative = self._is_minus_one(label)
        if not is_negative.any() or is_negative.all():
            return True
        there = elsewhere = 0.0
        for name in columns:
            votes = self._is_minus_one(name)
            there += float(votes[is_negative].mean())
            elsewhere += float(votes[~is_negative].mean())
        return there > 2.0 * elsewhere or there == 0.0

    def agreement(self, name: str, label: str, classes: ClassNames) -> tuple[float, int]:
        """Return by how many standard deviations a column agrees with the labels beyond chance.

        Parameters
        ----------
        name, label : str
            The columns.
        classes : ClassNames
            The classes.

        Returns
        -------
        deviations : float
            Negative if it agrees less than by chance.
        items : int
            The rows in which both have a class.
        """
        votes, truth = self._class_codes(name, classes), self._class_codes(label, classes)
        both = (votes >= 0) & (truth >= 0)
        items = int(both.sum())
        if not items:
            return 0.0, 0
        size = len(classes.names)
        shares = np.bincount(truth[truth >= 0], minlength=size) / max(int((truth >= 0).sum()), 1)
        chance = float(shares @ np.bincount(votes[both], minlength=size) / items)
        deviation = np.sqrt(max(chance * (1.0 - chance), 1e-9) / items)
        return float(((votes == truth)[both].mean() - chance) / deviation), items

    def association(self, name: str, label: str, classes: ClassNames) -> float:
        """Return by how many standard deviations a column is associated with the labels beyond chance.

        This is the chi-square of the table of votes and labels, with its exact mean and variance over all
        orders of the votes, as a normal deviate (Wilson and Hilferty). An expert that takes one class for
        another is associated with the labels, however seldom it is right.

        Parameters
        ----------
        name, label : str
            The columns.
        classes : ClassNames
            The classes.

        References
        ----------
        R. B. Dawson, A simplified expression for the variance of the chi-square function on a contingency
        table, Biometrika 41, 1954.

        Examples
        --------
        >>> data = pa.table({"ann": ["a", "b"] * 50, "bob": ["a", "a", "b", "b"] * 25, "y": ["b", "a"] * 50})
        >>> evidence = Evidence(data)
        >>> [evidence.association(name, "y", ClassNames(["a", "b"])) > 3 for name in ("ann", "bob")]
        [True, False]
        """
        votes, truth = self._class_codes(name, classes), self._class_codes(label, classes)
        both = (votes >= 0) & (truth >= 0)
        rows, columns = (_renumber(one[both]) for one in (votes, truth))
        items, r, c = len(rows), int(rows.max(initial=0)) + 1, int(columns.max(initial=0)) + 1
        if items < 4 or r < 2 or c < 2:
            return 0.0
        a, b = np.bincount(rows), np.bincount(columns)
        pairs, counts = _count_codes(rows * c + columns, r * c)
        chi_square = items * (float((counts**2 / (a[pairs // c] * b[pairs % c])).sum()) - 1.0)
        mean = items / (items - 1) * (r - 1) * (c - 1)
        spread = [(k - 1) * (items - k) / (items - 1) for k in (r, c)]
        uneven = [(items * float((1.0 / own).sum()) - k * k) / (items - 2) for own, k in ((a, r), (b, c))]
        variance = 2.0 * items / (items - 3) * (spread[0] - uneven[0]) * (spread[1] - uneven[1])
        variance += items**2 / (items - 1) * uneven[0] * uneven[1]
        if variance <= 0.0:
            return 0.0
        shape = 2.0 / 9.0 * variance / (2.0 * mean**2)
        return float(((chi_square / mean) ** (1.0 / 3.0) - (1.0 - shape)) / np.sqrt(shape))

    def separates(self, name: str, label: str, positive: Any, classes: ClassNames) -> bool:
        """Whether a column of numbers is higher where the label is the positive class.

        Parameters
        ----------
        name, label : str
            The columns.
        positive : label
            The class.
        classes : ClassNames
            The classes.
        """
        if self.data is None:
            return True
        truth = self._class_codes(label, classes)
        numbers = self._numbers(name)
        known = (truth >= 0) & ~np.isnan(numbers)
        chosen = truth[known] == classes.names.index(positive)
        yes, no = numbers[known][chosen], numbers[known][~chosen]
        if len(yes) + len(no) < MIN_SCORE_ITEMS or not len(yes) or not len(no):
            return True
        deviation = np.sqrt(yes.var() / len(yes) + no.var() / len(no))
        return bool(yes.mean() - no.mean() > SIGNIFICANT * max(deviation, 1e-12))

    def sum_is_constant(self, columns: list[str]) -> bool:
        """Whether some columns of numbers have the same sum in every row, as probabilities have."""
        if self.data is None:
            return False
        total = np.sum([self._numbers(name) for name in columns], axis=0)
        total = total[~np.isnan(total)]
        if not len(total):
            return False
        middle = float(np.median(total))
        return bool(np.abs(total - middle).max() <= 0.02 * abs(middle))

    def _column(self, name: str) -> Any:
        column = self.data.column(name)
        array = single_chunk(column)
        array = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        return strip_missing(array, self.missing)

    def _codes(self, name: str) -> Codes:
        encoded = self._column(name).dictionary_encode()
        return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), np.int64)

    def _class_codes(self, name: str, classes: ClassNames) -> Codes:
        """Return the class of each row, -1 for none; the codes are kept, because labels are often needed."""
        known, codes = self._coded.get(name, (None, None))
        if codes is None or known is not classes:
            index = {one: i for i, one in enumerate(classes.names)}
            encoded = classes.encode(self._column(name))
            table = np.array([*(index[one] for one in encoded.dictionary.to_pylist()), -1], np.int64)
            rows = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
            codes = table[np.asarray(rows, np.int64)]
            self._coded[name] = (classes, codes)
        return codes

    def _numbers(self, name: str) -> NDArray[np.float64]:
        column = self._column(name)
        if pa.types.is_string(column.type):
            column = pc.utf8_ltrim(column, "+")
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)

    def _is_minus_one(self, name: str) -> NDArray[np.bool_]:
        column = self._column(name)
        if pa.types.is_string(column.type):
            found = pc.is_in(column, value_set=pa.array(["-1", "-1.0"]))
        else:
            found = pc.equal(column.cast(pa.float64(), safe=False), -1.0)
        return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), bool)


def _count_codes(codes: Codes, size: int) -> tuple[Codes, Codes]:
    """Return the different codes, all below a size, in ascending order, and how often each occurs."""
    if size > MAX_CELLS:
        return np.unique(codes, return_counts=True)
    table = np.bincount(codes)
    found = np.flatnonzero(table)
    return found, table[found]


def _renumber(codes: Codes) -> Codes:
    """Return codes without gaps, in the same order."""
    occurs = np.bincount(codes) > 0
    return (np.cumsum(occurs) - 1)[codes]


class RowGroups:
    """The rows of a table, grouped by the values of columns.

    Parameters
    ----------
    data : pyarrow.Table
        The rows.

    Examples
    --------
    >>> columns = {"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "gold": [0, 0, 1, 1]}
    >>> rows = RowGroups(pa.table(columns))
    >>> rows.distinct("task", "worker"), rows.is_constant_within("gold", "task")
    (4, True)
    """

    def __init__(self, data: Any) -> None:
        self.data = data
        self._codes: dict[str, Codes] = {}
        self._combinations: dict[tuple[str, ...], int] = {}

    def distinct(self, *columns: str) -> int:
        """Return how many different combinations of values some columns have."""
        if columns not in self._combinations:
            code: Codes = np.zeros(self.data.num_rows, np.int64)
            for i, name in enumerate(columns):
                if i == 2:  # the product of three may not fit
                    code = np.unique(code, return_inverse=True)[1].astype(np.int64)
                own = self.codes(name)
                code = code * (int(own.max(initial=0)) + 1) + own
            self._combinations[columns] = int(pc.count_distinct(pa.array(code)).as_py())
        return self._combinations[columns]

    def codes(self, name: str) -> Codes:
        """Return an integer for each distinct value of a column; missing values have one, too."""
        if name not in self._codes:
            column = self.data.column(name).combine_chunks()
            if not pa.types.is_dictionary(column.type):
                column = column.dictionary_encode("encode")
            self._codes[name] = np.asarray(column.indices.to_numpy(zero_copy_only=False), np.int64)
        return self._codes[name]

    def is_constant_within(self, name: str, key: str, share: float = MOSTLY) -> bool:
        """Whether a column has one value per value of another one; missing values do not count.

        Parameters
        ----------
        name, key : str
            The columns.
        share : float
            The share of rows in which it must have the same value as in the last row of the group.
        """
        values, keys = self.codes(name), self.codes(key)
        column = self.data.column(name)
        valid = column.is_valid()
        if pa.types.is_string(column.type):
            valid = pc.and_kleene(valid, pc.not_equal(column, ""))
        present = np.asarray(pc.fill_null(valid, False).to_numpy(), bool)
        values, keys = values[present], keys[present]
        first = np.full(int(keys.max(initial=0)) + 1, -1, np.int64)
        first[keys] = values
        return bool((first[keys] == values).mean() >= share) if len(values) else False
