"""The endpoints of the HTTP interface: each reads a request, calls what does the work, and answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from linmax.fusion.model_file import to_bytes
from linmax.service.bodies import (
    NDJSON,
    answer_json,
    is_ndjson,
    parse,
    parse_line,
    path_name,
    require_scope,
    split_lines,
)
from linmax.service.database import LABELLED, LEARNED, TOKEN_CREATED, TOKEN_REVOKED, Database
from linmax.service.events import EventStreams
from linmax.service.guard import read_body
from linmax.service.items import Items
from linmax.service.messages import (
    ExcludeRequest,
    FusionSettings,
    LabelRequest,
    LearnRequest,
    Name,
    NextExpertAnswer,
    NextExpertRequest,
    PredictAnswer,
    PredictRequest,
    RollbackRequest,
    TokenRequest,
)
from linmax.service.metrics import Metrics
from linmax.service.panel import Panel
from linmax.service.panels import PanelClosedError, Panels
from linmax.service.problems import ServiceError
from linmax.service.tokens import REVOKE, Token, TokenStore, new_token

GROUP = 256  # items of a batch that are processed before others have their turn
CHOSEN = """
SELECT position FROM events WHERE fusion = ? AND kind IN (?, ?)
AND (?4 IS NULL OR id IN (SELECT value FROM json_each(?4)))
AND (?5 IS NULL OR actor = ?5) AND (?6 IS NULL OR time >= ?6) AND (?7 IS NULL OR time < ?7)
"""
AFTER = "SELECT position FROM events WHERE fusion = ? AND kind IN (?, ?) AND position > ?"
T = TypeVar("T")


class Endpoints:
    """What the server answers; a base class of `Service`, which has the attributes."""

    database: Database
    tokens: TokenStore
    panels: Panels
    items: Items
    streams: EventStreams
    metrics: Metrics
    ready: bool

    async def _with_panel(self, name: str, work: Callable[[Panel], Awaitable[T]]) -> T:
        """Do something with a fusion; it is opened again if it was closed meanwhile."""
        for _ in range(5):
            try:
                return await work(await self.panels.open(name))
            except PanelClosedError:
                continue
        raise ServiceError(503, "busy", f"{name} is opened and closed again and again; try later", 1)

    # --- the server

    async def healthz(self, request: Request) -> Response:
        """Answer as long as the process lives."""
        return answer_json({"status": "ok"})

    async def readyz(self, request: Request) -> Response:
        """Answer 200 when requests are served and written."""
        if not self.ready or self.database.failing:
            return answer_json({"status": "read-only" if self.ready else "starting"}, 503)
        return answer_json({"status": "ok"})

    async def show_metrics(self, request: Request, token: Token) -> Response:
        """Return the metrics in the format of Prometheus."""
        require_scope(token, "read", None)
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    # --- fusions

    async def list_fusions(self, request: Request, token: Token) -> Response:
        """List the names of the fusions that the token may read."""
        names = [name for name in self.panels.names() if token.allows("read", name)]
        return answer_json({"fusions": names})

    async def create(self, request: Request, token: Token) -> Response:
        """Create a fusion."""
        name = path_name(request)
        require_scope(token, "admin", name)
        body = await read_body(request)
        try:
            msgspec.convert(name, Name)
        except msgspec.ValidationError:
            raise ServiceError(
                422,
                "bad_name",
                f"a fusion cannot be called {name[:100]!r}; use at most 100 letters, digits, dots, dashes and"
                " underscores",
            ) from None
        settings = parse(body or b"{}", FusionSettings)
        self.database.check_writable()
        panel, new = await self.panels.create(name, settings, token.name)
        return answer_json(await self.panels.describe(panel), 201 if new else 200)

    async def describe(self, request: Request, token: Token) -> Response:
        """Describe a fusion."""
        name = path_name(request)
        require_scope(token, "read", name)
        return answer_json(await self._with_panel(name, self.panels.describe))

    async def delete(self, request: Request, token: Token) -> Response:
        """Delete a fusion."""
        name = path_name(request)
        require_scope(token, "admin", name)
        self.database.check_writable()
        await self.panels.delete(name, token.name)
        return Response(status_code=204)

    async def weights(self, request: Request, token: Token) -> Response:
        """Return the weight of every sub-expert."""
        name = path_name(request)
        require_scope(token, "read", name)

        async def work(panel: Panel) -> Any:
            async with panel.lock:
                return await asyncio.to_thread(panel.fusion.weight_table)

        rows = await self._with_panel(name, work)
        return answer_json({"weights": [row._asdict() for row in rows]})

    async def model(self, request: Request, token: Token) -> Response:
        """Return the model as a file that `linmax.load` reads."""
        name = path_name(request)
        require_scope(token, "read", name)

        async def work(panel: Panel) -> bytes:
            async with panel.lock:
                return await asyncio.to_thread(to_bytes, panel.fusion)

        content = await self._with_panel(name, work)
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{name}.linmax"'},
        )

    # --- items

    async def predict(self, request: Request, token: Token) -> Response:
        """Predict an item, or a batch of them."""
        return await self._process(request, token, "predict", PredictRequest)

    async def label(self, request: Request, token: Token) -> Response:
        """Learn the label of an item that was predicted, or those of a batch."""
        return await self._process(request, token, "label", LabelRequest)

    async def learn(self, request: Request, token: Token) -> Response:
        """Learn an item with its label, or a batch of them."""
        return await self._process(request, token, "learn", LearnRequest)

    async def _process(self, request: Request, token: Token, scope: str, kind: Any) -> Response:
        name = path_name(request)
        require_scope(token, scope, name)
        limit = (await self.panels.open(name)).settings.limits.item_bytes
        if is_ndjson(request):
            return await self._process_batch(request, token, kind, limit)
        item = parse(await read_body(request, limit), kind)
        (answer,) = await self._with_panel(name, lambda panel: self.items.process(panel, [item], token))
        if isinstance(answer, ServiceError):
            raise answer
        if isinstance(item, PredictRequest) and isinstance(answer, PredictAnswer) and item.explain:
            answer.explanation = await self._with_panel(name, lambda panel: self.items.explain(panel, item))
        return answer_json(answer)

    async def _process_batch(self, request: Request, token: Token, kind: Any, limit: int) -> Response:
        """Answer a batch of items with a line for each; a bad line does not concern the others."""
        name = path_name(request)
        lines = split_lines(await read_body(request))
        answers: list[Any] = []
        for start in range(0, len(lines), GROUP):
            group = [parse_line(line, kind, limit) for line in lines[start : start + GROUP]]
            items = [item for item in group if not isinstance(item, ServiceError)]

            async def work(panel: Panel, items: list[Any] = items) -> Any:
                return await self.items.process(panel, items, token)

            done = iter(await self._with_panel(name, work) if items else [])
            answers += [item if isinstance(item, ServiceError) else next(done) for item in group]
        texts = [
            msgspec.json.encode(one.problem() if isinstance(one, ServiceError) else one) for one in answers
        ]
        return Response(b"".join(text + b"\n" for text in texts), media_type=NDJSON)

    async def next_expert(self, request: Request, token: Token) -> Response:
        """Say whom to ask next about an item, or that the prediction is settled; nothing is stored."""
        name = path_name(request)
        require_scope(token, "predict", name)
        wanted = parse(await read_body(request), NextExpertRequest)
        given: dict[str, Any] = {
            "experts": wanted.experts,
            "attributes": wanted.attributes,
            "prices": wanted.prices,
        }

        async def work(panel: Panel) -> Any:
            async with panel.lock:
                self.panels.check_open(panel)
                try:
                    return await asyncio.to_thread(panel.fusion.next_expert, wanted.votes, **given)
                except ValueError as error:
                    raise ServiceError(422, "bad_item", str(error)) from None

        return answer_json(NextExpertAnswer(await self._with_panel(name, work)))

    async def item(self, request: Request, token: Token) -> Response:
        """Return what is known about an item."""
        name = path_name(request)
        require_scope(token, "read", name)
        id_ = request.path_params["id"]

        async def work(panel: Panel) -> Any:
            return self.items.describe(panel, id_)

        return answer_json(await self._with_panel(name, work))

    async def events(self, request: Request, token: Token) -> Response:
        """Stream the events of a fusion as they happen."""
        name = path_name(request)
        require_scope(token, "read", name)
        self.streams.check_room()
        position = self.streams.first_position(request.headers.get("last-event-id"))
        number = (await self.panels.open(name)).number
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(self.streams.follow(number, position), media_type="text/event-stream")

    # --- amendments

    async def exclude(self, request: Request, token: Token) -> Response:
        """Take back what was learned from some items: by id, by who taught it, or by time."""
        chosen = await self._amendment(request, token, ExcludeRequest)
        if chosen == ExcludeRequest():
            raise ServiceError(422, "no_choice", "say what to exclude: ids, actor, from or until")
        ids = msgspec.json.encode(chosen.ids).decode() if chosen.ids is not None else None
        values = ids, chosen.actor, chosen.from_time, chosen.until_time
        return await self._exclude(request, token, "excluded", CHOSEN, values)

    async def rollback(self, request: Request, token: Token) -> Response:
        """Take back everything that was learned after a position in the log."""
        wanted = await self._amendment(request, token, RollbackRequest)
        return await self._exclude(request, token, "rolled back", AFTER, (wanted.position,))

    async def _amendment(self, request: Request, token: Token, kind: type[T]) -> T:
        require_scope(token, "admin", path_name(request))
        wanted = parse(await read_body(request), kind)
        self.database.check_writable()
        return wanted

    async def _exclude(
        self, request: Request, token: Token, reason: str, sql: str, values: tuple[Any, ...]
    ) -> Response:
        async def work(panel: Panel) -> Any:
            def choose() -> list[int]:
                found = self.database.rows(sql, panel.number, LABELLED, LEARNED, *values)
                return [position for (position,) in found]

            position, events = await self.panels.exclude(panel, choose, token.name, {"reason": reason})
            self.items.store.forget(panel)
            return {"position": position, "events": events}

        return answer_json(await self._with_panel(path_name(request), work))

    # --- tokens

    async def list_tokens(self, request: Request, token: Token) -> Response:
        """List the tokens; their texts are not stored."""
        require_scope(token, "admin", None)
        listed = [
            {
                "token": one.number, "name": one.name, "scopes": sorted(one.scopes), "fusions": one.fusions,
                "created": one.created, "ends": one.ends,
            }
            for one in self.tokens.list()
        ]  # fmt: skip
        return answer_json({"tokens": listed})

    async def create_token(self, request: Request, token: Token) -> Response:
        """Create a token that has no more rights than the one that asks for it."""
        require_scope(token, "admin", None)
        wanted = parse(await read_body(request), TokenRequest)
        if not token.covers(wanted.scopes, wanted.fusions):
            raise ServiceError(
                403, "too_many_rights", "a token cannot create one with more rights than its own"
            )
        text, statement = new_token(wanted.name, wanted.scopes, wanted.fusions, wanted.days)
        ends = statement[1][-1]
        if token.ends is not None and (ends is None or ends > token.ends):
            raise ServiceError(
                403, "too_many_rights", "a token cannot create one that ends later than itself"
            )
        self.database.check_writable()
        _, event = self.panels.event(None, TOKEN_CREATED, token.name, None, None, wanted)
        await self.panels.submit([event, statement])
        self.tokens.reload()
        return answer_json({"token": text, "name": wanted.name, "scopes": sorted(set(wanted.scopes))}, 201)

    async def revoke_token(self, request: Request, token: Token) -> Response:
        """Revoke a token."""
        require_scope(token, "admin", None)
        number = request.path_params["number"]
        if number not in {one.number for one in self.tokens.list()}:
            raise ServiceError(404, "unknown_token", f"there is no token {number}; GET /v1/tokens lists them")
        self.database.check_writable()
        _, event = self.panels.event(None, TOKEN_REVOKED, token.name, None, None, {"token": number})
        await self.panels.submit([event, (REVOKE, (time.time(), number))])
        self.tokens.reload()
        return Response(status_code=204)
