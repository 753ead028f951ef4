"""Which votes abstain, though they look like labels."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.inputs.encode import BLOCK, CodedArray, Codes, Flags, gather, silent, translate, turn
from linmax.inputs.names import Label, NameIndex, quote_list, to_label


class Default:
    """-1 and the empty text abstain."""

    def __repr__(self) -> str:
        return "DEFAULT"

    def __reduce__(self) -> str:
        return "DEFAULT"  # copies and pickles are the same object


DEFAULT = Default()


class Abstentions(NamedTuple):
    """The names that abstain, and those of them that are also labels: no_unknown_classes may vote for these."""

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

    def hush(self, said: CodedArray) -> CodedArray:
        """The cells, with those that abstain saying nothing."""
        names = list(said.names)
        for i, name in enumerate(names):
            if name in self.contested and not occurs(said, i):
                continue
            if name is not None and self.silences(name):
                names[i] = None
        return said._replace(names=names, present=[name for name in said.present if not self.silences(name)])


def read_abstain(
    abstain: Any, classes: NameIndex, labels: CodedArray | Sequence[Label | None] | None
) -> Abstentions:
    """Read the option ``abstain``: unless the caller decides, a label that abstains is contested.

    >>> read_abstain(DEFAULT, NameIndex([-1, 1], what="class"), None).contested
    (-1,)
    >>> read_abstain(0, NameIndex(), None), read_abstain(None, NameIndex(), None)
    (Abstentions(names=(0,), contested=()), Abstentions(names=(), contested=()))
    """
    if not isinstance(abstain, Default):
        name = check_abstain(abstain)
        return Abstentions(() if name is None else (name,))
    names: tuple[Label, ...] = (-1, "")
    return Abstentions(names, tuple(name for name in names if classes.get(name) >= 0 or _among(labels, name)))


def check_abstain(abstain: Any) -> Any:
    """The option as a plain label, None or DEFAULT.

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


def occurs(said: CodedArray, i: int) -> bool:
    """Whether any cell says the i-th name."""
    return bool((said.codes == said.low + i).any())


def _among(labels: CodedArray | Sequence[Label | None] | None, name: Label) -> bool:
    if isinstance(labels, CodedArray):
        return name in labels.names and occurs(labels, labels.names.index(name))
    return labels is not None and name in labels


class UnknownClasses(NamedTuple):
    """Who sits where: in trial row[i], code[i] is the class names[which[i]].

    >>> unknown_classes = UnknownClasses(np.array([1]), np.array([2]), np.array([0]), ["eggs"])
    >>> unknown_classes.name(1, 2), unknown_classes.name(0, 2)
    ('eggs', None)
    >>> unknown_classes.fill(np.array(["ham", "?"]), np.array([0, 2]))
    array(['ham', 'eggs'], dtype='<U4')
    """

    row: NDArray[np.int64]  # ascending
    code: NDArray[np.int64]  # ascending by one within a row
    which: NDArray[np.int64]
    names: list[Label]
    everywhere: tuple[
        Label, ...
    ] = ()  # scores came when no class was known: these are 0, 1, ... in every row

    def name(self, row: int, code: int) -> Label | None:
        """The stranger who has this code in this row; None if there is none."""
        if 0 <= code < len(self.everywhere):
            return self.everywhere[code]
        first = int(np.searchsorted(self.row, row))
        if first == len(self.row) or self.row[first] != row or code < self.code[first]:
            return None
        i = first + code - int(self.code[first])
        return self.names[self.which[i]] if i < len(self.row) and self.row[i] == row else None

    def find(self, codes: NDArray[Any]) -> tuple[NDArray[np.int64], list[Label]]:
        """For one code per row, its stranger's position in a list of names (-1: none), and the list."""
        found = np.where((codes >= 0) & (codes < len(self.everywhere)), codes, -1).astype(np.int64)
        if len(self.row):
            width = 1 + max(int(self.code.max()), int(codes.max(initial=0)))
            seats = self.row * width + self.code
            asked = np.arange(len(codes)) * width + codes
            at = np.minimum(np.searchsorted(seats, asked), len(seats) - 1)
            found = np.where(
                (codes >= 0) & (seats[at] == asked), len(self.everywhere) + self.which[at], found
            )
        return found, [*self.everywhere, *self.names]

    def fill(self, names: NDArray[Any], codes: NDArray[Any]) -> NDArray[Any]:
        """Names of guesses, one per row, with the unknown_classes' put in; the array given is left as it is."""
        found, strange = self.find(codes)
        rows = np.flatnonzero(found >= 0)
        if not len(rows):
            return names
        theirs = names_array(strange)[found[rows]]
        filled = names.astype(np.promote_types(names.dtype, theirs.dtype))
        filled[rows] = theirs
        return filled


