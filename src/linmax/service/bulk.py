"""Batches in bulk: rows that bring no new names are learned and predicted together, and written together.

The result is the same as one by one, bit for bit. Rows that need more than that (new experts or classes,
attributes, scores, ids that are known, labels that replace others) are left to `Items`, in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Protocol

import msgspec
import numpy as np

from linmax.client.requests import new_id
from linmax.fusion import Fusion
from linmax.service.answers import LabelAnswer, PredictAnswer
from linmax.service.class_keys import class_key
from linmax.service.item_store import EncodedVotes, Item, ItemStore, decode_item
from linmax.service.messages import LabelRequest, LearnRequest, PredictRequest
from linmax.service.panel import Panel
from linmax.service.panels import Panels
from linmax.service.schema import (
    AS_STORED,
    INSERT_EVENT,
    INSERT_ITEM,
    LABELLED,
    LEARNED,
    NO_ID,
    PREDICTED,
    SET_LEARNED,
)
from linmax.service.tokens import Token
from linmax.service.vote_codes import Codes, KnownNames, NamesSeen, to_batch

SHORTEST = 16  # rows that are worth it
Request = PredictRequest | LabelRequest | LearnRequest
Answer = PredictAnswer | LabelAnswer
LEARN, PREDICT = "learn in bulk", "predict in bulk"  # what takes long when it is compiled
encode = msgspec.json.encode


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
        return [encode(one.votes) for one in self.requests[start:stop]]


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
        names, now = KnownNames(panel.fusion), self.database.now()
        found: dict[str, Item] = {}
        for id_ in rows.ids[start:stop]:
            item = self.store.find_recent(panel, id_)
            if item is None or item.learned is not None or id_ in found:
                break
            if self.store.has_expired(panel, item, now):
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
    ) -> Sequence[Answer] | None:
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
        list
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

    async def _learn(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> Sequence[Answer]:
        labels = list(rows.labels[start:stop])
        votes, names = rows.votes(panel, start, stop), panel.fusion.names.classes.names
        batch = to_batch(panel.fusion, votes, KnownNames(panel.fusion).encode_labels(labels))
        found = await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        predictions = [names[code] for code in found.codes.tolist()]
        ends: dict[tuple[Any, Any], bytes] = {}
        bodies = []
        for text, label, prediction in zip(rows.texts(start, stop), labels, predictions, strict=True):
            pair = label, prediction
            if pair not in ends:
                ends[pair] = b',"label":%b,"prediction":%b,"right":%b}' % (
                    encode(label), encode(prediction), encode(label == prediction),
                )  # fmt: skip
            bodies.append(b'{"votes":' + text + ends[pair])
        ids, items = self._insert(panel, LEARNED, rows.ids[start:stop], bodies, token)
        for item, label, prediction in zip(items, labels, predictions, strict=True):
            item.label, item.right = label, label == prediction
        self.panels.learned(panel, items[-1].position, len(items))
        return [
            LabelAnswer(id_, prediction, item.right, item.position)
            for id_, item, prediction in zip(ids, items, predictions, strict=True)
        ]

    async def _predict(
        self, panel: Panel, rows: Rows, start: int, stop: int, token: Token
    ) -> Sequence[Answer]:
        votes = rows.votes(panel, start, stop)
        batch = to_batch(panel.fusion, votes, None)
        found = await self.panels.run(panel, PREDICT, _predict_batch, panel.fusion, batch)
        names = panel.fusion.names.classes.names
        predictions = [names[code] for code in found.codes.tolist()]
        keys = list(map(class_key, names))
        probabilities = [dict(zip(keys, row, strict=True)) for row in found.probabilities.tolist()]
        version = b',"version":%d}' % panel.version if panel.version else b"}"
        texts = {prediction: encode(prediction) for prediction in set(predictions)}
        bodies = [
            b'{"votes":' + text + b',"prediction":' + texts[prediction] + b',"probabilities":'
            + encode(each) + version
            for text, prediction, each in zip(
                rows.texts(start, stop), predictions, probabilities, strict=True
            )
        ]  # fmt: skip
        encoded = []
        if votes.nbytes <= sum(map(len, bodies)):  # most experts vote
            encoded = [
                EncodedVotes(panel.fusion.names, votes, row, prediction)
                for row, prediction in enumerate(predictions)
            ]
        ids, _ = self._insert(panel, PREDICTED, rows.ids[start:stop], bodies, token, encoded)
        panel.waiting += len(ids)
        return [
            PredictAnswer(id_, prediction, each, panel.version)
            for id_, prediction, each in zip(ids, predictions, probabilities, strict=True)
        ]

    async def _label(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> Sequence[Answer]:
        labels = list(rows.labels[start:stop])
        found = self._found[: len(labels)]  # another fusion may look for its own while the model learns
        votes = _stack([encoded for _, encoded in found], panel)
        batch = to_batch(panel.fusion, votes, KnownNames(panel.fusion).encode_labels(labels))
        await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        now, number = self.database.now(), panel.number
        events, updates, answers = [], [], []
        ends: dict[tuple[Any, Any], bytes] = {}
        first, written = self.database.next_positions(len(labels)), panel.batch[1]
        for position, id_, label, (item, encoded) in zip(
            range(first, first + len(labels)), rows.ids[start:stop], labels, found, strict=True
        ):
            pair = label, encoded.prediction
            if pair not in ends:
                ends[pair] = b'{"label":%b,"prediction":%b,"right":%b}' % (
                    encode(label), encode(encoded.prediction), encode(label == encoded.prediction),
                )  # fmt: skip
            events.append((position, number, LABELLED, id_, item.position, now, token.name, ends[pair]))
            updates.append((position, number, id_))
            item.label, item.right, item.learned = label, label == encoded.prediction, position
            item.written = written
            self.store.keep(panel, id_, item)
            answers.append(LabelAnswer(id_, encoded.prediction, item.right, position))
        panel.waiting -= len(labels)
        self.panels.learned(panel, answers[-1].position, len(answers))
        panel.batch[0].extend([(INSERT_EVENT, events), (SET_LEARNED, updates)])
        return answers

    def _insert(
        self,
        panel: Panel,
        kind: int,
        given: list[Any],
        bodies: list[bytes],
        token: Token,
        encoded: Sequence[EncodedVotes | None] = (),
    ) -> tuple[list[str], list[Item]]:
        """Write new items; return their ids, new ones where none was given, and the items."""
        now, number, actor = self.database.now(), panel.number, token.name
        first, written = self.database.next_positions(len(given)), panel.batch[1]
        ids = [new_id() if id_ is msgspec.UNSET else id_ for id_ in given]
        contents = [NO_ID if id_ is msgspec.UNSET else AS_STORED for id_ in given]
        events, rows, items = [], [], []
        for position, id_, content, body, votes in zip(
            range(first, first + len(ids)), ids, contents, bodies, encoded or repeat(None, len(ids)),
            strict=True,
        ):  # fmt: skip
            learned = position if kind == LEARNED else None
            events.append((position, number, kind, id_, None, now, actor, body))
            rows.append((number, id_, position, content, learned))
            item = Item(position, content, now, body, learned, encoded=votes, written=written)
            self.store.remember(panel, id_, item)
            items.append(item)
        panel.batch[0].extend([(INSERT_EVENT, events), (INSERT_ITEM, rows)])
        return ids, items


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
