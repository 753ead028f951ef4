"""The endpoints of the HTTP interface: each reads a request, calls what does the work, and answers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from itertools import chain
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from linmax.client.requests import ARROW, NDJSON
from linmax.fusion.model_file import to_bytes
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import TOKEN_CREATED, TOKEN_REVOKED
from linmax.service.fusions.amendments import Amendments
from linmax.service.fusions.bulk import BatchRows, JsonItems
from linmax.service.fusions.history import MAX_POINTS, Histories
from linmax.service.fusions.item_info import ItemReader
from linmax.service.fusions.items import Done, Items
from linmax.service.fusions.model_upload import upload
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import PanelClosedError, ServedPanels
from linmax.service.fusions.single_requests import SingleRequests
from linmax.service.http.arrow_rows import ArrowRows
from linmax.service.http.arrow_stream import BYTES_PER_CELL, read_stream, write_answers
from linmax.service.http.bodies import (
    GROUP,
    answer_json,
    check_fusion_name,
    media_type,
    parse,
    parse_groups,
    path_name,
    query_number,
    run_for_cells,
    split_lines,
)
from linmax.service.http.events import EventStreams
from linmax.service.http.guard import read_body
from linmax.service.http.metrics import ServiceMetrics
from linmax.service.http.next_expert import Found, answer_questions, read_questions, write_found
from linmax.service.messages.answer_runs import Run, count_cells, to_lines
from linmax.service.messages.answers import PredictAnswer
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import (
    ChangeRequest,
    ExcludeRequest,
    FusionSettings,
    LabelRequest,
    LearnRequest,
    PredictRequest,
    RollbackRequest,
    TokenRequest,
)
from linmax.service.tokens import REVOKE, Token, TokenStore, new_token, require_scope

Submitted = tuple[BatchRows, list[Done]]
T = TypeVar("T")


class Endpoints:
    """What the server answers; a base class of `Service`, which has the attributes."""

    database: Database
    tokens: TokenStore
    panels: ServedPanels
    items: Items
    singles: SingleRequests
    amendments: Amendments
    reader: ItemReader
    histories: Histories
    streams: EventStreams
    metrics: ServiceMetrics
    ready: bool

    async def _with_panel(self, name: str, work: Callable[[ServedPanel], Awaitable[T]]) -> T:
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
        check_fusion_name(name)
        settings = parse(body or b"{}", FusionSettings)
        self.database.check_writable()
        panel, new = await self.panels.create(name, settings, token.name)
        return answer_json(await self.panels.describe(panel), 201 if new else 200)

    async def change(self, request: Request, token: Token) -> Response:
        """Change the limits of a fusion."""
        name = path_name(request)
        require_scope(token, "admin", name)
        body = await read_body(request)
        parse(body, ChangeRequest)
        given = msgspec.json.decode(body)["limits"]
        self.database.check_writable()
        await self._with_panel(name, lambda panel: self.panels.change_limits(panel, given, token.name))
        return answer_json(await self._with_panel(name, self.panels.describe))

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
        await self._with_panel(name, lambda panel: self.panels.delete(panel, token.name))
        return Response(status_code=204)

    async def weights(self, request: Request, token: Token) -> Response:
        """Return the weight of every sub-expert."""
        name = path_name(request)
        require_scope(token, "read", name)

        async def work(panel: ServedPanel) -> Any:
            async with panel.lock:
                return await asyncio.to_thread(panel.fusion.weight_table)

        rows = await self._with_panel(name, work)
        return answer_json({"weights": [row._asdict() for row in rows]})

    async def model(self, request: Request, token: Token) -> Response:
        """Return the model as a file that `linmax.load` reads."""
        name = path_name(request)
        require_scope(token, "read", name)

        async def work(panel: ServedPanel) -> bytes:
            async with panel.lock:
                return await asyncio.to_thread(to_bytes, panel.fusion)

        content = await self._with_panel(name, work)
        return Response(
            content,
            media_type="application/octet-stream",
            headers={"content-disposition": f'attachment; filename="{name}.linmax"'},
        )

    async def upload(self, request: Request, token: Token) -> Response:
        """Make a model file the state of a fusion."""
        name = path_name(request)
        require_scope(token, "admin", name)
        content = await read_body(request)
        self.database.check_writable()
        await self._with_panel(name, lambda panel: upload(self.panels, panel, content, token.name))
        return answer_json(await self._with_panel(name, self.panels.describe))

    # --- items

    def predict(self, request: Request, token: Token) -> Awaitable[Response]:
        """Predict an item, or a batch of them."""
        return self._process(request, token, "predict", PredictRequest)

    def label(self, request: Request, token: Token) -> Awaitable[Response]:
        """Learn the label of an item that was predicted, or those of a batch."""
        return self._process(request, token, "label", LabelRequest)

    def learn(self, request: Request, token: Token) -> Awaitable[Response]:
        """Learn an item with its label, or a batch of them."""
        return self._process(request, token, "learn", LearnRequest)

    async def _process(self, request: Request, token: Token, scope: str, kind: Any) -> Response:
        name = path_name(request)
        require_scope(token, scope, name)
        panel = await self.panels.open(name)
        limit = panel.settings.limits.item_bytes
        media = media_type(request)
        if media == NDJSON:
            return await self._process_lines(request, token, kind, limit)
        if media == ARROW:
            return await self._process_table(request, token, kind, limit)
        item = parse(await read_body(request, limit), kind)
        try:
            answer = await self.singles.process(panel, item, token)
        except PanelClosedError:
            answer = await self._with_panel(name, lambda panel: self.singles.process(panel, item, token))
        if isinstance(item, PredictRequest) and isinstance(answer, PredictAnswer) and item.explain:
            found = answer

            async def explain(panel: ServedPanel) -> Any:
                if found.stored and found.version != panel.version:  # a repeated request
                    return (await self.reader.describe(panel, found.id, "then")).explanation
                return await self.reader.explain(panel, item.votes, item.attributes)

            answer.explanation = await self._with_panel(name, explain)
        return answer_json(answer)

    async def _process_lines(self, request: Request, token: Token, kind: Any, limit: int) -> Response:
        """Answer a batch of items with a line for each; a bad line does not concern the others."""
        lines = split_lines(await read_body(request))
        parsed: list[Any] = []  # errors, and None for items

        async def groups() -> AsyncIterator[BatchRows]:
            async for group in parse_groups(lines, kind, limit):
                items = [item for item in group if not isinstance(item, ServiceError)]
                parsed.extend(item if isinstance(item, ServiceError) else None for item in group)
                if items:
                    yield JsonItems(items)

        name = path_name(request)
        runs = await self._wait_for_groups(name, await self._submit_groups(name, groups(), token), token)
        content = await run_for_cells(sum(map(count_cells, runs)), _join_lines, runs, parsed)
        return Response(content, media_type=NDJSON)

    async def _process_table(self, request: Request, token: Token, kind: Any, limit: int) -> Response:
        """Answer a table of items with a row for each; a bad row does not concern the others."""
        body = await read_body(request)
        table = await run_for_cells(len(body) // BYTES_PER_CELL, read_stream, body)
        cells = table.num_rows * (table.num_columns + 8)  # a row takes time, too
        rows = await run_for_cells(cells, ArrowRows, table, kind, limit)
        name = path_name(request)
        submitted = await self._submit_groups(name, rows.groups(GROUP), token)
        likely = [run for _, done in submitted for _, run in done]
        content, runs = await asyncio.gather(  # the answers are written as bytes while the log is
            run_for_cells(sum(map(count_cells, likely)), write_answers, likely, kind),
            self._wait_for_groups(name, submitted, token),
        )
        if list(map(id, runs)) != list(map(id, likely)):  # some of the items could not be stored
            content = await asyncio.to_thread(write_answers, runs, kind)
        return Response(content, media_type=ARROW)

    async def _submit_groups(
        self, name: str, groups: AsyncIterator[BatchRows], token: Token
    ) -> list[Submitted]:
        """Process groups of rows one after the other; their answers are true when they are on disk."""
        submitted, came = list[Submitted](), time.monotonic()
        async for rows in groups:

            async def submit(panel: ServedPanel, rows: BatchRows = rows) -> Any:
                return await self.items.submit(panel, rows, token, came)

            submitted.append((rows, await self._with_panel(name, submit)))
            await asyncio.sleep(0)  # others have their turn
        return submitted

    async def _wait_for_groups(self, name: str, submitted: list[Submitted], token: Token) -> list[Run]:
        """Wait until groups of rows are on disk, and return their answers."""
        runs: list[Run] = []
        for rows, done in submitted:
            try:
                runs += await self.items.wait(rows, done)
            except PanelClosedError:
                runs += await self._with_panel(name, self._processing(rows, token))
        return runs

    def _processing(self, rows: BatchRows, token: Token) -> Callable[[ServedPanel], Awaitable[Any]]:
        return lambda panel: self.items.process(panel, rows, token)

    async def next_expert(self, request: Request, token: Token) -> Response:
        """Say whom to ask next about an item, or about each of a batch; null if its prediction is settled."""
        name = path_name(request)
        require_scope(token, "predict", name)
        limit = (await self.panels.open(name)).settings.limits.item_bytes
        found: Found = []
        async for questions in read_questions(request, limit):
            some: Found = []
            await self._with_panel(name, partial(answer_questions, self.panels, request, questions, some))
            found += some
        return await write_found(found, media_type(request))

    async def item(self, request: Request, token: Token) -> Response:
        """Return what is known about an item."""
        name = path_name(request)
        require_scope(token, "read", name)
        id_, explain = request.path_params["id"], request.query_params.get("explain")
        return answer_json(
            await self._with_panel(name, lambda panel: self.reader.describe(panel, id_, explain))
        )

    async def history(self, request: Request, token: Token) -> Response:
        """Return mistakes over time."""
        name = path_name(request)
        require_scope(token, "read", name)
        points = query_number(request, "points", 200, 2, MAX_POINTS)
        return answer_json(await self._with_panel(name, lambda panel: self.histories.answer(panel, points)))

    async def events(self, request: Request, token: Token) -> Response:
        """Stream the events of a fusion as they happen."""
        name = path_name(request)
        require_scope(token, "read", name)
        self.streams.check_room()
        position = self.streams.first_position(request.headers.get("last-event-id"))
        number = (await self.panels.open(name)).number
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        return StreamingResponse(
            self.streams.follow(number, position, request.scope["linmax.valid"]),
            media_type="text/event-stream",
        )

    # --- amendments

    async def exclude(self, request: Request, token: Token) -> Response:
        """Take back what was learned from some items: by id, by who taught it, or by time."""
        chosen = await self._amendment(request, token, ExcludeRequest)
        if chosen == ExcludeRequest():
            raise ServiceError(422, "no_choice", "say what to exclude: ids, actor, from or until")
        return await self._amend(request, lambda panel: self.amendments.exclude(panel, chosen, token.name))

    async def rollback(self, request: Request, token: Token) -> Response:
        """Go back to the state after an event in the log."""
        wanted = await self._amendment(request, token, RollbackRequest)
        return await self._amend(
            request, lambda panel: self.amendments.rollback(panel, wanted.position, token.name)
        )

    async def _amendment(self, request: Request, token: Token, kind: type[T]) -> T:
        require_scope(token, "admin", path_name(request))
        wanted = parse(await read_body(request), kind)
        self.database.check_writable()
        return wanted

    async def _amend(
        self, request: Request, work: Callable[[ServedPanel], Awaitable[dict[str, int]]]
    ) -> Response:
        return answer_json(await self._with_panel(path_name(request), work))

    # --- tokens

    async def list_tokens(self, request: Request, token: Token) -> Response:
        """List the tokens; their texts are not stored."""
        require_scope(token, "admin", None)
        listed = [{"token": one.number, **one.describe()} for one in self.tokens.list()]
        return answer_json({"tokens": listed})

    async def create_token(self, request: Request, token: Token) -> Response:
        """Create a token that has no more rights than the one that asks for it."""
        require_scope(token, "admin", None)
        wanted = parse(await read_body(request), TokenRequest)
        if not token.covers(wanted.scopes, wanted.fusions):
            raise ServiceError(
                403, "too_many_rights", "a token cannot create one with more rights than its own"
            )
        if token.ends is not None and (wanted.days is None or time.time() + wanted.days * 86400 > token.ends):
            raise ServiceError(
                403, "too_many_rights", "a token cannot create one that ends later than itself"
            )
        self.tokens.check_name(wanted.name)
        self.database.check_writable()
        text, statement = new_token(wanted.name, wanted.scopes, wanted.fusions, wanted.days)
        _, event = self.panels.event(0, TOKEN_CREATED, token.name, None, None, wanted)
        with self.tokens.reserved(wanted.name):
            await self.panels.submit([event, statement])
        self.tokens.reload()
        made = [one for one in self.tokens.list() if one.name == wanted.name][-1]
        return answer_json({"token": text, **made.describe()}, 201)

    async def revoke_token(self, request: Request, token: Token) -> Response:
        """Revoke a token."""
        require_scope(token, "admin", None)
        number = request.path_params["number"]
        if number not in {one.number for one in self.tokens.list()}:
            raise ServiceError(404, "unknown_token", f"there is no token {number}; GET /v1/tokens lists them")
        self.database.check_writable()
        _, event = self.panels.event(0, TOKEN_REVOKED, token.name, None, None, {"token": number})
        await self.panels.submit([event, (REVOKE, (time.time(), number))])
        self.tokens.reload()
        return Response(status_code=204)


def _join_lines(runs: list[Run], errors: list[ServiceError | None]) -> bytes:
    """Return a line for each item of a batch: its answer, or the error of a line that is no request."""
    done = chain.from_iterable(map(to_lines, runs))
    shown = [next(done) if error is None else to_lines([error])[0] for error in errors]
    return b"\n".join([*shown, b""])