def no_unknown_classes() -> UnknownClasses:
    """No unknown_classes."""
    none = np.empty(0, np.int64)
    return UnknownClasses(none, none, none, [])


def seat(
    row: NDArray[np.int64], code: NDArray[Any], known: Codes
) -> tuple[NDArray[np.int64], UnknownClasses]:
    """Give the unknown_classes of each row the codes after the known ones, in order of appearance.

    Rows ascend; codes may be any that tell classes apart, and are kept as which. Known is raised.
    """
    _, first, which = np.unique(row * (int(code.max()) + 1) + code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rows, classes = row[first[order]], code[first[order]].astype(np.int64)
    opening = np.flatnonzero(np.diff(rows, prepend=-1))
    many = np.diff(opening, append=len(rows))
    seats = known[rows] + np.arange(len(rows)) - np.repeat(opening, many)
    known[rows[opening]] += many.astype(np.int32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return seats[place][which], UnknownClasses(rows, seats, classes, [])


def names_array(names: list[Any]) -> NDArray[Any]:
    """Names as an array of whole numbers, texts or truth values.

    >>> names_array([3, 1]), names_array(["ham", "spam"]).dtype, names_array([2**70]).dtype
    (array([3, 1]), dtype('<U4'), dtype('O'))
    """
    if not names:
        return np.empty(0, object)
    if isinstance(names[0], str) and any(name.endswith("\0") for name in names):
        return np.array(names, object)  # numpy's texts end before it
    kind = {int: np.int64, str: np.str_, bool: np.bool_}[type(names[0])]
    try:
        return np.array(names, kind)
    except OverflowError:  # whole numbers have no limit in Python
        return np.array(names, object)


def decode_classes(
    codes: NDArray[Any], classes: NameIndex, unknown_classes: UnknownClasses | None = None
) -> NDArray[Any]:
    """The names of guesses, one code per trial; -1 becomes None.

    >>> decode_classes(np.array([1, 0]), NameIndex(["ham", "spam"], what="class"))
    array(['spam', 'ham'], dtype='<U4')
    >>> decode_classes(np.array([0, -1]), NameIndex(["ham"], what="class"))
    array(['ham', None], dtype=object)
    """
    codes = np.asarray(codes)
    names = classes.names
    if unknown_classes is not None:
        found, strange = unknown_classes.find(codes)
        codes = np.where(found >= 0, len(names) + found, codes)
        names = [*names, *strange]
    table = names_array(names)
    if (codes < 0).any():
        table = np.concatenate((table.astype(object), np.array([None])))  # -1 is the last
    named: NDArray[Any] = table[codes]
    return named


NEW_CLASS = ("add", "error", "ignore")


class ClassCodes(NamedTuple):
    """Votes and labels as codes of classes, and the classes known in each trial."""

    votes: Codes  # shaped as the votes; -1 abstains
    labels: Codes
    known: Codes
    new: list[Label]
    unknown_classes: UnknownClasses
    ignored: int = 0


class VoteCells(NamedTuple):
    """Votes as cells: a row per trial with experts in the order of their roll, or entry after entry."""

    cells: CodedArray
    rows: NDArray[np.int64] | None  # the trial of each entry, ascending; None: cells have a row per trial

    def row(self, place: int) -> int:
        """The trial of the place-th cell."""
        return place // self.cells.codes.shape[1] if self.rows is None else int(self.rows[place])

    def spread(self, per_trial: NDArray[Any]) -> NDArray[Any]:
        """A value per trial, laid along the cells."""
        return per_trial[:, None] if self.rows is None else per_trial[self.rows]


def discover(
    votes: VoteCells, labels: CodedArray | None, trials: int, classes: NameIndex, on_new_class: str
) -> ClassCodes:
    """Turn names into codes of classes; unknown classes get the codes after the roll, as they are met.

    >>> said = VoteCells(CodedArray(np.array([[0, 1], [1, 2]]), 0, ["a", "b", "c"], "abc"), None)
    >>> found = discover(said, CodedArray(np.array([3, 0]), 0, ["c", "x", "y", "z"], "cz"), 2, NameIndex(["c"]), "add")
    >>> found.votes.tolist(), found.labels.tolist(), found.known.tolist(), found.new
    ([[1, 2], [2, 0]], [3, 0], [3, 4], ['a', 'b', 'z'])
    """
    truth = silent((trials,)) if labels is None else labels
    base = len(classes)
    fresh: dict[Label, int] = {}
    table, truths = _table(votes.cells.names, classes, fresh), _table(truth.names, classes, fresh)
    known = np.full(trials, base, np.int32)
    if fresh and on_new_class == "error":
        _refuse(votes, truth, fresh, classes)
    if not fresh or on_new_class != "add":
        codes, lost = _heard(votes.cells, table, base)
        labelled, missed = _heard(truth, truths, base)
        return ClassCodes(codes, labelled, known, [], no_unknown_classes(), lost + missed)

    learned = gather(truth, [code >= 0 for code in truths], np.bool_)
    met = _meetings(votes, truth, fresh, learned)
    names = sorted(met, key=lambda name: met[name])
    new = len(names)
    names += [name for name in fresh if name not in met]  # met in unlabelled trials only, or nowhere
    place = {fresh[name]: base + i for i, name in enumerate(names)}
    arrivals = np.zeros(trials + 1, np.int32)
    for row, late, _ in met.values():
        arrivals[row + late] += 1
    known += np.cumsum(arrivals[:trials], dtype=np.int32)
    codes = translate(votes.cells, [place.get(code, code) for code in table])
    codes, unknown_classes = _seat_strangers(votes, codes, known, learned, names, base)
    labelled = translate(truth, [place.get(code, code) for code in truths])
    return ClassCodes(codes, labelled, known, names[:new], unknown_classes)


def _table(names: Sequence[Label | None], classes: NameIndex, fresh: dict[Label, int]) -> list[int]:
    table = []
    for name in names:
        code = -1 if name is None else classes.get(name)
        if code < 0 and name is not None:
            code = fresh.setdefault(name, len(classes) + len(fresh))
        table.append(code)
    return table


def _heard(said: CodedArray, table: list[int], base: int) -> tuple[Codes, int]:
    """The codes of known classes, and how many cells name another one."""
    if not table or max(table) < base:
        return translate(said, table), 0
    lost = gather(said, [code >= base for code in table], np.bool_)
    return translate(said, [code if code < base else -1 for code in table]), int(np.count_nonzero(lost))


def _meetings(
    votes: VoteCells, truth: CodedArray, fresh: Mapping[Label, int], allowed: Flags | None
) -> dict[Label, tuple[int, int, int]]:
    """Where allowed trials first meet fresh classes: {class: (trial, 0 by vote or 1 by label, place)}."""
    met: dict[Label, tuple[int, int, int]] = {}
    spread = None if allowed is None or allowed.all() else votes.spread(allowed)
    for name, place in first_places(votes.cells, fresh, spread).items():
        met[name] = votes.row(place), 0, place
    for name, row in first_places(truth, fresh).items():
        met[name] = min(met.get(name, (row, 1, 0)), (row, 1, 0))
    return met


def first_places(said: CodedArray, wanted: Container[Any], allowed: Flags | None = None) -> dict[Any, int]:
    """Where each wanted name is first said, counting cells along the rows; unsaid names are left out.

    >>> first_places(CodedArray(np.array([[1, 0], [2, 0]]), 0, ["a", "b", "c", "d"], "abc"), {"a", "c", "d"})
    {'a': 1, 'c': 2}
    """
    found: dict[Any, int] = {}
    asked = [name in wanted for name in said.names]
    left = sum(asked)
    if not left or not said.codes.size:
        return found
    table = turn(said, asked, np.bool_)
    width = said.codes.size // len(said.codes)
    start, step = 0, max(1, 1024 // width)
    while start < len(said.codes) and left:
        block = said.codes[start : start + step]
        hit = table[block]
        if allowed is not None:
            hit &= allowed[start : start + step]
        if hit.any():
            codes, first = np.unique(block[hit], return_index=True)
            for code, place in zip(codes.tolist(), np.flatnonzero(hit)[first].tolist(), strict=True):
                found[said.names[code - said.low]] = start * width + place
            table[codes] = False
            left -= len(codes)
        start += step
        step = min(2 * step, max(step, BLOCK // width))
    return found


def _refuse(votes: VoteCells, truth: CodedArray, fresh: Mapping[Label, int], classes: NameIndex) -> None:
    met = _meetings(votes, truth, fresh, None)
    if met:
        raise unknown_class_error(min(met, key=lambda name: met[name]), classes)


def unknown_class_error(name: Label | None, classes: NameIndex) -> ValueError:
    """Say that a class is not among those that were announced."""
    return ValueError(
        f"class {name!r} is not among the classes ({quote_list(classes.names)});"
        ' add it to classes= or use on_new_class="add"'
    )


def _seat_strangers(
    votes: VoteCells, codes: Codes, known: Codes, labelled: Flags, names: list[Label], base: int
) -> tuple[Codes, UnknownClasses]:
    if labelled.all() or not codes.size:
        return codes, no_unknown_classes()
    strange = codes >= votes.spread(known)
    strange &= ~votes.spread(labelled)
    places = np.nonzero(strange)
    if not len(places[0]):
        return codes, no_unknown_classes()
    rows = places[0] if votes.rows is None else votes.rows[places[0]]
    seats, unknown_classes = seat(rows, codes[places] - base, known)
    if np.may_share_memory(codes, votes.cells.codes):
        codes = codes.copy()
    codes[places] = seats
    return codes, unknown_classes._replace(names=names)
