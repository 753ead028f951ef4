"""Batches as tables of Arrow: a column per expert, and the columns `id`, `label` and `replaces`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import msgspec
import numpy as np

from linmax.service.event_log.vote_codes import Codes, NamesSeen, vote_codes
from linmax.service.fusions.bulk import Request
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.http.arrow_codes import ABSENT, INVALID, ColumnCodes
from linmax.service.http.arrow_stream import load_arrow
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import (
    Expert,
    ItemId,
    LabelRequest,
    LearnRequest,
    PredictRequest,
    check_name,
)

NEW = -3  # the code of a class that a fusion does not know
encode = msgspec.json.encode


class _FusionCodes(NamedTuple):
    """The codes that a fusion has for what the columns of a table name.

    Attributes
    ----------
    seen : NamesSeen
        The names that it knew.
    experts : ndarray
        A code per column of votes, -1 if it does not know the expert.
    values, labels : ndarray
        A code for each class as a vote, and as a label, as from `_map_values`; no labels unless it learns.
    all_known : bool
        Whether it knows them all.
    """

    seen: NamesSeen
    experts: Any
    values: Codes
    labels: Codes | None
    all_known: bool


class ArrowRows:
    """The rows of a table.

    Parameters
    ----------
    table
        The table, as from `read_stream`.
    kind
        The structure of the requests.
    limit
        The largest size of an item as JSON, in bytes.
    """

    def __init__(self, table: Any, kind: type, limit: int) -> None:
        arrow = load_arrow()
        self.kind = kind
        self._rows: int = table.num_rows
        self._bad: dict[int, ServiceError] = {}
        own = {"id"} | ({"label"} if kind is not PredictRequest else set())
        own |= {"replaces"} if kind is LabelRequest else set()
        missing = own - {"replaces"} - set(table.column_names)
        if kind is not LabelRequest:
            missing.discard("id")
        if missing:
            raise ServiceError(422, "bad_request", f"the stream has no column {min(missing)!r}")
        if kind is PredictRequest and "label" in table.column_names:  # and no expert knows the truth
            raise ServiceError(
                422, "bad_request", "the column 'label' is for labels and learn; predict without it"
            )
        self._experts = [name for name in table.column_names if name not in own | {"id"}]
        for name in self._experts:
            fault = check_name(name, Expert, "an expert")
            if fault:
                raise ServiceError(422, "bad_request", fault)
        if kind is LabelRequest and self._experts:
            raise ServiceError(
                422, "bad_request", "a stream of labels has the columns id, label and replaces"
            )
        classes, columns = ColumnCodes(arrow), [*self._experts, *own.intersection({"label"})]
        codes = classes.encode_all([table.column(name) for name in columns], self._rows)
        self._codes, self._values = codes[: len(self._experts)], classes.values
        self.ids = self._read_ids(arrow, table, required=kind is LabelRequest)
        self._label_codes = codes[-1] if "label" in own else np.empty(0, np.int32)
        for row in np.flatnonzero(self._label_codes < 0).tolist():
            absent = self._label_codes[row] == ABSENT
            self._fail(row, "the row has no label" if absent else "the label is no class")
        self._replaces: Codes | None = None
        if kind is LabelRequest and "replaces" in table.column_names:
            replaces = ColumnCodes(arrow)
            self._replaces, self._replaced = replaces.encode(table.column("replaces")), replaces.values
            for row in np.flatnonzero(self._replaces == INVALID).tolist():
                self._fail(row, "the label in replaces is no class")
        invalid = self._codes == INVALID
        for place, row in np.argwhere(invalid).tolist() if invalid.any() else []:
            self._fail(row, f"the vote of {self._experts[place][:100]!r} is no class; scores are for JSON")
        self._names: _FusionCodes | None = None
        self._mapped: tuple[_FusionCodes, int, Any, Any, Codes] | None = None
        for row in np.flatnonzero(self._sizes_over(limit)).tolist():
            self._bad[row] = ServiceError(413, "too_large", f"an item may have {limit} bytes")
        self._fine = np.ones(self._rows, bool)
        self._fine[list(self._bad)] = False
        if self._replaces is not None:
            self._fine &= self._replaces < 0
        self._all_fine = bool(self._fine.all())

    def _fail(self, row: int, why: str) -> None:
        self._bad.setdefault(row, ServiceError(422, "bad_request", why))

    def _read_ids(self, arrow: Any, table: Any, required: bool) -> list[Any]:
        if "id" not in table.column_names:
            return [msgspec.UNSET] * self._rows
        column = table.column("id")
        kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            raise ServiceError(422, "bad_request", "the column id should be text")
        ids: list[Any] = column.to_pylist()
        sizes = [] if None in ids else list(map(len, ids))  # a dictionary may have a null, too
        if sizes and min(sizes) > 0 and max(sizes) <= 200 and "".join(ids).isprintable():
            return ids
        for row, id_ in enumerate(ids):
            if id_ is None:
                ids[row] = msgspec.UNSET
                if required:
                    self._fail(row, "the row has no id")
            elif not 0 < len(id_) <= 200 or not id_.isprintable():
                fault = check_name(id_, ItemId, "an item")
                if fault:
                    self._fail(row, fault)
        return ids

    def __len__(self) -> int:
        return self._rows

    async def groups(self, size: int) -> AsyncIterator[ArrowPart]:
        """Yield so many rows at a time."""
        for start in range(0, self._rows, size):
            yield ArrowPart(self, start, min(start + size, self._rows))

    def request(self, row: int) -> Request:
        """Return a row as a request of its own; an error says what is wrong with it."""
        if row in self._bad:
            raise self._bad[row]
        id_ = self.ids[row]
        if self.kind is LabelRequest:
            replaces = msgspec.UNSET
            if self._replaces is not None and self._replaces[row] >= 0:
                replaces = self._replaced[self._replaces[row]]
            return LabelRequest(id_, self.labels(row, row + 1)[0], replaces)
        codes = self._codes[:, row].tolist()
        given = zip(self._experts, codes, strict=True)
        votes = {name: self._values[code] for name, code in given if code >= 0}
        if self.kind is LearnRequest:
            return LearnRequest(self.labels(row, row + 1)[0], votes, id_)
        return PredictRequest(votes, id_)

    def known(self, panel: ServedPanel, start: int, stop: int) -> int:
        """Return how many of these rows come before one with new names or a fault."""
        if self._all_fine and self._find_names(panel).all_known:
            return stop - start
        faults = np.flatnonzero(~self._map(panel, start, stop)[0])
        return int(faults[0]) if len(faults) else stop - start

    def votes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        names = self._find_names(panel)
        if self._all_fine and names.all_known:
            experts, votes = names.experts, names.values[self._codes[:, start:stop]]
        else:
            _, experts, votes = self._map(panel, start, stop)
        table = np.full((stop - start, len(panel.fusion.names.experts)), ABSENT, np.int32)
        table[:, experts] = votes.T
        return table

    def _map(self, panel: ServedPanel, start: int, stop: int) -> tuple[Any, Any, Codes]:
        """Return which rows are known to a fusion, its codes of experts, and its codes of their votes."""
        names = self._find_names(panel)
        if self._mapped is not None:
            mapped, first, fine, known_experts, votes = self._mapped
            if mapped is names and first <= start <= stop <= first + len(fine):
                rows = slice(start - first, stop - first)
                return fine[rows], known_experts, votes[:, rows]
        experts, votes, known = names.experts, names.values[self._codes[:, start:stop]], names.experts >= 0
        fine = self._fine[start:stop].copy()
        if not known.all():
            fine &= (self._codes[~known, start:stop] == ABSENT).all(axis=0)
            experts, votes = experts[known], votes[known]
        fine &= (votes > NEW).all(axis=0)
        if names.labels is not None:
            fine &= names.labels[self._label_codes[start:stop]] >= 0
        self._mapped = names, start, fine, experts, votes
        return fine, experts, votes

    def _find_names(self, panel: ServedPanel) -> _FusionCodes:
        """Return the codes that a fusion has for the experts, for the classes of votes, and for labels."""
        if self._names is None or not self._names.seen.are_those_of(panel.fusion):
            names = panel.fusion.names
            experts = np.array([names.experts.get(name) for name in self._experts], np.intp)
            values = _map_values(self._values, vote_codes(panel.fusion))
            learns = self.kind is LearnRequest
            labels = _map_values(self._values, names.classes.codes) if learns else None
            known = experts.min(initial=0) >= 0 and values[:-2].min(initial=0) > NEW
            all_known = known and (labels is None or labels[self._label_codes].min(initial=0) >= 0)
            self._names = _FusionCodes(NamesSeen(panel.fusion), experts, values, labels, all_known)
        return self._names

    def _sizes_over(self, limit: int) -> Any:
        """Return which votes exceed a size as JSON, without making it: one text may be in all rows."""
        names = np.array([len(encode(name)) + 2 for name in self._experts], np.int64)  # a colon and a comma
        values = np.array([*(len(encode(value)) for value in self._values), 0], np.int64)
        if names.sum() + len(names) * values.max() + 1 <= limit:
            return np.zeros(self._rows, bool)
        given = self._codes >= 0
        sizes = names @ given + values[np.maximum(self._codes, ABSENT)].sum(axis=0)
        return sizes - given.any(axis=0) + 2 > limit  # brackets, and no comma after the last one

    def count_votes(self, start: int, stop: int) -> int:
        """Return the number of votes of rows, with those that are values which abstain."""
        return int(np.count_nonzero(self._codes[:, start:stop] >= 0))

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes of rows that are not too large as JSON."""
        columns, silent = [], False
        for name, codes in zip(self._experts, self._codes[:, start:stop], strict=True):
            used, chosen = np.unique(codes, return_inverse=True)
            begin = encode(name) + b":"
            parts = [begin + encode(self._values[code]) if code >= 0 else b"" for code in used.tolist()]
            columns.append(np.array(parts, object)[chosen].tolist())
            silent = silent or b"" in parts
        rows: Any = zip(*columns, strict=True) if columns else [()] * (stop - start)
        join = b",".join
        return [b"{%b}" % (join(filter(None, row)) if silent else join(row)) for row in rows]

    def labels(self, start: int, stop: int) -> list[Any]:
        """Return labels."""
        values = [*self._values, None, None]  # INVALID and ABSENT
        return list(map(values.__getitem__, self._label_codes[start:stop].tolist()))

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return labels as codes."""
        codes = self._find_names(panel).labels
        assert codes is not None
        found: Codes = codes[self._label_codes[start:stop]]
        return found


def _map_values(values: list[Any], classes: dict[Any, int]) -> Codes:
    """Return the code of each value among known classes, NEW if it has none; then INVALID and ABSENT."""
    kind = type(next(iter(classes), None))
    found = [classes.get(value, NEW) if type(value) is kind else NEW for value in values]
    return np.array([*found, NEW, ABSENT], np.int32)


class ArrowPart:
    """Some consecutive rows of `ArrowRows`.

    Parameters
    ----------
    whole, start, stop
        All rows, and which of them.
    """

    def __init__(self, whole: ArrowRows, start: int, stop: int) -> None:
        self._whole = whole
        self._start = start
        self._stop = stop
        self.kind = whole.kind
        self.ids = whole.ids[start:stop]

    def __len__(self) -> int:
        return self._stop - self._start

    def request(self, row: int) -> Request:
        """Return a row."""
        return self._whole.request(self._start + row)

    def known(self, panel: ServedPanel, start: int, stop: int) -> int:
        """Return how many of these rows come before one that is not known."""
        return self._whole.known(panel, self._start + start, self._start + stop)

    def votes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        return self._whole.votes(panel, self._start + start, self._start + stop)

    def count_votes(self, start: int, stop: int) -> int:
        """Return the number of votes."""
        return self._whole.count_votes(self._start + start, self._start + stop)

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes as JSON."""
        return self._whole.texts(self._start + start, self._start + stop)

    def labels(self, start: int, stop: int) -> list[Any]:
        """Return labels."""
        return self._whole.labels(self._start + start, self._start + stop)

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return labels as codes."""
        return self._whole.label_codes(panel, self._start + start, self._start + stop)
