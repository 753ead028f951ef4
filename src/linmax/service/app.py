"""The application: the routes, what starts and ends with the server, and how errors are answered."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from linmax._jit.tiers import compiling
from linmax.service.dashboard.endpoints import DashboardEndpoints
from linmax.service.dashboard.trust import TrustSeriesStore
from linmax.service.event_log.database import Database
from linmax.service.fusions import replay
from linmax.service.fusions.amendments import Amendments
from linmax.service.fusions.compaction import Compaction
from linmax.service.fusions.history import Histories
from linmax.service.fusions.item_info import ItemReader
from linmax.service.fusions.item_store import LABEL_WAIT
from linmax.service.fusions.items import Items
from linmax.service.fusions.served_panels import MEMORY, ServedPanels
from linmax.service.fusions.single_requests import SingleRequests
from linmax.service.http import openapi
from linmax.service.http.bodies import answer_problem
from linmax.service.http.events import EventStreams
from linmax.service.http.guard import LOOPBACK, MAX_REQUESTS, Guard
from linmax.service.http.metrics import ServiceMetrics
from linmax.service.http.sign_ins import SignIns
from linmax.service.messages.errors import ServiceError
from linmax.service.tokens import Token, TokenStore

SWEEP_EVERY = 60.0  # seconds between two searches for items that have waited too long
COMPACT_EVERY = 3600.0  # seconds between two compactions of the log
logger = logging.getLogger("linmax.service")


class Service(DashboardEndpoints):
    """The service of one data folder.

    Parameters
    ----------
    folder
        The data folder.
    hosts
        Host names that requests may be for, beside those of loopback.
    rate
        Requests per second of one token; 0 means no limit.
    keep
        For how many seconds events are kept; None means forever.
    memory
        The largest size of the fusions in memory, in bytes; others are loaded when they are needed.
    label_wait
        For how many seconds a label waits for its prediction.
    """

    def __init__(
        self,
        folder: Path,
        *,
        hosts: frozenset[str] = frozenset(),
        rate: float = 0.0,
        keep: float | None = None,
        memory: int = MEMORY,
        label_wait: float = LABEL_WAIT,
    ) -> None:
        self.database = Database(folder)
        self.tokens = TokenStore(self.database)
        self.sign_ins = SignIns(folder, self.database, self.tokens)
        self.hosts = LOOPBACK | hosts
        self.rate = rate
        self.keep = keep
        self.memory = memory
        self.label_wait = label_wait
        self.ready = False
        self.metrics = ServiceMetrics()
        self.streams = EventStreams(self.database)
        self.panels: ServedPanels
        self.items: Items
        self.reader: ItemReader
        self.histories: Histories

    # --- life

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Start with the server, and end with it."""
        loop = asyncio.get_running_loop()
        self.panels = ServedPanels(self.database, self.memory)
        self.items = Items(self.panels, self.label_wait)
        self.singles = SingleRequests(self.items)
        self.amendments = Amendments(self.items.store)
        self.reader = ItemReader(self.panels)
        self.histories = Histories(self.panels)
        self.trust = TrustSeriesStore(self.panels)
        self.reading = asyncio.Semaphore(2)  # threads that read the log for pictures
        self.panels.after_snapshot = self.histories.update
        self.database.on_commit = lambda call: loop.call_soon_threadsafe(call)  # type: ignore[assignment]
        self.database.sync_seconds = self.metrics.commit
        self.metrics.watch(self)
        await asyncio.to_thread(replay.code_of_linmax)  # not while requests wait for the first snapshot
        self.ready = True
        work = [asyncio.ensure_future(self._repeat(SWEEP_EVERY, self.items.store.expire_all))]
        if self.keep is not None:
            work.append(asyncio.ensure_future(self._repeat(COMPACT_EVERY, self._compact)))
        try:
            with compiling():  # when a fusion is created, not while requests wait
                yield
        finally:
            self.ready = False
            for task in work:
                task.cancel()
            await self.panels.close()
            await asyncio.to_thread(self.database.close)

    async def _compact(self) -> None:
        assert self.keep is not None
        await Compaction(self.items.store, self.histories).run(self.database.now() - self.keep)

    async def _repeat(self, seconds: float, work: Callable[[], Awaitable[Any]]) -> None:
        """Do something again and again, with pauses, of which the first is at most a minute."""
        pause = min(seconds, 60.0)
        while True:
            await asyncio.sleep(pause)
            pause = seconds
            try:
                await work()
            except Exception:
                logger.exception("%s has failed, and is tried again later", work.__qualname__)

    def routes(self) -> list[Route]:
        """Return all routes; they are tried in this order."""
        base, shown = "/v1/fusions/{name}", "/dashboard/fusions/{name}"
        return [
            Route(base + "/predict", self._call(self.predict), methods=["POST"]),
            Route(base + "/labels", self._call(self.label), methods=["POST"]),
            Route(base + "/learn", self._call(self.learn), methods=["POST"]),
            Route(base + "/next-expert", self._call(self.next_expert), methods=["POST"]),
            Route("/", self.page),
            Route("/assets/{path:path}", self.asset),
            Route("/session", self.show_session, methods=["GET"]),
            Route("/session", self.sign_in, methods=["POST"]),
            Route("/session", self.sign_out, methods=["DELETE"]),
            Route("/dashboard/overview", self._call(self.overview)),
            Route("/dashboard/learner", self._call(self.check_learner), methods=["POST"]),
            Route(shown + "/summary", self._call(self.summary)),
            Route(shown + "/recent", self._call(self.recent)),
            Route(shown + "/trust", self._call(self.trust_over_time)),
            Route(shown + "/items", self._call(self.list_items)),
            Route(shown + "/try", self._call(self.show_choices), methods=["GET"]),
            Route(shown + "/try", self._call(self.try_votes), methods=["POST"]),
            Route(shown + "/snapshots", self._call(self.snapshots)),
            Route(shown + "/preview", self._call(self.preview), methods=["POST"]),
            Route("/healthz", self.healthz),
            Route("/readyz", self.readyz),
            Route("/metrics", self._call(self.show_metrics)),
            Route("/openapi.json", openapi.document),
            Route("/docs", openapi.page),
            Route("/docs/page.css", openapi.style),
            Route("/v1/fusions", self._call(self.list_fusions)),
            Route(base, self._call(self.create), methods=["PUT"]),
            Route(base, self._call(self.describe), methods=["GET"]),
            Route(base, self._call(self.change), methods=["PATCH"]),
            Route(base, self._call(self.delete), methods=["DELETE"]),
            Route(base + "/weights", self._call(self.weights)),
            Route(base + "/model", self._call(self.model), methods=["GET"]),
            Route(base + "/model", self._call(self.upload), methods=["PUT"]),
            Route(base + "/items/{id:path}", self._call(self.item)),
            Route(base + "/history", self._call(self.history)),
            Route(base + "/events", self._call(self.events)),
            Route(base + "/exclude", self._call(self.exclude), methods=["POST"]),
            Route(base + "/rollback", self._call(self.rollback), methods=["POST"]),
            Route("/v1/tokens", self._call(self.list_tokens), methods=["GET"]),
            Route("/v1/tokens", self._call(self.create_token), methods=["POST"]),
            Route("/v1/tokens/{number:int}", self._call(self.revoke_token), methods=["DELETE"]),
        ]

    def app(self, most: int = MAX_REQUESTS) -> Any:
        """Return the ASGI application.

        Parameters
        ----------
        most
            The largest number of requests at a time.
        """
        handlers: Any = {ServiceError: answer_problem, HTTPException: answer_problem}
        inner = Starlette(routes=self.routes(), lifespan=self.lifespan, exception_handlers=handlers)
        own = {"predict": self.predict, "labels": self.label, "learn": self.learn}
        endpoints = {name: self._call(endpoint) for name, endpoint in own.items()}
        return Guard(inner, endpoints, self.tokens, self.sign_ins, self.hosts, self.rate, most)

    def _call(self, endpoint: Callable[[Request, Token], Awaitable[Response]]) -> Any:
        """Return the endpoint with its errors turned into answers, and measured."""
        name = endpoint.__name__

        async def answer(request: Request) -> Response:
            start = time.perf_counter()
            try:
                response = await endpoint(request, request.scope["linmax.token"])
            except ClientDisconnect:
                return Response(status_code=400)
            except ServiceError as error:
                self.metrics.request(name, error.status, time.perf_counter() - start)
                raise
            except Exception:
                logger.exception("%s failed", name)
                self.metrics.request(name, 500, time.perf_counter() - start)
                raise ServiceError(
                    500, "internal_error", "the server has failed on this request; its log says why"
                ) from None
            self.metrics.request(name, response.status_code, time.perf_counter() - start)
            return response

        answer.__name__ = name
        return answer
