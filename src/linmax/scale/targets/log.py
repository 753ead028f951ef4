"""The log of a server, in this process: events and the position are written in one transaction."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec

from linmax.scale.messages import LABEL, LEARN, PREDICT, ItemMessage, Position
from linmax.scale.targets import AGAIN, WINDOW, Context, Target, check_learner, pauses
from linmax.service.app import Service
from linmax.service.event_log.schema import FIND_OFFSET, SET_OFFSET
from linmax.service.event_log.writes import Statement
from linmax.service.fusions.bulk import BatchRows, JsonItems
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import PanelClosedError
from linmax.service.http.bodies import check_fusion_name
from linmax.service.messages.errors import FolderInUseError, ServiceError
from linmax.service.messages.requests import FusionSettings, LabelRequest, LearnRequest, PredictRequest
from linmax.service.tokens import Token

PROCESSED = frozenset({"compacted"})  # codes of errors about items that were processed long ago


class LogTarget(Target):
    """A fusion in the data folder of `linmax serve`; no server may use the folder at the same time.

    Parameters
    ----------
    folder
        The data folder; it is created if it does not exist.
    name
        The fusion; it is created if it does not exist.
    learner
        The learner of a new fusion, as text; None is the default.
    window
        As for `Target`.
    """

    def __init__(
        self, folder: str | Path, name: str, learner: str | None = None, window: int = WINDOW
    ) -> None:
        super().__init__(window)
        self.folder = Path(folder)
        self.name = name
        self.learner = learner
        self._place: str | None = None
        self._stack = AsyncExitStack()

    async def open(self, context: Context) -> Position | None:
        """Open the folder and the fusion; read the position."""
        self.context = context
        try:
            self.service = Service(self.folder)
        except FolderInUseError as error:
            raise ValueError(f"{error}, or send the messages to it with --server") from None
        await self._stack.enter_async_context(self.service.lifespan(None))
        self.token = Token(0, b"", f"follow {context.key}", frozenset({"admin"}), "*", time.time(), None)
        try:
            if self.name not in self.service.panels.names():
                check_fusion_name(self.name)
                settings = FusionSettings(learner=self.learner)
                await self.service.panels.create(self.name, settings, self.token.name)
            panel = await self.service.panels.open(self.name)
        except ServiceError as error:
            raise ValueError(error.message) from None
        check_learner(self.name, self.learner, repr(panel.fusion.learner))
        found = self.service.database.rows(FIND_OFFSET, panel.number, context.key)
        if not found:
            return None
        state = msgspec.json.decode(found[0][0])
        self._place = state.get("place")  # earlier versions have saved none
        context.check_place(self._place)
        self.parked.restore(state["parked"])
        self.saved = dict(state["position"])
        return dict(self.saved)

    async def process(self, items: list[ItemMessage], position: Position) -> None:
        """Write the events of the items, and the position after them, in one transaction."""
        panel = await self._panel()
        limit = panel.settings.limits.item_bytes
        accepted = [item for item in items if self._fits(item, limit)]
        ids = {item.id for item in accepted if item.kind == LABEL}
        missing = self.service.items.store.look_up(panel, ids)
        runs = self.arrange(accepted, lambda id_: id_ not in missing, self.context.rejections)
        self.context.rejections.write()
        for seconds in pauses():
            try:
                answers = await self._submit(runs, position)
                break
            except ServiceError as error:
                if error.status not in AGAIN:
                    raise ValueError(error.message) from None
                reason = error.message
            await self.context.retry(seconds, f"{self.folder} cannot be written ({reason})")
        for item, answer in zip((item for run in runs for item in run), answers, strict=True):
            self._count_answer(item, answer)
        self.context.rejections.write()
        self.count(self.context.report, accepted)
        self.context.report.waiting = len(self.parked)
        self.saved = dict(position)

    async def _submit(self, runs: list[list[ItemMessage]], position: Position) -> list[Any]:
        """Process runs and write the position."""
        groups: list[BatchRows] = [JsonItems([_request(item) for item in run]) for run in runs]
        panel = await self._panel()
        try:
            return await self.service.items.process_together(
                panel, groups, self.token, self._offset(panel, position)
            )
        except PanelClosedError:
            raise ServiceError(503, "busy", f"{self.name} was closed meanwhile; try again", 1) from None

    def _count_answer(self, item: ItemMessage, answer: Any) -> None:
        report = self.context.report
        if isinstance(answer, ServiceError):
            if answer.code in PROCESSED:
                report.repeated += 1
            else:
                self.context.rejections.add(item.message, answer.message)
        elif item.kind != PREDICT:
            report.learned += 1
            report.mistakes += not answer.right

    def _fits(self, item: ItemMessage, limit: int) -> bool:
        if item.message.value is not None and len(item.message.value) > limit:
            self.context.rejections.add(item.message, f"an item of {self.name} may have {limit} bytes")
            return False
        return True

    async def _panel(self) -> ServedPanel:
        try:
            return await self.service.panels.open(self.name)
        except ServiceError as error:
            raise ValueError(error.message) from None

    def _offset(self, panel: ServedPanel, position: Position) -> Statement:
        state = msgspec.json.encode(
            {"position": position, "parked": self.parked.state(), "place": self.context.place}
        )
        return SET_OFFSET, (panel.number, self.context.key, state)

    async def save(self, position: Position) -> None:
        """Write the position; that after items is written with them."""
        if (position, self.context.place) != (self.saved, self._place):
            panel = await self._panel()
            try:
                await self.service.panels.submit([self._offset(panel, position)])
            except ServiceError as error:
                raise ValueError(error.message) from None
            self.saved, self._place = dict(position), self.context.place

    async def close(self) -> None:
        """Store the state, and release the folder."""
        await self._stack.aclose()


def _request(item: ItemMessage) -> PredictRequest | LabelRequest | LearnRequest:
    """Return an item as a request to the service."""
    body = item.body
    if item.kind == PREDICT:
        return PredictRequest(body.votes, item.id, body.attributes)
    if item.kind == LEARN:
        return LearnRequest(body.label, body.votes, item.id, body.attributes)  # type: ignore[arg-type]
    return LabelRequest(item.id, body.label, body.replaces)  # type: ignore[arg-type]
