"""Batches in bulk: rows that bring no new names are learned and predicted together, and written together.

The result is the same as one by one, bit for bit. Rows that need more than that (new experts or classes,
attributes, scores, ids that are known, labels that replace others) are left to `Items`, in their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from linmax.client.requests import new_id
from linmax.fusion import Fusion
from linmax.kernels.forms import Hard
from linmax.service.answers import LabelAnswer, PredictAnswer
from linmax.service.class_keys import class_key
from linmax.service.item_store import SET_LEARNED, Item, ItemStore, decode_item
from linmax.service.messages import LabelRequest, LearnRequest, PredictRequest
from linmax.service.panel import Panel
from linmax.service.panels import INSERT_EVENT, Panels
from linmax.service.schema import LABELLED, LEARNED, PREDICTED
from linmax.service.tokens import Token

SHORTEST = 16  # rows that are worth it
INSERT_ITEM = "INSERT INTO items VALUES (?, ?, ?, ?, ?)"
Request = PredictRequest | LabelRequest | LearnRequest
Answer = PredictAnswer | LabelAnswer
Codes = NDArray[np.int32]
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
        """Return the votes of known rows as `encode_votes` does."""

    def texts(self, start: int, stop: int, ordered: bool) -> list[bytes]:
        """Return the votes of rows as JSON; `ordered` sorts the experts, as `content_of` does."""


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

    def __len__(self) -> int:
        return len(self.requests)

    def request(self, row: int) -> Request:
        """Return a row."""
        found: Request = self.requests[row]
        return found

    def known(self, panel: Panel, start: int) -> int:
        """Return how many rows from one on have no new names, no scores and no attributes."""
        if self.kind is LabelRequest:
            return _leading(one.replaces is msgspec.UNSET for one in self.requests[start:])
        names = KnownNames(panel)
        return _leading(
            one.attributes is None and names.has(one.votes, getattr(one, "label", None))
            for one in self.requests[start:]
        )

    def votes(self, panel: Panel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        return encode_votes([one.votes for one in self.requests[start:stop]], panel)

    def texts(self, start: int, stop: int, ordered: bool) -> list[bytes]:
        """Return the votes as JSON."""
        order: Literal["deterministic"] | None = "deterministic" if ordered else None
        return [encode(one.votes, order=order) for one in self.requests[start:stop]]


class KnownNames:
    """The experts and classes that a fusion knows, for a quick check of many rows.

    Parameters
    ----------
    panel
        The fusion.
    """

    def __init__(self, panel: Panel) -> None:
        names = panel.fusion.names
        self._experts = names.experts.codes.keys()
        self._classes = frozenset((*names.classes.codes, None))
        self.kind = type(names.classes.names[0]) if len(names.classes) else None

    def has(self, votes: dict[str, Any] | None, label: Any) -> bool:
        """Whether votes and a label have only known names, and no scores."""
        if votes is None or self.kind is None or label not in self._classes:
            return False
        try:
            if not (self._experts >= votes.keys() and self._classes.issuperset(votes.values())):
                return False
        except TypeError:  # scores
            return False
        return self.kind is str or all(  # 1 and True are equal
            value is None or type(value) is self.kind for value in (*votes.values(), label)
        )


def _leading(flags: Any) -> int:
    """Return how many flags are true before the first that is not."""
    count = 0
    for flag in flags:
        if not flag:
            break
        count += 1
    return count


def encode_votes(votes: list[dict[str, Any]], panel: Panel) -> Codes:
    """Return known votes as codes of the classes, a column per expert of the fusion; -1 is an abstention.

    Parameters
    ----------
    votes
        Votes without new names.
    panel
        The fusion.
    """
    names = panel.fusion.names
    experts = list(votes[0])
    if all(one.keys() == votes[0].keys() for one in votes):
        rows = [map(one.__getitem__, experts) for one in votes]
    else:
        experts = list(dict.fromkeys(name for one in votes for name in one))
        rows = [map(one.get, experts) for one in votes]
    code = {**names.classes.codes, None: -1}.__getitem__
    table = np.full((len(votes), len(names.experts)), -1, np.int32)
    columns = [names.experts.codes[name] for name in experts]
    table[:, columns] = np.array([list(map(code, row)) for row in rows], np.int32).reshape(len(votes), -1)
    return table


def encode_labels(labels: list[Any], panel: Panel) -> Codes:
    """Return known labels as codes.

    Parameters
    ----------
    labels
        The labels.
    panel
        The fusion.
    """
    return np.array(list(map(panel.fusion.names.classes.codes.__getitem__, labels)), np.int32)


def to_batch(votes: Codes, labels: Codes | None, panel: Panel) -> Any:
    """Return encoded items as `Fusion.read` would, for a fusion that learns from votes alone.

    Parameters
    ----------
    votes, labels
        As from `encode_votes` and `encode_labels`; None to predict.
    panel
        The fusion.
    """
    fusion = panel.fusion
    names = fusion.names
    trials, name = len(votes), names.classes.names[0]
    one = fusion.read([{names.experts.names[0]: name}], None if labels is None else [name])
    given = np.full(trials, -1, np.int32) if labels is None else labels
    known = np.full(trials, len(names.classes), np.int32)
    return replace(one, trials=trials, votes=Hard(votes), labels=given, known=known)


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
        names = KnownNames(panel)
        self._stored = []
        seen: set[str] = set()
        for row in range(start, stop):
            id_ = rows.ids[row]
            item = self.store.find_recent(panel, id_)
            if item is None or item.learned is not None or id_ in seen or self.store.has_expired(panel, item):
                break
            stored = decode_item(item.body)
            if stored.attributes is not None or not names.has(stored.votes, rows.labels[row]):
                break
            seen.add(id_)
            self._stored.append((item, stored))
        return len(self._stored)

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
        batch = to_batch(rows.votes(panel, start, stop), encode_labels(labels, panel), panel)
        names = panel.fusion.names.classes.names
        found = await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        predictions = [names[code] for code in found.codes.tolist()]
        ids, contents = self._identities(rows, start, stop, b'["LearnRequest",{"attributes":null,"label":')
        ends: dict[tuple[Any, Any], bytes] = {}
        bodies = []
        for text, label, prediction in zip(rows.texts(start, stop, False), labels, predictions, strict=True):
            pair = label, prediction
            if pair not in ends:
                ends[pair] = b',"label":%b,"prediction":%b,"right":%b}' % (
                    encode(label), encode(prediction), encode(label == prediction),
                )  # fmt: skip
            bodies.append(b'{"votes":' + text + ends[pair])
        items = self._insert(panel, LEARNED, ids, contents, bodies, token)
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
        batch = to_batch(rows.votes(panel, start, stop), None, panel)
        found = await self.panels.run(panel, PREDICT, _predict_batch, panel.fusion, batch)
        names = panel.fusion.names.classes.names
        predictions = [names[code] for code in found.codes.tolist()]
        keys = list(map(class_key, names))
        probabilities = [dict(zip(keys, row, strict=True)) for row in found.probabilities.tolist()]
        ids, contents = self._identities(rows, start, stop, b'["PredictRequest",{"attributes":null')
        version = b',"version":%d}' % panel.version if panel.version else b"}"
        texts = {prediction: encode(prediction) for prediction in set(predictions)}
        bodies = [
            b'{"votes":' + text + b',"prediction":' + texts[prediction] + b',"probabilities":'
            + encode(each) + version
            for text, prediction, each in zip(
                rows.texts(start, stop, False), predictions, probabilities, strict=True
            )
        ]  # fmt: skip
        self._insert(panel, PREDICTED, ids, contents, bodies, token)
        panel.waiting += len(ids)
        return [
            PredictAnswer(id_, prediction, each, panel.version)
            for id_, prediction, each in zip(ids, predictions, probabilities, strict=True)
        ]

    async def _label(self, panel: Panel, rows: Rows, start: int, stop: int, token: Token) -> Sequence[Answer]:
        labels = list(rows.labels[start:stop])
        found = self._stored  # another fusion may look for its own while the model learns
        votes = [stored.votes or {} for _, stored in found[: len(labels)]]
        batch = to_batch(encode_votes(votes, panel), encode_labels(labels, panel), panel)
        await self.panels.run(panel, LEARN, panel.fusion.learn_batch, batch)
        now, number = self.database.now(), panel.number
        events, updates, answers = [], [], []
        ends: dict[tuple[Any, Any], bytes] = {}
        for id_, label, (item, stored) in zip(rows.ids[start:stop], labels, found, strict=False):
            pair = label, stored.prediction
            if pair not in ends:
                ends[pair] = b'{"label":%b,"prediction":%b,"right":%b}' % (
                    encode(label), encode(stored.prediction), encode(label == stored.prediction),
                )  # fmt: skip
            position = self.database.next_position()
            events.append((position, number, LABELLED, id_, item.position, now, token.name, ends[pair]))
            updates.append((position, number, id_))
            item.label, item.right, item.learned = label, label == stored.prediction, position
            item.written = panel.batch[1]
            self.store.keep(panel, id_, item)
            answers.append(LabelAnswer(id_, stored.prediction, item.right, position))
        panel.waiting -= len(labels)
        self.panels.learned(panel, answers[-1].position, len(answers))
        panel.batch[0].extend([(INSERT_EVENT, events), (SET_LEARNED, updates)])
        return answers

    def _identities(self, rows: Rows, start: int, stop: int, opening: bytes) -> tuple[list[str], list[bytes]]:
        """Return ids and checksums of the contents, as `Items` does; without an id a new one, and none."""
        ids, contents = [], []
        labels = map(encode, rows.labels[start:stop]) if rows.labels else [b""] * (stop - start)
        for id_, label, text in zip(rows.ids[start:stop], labels, rows.texts(start, stop, True), strict=True):
            if id_ is msgspec.UNSET:
                ids.append(new_id())
                contents.append(b"")
            else:
                content = opening + label + b',"votes":' + text + b"}]"
                ids.append(id_)
                contents.append(hashlib.blake2b(content, digest_size=16).digest())
        return ids, contents

    def _insert(
        self,
        panel: Panel,
        kind: int,
        ids: list[str],
        contents: list[bytes],
        bodies: list[bytes],
        token: Token,
    ) -> list[Item]:
        now, number, actor = self.database.now(), panel.number, token.name
        first = self.database.next_positions(len(ids))
        events, rows, items = [], [], []
        for position, id_, content, body in zip(
            range(first, first + len(ids)), ids, contents, bodies, strict=True
        ):
            learned = position if kind == LEARNED else None
            events.append((position, number, kind, id_, None, now, actor, body))
            rows.append((number, id_, position, content, learned))
            item = Item(position, content, now, body, learned)
            item.written = panel.batch[1]
            self.store.remember(panel, id_, item)
            items.append(item)
        panel.batch[0].extend([(INSERT_EVENT, events), (INSERT_ITEM, rows)])
        return items
