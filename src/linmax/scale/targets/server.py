"""A server of `linmax serve`, over HTTP: repeated ids are harmless, and the broker saves the position."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from typing import Any

from linmax.client import AsyncClient, ClientError
from linmax.scale.messages import LABEL, LEARN, PREDICT, ItemMessage, Position
from linmax.scale.targets import AGAIN, WINDOW, Context, Target, check_learner, message_of, pauses

MOST_BYTES = 4 << 20  # of one request
PROCESSED = frozenset({"compacted"})


class ServerTarget(Target):
    """A fusion of a server.

    A position is saved only up to the first label that waits for the votes of its item: it is read again if
    the program ends before.

    Parameters
    ----------
    url
        Where the server listens.
    token
        A token with the scopes read, predict, label, learn and grow for the fusion.
    name
        The fusion; it is created if it does not exist, which needs the scope admin.
    learner
        The learner of a new fusion, as text; None is the default.
    window
        As for `Target`.
    """

    keeps_position = False

    def __init__(
        self, url: str, token: str, name: str, learner: str | None = None, window: int = WINDOW
    ) -> None:
        super().__init__(window)
        self.name = name
        self.learner = learner
        self.client = AsyncClient(url, token, attempts=1)
        self.shown = re.sub("//[^/]*@", "//", url)  # without a password

    async def open(self, context: Context) -> Position | None:
        """Make sure that the fusion exists."""
        self.context = context
        try:
            try:
                found = await context.wait_for(self.client.describe(self.name))
            except ClientError as error:
                if error.code != "unknown_fusion":
                    raise
                found = await context.wait_for(self.client.create(self.name, learner=self.learner))
        except ClientError as error:
            raise self._error(error) from None
        check_learner(self.name, self.learner, found["learner"])
        return None

    async def process(self, items: list[ItemMessage], position: Position) -> None:
        """Send the items, and wait until the server has answered all of them."""
        predicted = {item.id for item in items if item.kind == PREDICT}
        stored = await self._find_stored(items, predicted)
        runs = self.arrange(items, lambda id_: id_ not in predicted or id_ in stored, self.context.rejections)
        for run in runs:
            for part in _parts(run):
                for item, answer in zip(part, await self._send(part), strict=True):
                    self._count_answer(item, answer)
        self.context.rejections.write()
        self.count(self.context.report, items)
        self.context.report.waiting = len(self.parked)
        self.saved = position | self.parked.first_positions()

    async def _find_stored(self, items: list[ItemMessage], predicted: set[str]) -> set[str]:
        """Return which items the server has, of those whose label comes before their votes in a batch."""
        seen: set[str] = set()
        early: dict[str, ItemMessage] = {}
        for item in items:
            if item.kind == PREDICT:
                seen.add(item.id)
            elif item.kind == LABEL and item.id in predicted and item.id not in seen:
                early.setdefault(item.id, item)
        if not early:
            return set()
        # a label that replaces one which no item has is refused, in another way if there is no such item
        replaces = f"none {secrets.token_hex(16)}"
        asked = list(early.values())
        bodies = [{"id": item.id, "label": item.body.label, "replaces": replaces} for item in asked]
        answers = zip(early, await self._post(asked, bodies), strict=True)
        return {id_ for id_, answer in answers if answer.get("error", {}).get("code") != "unknown_item"}

    async def _send(self, items: list[ItemMessage]) -> list[Any]:
        """Return the answers to items of one kind."""
        return await self._post(items, [message_of(item) for item in items])

    async def _post(self, items: list[ItemMessage], bodies: list[Any]) -> list[Any]:
        """Return the answers to requests of one kind; they are repeated until there are some."""
        send = {
            PREDICT: self.client.predict_many,
            LABEL: self.client.label_many,
            LEARN: self.client.learn_many,
        }[items[0].kind]
        for seconds in pauses():
            try:
                answers: list[Any] = await self.context.wait_for(send(self.name, bodies))
                reason = _reason_to_repeat(answers)
                if reason is None:
                    return answers
            except ClientError as error:
                if error.status == 413:  # one of them is too large
                    if len(items) > 1:
                        pairs = zip(items, bodies, strict=True)
                        return [answer for item, body in pairs for answer in await self._post([item], [body])]
                    return [{"status": 413, "error": {"code": error.code, "message": error.message}}]
                if error.status not in AGAIN and error.status != 429:
                    raise self._error(error) from None
                reason = error.message
            await self.context.retry(
                seconds, f"the server at {self.shown} does not answer as expected ({reason})"
            )
        raise AssertionError("attempts do not end")

    def _error(self, error: ClientError) -> ValueError:
        """Return the error that ends the work, with the address and what to do."""
        fix = {0: "; check --server and whether it runs", 401: "; check LINMAX_TOKEN"}.get(error.status, "")
        return ValueError(f"the server at {self.shown} cannot be used: {error.message}{fix}")

    def _count_answer(self, item: ItemMessage, answer: dict[str, Any]) -> None:
        report = self.context.report
        if "error" in answer:
            code, reason = answer["error"]["code"], answer["error"]["message"]
            if code == "unknown_item" and item.kind == LABEL:
                self.park(item, self.context.rejections)
            elif code in PROCESSED:
                report.repeated += 1
            else:
                self.context.rejections.add(item.message, reason)
        elif item.kind != PREDICT:
            report.learned += 1
            report.mistakes += not answer["right"]

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()


def _reason_to_repeat(answers: list[Any]) -> str | None:
    """Return why items must be sent again, None if all of them were processed or refused for good.

    >>> _reason_to_repeat([{"id": "a", "prediction": "ham", "stored": False}])
    'its log cannot be written'
    """
    for answer in answers:
        if "error" in answer and answer["status"] in AGAIN:
            return str(answer["error"]["message"])
        if not answer.get("stored", True):  # a label that comes later would find no votes
            return "its log cannot be written"
    return None


def _parts(items: list[ItemMessage]) -> Iterator[list[ItemMessage]]:
    """Yield items in parts that are not too large for one request."""
    part: list[ItemMessage] = []
    size = 0
    for item in items:
        length = len(item.message.value or b"")
        if part and size + length > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(item)
        size += length
    if part:
        yield part
