"""Batches in bulk: rows that bring no new names are learned and predicted together, and written together.

The result is the same as one by one, bit for bit. Rows that need more than that (new experts or classes,
attributes, scores, ids that are known, labels that replace others) are left to `Items`, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, repeat
from operator import eq
from typing import Any, Protocol

import msgspec
import numpy as np

from linmax.client.requests import new_id
from linmax.fusion import Fusion
from linmax.service.answer_runs import LabelAnswers, PredictAnswers, to_objects
from linmax.service.batch_statements import insert_events, insert_items, set_learned
from linmax.service.class_keys import class_key
from linmax.service.item_store import EncodedVotes, Item, ItemStore, decode_item
from linmax.service.messages import LabelRequest, LearnRequest, PredictRequest
from linmax.service.panel import Panel
from linmax.service.panels import Panels
from linmax.service.schema import AS_STORED, LABELLED, LEARNED, NO_ID, PREDICTED
from linmax.service.tokens import Token
from linmax.service.vote_codes import Codes, KnownNames, NamesSeen, to_batch

SHORTEST = 16  # rows that are worth it
Request = PredictRequest | LabelRequest | LearnRequest
LEARN, PREDICT = "learn in bulk", "predict in bulk"  # what takes long when it is compiled
encode = msgspec.json.encode
encode_lines = msgspec.json.Encoder().encode_lines


class Rows(Protocol):
    """The rows of a batch, all for the same verb.

    Attributes
    ----------
    kind : type
        The structure of their requests.
    ids : list of str or UNSET
        Their ids.
    labels : list
        Their labels; empty for predictions.
    """

    kind: type
    ids: list[Any]
    labels: list[Any]

    def __len__(self) -> int:
        """The number of rows."""

    def request(self, row: int) -> Request:
        """Return a row as a request of its own."""

    def known(self, panel: Panel, start: int) -> int:
        """Return how many rows from one on have no new names, nor anything else that is special."""

    def votes(self, panel: Panel, start: int, stop: int) -> Codes:
        """Return the votes of known rows as `KnownNames.encode_votes` does."""

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes of known rows as JSON."""


