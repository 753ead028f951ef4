"""The endpoints of the dashboard: its page and files, signing in and out, and the figures that it shows."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from linmax.fusion import Fusion
from linmax.service.dashboard.assets import PAGE, answer_asset
from linmax.service.dashboard.item_lists import find_items, surest_mistakes, uncertain_items
from linmax.service.dashboard.overview import OverviewPage, OverviewRow, items_per_minute, overview_row
from linmax.service.dashboard.previews import (
    LearnerRequest,
    PreviewRequest,
    TryRequest,
    list_snapshots,
    preview_removal,
    try_item,
)
from linmax.service.dashboard.recent import LARGEST, Range, is_complete, last_labelled, summarize
from linmax.service.dashboard.trust import TrustSeriesStore
from linmax.service.fusions.history import MAX_POINTS
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.http.bodies import answer_json, parse, path_name, query_number
from linmax.service.http.endpoints import Endpoints
from linmax.service.http.guard import read_body
from linmax.service.http.sign_ins import SignIn, SignIns
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import Request as RequestBody
from linmax.service.tokens import Token, require_scope

MAX_FUSIONS = 100  # in one page of the overview
LATEST = 10**12  # seconds since 1970 of the end of a range
LISTS: dict[str, Callable[[Any, int], Any]] = {"mistakes": surest_mistakes, "uncertain": uncertain_items}
MAX_SIGN_IN = 10_000  # bytes
logger = logging.getLogger("linmax.service")


class SignInRequest(RequestBody):
    """What starts a session: a token, or the code of a link."""

    token: Annotated[str, Meta(max_length=1000)] | None = None
    code: Annotated[str, Meta(max_length=1000)] | None = None


class SessionInfo(msgspec.Struct):
    """Who is signed in, as the page needs it."""

    name: str
    scopes: list[str]
    fusions: str
    ends: int
    csrf: str
    version: str


class DashboardEndpoints(Endpoints):
    """What the server answers to people; a base class of `Service`, which has the attributes."""

    sign_ins: SignIns
    trust: TrustSeriesStore
    reading: asyncio.Semaphore

    async def page(self, request: Request) -> Response:
        """Return the page of the dashboard, which loads the rest."""
        return answer_asset(request, PAGE)

    async def asset(self, request: Request) -> Response:
        """Return a file of the dashboard."""
        return answer_asset(request, request.path_params["path"])

    async def sign_in(self, request: Request) -> Response:
        """Start a session with a token, or with the code of a link."""
        origin = request.headers.get("origin")
        if origin is None:  # the guard has compared it with the host
            raise ServiceError(403, "no_origin", "sign in from the page: the header Origin is missing")
        wanted = parse(await read_body(request, MAX_SIGN_IN), SignInRequest)
        if (wanted.token is None) == (wanted.code is None):
            raise ServiceError(422, "bad_request", "pass a token, or the code of a link")
        if wanted.token is not None:
            token = self.tokens.find(wanted.token.strip())
        else:
            token = self.sign_ins.use_code(wanted.code or "")
        session = self.sign_ins.start(token)
        answer = answer_json(_info(session), 201)
        self._set_cookie(answer, session.cookie, session.ends, origin)
        return answer

    async def show_session(self, request: Request) -> Response:
        """Say who is signed in; null if nobody is, which is no error: the page asks in order to know."""
        session = self._sign_in(request)
        return answer_json(session and _info(session))

    async def sign_out(self, request: Request) -> Response:
        """End the session; its cookie is worth nothing from now on."""
        session = self._sign_in(request)
        headers = dict(request.scope["headers"])
        if session is not None:
            session.check_change(headers.get(b"origin"), headers.get(b"x-csrf-token"))
            statements = self.sign_ins.end(session)
            with contextlib.suppress(ServiceError):  # on a full disk it is remembered until the next start
                await self.database.submit(statements)
        answer = Response(status_code=204)
        self._set_cookie(answer, "", 0, request.headers.get("origin", ""))
        return answer

    def _sign_in(self, request: Request) -> SignIn | None:
        return self.sign_ins.find(request.headers.get("cookie", "").encode("latin-1"))

    def _set_cookie(self, answer: Response, value: str, ends: int, origin: str) -> None:
        answer.set_cookie(
            self.sign_ins.cookie_name, value, expires=datetime.fromtimestamp(ends, UTC), path="/",
            httponly=True, samesite="strict", secure=origin.startswith("https://"),
        )  # fmt: skip

    # --- figures

    async def overview(self, request: Request, token: Token) -> Response:
        """Return the figures of a page of the fusions that the token may use, whose names contain a text."""
        wanted = request.query_params.get("search", "").lower()
        start = query_number(request, "start", 0, 0, 10**9)
        names = [name for name in self.panels.names() if wanted in name.lower() and _usable(token, name)]
        page = OverviewPage(len(names))
        for name in names[start : start + MAX_FUSIONS]:
            if not token.allows("read", name):
                page.unread.append(name)
                continue
            try:
                page.fusions.append(await self._with_panel(name, self._row))
            except ServiceError as error:
                if error.status != 404:  # or it was deleted meanwhile
                    page.failed.append(name)
            except Exception:
                logger.exception("the figures of %s cannot be computed", name)
                page.failed.append(name)
        return answer_json(page)

    async def summary(self, request: Request, token: Token) -> Response:
        """Return the figures of one fusion."""
        name = path_name(request)
        require_scope(token, "read", name)
        return answer_json(await self._with_panel(name, self._row))

    async def _row(self, panel: ServedPanel) -> OverviewRow:
        history = await self.histories.answer(panel, MAX_POINTS)
        now = self.database.now()
        rate = await asyncio.to_thread(items_per_minute, self.database, panel.number, now)
        return overview_row(panel, history, rate)

    async def recent(self, request: Request, token: Token) -> Response:
        """Return what the last labels of a fusion show."""
        most = query_number(request, "window", 1000, 1, LARGEST)
        start = query_number(request, "from", 0, 0, LATEST)
        end = query_number(request, "until", LATEST, 0, LATEST)

        def work(panel: ServedPanel) -> Any:
            after, until = self.database.last_before(start), self.database.last_before(end)
            wanted = Range(most, after, until)
            items = last_labelled(self.database, panel.number, wanted)
            complete = is_complete(self.database, panel.number, wanted, items)
            fusion = panel.fusion
            return summarize(items, len(fusion.experts), complete=complete, abstain=fusion.abstain)

        return await self._read(request, token, work)

    async def trust_over_time(self, request: Request, token: Token) -> Response:
        """Return the trust of each expert over time."""
        name = path_name(request)
        require_scope(token, "read", name)
        return answer_json(await self._with_panel(name, self.trust.answer))

    async def list_items(self, request: Request, token: Token) -> Response:
        """List items: surest mistakes, those whose label would help most, or by the beginning of the id."""
        kind, start = request.query_params.get("list", ""), request.query_params.get("search", "")
        if kind and kind not in LISTS:
            raise ServiceError(
                422, "bad_request", f"list should be one of {', '.join(LISTS)} (got {kind[:100]!r})"
            )
        make = LISTS.get(kind) or (lambda database, number: find_items(database, number, start[:200]))
        return await self._read(request, token, lambda panel: {"items": make(self.database, panel.number)})

    async def _read(self, request: Request, token: Token, make: Callable[[ServedPanel], Any]) -> Response:
        """Answer with what a thread reads from the log of a fusion."""
        name = path_name(request)
        require_scope(token, "read", name)
        panel = await self.panels.open(name)
        async with self.reading:
            return answer_json(await asyncio.to_thread(make, panel))

    # --- trying and previews

    async def show_choices(self, request: Request, token: Token) -> Response:
        """Return the experts and classes that votes to try can be chosen from."""
        name = path_name(request)
        require_scope(token, "predict", name)
        fusion = (await self.panels.open(name)).fusion
        return answer_json({"experts": fusion.experts, "classes": fusion.classes})

    async def try_votes(self, request: Request, token: Token) -> Response:
        """Predict and explain an item that is not stored, and say whom to ask next."""
        name = path_name(request)
        require_scope(token, "predict", name)
        limit = (await self.panels.open(name)).settings.limits.item_bytes
        wanted = parse(await read_body(request, limit), TryRequest)

        async def work(panel: ServedPanel) -> Any:
            async with panel.lock:
                self.panels.check_open(panel)
                return await asyncio.to_thread(try_item, panel.fusion, wanted.votes, wanted.attributes)

        return answer_json(await self._with_panel(name, work))

    async def check_learner(self, request: Request, token: Token) -> Response:
        """Say whether a text is a learner, and what it would be."""
        if "admin" not in token.scopes:
            require_scope(token, "admin", None)
        wanted = parse(await read_body(request, MAX_SIGN_IN), LearnerRequest)
        try:
            fusion = await asyncio.to_thread(Fusion, wanted.learner)
        except ValueError as error:
            return answer_json({"valid": False, "message": str(error)})
        return answer_json({"valid": True, "message": repr(fusion.learner)})

    async def snapshots(self, request: Request, token: Token) -> Response:
        """List the stored states of a fusion, the latest first."""
        require_scope(token, "admin", path_name(request))
        return await self._read(
            request, token, lambda panel: {"snapshots": list_snapshots(self.database, panel.number)}
        )

    async def preview(self, request: Request, token: Token) -> Response:
        """Say what excluding events or rolling back would take back; nothing is changed."""
        require_scope(token, "admin", path_name(request))
        wanted = parse(await read_body(request), PreviewRequest)
        return await self._read(request, token, lambda panel: preview_removal(self.database, panel, wanted))


def _usable(token: Token, name: str) -> bool:
    return token.allows("read", name) or token.allows("predict", name)


def _info(session: SignIn) -> Any:
    from linmax import __version__

    token = session.token
    return SessionInfo(
        token.name, sorted(token.scopes), token.fusions, session.ends, session.csrf, __version__
    )
