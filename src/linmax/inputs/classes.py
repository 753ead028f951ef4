"""Codes of classes: votes and labels are encoded in order of first appearance, and predictions decoded."""

from collections.abc import Container, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.encode import (
    BLOCK_SIZE,
    CodedArray,
    Codes,
    Flags,
    all_missing,
    gather,
    index_table,
    recode,
)
from linmax.inputs.names import Label, NameIndex, quote_list

ON_NEW_CLASS = ("add", "error", "ignore")


class UnknownClasses(NamedTuple):
    """Classes that have a code in one trial only, because an unlabelled trial adds no class.

    In trial ``row[i]``, ``code[i]`` stands for the class ``names[which[i]]``.

    Attributes
    ----------
    row : ndarray of int64
        Trials, ascending.
    code : ndarray of int64
        Codes, ascending by one within a trial.
    which : ndarray of int64
        Positions in `names`.
    names : list of labels
        The classes.
    in_all_rows : tuple of labels
        The names of the codes 0, 1, ... in every trial, if scores were given when no class was known.

    Examples
    --------
    >>> unknown = UnknownClasses(np.array([1]), np.array([2]), np.array([0]), ["eggs"])
    >>> unknown.name(1, 2), unknown.name(0, 2)
    ('eggs', None)
    >>> unknown.fill(np.array(["ham", "?"]), np.array([0, 2]))
    array(['ham', 'eggs'], dtype='<U4')
    """

    row: NDArray[np.int64]
    code: NDArray[np.int64]
    which: NDArray[np.int64]
    names: list[Label]
    in_all_rows: tuple[Label, ...] = ()

    def name(self, row: int, code: int) -> Label | None:
        """Return the unknown class with this code in this trial; None if there is none."""
        if 0 <= code < len(self.in_all_rows):
            return self.in_all_rows[code]
        first = int(np.searchsorted(self.row, row))
        if first == len(self.row) or self.row[first] != row or code < self.code[first]:
            return None
        i = first + code - int(self.code[first])
        return self.names[self.which[i]] if i < len(self.row) and self.row[i] == row else None

    def find(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], list[Label]]:
        """Return, for one code per trial, positions in a list of names (-1: not unknown), and the list."""
        found = np.where((codes >= 0) & (codes < len(self.in_all_rows)), codes, -1).astype(np.int64)
        if len(self.row):
            width = 1 + max(int(self.code.max()), int(codes.max(initial=0)))
            keys = self.row * width + self.code
            wanted = np.arange(len(codes)) * width + codes
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = np.where(
                (codes >= 0) & (keys[at] == wanted), len(self.in_all_rows) + self.which[at], found
            )
        return found, [*self.in_all_rows, *self.names]

    def fill(self, names: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
        """Return names of predictions, one per trial, with those of unknown classes filled in."""
        found, unknown = self.find(codes)
        rows = np.flatnonzero(found >= 0)
        if not len(rows):
            return names
        values = names_array(unknown)[found[rows]]
        filled = names.astype(np.promote_types(names.dtype, values.dtype))
        filled[rows] = values
        return filled


class ClassCodes(NamedTuple):
    """Votes and labels as codes of classes.

    Attributes
    ----------
    votes : ndarray of int32, or int8
        Codes in the shape of the votes; -1 abstains.
    labels : ndarray of int32
        Codes of the labels; -1 is a missing one.
    known : ndarray of int32
        The number of classes known when each trial is scored.
    new : list of labels
        The classes to add, in order.
    unknown_classes : UnknownClasses
        Classes that have a code in one trial only.
    ignored : int
        Votes and labels left out because of ``on_new_class="ignore"``.
    """

    votes: Codes
    labels: Codes
    known: Codes
    new: list[Label]
    unknown_classes: UnknownClasses
    ignored: int = 0


class CodedVotes(NamedTuple):
    """Encoded votes: a matrix with one row per trial, or a list of entries.

    Attributes
    ----------
    cells : CodedArray
        A matrix (trials, experts) with the experts in the order of their index, or one cell per entry.
    rows : ndarray of int64 or None
        The trial of each entry, ascending; None for a matrix.
    """

    cells: CodedArray
    rows: NDArray[np.int64] | None

    def row(self, place: int) -> int:
        """Return the trial of a cell, given its position in row-major order."""
        return place // self.cells.codes.shape[1] if self.rows is None else int(self.rows[place])

    def broadcast(self, per_trial: NDArray[Any]) -> NDArray[Any]:
        """Broadcast one value per trial to the cells."""
        return per_trial[:, None] if self.rows is None else per_trial[self.rows]


def no_unknown_classes() -> UnknownClasses:
    """Return UnknownClasses without any."""
    none = np.empty(0, np.int64)
    return UnknownClasses(none, none, none, [])


def decode_classes(
    codes: NDArray[Any], classes: NameIndex, unknown_classes: UnknownClasses | None = None
) -> NDArray[Any]:
    """Return the names of predicted classes, one code per trial; -1 becomes None.

    >>> decode_classes(np.array([1, 0]), NameIndex(["ham", "spam"], what="class"))
    array(['spam', 'ham'], dtype='<U4')
    >>> decode_classes(np.array([0, -1]), NameIndex(["ham"], what="class"))
    array(['ham', None], dtype=object)
    """
    codes = np.asarray(codes)
    names = classes.names
    if unknown_classes is not None:
        found, unknown = unknown_classes.find(codes)
        codes = np.where(found >= 0, len(names) + found, codes)
        names = [*names, *unknown]
    table = names_array(names)
    if (codes < 0).any():
        table = np.concatenate((table.astype(object), np.array([None])))  # -1 is the last
    decoded: NDArray[Any] = table[codes]
    return decoded


def names_array(names: list[Any]) -> NDArray[Any]:
    """Return names as an array of integers, texts or booleans.

    >>> names_array([3, 1]), names_array(["ham", "spam"]).dtype, names_array([2**70]).dtype
    (array([3, 1]), dtype('<U4'), dtype('O'))
    """
    if not names:
        return np.empty(0, object)
    if isinstance(names[0], str) and any(name.endswith("\0") for name in names):
        return np.array(names, object)  # numpy drops trailing null characters
    kind = {int: np.int64, str: np.str_, bool: np.bool_}[type(names[0])]
    try:
        return np.array(names, kind)
    except OverflowError:  # beyond 64 bits
        return np.array(names, object)


def encode_classes(
    votes: CodedVotes, labels: CodedArray | None, trials: int, classes: NameIndex, on_new_class: str
) -> ClassCodes:
    """Encode votes and labels by class; new classes get the codes after the index, in order of appearance.

    >>> votes = CodedVotes(CodedArray(np.array([[0, 1], [1, 2]]), 0, ["a", "b", "c"], "abc"), None)
    >>> labels = CodedArray(np.array([3, 0]), 0, ["c", "x", "y", "z"], "cz")
    >>> encoded = encode_classes(votes, labels, 2, NameIndex(["c"]), "add")
    >>> encoded.votes.tolist(), encoded.labels.tolist(), encoded.known.tolist(), encoded.new
    ([[1, 2], [2, 0]], [3, 0], [3, 4], ['a', 'b', 'z'])
    """
    truth = all_missing((trials,)) if labels is None else labels
    n_known = len(classes)
    new: dict[Label, int] = {}
    vote_table, label_table = _code_table(votes.cells, classes, new), _code_table(truth, classes, new)
    known = np.full(trials, n_known, np.int32)
    if new and on_new_class == "error":
        _raise_if_new(votes, truth, new, classes)
    if not new or on_new_class != "add":
        vote_codes, ignored_votes = _drop_new(votes.cells, vote_table, n_known, narrow=votes.rows is None)
        label_codes, ignored_labels = _drop_new(truth, label_table, n_known)
        ignored = ignored_votes + ignored_labels
        return ClassCodes(vote_codes, label_codes, known, [], no_unknown_classes(), ignored)

    labelled = gather(truth, [code >= 0 for code in label_table], np.bool_)
    first = _first_appearances(votes, truth, new, labelled)
    names = sorted(first, key=lambda name: first[name])
    n_new = len(names)
    names += [name for name in new if name not in first]  # in unlabelled trials only, or nowhere
    final = {new[name]: n_known + i for i, name in enumerate(names)}
    additions = np.zeros(trials + 1, np.int32)
    for row, by_label, _ in first.values():
        additions[row + by_label] += 1  # a label is known from the next trial on
    known += np.cumsum(additions[:trials], dtype=np.int32)
    narrow = votes.rows is None and bool(labelled.all())
    vote_codes = recode(votes.cells, [final.get(code, code) for code in vote_table], narrow=narrow)
    vote_codes, unknown = _number_unlabelled(votes, vote_codes, known, labelled, names, n_known)
    label_codes = recode(truth, [final.get(code, code) for code in label_table])
    return ClassCodes(vote_codes, label_codes, known, names[:n_new], unknown)


def first_places(coded: CodedArray, wanted: Container[Any], allowed: Flags | None = None) -> dict[Any, int]:
    """Return the position of the first cell with each wanted name, in row-major order.

    Names that do not occur are left out; so are cells where `allowed` is False.

    >>> coded = CodedArray(np.array([[1, 0], [2, 0]]), 0, ["a", "b", "c", "d"], "abc")
    >>> first_places(coded, {"a", "c", "d"})
    {'a': 1, 'c': 2}
    """
    found: dict[Any, int] = {}
    is_wanted = [name in wanted for name in coded.names]
    left = sum(is_wanted)
    if not left or not coded.codes.size:
        return found
    table = index_table(coded, is_wanted, np.bool_)
    width = coded.codes.size // len(coded.codes)
    start, step = 0, max(1, 1024 // width)
    while start < len(coded.codes) and left:
        block = coded.codes[start : start + step]
        hit = table[block]
        if allowed is not None:
            hit &= allowed[start : start + step]
        if hit.any():
            codes, first = np.unique(block[hit], return_index=True)
            for code, place in zip(codes.tolist(), np.flatnonzero(hit)[first].tolist(), strict=True):
                found[coded.names[code - coded.low]] = start * width + place
            table[codes] = False
            left -= len(codes)
        start += step
        step = min(2 * step, max(step, BLOCK_SIZE // width))
    return found


def unknown_class_error(name: Label | None, classes: NameIndex) -> ValueError:
    """Return the error for a class that is not among the given ones."""
    return ValueError(
        f"class {name!r} is not among the classes ({quote_list(classes.names)});"
        ' add it to classes= or use on_new_class="add"'
    )


def _code_table(coded: CodedArray, classes: NameIndex, new: dict[Label, int]) -> list[int]:
    """Return the code of each name; new names get the codes after the index, and are added to `new`."""
    table = []
    for name in coded.names:
        code = -1 if name is None else classes.codes.get(name, -1)
        if code < 0 and name is not None:
            code = new.setdefault(name, len(classes.names) + len(new))
        table.append(code)
    return table


def _drop_new(
    coded: CodedArray, table: list[int], n_known: int, *, narrow: bool = False
) -> tuple[Codes, int]:
    """Return the codes of known classes, -1 for others, and the number of cells with another one."""
    if not table or max(table) < n_known:
        return recode(coded, table, narrow=narrow), 0
    dropped = gather(coded, [code >= n_known for code in table], np.bool_)
    codes = recode(coded, [code if code < n_known else -1 for code in table])
    return codes, int(np.count_nonzero(dropped))


def _first_appearances(
    votes: CodedVotes, truth: CodedArray, new: Mapping[Label, int], allowed: Flags | None
) -> dict[Label, tuple[int, int, int]]:
    """Return where allowed trials first have new classes: (trial, 0 for a vote or 1 for a label, place)."""
    first: dict[Label, tuple[int, int, int]] = {}
    cells = None if allowed is None or allowed.all() else votes.broadcast(allowed)
    for name, place in first_places(votes.cells, new, cells).items():
        first[name] = votes.row(place), 0, place
    for name, row in first_places(truth, new).items():
        first[name] = min(first.get(name, (row, 1, 0)), (row, 1, 0))
    return first


def _raise_if_new(votes: CodedVotes, truth: CodedArray, new: Mapping[Label, int], classes: NameIndex) -> None:
    first = _first_appearances(votes, truth, new, None)
    if first:
        raise unknown_class_error(min(first, key=lambda name: first[name]), classes)


def _number_unlabelled(
    votes: CodedVotes, codes: Codes, known: Codes, labelled: Flags, names: list[Label], n_known: int
) -> tuple[Codes, UnknownClasses]:
    """Give classes that are unknown in an unlabelled trial codes of that trial only."""
    if labelled.all() or not codes.size:
        return codes, no_unknown_classes()
    unknown = codes >= votes.broadcast(known)
    unknown &= ~votes.broadcast(labelled)
    places = np.nonzero(unknown)
    if not len(places[0]):
        return codes, no_unknown_classes()
    rows = places[0] if votes.rows is None else votes.rows[places[0]]
    local_codes, unknown_classes = _number_by_row(rows, codes[places] - n_known, known)
    if np.may_share_memory(codes, votes.cells.codes):
        codes = codes.copy()
    codes[places] = local_codes
    return codes, unknown_classes._replace(names=names)


def _number_by_row(
    row: NDArray[np.int64], name: NDArray[Any], known: Codes
) -> tuple[NDArray[np.int64], UnknownClasses]:
    """Number the distinct names of each row after its known classes, in order; `known` is raised.

    Rows ascend. Names are given as integers, which become `which`.
    """
    _, first, inverse = np.unique(row * (int(name.max()) + 1) + name, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows, names = row[first[order]], name[first[order]].astype(np.int64)
    opening = np.flatnonzero(np.diff(rows, prepend=-1))
    counts = np.diff(opening, append=len(rows))
    codes = known[rows] + np.arange(len(rows)) - np.repeat(opening, counts)
    known[rows[opening]] += counts.astype(np.int32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return codes[place][inverse], UnknownClasses(rows, codes, names, [])
