"""Batches as tables of Arrow: a column per expert, and the columns `id`, `label` and `replaces`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import numpy as np

from linmax.service.event_log.vote_codes import Codes, NamesSeen, voted_codes
from linmax.service.fusions.bulk import Request
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.http.arrow_stream import MAX_ROWS, load_arrow
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import (
    Expert,
    ItemId,
    LabelRequest,
    LearnRequest,
    PredictRequest,
    check_name,
)

FEW_VALUES = 256  # that columns of votes may have in common
LARGEST_FLOAT = 2.0**53  # up to which every whole number is a float
ABSENT, INVALID, NEW = -1, -2, -3  # codes that are not those of a class
encode = msgspec.json.encode


class _Values:
    """The classes of columns: each has a code.

    Parameters
    ----------
    arrow
        The module.
    """

    def __init__(self, arrow: Any) -> None:
        self._arrow = arrow
        self._codes: dict[tuple[type, Any], int] = {}
        self.values: list[Any] = []

    def encode_all(self, columns: list[Any], rows: int) -> Codes:
        """Return columns as codes, a row for each; those of one type at once, if they have few values."""
        found = np.full((len(columns), rows), ABSENT, np.int32)
        by_type: dict[Any, list[int]] = {}
        for place, column in enumerate(columns):
            by_type.setdefault(column.type, []).append(place)
        for kind, places in by_type.items():
            if len(places) > 1 and not self._arrow.types.is_null(kind):
                chunks = [chunk for place in places for chunk in columns[place].chunks]
                joined = self._to_dictionary(self._arrow.chunked_array(chunks, kind))
                if len(joined.dictionary) <= FEW_VALUES:
                    found[places] = self._read(joined).reshape(len(places), rows)
                    continue
            for place in places:
                found[place] = self.encode(columns[place])
        return found

    def encode(self, column: Any) -> Codes:
        """Return a column as codes, ABSENT for null and INVALID for what is no class."""
        if self._arrow.types.is_null(column.type):
            return np.full(len(column), ABSENT, np.int32)
        chunk = self._to_dictionary(column)
        if len(chunk.dictionary) > MAX_ROWS:
            raise ServiceError(413, "too_large", f"a dictionary may have {MAX_ROWS} values")
        return self._read(chunk)

    def _to_dictionary(self, column: Any) -> Any:
        """Return a column as one array with a dictionary."""
        chunk = column.combine_chunks()
        if not self._arrow.types.is_dictionary(chunk.type):
            chunk = chunk.dictionary_encode()
        if isinstance(chunk, self._arrow.ChunkedArray):
            chunk = chunk.unify_dictionaries().combine_chunks()
        return chunk

    def _read(self, chunk: Any) -> Codes:
        """Return an array with a dictionary as codes."""
        codes = chunk.indices
        if codes.null_count:
            codes = codes.cast(self._arrow.int64()).fill_null(ABSENT)
        places = np.empty(len(chunk.dictionary) + 1, np.int32)
        places[-1] = ABSENT
        for place, raw in enumerate(chunk.dictionary.to_pylist()):
            value, valid = _to_label(raw)
            if value is None:
                places[place] = ABSENT if valid else INVALID
            else:
                places[place] = code = self._codes.setdefault((type(value), value), len(self.values))
                if code == len(self.values):
                    self.values.append(value)
        found: Codes = places[np.asarray(codes)]
        return found


def _to_label(raw: Any) -> tuple[Any, bool]:
    """Return a value as a class, and whether it is valid; NaN is an abstention, and 1.0 the class 1."""
    if not isinstance(raw, float):
        return raw, True
    if raw != raw:
        return None, True
    if raw.is_integer() and abs(raw) <= LARGEST_FLOAT:
        return int(raw), True
    return None, False


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
        votes = _Values(arrow)
        self._codes = votes.encode_all([table.column(name) for name in self._experts], self._rows)
        self._values = votes.values
        if kind is LabelRequest and self._experts:
            raise ServiceError(
                422, "bad_request", "a stream of labels has the columns id, label and replaces"
            )
        self.ids = self._read_ids(arrow, table, required=kind is LabelRequest)
        self._label_codes: Codes | None = None
        if "label" in own:
            self._read_labels(arrow, table)
        self._replaces: Codes | None = None
        if kind is LabelRequest and "replaces" in table.column_names:
            replaces = _Values(arrow)
            self._replaces, self._replaced = replaces.encode(table.column("replaces")), replaces.values
            for row in np.flatnonzero(self._replaces == INVALID).tolist():
                self._fail(row, "the label in replaces is no class")
        invalid = self._codes == INVALID
        for place, row in np.argwhere(invalid).tolist() if invalid.any() else []:
            self._fail(row, f"the vote of {self._experts[place][:100]!r} is no class; scores are for JSON")
        self._names: tuple[NamesSeen, Any, Codes, Codes | None] | None = None
        self._mapped: tuple[NamesSeen, int, Any, Any, Codes] | None = None
        for row in np.flatnonzero(self._sizes_over(limit)).tolist():
            self._bad[row] = ServiceError(413, "too_large", f"an item may have {limit} bytes")
        self._fine = np.ones(self._rows, bool)
        self._fine[list(self._bad)] = False
        if self._replaces is not None:
            self._fine &= self._replaces < 0

    def _fail(self, row: int, why: str) -> None:
        self._bad.setdefault(row, ServiceError(422, "bad_request", why))

    def _read_ids(self, arrow: Any, table: Any, required: bool) -> list[Any]:
        if "id" not in table.column_names:
            return [msgspec.UNSET] * self._rows
        column = table.column("id")
        kind = column.type.value_type if arrow.types.is_dictionary(column.type) else column.type
        if not (arrow.types.is_string(kind) or arrow.types.is_large_string(kind)):
            raise ServiceError(422, "bad_request", "the column id should be text")
        texts = column.cast(arrow.large_string())  # a dictionary may have a null, too
        ids: list[Any] = texts.to_numpy().tolist()
        sizes = list(map(len, ids)) if texts.null_count == 0 else []
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

    def _read_labels(self, arrow: Any, table: Any) -> None:
        labels = _Values(arrow)
        codes = labels.encode(table.column("label"))
        self._label_codes, self._label_values = codes, [*labels.values, None, None]  # INVALID and ABSENT
        for row in np.flatnonzero(codes < 0).tolist():
            self._fail(row, "the row has no label" if codes[row] == ABSENT else "the label is no class")

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
        faults = np.flatnonzero(~self._map(panel, start, stop)[0])
        return int(faults[0]) if len(faults) else stop - start

    def votes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        _, experts, votes = self._map(panel, start, stop)
        table = np.full((stop - start, len(panel.fusion.names.experts)), ABSENT, np.int32)
        table[:, experts] = votes.T
        return table

    def _map(self, panel: ServedPanel, start: int, stop: int) -> tuple[Any, Any, Codes]:
        """Return which rows are known to a fusion, its codes of experts, and its codes of their votes."""
        seen, experts, values, labels = self._find_names(panel)
        if self._mapped is not None:
            mapped, first, fine, known_experts, votes = self._mapped
            if mapped is seen and first <= start <= stop <= first + len(fine):
                rows = slice(start - first, stop - first)
                return fine[rows], known_experts, votes[:, rows]
        votes, known = values[self._codes[:, start:stop]], experts >= 0
        fine = self._fine[start:stop].copy()
        if not known.all():
            fine &= (votes[~known] == ABSENT).all(axis=0)
            experts, votes = experts[known], votes[known]
        fine &= (votes > NEW).all(axis=0)
        if labels is not None and self._label_codes is not None:
            fine &= labels[self._label_codes[start:stop]] >= 0
        self._mapped = seen, start, fine, experts, votes
        return fine, experts, votes

    def _find_names(self, panel: ServedPanel) -> tuple[NamesSeen, Any, Codes, Codes | None]:
        """Return the codes that a fusion has for the experts, for the classes of votes, and for labels."""
        if self._names is None or not self._names[0].are_those_of(panel.fusion):
            names = panel.fusion.names
            experts = np.array([names.experts.get(name) for name in self._experts], np.intp)
            values = _map_values(self._values, voted_codes(panel.fusion))
            learns = self.kind is LearnRequest
            labels = _map_values(self._label_values[:-2], names.classes.codes) if learns else None
            self._names = NamesSeen(panel.fusion), experts, values, labels
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
        assert self._label_codes is not None
        return list(map(self._label_values.__getitem__, self._label_codes[start:stop].tolist()))

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return labels as codes."""
        codes = self._find_names(panel)[3]
        assert codes is not None
        assert self._label_codes is not None
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

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes as JSON."""
        return self._whole.texts(self._start + start, self._start + stop)

    def labels(self, start: int, stop: int) -> list[Any]:
        """Return labels."""
        return self._whole.labels(self._start + start, self._start + stop)

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return labels as codes."""
        return self._whole.label_codes(panel, self._start + start, self._start + stop)
