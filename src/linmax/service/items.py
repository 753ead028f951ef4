"""What requests do with items: predict, label and learn them, each exactly once by its id."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import time
from typing import Any

import msgspec

from linmax.service.database import LABELLED, LEARNED, PREDICTED, RELABELLED, Statement
from linmax.service.item_store import SET_LEARNED, Item, ItemStore, decode_item
from linmax.service.messages import (
    ItemInfo,
    LabelAnswer,
    LabelRequest,
    LearnRequest,
    PredictAnswer,
    PredictRequest,
    StoredItem,
    content_of,
)
from linmax.service.panel import Panel
from linmax.service.panels import PanelClosedError, Panels
from linmax.service.problems import ServiceError
from linmax.service.tokens import Token

INSERT_ITEM = "INSERT INTO items VALUES (?, ?, ?, ?, ?)"
AMEND = "INSERT OR REPLACE INTO amendments VALUES (?, ?, ?, ?)"
Request = PredictRequest | LabelRequest | LearnRequest
Answer = PredictAnswer | LabelAnswer
Prediction = tuple[Any, dict[str, float]]
ALONE = contextlib.nullcontext()
encode = msgspec.json.encode


class Items:
    """Predicts, labels and learns items.

    Every request changes the model and submits its event without a pause between the two, while it holds the
    lock of the fusion: the order in the log is the order in which the model has learned. Requests of a batch
    share a transaction.

    Parameters
    ----------
    panels
        The fusions.
    """

    def __init__(self, panels: Panels) -> None:
        self.panels = panels
        self.database = panels.database
        self.store = ItemStore(panels)
        self._batch: tuple[list[Statement], asyncio.Future[None]] | None = None

    async def process(
        self, panel: Panel, requests: list[Request], token: Token
    ) -> list[Answer | ServiceError]:
        """Process requests in their order; return an answer or an error for each when all are on disk.

        Parameters
        ----------
        panel
            The fusion.
        requests
            The requests.
        token
            Who asks.
        """
        await self.store.wait_for(panel, {one.id for one in requests if isinstance(one, LabelRequest)})
        async with panel.lock:
            self.panels.check_open(panel)
            done = self._process_all(panel, requests, token)
        answers: list[Answer | ServiceError] = []
        for request, written, answer in done:
            try:
                if written is not None:
                    await (written if written.done() else asyncio.shield(written))
            except ServiceError as error:
                if isinstance(request, PredictRequest) and error.status == 507:
                    raise PanelClosedError from None  # predict again, without storing
                answer = error
            answers.append(answer)
        return answers

    def _process_all(
        self, panel: Panel, requests: list[Request], token: Token
    ) -> list[tuple[Request, asyncio.Future[None] | None, Answer | ServiceError]]:
        done: list[tuple[Request, asyncio.Future[None] | None, Answer | ServiceError]] = []
        statements: list[Statement] = []
        future = asyncio.get_running_loop().create_future()
        self._batch = statements, future
        ids = [request.id for request in requests if request.id is not msgspec.UNSET]
        try:
            predicted = self._predict_together(panel, requests) if len(requests) > 1 else {}
            with self.store.looking_up(panel, ids) if len(ids) > 1 else ALONE:
                for number, request in enumerate(requests):
                    try:
                        item, answer = self._process(panel, request, token, predicted.get(number))
                        done.append((request, None if item is None else item.written, answer))
                    except ServiceError as error:
                        done.append((request, None, error))
        except BaseException:  # the model may have learned what was not submitted: the log has the others
            self.panels.open_panels.pop(panel.name, None)
            future.cancel()
            self.store.forget(panel)
            raise
        finally:
            self._batch = None
        if statements:
            self.database.submit_to(statements, future)
        else:
            future.cancel()
        return done

    def _process(
        self, panel: Panel, request: Request, token: Token, predicted: Prediction | None
    ) -> tuple[Item | None, Answer]:
        if isinstance(request, PredictRequest):
            return self._predict_item(panel, request, token, predicted)
        self.database.check_writable()
        if isinstance(request, LearnRequest):
            return self._learn_item(panel, request, token)
        return self._label_item(panel, request, token)

    # --- requests; the lock of the fusion is held

    def _predict_item(
        self, panel: Panel, request: PredictRequest, token: Token, predicted: Prediction | None
    ) -> tuple[Item | None, PredictAnswer]:
        """Predict an item and store its votes, so that its label can be learned later."""
        id_, content = _identity(request)
        item = self.store.find(panel, id_) if content else None
        if item is not None:
            _check_same(id_, item, content)
            stored = decode_item(item.body)
            return item, PredictAnswer(id_, stored.prediction, stored.probabilities or {}, stored.version)
        panel.check_growth(token, request.votes, None, request.attributes)
        prediction, probabilities = predicted or self._predict(panel, request)
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

    def _learn_item(self, panel: Panel, request: LearnRequest, token: Token) -> tuple[Item, LabelAnswer]:
        """Predict an item, then learn its label."""
        id_, content = _identity(request)
        item = self.store.find(panel, id_) if content else None
        if item is None:
            panel.check_growth(token, request.votes, request.label, request.attributes)
            prediction = self._learn(panel, request.votes, request.label, request.attributes)
            right = prediction == request.label
            stored = StoredItem(request.votes, request.attributes, request.label, prediction, right)
            item = self._insert(panel, LEARNED, id_, content, encode(stored), token)
            item.label, item.right = request.label, right
            self.panels.learned(panel, item.position)
        _check_same(id_, item, content)
        return item, _label_answer(id_, item, item.position)

    def _insert(self, panel: Panel, kind: int, id_: str, content: bytes, body: bytes, token: Token) -> Item:
        position, event = self.panels.event(panel, kind, token.name, id_, None, msgspec.Raw(body))
        item = Item(position, content, self.database.now(), body, position if kind == LEARNED else None)
        row = panel.number, id_, position, content, item.learned
        item.written = self._submit([event, (INSERT_ITEM, row)])
        self.store.remember(panel, id_, item)
        return item

    def _label_item(self, panel: Panel, request: LabelRequest, token: Token) -> tuple[Item, LabelAnswer]:
        """Learn the label of an item, with the votes that were stored when it was predicted."""
        item = self.store.check_known(panel, request.id)
        if self.store.has_expired(panel, item):
            if item.learned is None:
                self.store.expire(panel, [request.id])
            raise ServiceError(
                410, "expired", f"the item {request.id} waited longer for its label than {panel.name} allows"
            )
        if item.learned is None:
            self._teach(panel, request, item, token)
        elif not _same(item.label, request.label):
            self._relabel(panel, request, item, token)
        relabelled = request.replaces is not msgspec.UNSET and item.amended is not None
        return item, _label_answer(request.id, item, item.amended if relabelled else item.learned)

    def _teach(self, panel: Panel, request: LabelRequest, item: Item, token: Token) -> None:
        if request.replaces is not msgspec.UNSET:
            raise ServiceError(
                409, "not_labelled", f"the item {request.id} has no label yet; leave out replaces"
            )
        stored = decode_item(item.body)
        panel.check_label(token, stored.votes, request.label, stored.attributes)
        self._learn(panel, stored.votes, request.label, stored.attributes)
        item.label, item.right = request.label, stored.prediction == request.label
        body = StoredItem(None, None, request.label, stored.prediction, item.right)
        position, event = self.panels.event(panel, LABELLED, token.name, request.id, item.position, body)
        item.learned = position
        item.written = self._submit([event, (SET_LEARNED, (position, panel.number, request.id))])
        panel.waiting -= 1
        self.panels.learned(panel, position)

    def _relabel(self, panel: Panel, request: LabelRequest, item: Item, token: Token) -> None:
        """Replace a label that was wrong: the state becomes what it would have been with the right one."""
        if request.replaces is msgspec.UNSET:
            raise ServiceError(
                409,
                "labelled_otherwise",
                f"the item {request.id} has the label {item.label!r}; pass it as replaces to change it",
            )
        if not _same(request.replaces, item.label):
            raise ServiceError(
                409,
                "labelled_otherwise",
                f"the item {request.id} has the label {item.label!r}, not {request.replaces!r}",
            )
        stored = decode_item(item.body)
        panel.check_label(token, stored.votes, request.label, stored.attributes)
        self._check_label(panel, request.label)
        body = StoredItem(label=request.label, prediction=stored.prediction, replaces=item.label)
        position, event = self.panels.event(panel, RELABELLED, token.name, request.id, item.learned, body)
        amendment = AMEND, (item.learned, panel.number, encode(request.label), position)
        item.label, item.right = request.label, stored.prediction == request.label
        item.amended, item.excluded = position, False
        assert item.learned is not None
        item.written = self._submit(self.panels.amend(panel, [event, amendment], item.learned))

    def _submit(self, statements: list[Statement]) -> asyncio.Future[None]:
        """Add statements to the transaction of the batch."""
        assert self._batch is not None
        self._batch[0].extend(statements)
        return self._batch[1]

    # --- descriptions

    def describe(self, panel: Panel, id_: str) -> ItemInfo:
        """Describe an item."""
        item = self.store.check_known(panel, id_)
        stored = decode_item(item.body)
        taught = item.taught
        return ItemInfo(
            id_, stored.votes, stored.attributes, stored.prediction, stored.probabilities or {},
            item.label if taught else None, item.right if taught else None, item.excluded, item.time,
            item.position, item.learned if taught else None,
        )  # fmt: skip

    async def explain(self, panel: Panel, request: PredictRequest) -> dict[str, Any]:
        """Explain an item, in a thread: it takes a hundred times as long as a prediction."""
        async with panel.lock:
            self.panels.check_open(panel)
            given: dict[str, Any] = {"attributes": request.attributes, "new_experts": "vote"}
            try:
                found = await asyncio.to_thread(panel.fusion.explain_one, request.votes, **given)
            except ValueError as error:
                raise ServiceError(422, "bad_item", str(error)) from None
        added = {str(owner): _by_text(part) for owner, part in found.contributions.items()}
        return {"scores": _by_text(found.scores), "contributions": added}

    # --- models

    def _predict_together(self, panel: Panel, requests: list[Request]) -> dict[int, Prediction]:
        """Return the predictions of the items of a batch by their numbers, if they have no new names."""
        numbers = []
        for number, request in enumerate(requests):
            if isinstance(request, PredictRequest) and request.attributes is None:
                with contextlib.suppress(ServiceError):
                    if request.votes is not None and not panel.new_names(request.votes, None, None):
                        numbers.append(number)
        if not numbers:
            return {}
        votes: list[Any] = [requests[number].votes for number in numbers]  # type: ignore[union-attr]
        try:
            predictions = panel.fusion.predict(votes, new_experts="vote").tolist()
            probabilities = panel.fusion.predict_proba(votes, new_experts="vote").tolist()
        except ValueError:  # then every item is predicted alone, and one of them is to blame
            return {}
        names = [str(name) for name in panel.fusion.names.classes.names]
        rows = [dict(zip(names, row, strict=True)) for row in probabilities]
        return dict(zip(numbers, zip(predictions, rows, strict=True), strict=True))

    def _predict(self, panel: Panel, request: PredictRequest) -> Prediction:
        """Return the prediction, as it will be when the votes are learned, and the probabilities."""
        given: dict[str, Any] = {"attributes": request.attributes, "new_experts": "vote"}
        try:
            prediction = panel.fusion.predict_one(request.votes, **given)
            return prediction, _by_text(panel.fusion.predict_proba_one(request.votes, **given))
        except ValueError as error:
            raise ServiceError(422, "bad_item", str(error)) from None

    def _learn(self, panel: Panel, votes: Any, label: Any, attributes: Any) -> Any:
        try:
            return panel.fusion.learn_one(votes, label, attributes=attributes)
        except ValueError as error:
            raise ServiceError(422, "bad_item", str(error)) from None

    def _check_label(self, panel: Panel, label: Any) -> None:
        """Refuse a label that could not be learned, before it is in the log."""
        if panel.settings.on_new_class == "error" and label not in panel.fusion.names.classes.codes:
            raise ServiceError(422, "bad_item", f"{label!r} is not a class of {panel.name}")


def _identity(request: PredictRequest | LearnRequest) -> tuple[str, bytes]:
    """Return the id of an item and a checksum of its content; without an id a new one, and no checksum."""
    if request.id is msgspec.UNSET:
        return new_id(), b""
    return request.id, hashlib.blake2b(content_of(request), digest_size=16).digest()


def _same(one: Any, other: Any) -> bool:
    """Whether two labels are the same; 1 and true are not."""
    return bool(one == other) and type(one) is type(other)


def _check_same(id_: str, item: Item, content: bytes) -> None:
    if item.content != content:
        raise ServiceError(
            409, "id_in_use", f"the id {id_!r} was used for a request with other content; choose a new id"
        )


def _label_answer(id_: str, item: Item, position: int | None) -> LabelAnswer:
    return LabelAnswer(id_, decode_item(item.body).prediction, item.right, position or item.position)


def _by_text(scores: dict[Any, float]) -> dict[str, float]:
    return {str(name): score for name, score in scores.items()}


def new_id() -> str:
    """Return a new id; ids of later calls sort after those of earlier ones, which the index likes.

    >>> first, second = new_id(), new_id()
    >>> len(first), first[:10] <= second[:10]
    (32, True)
    """
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"
