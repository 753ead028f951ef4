"""When is which class known? Labelled trials make classes known: votes at once, the label afterwards."""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.ballots.cells import BLOCK, Cells, Codes, Flags, gather, silent, translate, turn
from linmax.ballots.names import Label, listing
from linmax.ballots.roll import Roll
from linmax.ballots.strangers import Strangers, nobody, seat

NEW_CLASS = ("add", "error", "ignore")


class Discovery(NamedTuple):
    """Votes and labels as codes of classes, and the classes known in each trial."""

    votes: Codes  # shaped as the votes; -1 abstains
    labels: Codes
    known: Codes
    new: list[Label]
    strangers: Strangers
    ignored: int = 0


class Said(NamedTuple):
    """Votes as cells: a row per trial with experts in the order of their roll, or entry after entry."""

    cells: Cells
    rows: NDArray[np.int64] | None  # the trial of each entry, ascending; None: cells have a row per trial

    def row(self, place: int) -> int:
        """The trial of the place-th cell."""
        return place // self.cells.codes.shape[1] if self.rows is None else int(self.rows[place])

    def spread(self, per_trial: NDArray[Any]) -> NDArray[Any]:
        """A value per trial, laid along the cells."""
        return per_trial[:, None] if self.rows is None else per_trial[self.rows]


def discover(votes: Said, labels: Cells | None, trials: int, classes: Roll, on_new_class: str) -> Discovery:
    """Turn names into codes of classes; unknown classes get the codes after the roll, as they are met.

    >>> said = Said(Cells(np.array([[0, 1], [1, 2]]), 0, ["a", "b", "c"], "abc"), None)
    >>> found = discover(said, Cells(np.array([3, 0]), 0, ["c", "x", "y", "z"], "cz"), 2, Roll(["c"]), "add")
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
        return Discovery(codes, labelled, known, [], nobody(), lost + missed)

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
    codes, strangers = _seat_strangers(votes, codes, known, learned, names, base)
    labelled = translate(truth, [place.get(code, code) for code in truths])
    return Discovery(codes, labelled, known, names[:new], strangers)


def _table(names: Sequence[Label | None], classes: Roll, fresh: dict[Label, int]) -> list[int]:
    table = []
    for name in names:
        code = -1 if name is None else classes.get(name)
        if code < 0 and name is not None:
            code = fresh.setdefault(name, len(classes) + len(fresh))
        table.append(code)
    return table


def _heard(said: Cells, table: list[int], base: int) -> tuple[Codes, int]:
    """The codes of known classes, and how many cells name another one."""
    if not table or max(table) < base:
        return translate(said, table), 0
    lost = gather(said, [code >= base for code in table], np.bool_)
    return translate(said, [code if code < base else -1 for code in table]), int(np.count_nonzero(lost))


def _meetings(
    votes: Said, truth: Cells, fresh: Mapping[Label, int], allowed: Flags | None
) -> dict[Label, tuple[int, int, int]]:
    """Where allowed trials first meet fresh classes: {class: (trial, 0 by vote or 1 by label, place)}."""
    met: dict[Label, tuple[int, int, int]] = {}
    spread = None if allowed is None or allowed.all() else votes.spread(allowed)
    for name, place in first_places(votes.cells, fresh, spread).items():
        met[name] = votes.row(place), 0, place
    for name, row in first_places(truth, fresh).items():
        met[name] = min(met.get(name, (row, 1, 0)), (row, 1, 0))
    return met


def first_places(said: Cells, wanted: Container[Any], allowed: Flags | None = None) -> dict[Any, int]:
    """Where each wanted name is first said, counting cells along the rows; unsaid names are left out.

    >>> first_places(Cells(np.array([[1, 0], [2, 0]]), 0, ["a", "b", "c", "d"], "abc"), {"a", "c", "d"})
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


def _refuse(votes: Said, truth: Cells, fresh: Mapping[Label, int], classes: Roll) -> None:
    met = _meetings(votes, truth, fresh, None)
    if met:
        raise stranger_error(min(met, key=lambda name: met[name]), classes)


def stranger_error(name: Label | None, classes: Roll) -> ValueError:
    """Say that a class is not among those that were announced."""
    return ValueError(
        f"class {name!r} is not among the classes ({listing(classes.names)});"
        ' add it to classes= or use on_new_class="add"'
    )


def _seat_strangers(
    votes: Said, codes: Codes, known: Codes, labelled: Flags, names: list[Label], base: int
) -> tuple[Codes, Strangers]:
    if labelled.all() or not codes.size:
        return codes, nobody()
    strange = codes >= votes.spread(known)
    strange &= ~votes.spread(labelled)
    places = np.nonzero(strange)
    if not len(places[0]):
        return codes, nobody()
    rows = places[0] if votes.rows is None else votes.rows[places[0]]
    seats, strangers = seat(rows, codes[places] - base, known)
    if np.may_share_memory(codes, votes.cells.codes):
        codes = codes.copy()
    codes[places] = seats
    return codes, strangers._replace(names=names)
