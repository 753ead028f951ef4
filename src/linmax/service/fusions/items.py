"""What requests do with items: predict, label and learn them, each exactly once by its id."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import msgspec

from linmax.client.requests import new_id
from linmax.fusion import Fusion
from linmax.service.event_log.schema import (
    AS_STORED,
    INSERT_ITEM,
    LABELLED,
    LEARNED,
    NO_ID,
    PREDICTED,
    RELABELLED,
    SET_LEARNED,
)
from linmax.service.event_log.stored_items import LoggedItem
from linmax.service.event_log.writes import Statement
from linmax.service.fusions.bulk import BatchRows, Bulk, Request
from linmax.service.fusions.item_store import ItemStore
from linmax.service.fusions.served_panel import ServedPanel, form_of
from linmax.service.fusions.served_panels import PanelClosedError, ServedPanels
from linmax.service.messages.answer_runs import Answer, Run
from linmax.service.messages.answers import LabelAnswer, PredictAnswer
from linmax.service.messages.class_keys import class_key, is_class, same_label, typed_votes
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import LabelRequest, LearnRequest, PredictRequest, StoredItem
from linmax.service.tokens import Token

AMEND = "INSERT INTO amendments VALUES (?, ?, ?, ?)"
Prediction = tuple[Any, dict[str, float]]
Done = tuple[asyncio.Future[None] | None, Run]  # answers, and what they wait for
ALONE = contextlib.nullcontext()
encode = msgspec.json.encode


class Items:
    """Predicts, labels and learns items.

    Every request holds the lock of the fusion while it changes the model and submits its event: the order in
    the log is the order in which the model has learned. Requests of a batch share a transaction, unless the
    model is slow: then each of them runs in a thread, and gets its position in the log after that.

    Parameters
    ----------
    panels
        The fusions.
    label_wait
        For how many seconds a label waits for its prediction.
    """

    def __init__(self, panels: ServedPanels, label_wait: float) -> None:
        self.panels = panels
        self.database = panels.database
        self.store = ItemStore(panels, label_wait)
        self.bulk = Bulk(panels, self.store)

    async def process(self, panel: ServedPanel, rows: BatchRows, token: Token) -> list[Run]:
        """Process requests in their order; return the answers and errors when all are on disk.

        Parameters
        ----------
        panel, rows, token
            The fusion, the requests, and who asks.
        """
        return await self.wait(rows, await self.submit(panel, rows, token))

    async def submit(
        self, panel: ServedPanel, rows: BatchRows, token: Token, came: float | None = None
    ) -> list[Done]:
        """Process requests; `wait` returns their answers when they are on disk.

        `came` is when they have come, by `time.monotonic`; None: now.
        """
        if rows.kind is LabelRequest:
            await self.store.wait_for(panel, set(rows.ids) - {msgspec.UNSET}, came)
        async with panel.lock:
            self.panels.check_open(panel)
            (done,) = await self._process_all(panel, [rows], token)
            return done

    async def process_together(
        self, panel: ServedPanel, groups: Sequence[BatchRows], token: Token, statement: Statement
    ) -> list[Answer | ServiceError]:
        """Process groups of requests in their order, and write a statement in the same transaction.

        If others have their turn meanwhile, events are written before; the statement is written with the last
        ones. If a request cannot be written now, an error is raised, and neither the statement nor what comes
        after the request is written: all of them are to be repeated.

        Parameters
        ----------
        panel
            The fusion.
        groups
            The requests.
        token
            Who asks.
        statement
            What else is written.
        """
        async with panel.lock:
            self.panels.check_open(panel)
            done = await self._process_all(panel, groups, token, [statement])
            written = panel.batch[1]
        answers: list[Answer | ServiceError] = []
        for rows, one in zip(groups, done, strict=True):
            answers += chain.from_iterable(await self.wait(rows, one))
        for answer in answers:
            if isinstance(answer, ServiceError) and answer.status >= 500:
                raise answer
        await written
        return answers

    async def wait(self, rows: BatchRows, done: list[Done]) -> list[Run]:
        """Return the answers to requests that were submitted."""
        answers: list[Run] = []
        for written, run in done:
            try:
                if written is not None:
                    await written
            except ServiceError as error:
                failure = not_written(error, rows.kind)
                if failure is not error:
                    raise failure from None
                run = [error] * len(run)
            answers.append(run)
        return answers

    async def _process_all(
        self, panel: ServedPanel, groups: Sequence[BatchRows], token: Token, added: Sequence[Statement] = ()
    ) -> list[list[Done]]:
        panel.begin_batch()
        first = panel.batch
        try:
            done = [await self._process_group(panel, rows, token, first, bool(added)) for rows in groups]
        except BaseException:
            self.give_up(panel)
            raise
        panel.batch[0].extend(added)
        self.panels.submit_batch(panel)
        return done

    def give_up(self, panel: ServedPanel) -> None:
        """Forget the state of a fusion, which may have learned what was not submitted; the log has it."""
        self.panels.discard(panel)
        panel.batch[1].withdraw()
        self.store.forget(panel)

    async def _process_group(
        self, panel: ServedPanel, rows: BatchRows, token: Token, first: Any, together: bool
    ) -> list[Done]:
        done: list[Done] = []
        row = 0
        ids = rows.ids
        if msgspec.UNSET in ids:
            ids = [id_ for id_ in ids if id_ is not msgspec.UNSET]
        with self.store.looking_up(panel, ids) if len(ids) > 1 else ALONE:
            while row < len(rows):
                try:
                    if not done:
                        self.panels.check_open(panel)  # it may have been closed during an earlier group
                    else:
                        await self.panels.pause_if_long(panel)
                    done.append(await self._process_next(panel, rows, row, token))
                except PanelClosedError:
                    if panel.batch is first:
                        raise
                    busy = ServiceError(503, "busy", f"{panel.name} was closed meanwhile; try again", 1)
                    done.append((None, [busy] * (len(rows) - row)))
                row += len(done[-1][1])
                if together:
                    _check_stored(done[-1][1])
        return done

    async def _process_next(self, panel: ServedPanel, rows: BatchRows, row: int, token: Token) -> Done:
        """Process a run of rows at once, or the next one."""
        stop = self.bulk.find_run(panel, rows, row)
        if stop > row:
            answers = await self.bulk.process(panel, rows, row, stop, token)
            if answers is not None:
                return panel.batch[1], answers
        try:
            item, answer = await self.process_request(panel, rows.request(row), token)
        except ServiceError as error:
            return None, [error]
        return None if item is None else item.written, [answer]

    async def process_request(
        self, panel: ServedPanel, request: Request, token: Token
    ) -> tuple[LoggedItem | None, Answer]:
        """Process a request; return the item, which says when it is on disk, and the answer.

        The lock of the fusion is held, and events are added to its batch.

        Parameters
        ----------
        panel, request, token
            The fusion, the request, and who asks.
        """
        if isinstance(request, PredictRequest):
            return await self._predict_item(panel, request, token)
        self.database.check_writable()
        if isinstance(request, LearnRequest):
            return await self._learn_item(panel, request, token)
        return await self._label_item(panel, request, token)

    # --- requests; the lock of the fusion is held

    async def _predict_item(
        self, panel: ServedPanel, request: PredictRequest, token: Token
    ) -> tuple[LoggedItem | None, PredictAnswer]:
        """Predict an item and store its votes, so that its label can be learned later."""
        id_, content = _identity(request)
        item = self.store.find_or_new(panel, id_) if content is AS_STORED else None
        if item is not None:
            item.check_same(request)
            stored = item.read()
            return item, PredictAnswer(id_, stored.prediction, stored.probabilities or {}, stored.version)
        panel.check_growth(token, request.votes, None, request.attributes)
        prediction, probabilities = await self._run(panel, _predict_one, request)
        answer = PredictAnswer(id_, prediction, probabilities, panel.version)
        if not self.database.writable:
            answer.stored = False
            return None, answer
        if panel.waiting >= panel.settings.limits.waiting:
            raise ServiceError(
                429,
                "too_many_waiting",
                f"{panel.waiting} items of {panel.name} wait for a label; label some first",
                60,
            )
        stored = StoredItem(
            request.votes, request.attributes, None, prediction, None, probabilities, panel.version
        )
        item = self._insert(panel, PREDICTED, id_, content, encode(stored), token)
        panel.waiting += 1
        return item, answer

    async def _learn_item(
        self, panel: ServedPanel, request: LearnRequest, token: Token
    ) -> tuple[LoggedItem, LabelAnswer]:
        """Predict an item, then learn its label."""
        id_, content = _identity(request)
        item = self.store.find_or_new(panel, id_) if content is AS_STORED else None
        if item is not None:
            item.check_same(request)
            prediction = item.read().prediction
            right = is_class(prediction, request.label)  # as at first, whatever the label is now
        else:
            panel.check_growth(token, request.votes, request.label, request.attributes)
            prediction = await self._run(panel, _learn_one, request, request.label)
            right = is_class(prediction, request.label)
            stored = StoredItem(request.votes, request.attributes, request.label, prediction, right)
            item = self._insert(panel, LEARNED, id_, content, encode(stored), token)
            item.label, item.right = request.label, right
            self.panels.learned(panel, item.position)
        return item, LabelAnswer(id_, prediction, right, item.position)

    def _insert(
        self, panel: ServedPanel, kind: int, id_: str, content: bytes, body: bytes, token: Token
    ) -> LoggedItem:
        position, event = self.panels.event(panel.number, kind, token.name, id_, None, msgspec.Raw(body))
        item = LoggedItem(position, content, self.database.now(), body, position if kind == LEARNED else None)
        row = panel.number, id_, position, content, item.learned
        item.written = self._submit(panel, [event, (INSERT_ITEM, row)])
        self.store.remember(panel, id_, item)
        return item

    async def _label_item(
        self, panel: ServedPanel, request: LabelRequest, token: Token
    ) -> tuple[LoggedItem, LabelAnswer]:
        """Learn the label of an item, with the votes that were stored when it was predicted."""
        item = self.store.check_known(panel, request.id)
        if self.store.has_expired(panel, item):
            if item.learned is None:
                self.store.expire(panel, [request.id])
            raise ServiceError(
                410, "expired", f"the item {request.id} waited longer for its label than {panel.name} allows"
            )
        if item.learned is None:
            prediction = await self._teach(panel, request, item, token)
        else:
            prediction = item.read().prediction
            if not same_label(item.label, request.label) or (
                item.excluded and request.replaces is not msgspec.UNSET
            ):
                self._relabel(panel, request, item, token)
        position = item.learned if item.amended is None else item.amended
        return item, LabelAnswer(request.id, prediction, item.right, position or item.position)

    async def _teach(self, panel: ServedPanel, request: LabelRequest, item: LoggedItem, token: Token) -> Any:
        """Learn a label; return the prediction of the item."""
        if request.replaces is not msgspec.UNSET:
            raise ServiceError(
                409, "not_labelled", f"the item {request.id} has no label yet; leave out replaces"
            )
        stored = item.read(probabilities=False)
        panel.check_label(token, stored.votes, request.label, stored.attributes)
        await self._run(panel, _learn_one, stored, request.label)
        self.store.keep(panel, request.id, item)
        item.label, item.right = request.label, is_class(stored.prediction, request.label)
        body = StoredItem(None, None, request.label, stored.prediction, item.right)
        id_, by = request.id, token.name
        position, event = self.panels.event(panel.number, LABELLED, by, id_, item.position, body)
        item.learned = position
        item.written = self._submit(panel, [event, (SET_LEARNED, (position, panel.number, request.id))])
        panel.waiting -= 1
        self.panels.learned(panel, position)
        return stored.prediction

    def _relabel(self, panel: ServedPanel, request: LabelRequest, item: LoggedItem, token: Token) -> None:
        """Replace a label that was wrong: the state becomes what it would have been with the right one."""
        if request.replaces is msgspec.UNSET:
            raise ServiceError(
                409,
                "labelled_otherwise",
                f"the item {request.id} has the label {item.label!r}; pass it as replaces to change it",
            )
        if not same_label(request.replaces, item.label):
            raise ServiceError(
                409,
                "labelled_otherwise",
                f"the item {request.id} has the label {item.label!r}, not {request.replaces!r}",
            )
        if item.learned is not None and item.learned <= panel.horizon:
            raise ServiceError(
                409,
                "compacted",
                f"the log of {panel.name} was compacted up to position {panel.horizon}: the label of"
                f" {request.id!r} is before it and cannot be replaced",
            )
        last = item.learned if item.amended is None else item.amended
        if request.after is not msgspec.UNSET and request.after != last:
            raise ServiceError(
                409,
                "labelled_since",
                f"the label of {request.id} was set at position {last}, not {request.after}; look again",
            )
        stored = item.read()
        panel.check_label(token, stored.votes, request.label, stored.attributes)
        self._check_learnable(panel, stored, request.label)
        panel.check_taught_before(request.label, stored.attributes if item.excluded else None)
        body = StoredItem(label=request.label, prediction=stored.prediction, replaces=item.label)
        id_, by = request.id, token.name
        position, event = self.panels.event(panel.number, RELABELLED, by, id_, item.learned, body)
        amendment = AMEND, (item.learned, position, panel.number, encode(request.label))
        item.label, item.right = request.label, is_class(stored.prediction, request.label)
        item.amended, item.excluded = position, False
        assert item.learned is not None
        item.written = self._submit(panel, self.panels.amend(panel, [event, amendment], item.learned))

    def _submit(self, panel: ServedPanel, statements: list[Statement]) -> asyncio.Future[None]:
        """Add statements to the transaction of the batch."""
        panel.batch[0].extend(statements)
        return panel.batch[1]

    # --- models

    async def _run(
        self, panel: ServedPanel, call: Callable[..., Any], item: StoredItem | Request, *values: Any
    ) -> Any:
        """Predict or learn an item."""
        form = call, *form_of(item.votes, item.attributes)  # type: ignore[union-attr]
        try:
            if form in panel.quick:
                return panel.run_quickly(form, call, panel.fusion, item, *values)
            return await self.panels.run(panel, form, call, panel.fusion, item, *values)
        except ValueError as error:
            raise ServiceError(422, "bad_item", str(error)) from None

    def _check_learnable(self, panel: ServedPanel, item: StoredItem, label: Any) -> None:
        """Refuse an item that could not be learned now, before it is in the log."""
        try:
            votes = typed_votes(panel.fusion, item.votes, label)
            given, attributes = (None if one is None else [one] for one in (votes, item.attributes))
            panel.fusion.read(given, [label], attributes=attributes)
        except ValueError as error:
            raise ServiceError(422, "bad_item", str(error)) from None


def _predict_one(fusion: Fusion, item: PredictRequest) -> Prediction:
    """Return the prediction, as it will be when the votes are learned, and the probabilities."""
    given: dict[str, Any] = {"attributes": item.attributes, "new_experts": "vote"}
    prediction, probabilities = fusion.predict_with_proba_one(typed_votes(fusion, item.votes), **given)
    return prediction, {class_key(name): part for name, part in probabilities.items()}


def _learn_one(fusion: Fusion, item: StoredItem | LearnRequest, label: Any) -> Any:
    return fusion.learn_one(typed_votes(fusion, item.votes, label), label, attributes=item.attributes)


def not_written(error: BaseException, kind: Any) -> BaseException:
    """Return what a request that cannot be written raises: a prediction is made again, and not stored."""
    full = isinstance(error, ServiceError) and error.status == 507
    return PanelClosedError() if kind is PredictRequest and full else error


def _identity(request: PredictRequest | LearnRequest) -> tuple[str, bytes]:
    """Return the id of an item, a new one if the request has none, and its `LoggedItem.content`."""
    return (new_id(), NO_ID) if request.id is msgspec.UNSET else (request.id, AS_STORED)


def _check_stored(run: Run) -> None:
    """Raise an error if a request was not processed, and not refused for good but because of the moment."""
    answer = run[-1] if isinstance(run, list) else None  # others were processed together
    if isinstance(answer, ServiceError) and answer.status >= 500:
        raise answer
    if isinstance(answer, PredictAnswer) and not answer.stored:
        raise ServiceError(507, "storage_full", "the log cannot be written; try again later", 10)
