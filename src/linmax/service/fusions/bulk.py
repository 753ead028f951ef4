"""Batches in bulk: rows that bring no new names are learned and predicted together, and written together.

The result is the same as one by one, bit for bit. Rows that need more than that (new experts or classes,
attributes, scores, ids that are known, labels that replace others) are left to `Items`, in their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count, repeat
from typing import Any, Protocol

import msgspec
import numpy as np

from linmax.client.requests import new_id
from linmax.fusion import Fusion
from linmax.inputs import Batch
from linmax.service.event_log.batch_statements import insert_items, insert_labels
from linmax.service.event_log.chunks import EventChunk, code_size, find_used, make_chunk
from linmax.service.event_log.schema import AS_STORED, LEARNED, NO_ID, PREDICTED
from linmax.service.event_log.stored_items import LearnedRun, LoggedItem, read_waiting
from linmax.service.event_log.vote_codes import Codes, KnownNames, NamesSeen, can_read_codes
from linmax.service.fusions.item_store import ItemStore
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.messages.answer_runs import LabelAnswers, PredictAnswers
from linmax.service.messages.class_keys import class_key, is_class
from linmax.service.messages.requests import DOT_SEGMENTS, LabelRequest, LearnRequest, PredictRequest
from linmax.service.tokens import Token

SHORTEST = 16  # rows that are worth it
CELLS = 100_000  # rows of a run, times experts and classes: others wait while it is processed
WIDER = 8  # times as many rows are looked at if all were fine so far
WORTH = 8  # bytes of a table for each vote; as JSON, a vote takes more
Request = PredictRequest | LabelRequest | LearnRequest
LEARN, PREDICT = "learn in bulk", "predict in bulk"  # what takes long when it is compiled
NO_CODES: Codes = np.empty((0, 0), np.int32)
encode = msgspec.json.encode
encode_lines = msgspec.json.Encoder().encode_lines


class BatchRows(Protocol):
    """The rows of a batch, all for the same verb.

    Attributes
    ----------
    kind : type
        The structure of their requests.
    ids : list of str or UNSET
        Their ids.
    """

    kind: type
    ids: list[Any]

    def __len__(self) -> int:
        """The number of rows."""

    def request(self, row: int) -> Request:
        """Return a row as a request of its own."""

    def known(self, panel: ServedPanel, start: int, stop: int) -> int:
        """Return how many of these rows come before one with new names, or anything else that is special."""

    def votes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return the votes of known rows as `KnownNames.encode_votes` does."""

    def count_votes(self, start: int, stop: int) -> int:
        """Return the number of votes of known rows, with those that abstain unless they are left out."""

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes of known rows as JSON."""

    def labels(self, start: int, stop: int) -> list[Any]:
        """Return the labels of rows, unless they are to be predicted."""

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return the labels of known rows as codes."""


