"""The fusions of a server: opened when they are needed, described, amended, and closed again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from linmax.fusion.model_file import fingerprint
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import CHANGED, CREATED, DELETED, INSERT_EVENT
from linmax.service.event_log.writes import Statement
from linmax.service.fusions import replay
from linmax.service.fusions.served_panel import SLOW, TURN, ServedPanel, normal_settings, timed
from linmax.service.messages.answers import FusionInfo
from linmax.service.messages.class_keys import class_fault
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import FusionSettings, fusion_name_fault

SET_SETTINGS = "UPDATE fusions SET settings = ? WHERE fusion = ?"
FIND_FUSION = """
SELECT fusion, name, settings, created, expired, horizon, horizon_time FROM fusions WHERE name = ?
"""
FIRST_SETTINGS = f"SELECT body FROM events WHERE fusion = ? AND kind = {CREATED} ORDER BY position LIMIT 1"
LAST_ID = "SELECT coalesce(max(id), '') FROM items WHERE fusion = ?"
SNAPSHOT_EVERY = 20_000  # events that were learned
MEMORY = 1 << 30  # bytes of the fusions in memory
FEW = 200  # events that are replayed in less time than a snapshot takes
encode = msgspec.json.encode
logger = logging.getLogger("linmax.service")


class PanelClosedError(Exception):
    """The fusion was removed from memory while a request waited for it; the request opens it again."""


class ServedPanels:
    """All fusions of a server.

    Parameters
    ----------
    database
        The log.
    memory
        The largest size of the fusions in memory, in bytes.
    """

    def __init__(self, database: Database, memory: int = MEMORY) -> None:
        self.database = database
        self.open_panels: OrderedDict[str, ServedPanel] = OrderedDict()
        self.closing = False
        self._opening: dict[str, asyncio.Task[ServedPanel]] = {}
        self._creating = asyncio.Lock()
        self._tasks: set[asyncio.Task[Any]] = set()
        self.memory = memory
        self.snapshot_every = SNAPSHOT_EVERY
        self.after_snapshot: Callable[[ServedPanel], Awaitable[None]] = _do_nothing
        database.on_failure = self.forget_all

    # --- opening

    async def open(self, name: str) -> ServedPanel:
        """Return a fusion, from memory or from the log."""
        panel = self.open_panels.get(name)
        if panel is None:
            if name not in self._opening:
                self._opening[name] = asyncio.ensure_future(self._load(name))
            return await asyncio.shield(self._opening[name])
        self.open_panels.move_to_end(name)
        return panel

    async def _load(self, name: str) -> ServedPanel:
        try:
            await self.flush()
            row = self._row(name)
            if row is None:
                absent = f"there is no fusion {name!r}; PUT /v1/fusions/{name} makes one"
                raise ServiceError(404, "unknown_fusion", fusion_name_fault(name) or absent)
            panel = await asyncio.to_thread(self._restore, *row)
            self.open_panels[name] = panel
        finally:
            del self._opening[name]
        await self._close_oldest()
        return panel

    def _row(self, name: str) -> tuple[Any, ...] | None:
        found = self.database.rows(FIND_FUSION, name)
        return found[0] if found else None

    def _restore(self, number: int, name: str, settings: bytes, created: float, *more: Any) -> ServedPanel:
        own = msgspec.json.decode(settings, type=FusionSettings)
        until = self.database.last_position()
        state = replay.restore(self.database, number, own, until, lambda: not self.closing)
        (waiting,) = self.database.rows(
            "SELECT count(*) FROM items WHERE fusion = ? AND learned IS NULL", number
        )[0]
        ((last_id,),) = self.database.rows(LAST_ID, number)
        return ServedPanel(number, name, own, created, state, last_id, waiting, *more)

    async def flush(self) -> None:
        """Wait until everything that was submitted is on disk, or has failed."""
        for _ in range(5):
            with contextlib.suppress(ServiceError):
                return await self.submit([])
        raise ServiceError(507, "storage_full", "the log cannot be written; try again later", 10)

    async def _close_oldest(self) -> None:
        """Remove fusions from memory until it has room; those that learned much are stored.

        Those that are in use stay, since waiting for them could take long, and so does the latest one.
        """
        excess = self.bytes - self.memory
        for panel in list(self.open_panels.values())[:-1] if excess > 0 else []:
            if excess <= 0:
                break
            if not panel.lock.locked():
                async with panel.lock:
                    if panel.unsaved >= FEW:
                        await self.save(panel)
                    self.discard(panel)
                excess -= panel.bytes

    @property
    def bytes(self) -> int:
        """An estimate of the memory of all fusions."""
        return sum(panel.bytes for panel in self.open_panels.values())

    def discard(self, panel: ServedPanel) -> None:
        """Remove a fusion from memory."""
        if self.open_panels.get(panel.name) is panel:
            del self.open_panels[panel.name]

    def forget_all(self) -> None:
        """Forget all states, which may have learned what could not be written; the log has the others."""
        self.open_panels.clear()

    def check_open(self, panel: ServedPanel) -> None:
        """Raise an error if a fusion is no longer the one in memory; its lock is held."""
        if self.open_panels.get(panel.name) is not panel:
            raise PanelClosedError

    async def run(self, panel: ServedPanel, form: Any, call: Callable[..., Any], *values: Any) -> Any:
        """Call what predicts or learns; in a thread unless it took little time before.

        Parameters
        ----------
        panel
            The fusion; its lock is held.
        form
            What calls that take the same time have in common.
        call, values
            The function and its arguments.
        """
        if form in panel.quick:
            return panel.run_quickly(form, call, *values)
        found, seconds = await self.pause(panel, asyncio.to_thread(timed, call, *values))
        if seconds < SLOW:
            panel.quick.add(form)
        return found

    async def pause(self, panel: ServedPanel, until: Awaitable[Any]) -> Any:
        """Wait while others have their turn; events of the batch that have a position are submitted before.

        Parameters
        ----------
        panel
            The fusion; its lock is held.
        until
            What to wait for.
        """
        if panel.batch[0]:
            self.submit_batch(panel)
            panel.begin_batch()
        found = await until
        self.check_open(panel)
        panel.turn = time.perf_counter()
        return found

    async def pause_if_long(self, panel: ServedPanel) -> None:
        """Let others have their turn, as `pause` does, if the requests of a fusion have run for long."""
        if time.perf_counter() - panel.turn > TURN:
            await self.pause(panel, asyncio.sleep(0))

    # --- events

    def submit_batch(self, panel: ServedPanel) -> None:
        """Write what the requests that run have collected."""
        statements, future = panel.batch
        if statements:
            self.database.submit_to(statements, future)
        else:
            future.withdraw()

    def event(
        self, number: int, kind: int, actor: str, id_: str | None, item: int | None, body: Any
    ) -> tuple[int, Statement]:
        """Return the position of a new event of a fusion (0: the server) and the statement that writes it."""
        position = self.database.next_position()
        row = position, number, kind, id_, item, self.database.now(), actor, encode(body)
        return position, (INSERT_EVENT, row)

    def submit(self, statements: list[Statement]) -> asyncio.Future[None]:
        """Write statements; the future is done when they are on disk."""
        return self.database.submit(statements)

    def learned(self, panel: ServedPanel, position: int, events: int = 1) -> None:
        """Note that a fusion has learned events up to a position; now and then, its state is stored."""
        panel.version = position
        panel.unsaved += events
        if panel.measure():
            self.start(self._close_oldest())
        if panel.unsaved // self.snapshot_every > (panel.unsaved - events) // self.snapshot_every:
            self.start(self._save_later(panel))

    async def _save_later(self, panel: ServedPanel) -> None:
        async with panel.lock:
            await self.save(panel)
        await self.after_snapshot(panel)

    async def save(self, panel: ServedPanel) -> None:
        """Store the state of a fusion, if it has changed; its lock is held.

        A state that lacks amendments, or that may have learned what could not be written, is not stored.
        """
        if not panel.unsaved or panel.rebuilding or self.database.failing:
            return
        statements = await asyncio.to_thread(
            replay.snapshot, panel.fusion, panel.number, panel.version, self.snapshot_every
        )
        if self.open_panels.get(panel.name) is panel:
            with contextlib.suppress(ServiceError):  # the log has the state, too
                await self.submit(statements)
                panel.snapshot, panel.unsaved = panel.version, 0

    def start(self, work: Any) -> None:
        """Do something in the background; its errors are logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("work in the background failed", exc_info=task.exception())

    # --- creating, describing, removing

    async def create(self, name: str, settings: FusionSettings, actor: str) -> tuple[ServedPanel, bool]:
        """Create a fusion, and tell whether it is new; its first or present settings again change nothing."""
        await self._check_settings(settings)
        async with self._creating:
            return await self._create(name, settings, actor)

    async def _check_settings(self, settings: FusionSettings) -> None:
        if len({type(name) for name in settings.classes or ()}) > 1:
            kinds = {type(name): name for name in settings.classes or ()}
            shown = " and ".join(encode(name).decode()[:100] for name in kinds.values())
            raise ServiceError(
                422, "bad_settings", f"classes are all text, all numbers or all truth values (got {shown})"
            )
        for fault in filter(None, map(class_fault, (*(settings.classes or ()), settings.abstain))):
            raise ServiceError(422, "bad_settings", fault)
        try:
            fusion = await asyncio.to_thread(replay.new_fusion, settings)
            await asyncio.to_thread(replay.warm_up, settings.learner)
        except ValueError as error:
            raise ServiceError(422, "bad_settings", str(error)) from None
        if len(fusion.classes) > settings.limits.classes:
            raise ServiceError(
                422,
                "bad_settings",
                f"{len(fusion.classes)} classes exceed the limit {settings.limits.classes}",
            )

    async def _create(self, name: str, settings: FusionSettings, actor: str) -> tuple[ServedPanel, bool]:
        panel = await self._find(name)
        if panel is not None:
            created = self.database.rows(FIRST_SETTINGS, panel.number)
            known = [panel.settings, *(msgspec.json.decode(body, type=FusionSettings) for (body,) in created)]
            if normal_settings(settings) not in map(normal_settings, known):
                raise ServiceError(
                    409,
                    "fusion_exists",
                    f"{name} exists with other settings; PATCH changes its limits, others need another name",
                )
            return panel, False
        (number,) = self.database.rows("SELECT coalesce(max(fusion), 0) + 1 FROM fusions")[0]
        (used,) = self.database.rows("SELECT coalesce(max(fusion), 0) + 1 FROM events")[0]
        number = max(number, used)
        _, event = self.event(number, CREATED, actor, None, None, settings)
        row = number, name, encode(settings), self.database.now()
        await self.submit(
            [("INSERT INTO fusions (fusion, name, settings, created) VALUES (?, ?, ?, ?)", row), event]
        )
        return await self.open(name), True  # others may have opened it since it is on disk

    async def _find(self, name: str) -> ServedPanel | None:
        try:
            return await self.open(name)
        except ServiceError as error:
            if error.code == "unknown_fusion":
                return None
            raise

    async def change_limits(self, panel: ServedPanel, given: dict[str, Any], actor: str) -> None:
        """Change limits of a fusion; those that it has exceeded keep it from growing further."""
        async with panel.lock:
            self.check_open(panel)
            old = panel.settings
            limits = msgspec.structs.replace(old.limits, **given)
            if limits == old.limits:
                return
            panel.settings = settings = msgspec.structs.replace(old, limits=limits)
            _, event = self.event(panel.number, CHANGED, actor, None, None, settings)
            future = self.submit([event, (SET_SETTINGS, (encode(settings), panel.number))])
        await future

    async def delete(self, panel: ServedPanel, actor: str) -> None:
        """Remove a fusion: its items, snapshots and amendments; its events stay, for the audit."""
        async with panel.lock:
            self.check_open(panel)
            _, statement = self.event(panel.number, DELETED, actor, None, None, {"name": panel.name})
            removals = [
                (f"DELETE FROM {table} WHERE fusion = ?", (panel.number,))
                for table in (
                    "fusions",
                    "items",
                    "compacted_ids",
                    "snapshots",
                    "histories",
                    "models",
                    "amendments",
                    "offsets",
                )
            ]
            future = self.submit([statement, *removals])
            self.discard(panel)
            await future

    def names(self) -> list[str]:
        """Return the names of all fusions."""
        return [name for (name,) in self.database.rows("SELECT name FROM fusions ORDER BY name")]

    async def describe(self, panel: ServedPanel) -> FusionInfo:
        """Describe a fusion."""
        async with panel.lock:
            fusion = panel.fusion
            digest = await asyncio.to_thread(fingerprint, fusion)
            return FusionInfo(
                panel.name, repr(fusion.learner), fusion.classes, fusion.experts, fusion.trials,
                panel.mistakes, panel.waiting, panel.expired, panel.version, digest,
                panel.created, panel.rebuilding, panel.settings, panel.horizon,
            )  # fmt: skip

    # --- amendments

    def amend(self, panel: ServedPanel, statements: list[Statement], first: int) -> list[Statement]:
        """Return the statements that amend events from position `first` on, and start to rebuild the state.

        Snapshots and histories that have learned what is amended are removed in the same transaction, so that
        the log gives the amended state whatever happens next. The lock of the fusion is held, and the caller
        submits the statements before it lets others run.
        """
        drops = [
            (f"DELETE FROM {table} WHERE fusion = ? AND position >= ?", (panel.number, first))
            for table in ("snapshots", "histories")
        ]
        if not panel.rebuilding:
            self.start(self._rebuild(panel))
        panel.amendments += 1
        return [*statements, *drops]

    async def _rebuild(self, panel: ServedPanel) -> None:
        """Derive the state anew from the log while the old one predicts, then switch."""
        try:
            while panel.rebuilding and not self.closing:
                await self._rebuild_once(panel)
        except InterruptedError:
            pass  # the log has the amended state for the next start
        except BaseException:
            self.discard(panel)  # the next request opens it again
            raise

    async def _rebuild_once(self, panel: ServedPanel) -> None:
        target = panel.amendments
        await self.flush()
        until = self.database.last_position()
        state = await asyncio.to_thread(
            replay.restore, self.database, panel.number, panel.settings, until, lambda: not self.closing
        )
        async with panel.lock:
            await self.flush()
            until = self.database.last_position()
            state = await asyncio.to_thread(replay.advance, self.database, panel.number, state, until)
            if self.open_panels.get(panel.name) is not panel:
                panel.applied = panel.amendments  # it is not used any more
            elif panel.amendments == target:
                panel.take(state)
                panel.unsaved = max(1, state.learned)
                panel.applied = target

    async def close(self) -> None:
        """Store the states of all fusions and end what runs in the background."""
        self.closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for panel in list(self.open_panels.values()):
            async with panel.lock:
                await self.save(panel)


async def _do_nothing(panel: ServedPanel) -> None:
    """What follows a snapshot unless somebody asks for more."""