class JsonRows:
    """Rows that came as JSON.

    Parameters
    ----------
    requests
        The requests.
    """

    def __init__(self, requests: list[Any]) -> None:
        self.requests = requests
        self.kind = type(requests[0])
        self.ids = [request.id for request in requests]
        self.labels = [] if self.kind is PredictRequest else [request.label for request in requests]
        self._encoded: tuple[NamesSeen, int, Codes] | None = None

    def __len__(self) -> int:
        return len(self.requests)

    def request(self, row: int) -> Request:
        """Return a row."""
        found: Request = self.requests[row]
        return found

    def known(self, panel: Panel, start: int) -> int:
        """Return how many rows from one on have no new names, no scores and no attributes."""
        rest = self.requests[start:]
        if self.kind is LabelRequest:
            return _leading(one.replaces is msgspec.UNSET for one in rest)
        if self._find_codes(panel, start) is not None:
            return len(rest)
        names = KnownNames(panel.fusion)
        if all(one.attributes is None and one.votes is not None for one in rest):
            codes = names.encode_votes([one.votes for one in rest])
            if codes is not None and (
                not self.labels or names.encode_labels(self.labels[start:]) is not None
            ):
                self._encoded = NamesSeen(panel.fusion), start, codes
                return len(rest)
        return _leading(
            one.attributes is None and names.have(one.votes, getattr(one, "label", None)) for one in rest
        )

    def votes(self, panel: Panel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        found = self._find_codes(panel, start)
        if found is None:
            found = KnownNames(panel.fusion).encode_votes([one.votes for one in self.requests[start:stop]])
            assert found is not None
        return found[: stop - start]

    def _find_codes(self, panel: Panel, start: int) -> Codes | None:
        """Return the codes of the rows from one on, if they are known from before."""
        if self._encoded is None:
            return None
        seen, first, codes = self._encoded
        return codes[start - first :] if first <= start and seen.are_those_of(panel.fusion) else None

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes as JSON."""
        return encode_lines([one.votes for one in self.requests[start:stop]]).splitlines()


def _leading(flags: Any) -> int:
    """Return how many flags are true before the first that is not."""
    count = 0
    for flag in flags:
        if not flag:
            break
        count += 1
    return count


def _predict_batch(fusion: Fusion, batch: Any) -> Any:
    return fusion.predict_batch(batch, probabilities=True)


class Bulk:
    """Processes runs of rows at once; the lock of the fusion is held, and the ids were looked up.

    Parameters
    ----------
    panels
        The fusions.
    store
        Their items.
    """

    def __init__(self, panels: Panels, store: ItemStore) -> None:
        self.panels = panels
        self.database = panels.database
        self.store = store

    def find_run(self, panel: Panel, rows: Rows, start: int) -> int:
        """Return the end of the run of rows from `start` on that can be processed at once, or `start`."""
        if len(rows) - start < SHORTEST or not self.database.writable or panel.fusion.needs != {"votes"}:
            return start
        if rows.kind is LabelRequest:
            stop = start + self._waiting(panel, rows, start, start + rows.known(panel, start))
        else:
            stop = start + self._new(panel, rows, start, start + rows.known(panel, start))
        if rows.kind is PredictRequest:
            stop = min(stop, start + panel.settings.limits.waiting - panel.waiting)
        return stop if stop - start >= SHORTEST else start

    def _new(self, panel: Panel, rows: Rows, start: int, stop: int) -> int:
        """Return how many rows have ids that are new and not there twice."""
        given = [id_ for id_ in rows.ids[start:stop] if id_ is not msgspec.UNSET]
        if panel.missing.issuperset(given) and len(set(given)) == len(given):
            return stop - start
        seen: set[str] = set()
        for row in range(start, stop):
            id_ = rows.ids[row]
            if id_ is not msgspec.UNSET:
                if id_ in seen or id_ not in panel.missing:
                    return row - start
                seen.add(id_)
        return stop - start

    def _waiting(self, panel: Panel, rows: Rows, start: int, stop: int) -> int:
        """Return how many labels are for items in memory that wait, and bring no new names."""
        names, since = KnownNames(panel.fusion), self.database.now() - panel.settings.limits.retention
        found: dict[str, Item] = {}
        ids = rows.ids[start:stop]
        for id_, item in zip(ids, self.store.find_all_recent(panel, ids), strict=True):
            if item is None or item.learned is not None or id_ in found or item.time < since:
                break
            found[id_] = item
        items, labels = list(found.values()), rows.labels[start : start + len(found)]
        if names.encode_labels(labels) is None:
            items = items[: _leading(names.encode_labels([label]) is not None for label in labels)]
        own = panel.fusion.names
        encoded = [item.encoded for item in items if item.encoded is not None and item.encoded.names is own]
        if len(encoded) < len(items):
            encoded = _encode_items(items, names, panel)
        self._found = list(zip(items, encoded, strict=False))
        return len(self._found)

    async def process(
        self, panel: Panel, rows: Rows, start: int, stop: int, token: Token
    ) -> LabelAnswers | PredictAnswers | None:
        """Process a run of rows; None if its votes cannot be learned together.

        Parameters
        ----------
        panel
            The fusion; what is to be written is added to its batch.
        rows, start, stop
            The run, as from `find_run`.
        token
            Who asks.

        Returns
        -------
        LabelAnswers or PredictAnswers
            An answer for each row.
        """
        try:
            if rows.kind is LabelRequest:
                return await self._label(panel, rows, start, stop, token)
            if rows.kind is LearnRequest:
                return await self._learn(panel, rows, start, stop, token)
            return await self._predict(panel, rows, start, stop, token)
        except ValueError:  # nothing was learned; one row is to blame
            return None

    async def _learn(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> LabelAnswers:
        labels = list(rows.labels[start:stop])
        votes, names = rows.votes(panel, start, stop), panel.fusion.names.classes.names
        batch = to_batch(panel.fusion, votes, KnownNames(panel.fusion).encode_labels(labels))
        found = await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        predictions = [names[code] for code in found.codes.tolist()]
        right = list(map(eq, labels, predictions))
        texts, ends = rows.texts(start, stop), _label_texts(labels, predictions)
        bodies = [b'{"votes":' + text + b"," + end for text, end in zip(texts, ends, strict=True)]
        ids, first = self._insert(panel, LEARNED, rows.ids[start:stop], bodies, token, labels, right)
        self.panels.learned(panel, first + len(ids) - 1, len(ids))
        return LabelAnswers(ids, predictions, right, first)

    async def _predict(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> PredictAnswers:
        votes = rows.votes(panel, start, stop)
        batch = to_batch(panel.fusion, votes, None)
        found = await self.panels.run(panel, PREDICT, _predict_batch, panel.fusion, batch)
        names = panel.fusion.names.classes.names
        predictions = [names[code] for code in found.codes.tolist()]
        version = b',"version":%d}' % panel.version if panel.version else b"}"
        chosen = {one: b',"prediction":%b,"probabilities":' % encode(one) for one in set(predictions)}
        probabilities = to_objects(list(map(class_key, names)), found.probabilities)
        bodies = [
            b'{"votes":' + text + prediction + each + version
            for text, prediction, each in zip(
                rows.texts(start, stop), map(chosen.__getitem__, predictions), probabilities, strict=True
            )
        ]
        encoded: Iterable[EncodedVotes | None] = repeat(None)
        if votes.nbytes <= sum(map(len, bodies)):  # most experts vote
            tables = repeat(panel.fusion.names), repeat(votes)
            encoded = map(EncodedVotes, *tables, range(len(predictions)), predictions)
        ids, _ = self._insert(panel, PREDICTED, rows.ids[start:stop], bodies, token, encoded=encoded)
        panel.waiting += len(ids)
        keys = list(map(class_key, names))
        return PredictAnswers(ids, predictions, keys, found.probabilities, probabilities, panel.version)

    async def _label(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> LabelAnswers:
        ids, labels = rows.ids[start:stop], list(rows.labels[start:stop])
        found = self._found[: len(labels)]  # another fusion may look for its own while the model learns
        votes = _stack([encoded for _, encoded in found], panel)
        batch = to_batch(panel.fusion, votes, KnownNames(panel.fusion).encode_labels(labels))
        await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        first, written = self.database.next_positions(len(labels)), panel.batch[1]
        items, predictions = [item for item, _ in found], [encoded.prediction for _, encoded in found]
        right = list(map(eq, labels, predictions))
        bodies = [b"{" + end for end in _label_texts(labels, predictions)]
        positions = [item.position for item in items]
        for position, item, label, correct in zip(count(first), items, labels, right, strict=False):
            item.label, item.right, item.learned, item.written = label, correct, position, written
        self.store.keep_all(panel, ids, items)
        panel.waiting -= len(labels)
        self.panels.learned(panel, first + len(labels) - 1, len(labels))
        now, number = self.database.now(), panel.number
        events = insert_events(first, number, LABELLED, now, token.name, ids, bodies, positions)
        panel.batch[0].extend([events, set_learned(first, number, ids)])
        return LabelAnswers(ids, predictions, right, first)

    def _insert(
        self,
        panel: Panel,
        kind: int,
        given: list[Any],
        bodies: list[bytes],
        token: Token,
        labels: Iterable[Any] = repeat(None),
        right: Iterable[bool] = repeat(False),
        encoded: Iterable[EncodedVotes | None] = repeat(None),
    ) -> tuple[list[str], int]:
        """Write new items; return their ids, new ones where none was given, and the first position."""
        now, number, size = self.database.now(), panel.number, len(given)
        first, written = self.database.next_positions(size), panel.batch[1]
        has_id = [id_ is not msgspec.UNSET for id_ in given]
        ids = given if all(has_id) else [new_id() if id_ is msgspec.UNSET else id_ for id_ in given]
        positions = range(first, first + size)
        contents = [AS_STORED if known else NO_ID for known in has_id]
        learned: Iterable[int | None] = positions if kind == LEARNED else repeat(None)
        fields = repeat(now), bodies, learned, labels, right, repeat(None), repeat(False), encoded
        items = list(map(Item, positions, contents, *fields, repeat(written)))
        self.store.remember_all(panel, ids, items)
        panel.batch[0].append(insert_events(first, number, kind, now, token.name, ids, bodies))
        panel.batch[0].extend(insert_items(first, number, kind, ids, has_id))
        return ids, first


def _label_texts(labels: list[Any], predictions: list[Any]) -> list[bytes]:
    """Return what events say about labels, as the end of a JSON object."""
    pairs = list(zip(labels, predictions, strict=True))
    texts = {
        (label, prediction): b'"label":%b,"prediction":%b,"right":%b}' % (
            encode(label), encode(prediction), encode(label == prediction),
        )
        for label, prediction in set(pairs)
    }  # fmt: skip
    return [texts[pair] for pair in pairs]


def _encode_items(items: list[Item], names: KnownNames, panel: Panel) -> list[EncodedVotes]:
    """Return the votes of items as codes, up to the first item that has new names, scores or attributes."""
    stored = [decode_item(item.body) for item in items]
    stored = stored[: _leading(one.attributes is None and names.have(one.votes) for one in stored)]
    table = names.encode_votes([one.votes or {} for one in stored])
    if table is None:
        return []
    return [EncodedVotes(panel.fusion.names, table, row, one.prediction) for row, one in enumerate(stored)]


def _stack(encoded: list[EncodedVotes], panel: Panel) -> Codes:
    """Return votes that are rows of several tables as one; the fusion may know more experts since."""
    places: dict[int, list[int]] = {}
    for place, one in enumerate(encoded):
        places.setdefault(id(one.table), []).append(place)
    found = np.full((len(encoded), len(panel.fusion.names.experts)), -1, np.int32)
    for chosen in places.values():
        table = encoded[chosen[0]].table
        found[chosen, : table.shape[1]] = table[[encoded[place].row for place in chosen]]
    return found