class JsonItems:
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
        self._encoded: tuple[NamesSeen, int, Codes] | None = None

    def __len__(self) -> int:
        return len(self.requests)

    def request(self, row: int) -> Request:
        """Return a row."""
        found: Request = self.requests[row]
        return found

    def known(self, panel: ServedPanel, start: int, stop: int) -> int:
        """Return how many of these rows come before one with new names, scores or attributes."""
        if self.kind is LabelRequest:
            return _leading(one.replaces is msgspec.UNSET for one in self.requests[start:stop])
        before = self._find_codes(panel, start, stop)
        begin = start + len(before)
        if begin == stop:
            return stop - start
        rows, names = self.requests[begin:stop], KnownNames(panel.fusion)
        if all(one.attributes is None and one.votes is not None for one in rows):
            codes = names.encode_votes([one.votes for one in rows])
            labels = [] if self.kind is PredictRequest else self.labels(begin, stop)
            if codes is not None and names.encode_labels(labels) is not None:
                together = np.concatenate((before, codes)) if len(before) else codes
                self._encoded = NamesSeen(panel.fusion), start, together
                return stop - start
        return len(before) + _leading(
            one.attributes is None and names.have(one.votes, getattr(one, "label", None)) for one in rows
        )

    def votes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return votes as codes."""
        found = self._find_codes(panel, start, stop)
        if len(found) == stop - start:
            return found
        codes = KnownNames(panel.fusion).encode_votes([one.votes for one in self.requests[start:stop]])
        assert codes is not None
        return codes

    def _find_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return the codes of the first of these rows, as far as they are known from before."""
        if self._encoded is not None:
            seen, first, codes = self._encoded
            if first <= start <= first + len(codes) and seen.are_those_of(panel.fusion):
                return codes[start - first : stop - first]
        return NO_CODES

    def count_votes(self, start: int, stop: int) -> int:
        """Return the number of votes of known rows, with those that abstain."""
        return sum([len(one.votes) for one in self.requests[start:stop]])

    def texts(self, start: int, stop: int) -> list[bytes]:
        """Return the votes as JSON."""
        return encode_lines([one.votes for one in self.requests[start:stop]]).splitlines()

    def labels(self, start: int, stop: int) -> list[Any]:
        """Return labels."""
        return [one.label for one in self.requests[start:stop]]

    def label_codes(self, panel: ServedPanel, start: int, stop: int) -> Codes:
        """Return labels as codes."""
        found = KnownNames(panel.fusion).encode_labels(self.labels(start, stop))
        assert found is not None
        return found


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

    def __init__(self, panels: ServedPanels, store: ItemStore) -> None:
        self.panels = panels
        self.database = panels.database
        self.store = store

    def find_run(self, panel: ServedPanel, rows: BatchRows, start: int) -> int:
        """Return the end of the run of rows from `start` on that can be processed at once, or `start`.

        It looks at few rows first, and at more as long as all are fine: the time is in proportion to the run.
        """
        if len(rows) - start < SHORTEST or not self.database.writable or not can_read_codes(panel.fusion):
            return start
        count = self._waiting if rows.kind is LabelRequest else self._new
        names = panel.fusion.names
        last = min(len(rows), start + max(SHORTEST, CELLS // (len(names.experts) + len(names.classes))))
        width, stop, end = SHORTEST, start, start
        while stop == end < last:
            end = min(start + width, last)
            stop = start + count(panel, rows, start, start + rows.known(panel, start, end))
            width *= WIDER
        if rows.kind is PredictRequest:
            stop = min(stop, start + panel.settings.limits.waiting - panel.waiting)
        return stop if stop - start >= SHORTEST else start

    def _new(self, panel: ServedPanel, rows: BatchRows, start: int, stop: int) -> int:
        """Return how many rows have ids that are new, allowed and not there twice."""
        if DOT_SEGMENTS.isdisjoint(panel.missing):
            if len(panel.missing) == len(rows.ids):  # all ids are new, and different
                return stop - start
            ids = set(rows.ids[start:stop])
            if len(ids) == stop - start and ids <= panel.missing:
                return stop - start
        seen = set(DOT_SEGMENTS)
        for row in range(start, stop):
            id_ = rows.ids[row]
            if id_ is not msgspec.UNSET:
                if id_ in seen or id_ not in panel.missing:
                    return row - start
                seen.add(id_)
        return stop - start

    def _waiting(self, panel: ServedPanel, rows: BatchRows, start: int, stop: int) -> int:
        """Return how many labels are for items in memory that wait, and bring no new names."""
        names, since = KnownNames(panel.fusion), self.database.now() - panel.settings.limits.retention
        found: dict[str, LoggedItem] = {}
        ids = rows.ids[start:stop]
        for id_, item in zip(ids, self.store.find_all_recent(panel, ids), strict=True):
            if item is None or item.learned is not None or id_ in found or item.time < since:
                break
            found[id_] = item
        items, labels = list(found.values()), rows.labels(start, start + len(found))
        if names.encode_labels(labels) is None:
            items = items[: _leading(names.encode_labels([label]) is not None for label in labels)]
        self._found = read_waiting(items, panel.fusion)
        return len(self._found.items)

    async def process(
        self, panel: ServedPanel, rows: BatchRows, start: int, stop: int, token: Token
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

    async def _learn(
        self, panel: ServedPanel, rows: BatchRows, start: int, stop: int, token: Token
    ) -> LabelAnswers:
        fusion = panel.fusion
        votes, codes = rows.votes(panel, start, stop), rows.label_codes(panel, start, stop)
        batch = Batch.of_codes(fusion.names, votes, codes)
        found = await self.panels.run(panel, LEARN, fusion.learn_batch, batch)
        predictions = list(map(fusion.names.classes.names.__getitem__, found.codes.tolist()))
        right = codes == found.codes
        first = self.database.next_positions(len(votes))
        if _fits_chunk(rows, start, stop, votes, fusion):
            chunk = make_chunk(first, fusion, votes, codes, found.codes)
            ids = self._insert_chunk(panel, LEARNED, rows.ids[start:stop], chunk, token)
        else:
            labels = rows.labels(start, stop)
            pairs = zip(rows.texts(start, stop), _label_texts(labels, predictions), strict=True)
            bodies = [b'{"votes":' + text + b"," + end for text, end in pairs]
            given, flags = rows.ids[start:stop], right.tolist()
            ids = self._insert(panel, LEARNED, first, given, bodies, token, labels, flags)
        self.panels.learned(panel, first + len(ids) - 1, len(ids))
        return LabelAnswers(ids, predictions, right, first)

    async def _predict(
        self, panel: ServedPanel, rows: BatchRows, start: int, stop: int, token: Token
    ) -> PredictAnswers:
        votes, fusion = rows.votes(panel, start, stop), panel.fusion
        batch, version = Batch.of_codes(fusion.names, votes, None), panel.version
        found = await self.panels.run(panel, PREDICT, _predict_batch, fusion, batch)
        names = fusion.names.classes.names
        keys, predictions = list(map(class_key, names)), list(map(names.__getitem__, found.codes.tolist()))
        first = self.database.next_positions(len(votes))
        answers = PredictAnswers([], predictions, keys, found.probabilities, version)
        if _fits_chunk(rows, start, stop, votes, fusion):
            chunk = make_chunk(first, fusion, votes, None, found.codes, found.probabilities, version)
            answers.ids = self._insert_chunk(panel, PREDICTED, rows.ids[start:stop], chunk, token)
        else:
            end = b',"version":%d}' % version if version else b"}"
            chosen = {one: b',"prediction":%b,"probabilities":' % encode(one) for one in set(predictions)}
            chosen_texts = map(chosen.__getitem__, predictions)
            parts = zip(rows.texts(start, stop), chosen_texts, answers.texts(), strict=True)
            bodies = [b'{"votes":' + text + prediction + each + end for text, prediction, each in parts]
            answers.ids = self._insert(panel, PREDICTED, first, rows.ids[start:stop], bodies, token)
        panel.waiting += len(votes)
        return answers

    async def _label(
        self, panel: ServedPanel, rows: BatchRows, start: int, stop: int, token: Token
    ) -> LabelAnswers:
        ids, labels, fusion = rows.ids[start:stop], rows.labels(start, stop), panel.fusion
        found = self._found  # another fusion may look for its own while the model learns
        items, names = found.items[: len(labels)], KnownNames(fusion)
        predictions, codes = found.predictions[: len(labels)], names.encode_labels(labels)
        assert codes is not None
        batch = Batch.of_codes(fusion.names, found.votes[: len(labels)], codes)
        await self.panels.run(panel, LEARN, fusion.learn_batch, batch)
        first, written, number = self.database.next_positions(len(labels)), panel.batch[1], panel.number
        predicted, bodies = names.encode_predictions(predictions), None
        if predicted is None:
            right = np.array(list(map(is_class, predictions, labels)))
            bodies = [b"{" + end for end in _label_texts(labels, predictions)]
        else:
            right = codes == predicted
            panel.batch[0].append(make_chunk(first, fusion, None, codes, predicted).statement(number))
        positions, flags = [item.position for item in items], right.tolist()
        for position, item, label, correct in zip(count(first), items, labels, flags, strict=False):
            item.label, item.right, item.learned, item.written = label, correct, position, written
        self.store.keep_all(panel, ids, items)
        panel.waiting -= len(labels)
        self.panels.learned(panel, first + len(labels) - 1, len(labels))
        now = self.database.now()
        panel.batch[0].extend(insert_labels(first, number, now, token.name, ids, positions, bodies))
        return LabelAnswers(ids, predictions, right, first)

    def _insert_chunk(
        self, panel: ServedPanel, kind: int, given: list[Any], chunk: EventChunk, token: Token
    ) -> list[str]:
        """Write new items whose content is in a chunk; return their ids, new ones where none was given."""
        ids, has_id = _identify(given)
        now, number, written = self.database.now(), panel.number, panel.batch[1]
        if kind == LEARNED:
            self.store.remember_run(panel, LearnedRun(ids, has_id, now, chunk, written))
        else:
            fields = range(chunk.first, chunk.last + 1), _contents(has_id), repeat(now), repeat(chunk)
            none, false = repeat(None), repeat(False)
            items = list(map(LoggedItem, *fields, none, none, false, none, false, repeat(written)))
            self.store.remember_all(panel, ids, items, chunk.bytes_per_row * len(items))
        panel.batch[0].append(chunk.statement(number))
        panel.batch[0].extend(insert_items(chunk.first, number, kind, now, token.name, ids, has_id, None))
        return ids

    def _insert(
        self,
        panel: ServedPanel,
        kind: int,
        first: int,
        given: list[Any],
        bodies: list[bytes],
        token: Token,
        labels: Iterable[Any] = repeat(None),
        right: Iterable[bool] = repeat(False),
    ) -> list[str]:
        """Write new items with bodies of their own, as `_insert_chunk` does."""
        ids, has_id = _identify(given)
        now, number, written = self.database.now(), panel.number, panel.batch[1]
        positions = range(first, first + len(ids))
        learned: Iterable[int | None] = positions if kind == LEARNED else repeat(None)
        fields = repeat(now), bodies, learned, labels, right, repeat(None), repeat(False)
        items = list(map(LoggedItem, positions, _contents(has_id), *fields, repeat(written)))
        self.store.remember_all(panel, ids, items, sum(map(len, bodies)))
        panel.batch[0].extend(insert_items(first, number, kind, now, token.name, ids, has_id, bodies))
        return ids


def _fits_chunk(rows: BatchRows, start: int, stop: int, votes: Codes, fusion: Fusion) -> bool:
    """Whether codes say all about votes, and take less space than JSON.

    A vote that abstains is not the same content as one that is left out.
    """
    count, columns = int(np.count_nonzero(votes >= 0)), len(find_used(votes))
    if rows.count_votes(start, stop) != count:
        return False
    return len(votes) * columns * code_size(len(fusion.names.classes)) <= WORTH * count


def _identify(given: list[Any]) -> tuple[list[str], list[bool]]:
    """Return ids, new ones where none was given, and which of them were."""
    if msgspec.UNSET not in given:
        return given, [True] * len(given)
    has_id = [id_ is not msgspec.UNSET for id_ in given]
    return [new_id() if id_ is msgspec.UNSET else id_ for id_ in given], has_id


def _contents(has_id: list[bool]) -> list[bytes]:
    """Return what `LoggedItem.content` says of new items."""
    return [AS_STORED if known else NO_ID for known in has_id]


def _label_texts(labels: list[Any], predictions: list[Any]) -> list[bytes]:
    """Return what events say about labels, as the end of a JSON object."""
    pairs = list(zip(labels, predictions, strict=True))
    texts = {
        (label, prediction): b'"label":%b,"prediction":%b,"right":%b}' % (
            encode(label), encode(prediction), encode(is_class(prediction, label)),
        )
        for label, prediction in set(pairs)
    }  # fmt: skip
    return [texts[pair] for pair in pairs]
