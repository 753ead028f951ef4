"""The OpenAPI document, made from the structures of the requests, and a page that shows it."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from linmax.client.requests import ARROW, FILE, NDJSON
from linmax.service.fusions.history import MAX_POINTS
from linmax.service.fusions.item_info import EXPLAIN
from linmax.service.messages import answers
from linmax.service.messages import requests as messages


class Operation(NamedTuple):
    """One operation of the interface."""

    method: str
    path: str
    scope: str
    summary: str
    request: Any = None
    answer: Any = None
    query: tuple[tuple[str, dict[str, Any]], ...] = ()
    media: tuple[str, ...] = ()  # of bodies that are not one JSON object
    answered: str = "application/json"
    status: int = 200


SSE = "text/event-stream"
BATCHES = (NDJSON, ARROW)
NAMED = "/v1/fusions/{name}"
OPERATIONS = [
    Operation("get", "/healthz", "", "Whether the process lives."),
    Operation("get", "/readyz", "", "Whether requests are served and written."),
    Operation("get", "/metrics", "read", "Metrics in the format of Prometheus."),
    Operation("get", "/v1/fusions", "read", "The names of the fusions."),
    Operation("put", NAMED, "admin", "Create a fusion.", messages.FusionSettings, answers.FusionInfo),
    Operation("get", NAMED, "read", "Describe a fusion.", None, answers.FusionInfo),
    Operation(
        "patch",
        NAMED,
        "admin",
        "Change the limits of a fusion.",
        messages.ChangeRequest,
        answers.FusionInfo,
    ),
    Operation("delete", NAMED, "admin", "Delete a fusion.", status=204),
    Operation(
        "post",
        NAMED + "/predict",
        "predict",
        "Predict an item.",
        messages.PredictRequest,
        answers.PredictAnswer,
        media=BATCHES,
    ),
    Operation(
        "post",
        NAMED + "/labels",
        "label",
        "Learn the label of an item.",
        messages.LabelRequest,
        answers.LabelAnswer,
        media=BATCHES,
    ),
    Operation(
        "post",
        NAMED + "/learn",
        "learn",
        "Learn an item and its label.",
        messages.LearnRequest,
        answers.LabelAnswer,
        media=BATCHES,
    ),
    Operation(
        "get",
        NAMED + "/items/{id}",
        "read",
        "What is known about an item.",
        None,
        answers.ItemInfo,
        (("explain", {"type": "string", "enum": list(EXPLAIN)}),),
    ),
    Operation(
        "get",
        NAMED + "/history",
        "read",
        "Mistakes over time.",
        None,
        answers.HistoryAnswer,
        (("points", {"type": "integer", "minimum": 2, "maximum": MAX_POINTS, "default": 200}),),
    ),
    Operation(
        "post",
        NAMED + "/next-expert",
        "predict",
        "Whom to ask next.",
        messages.NextExpertRequest,
        answers.NextExpertAnswer,
        media=BATCHES,
    ),
    Operation("get", NAMED + "/weights", "read", "The weight of every sub-expert."),
    Operation("get", NAMED + "/model", "read", "The model as a file.", answered=FILE),
    Operation(
        "put",
        NAMED + "/model",
        "admin",
        "Make a model file the state of the fusion.",
        None,
        answers.FusionInfo,
        media=(FILE,),
    ),
    Operation(
        "get", NAMED + "/events", "read", "The events as they happen (server-sent events).", answered=SSE
    ),
    Operation(
        "post",
        NAMED + "/exclude",
        "admin",
        "Exclude what was learned from some items.",
        messages.ExcludeRequest,
    ),
    Operation(
        "post",
        NAMED + "/rollback",
        "admin",
        "Roll back to the state after an event.",
        messages.RollbackRequest,
    ),
    Operation("get", "/v1/tokens", "admin", "The tokens."),
    Operation("post", "/v1/tokens", "admin", "Create a token.", messages.TokenRequest, status=201),
    Operation("delete", "/v1/tokens/{number}", "admin", "Revoke a token.", status=204),
]


@cache
def build() -> dict[str, Any]:
    """Return the OpenAPI document."""
    from linmax import __version__

    kinds = {kind for operation in OPERATIONS for kind in (operation.request, operation.answer) if kind}
    ordered = [*sorted(kinds, key=lambda kind: kind.__name__), answers.Problem]
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    by_kind = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        entry: dict[str, Any] = {
            "summary": operation.summary,
            "operationId": f"{operation.method} {operation.path}",
            "responses": {
                str(operation.status): _answer(operation, by_kind),
                "default": _content(by_kind[answers.Problem], "An error.", "application/problem+json"),
            },
        }
        if operation.scope:
            entry["security"] = [{"token": []}]
            entry["description"] = f"Needs the scope `{operation.scope}`."
        else:
            entry["security"] = []
        parameters = [part[1:-1] for part in operation.path.split("/") if part.startswith("{")]
        optional = [{"name": name, "in": "query", "schema": schema} for name, schema in operation.query]
        if parameters or optional:
            entry["parameters"] = [*map(_parameter, parameters), *optional]
        if operation.request is not None or operation.media:
            entry["requestBody"] = {"required": True, "content": _bodies(operation, by_kind)}
        paths.setdefault(operation.path, {})[operation.method] = entry
    return {
        "openapi": "3.1.0",
        "info": {"title": "linmax", "version": __version__, "description": "Learn whom to trust, over HTTP."},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _content(schema: Any, description: str, media: str = "application/json") -> dict[str, Any]:
    return {"description": description, "content": {media: {"schema": schema}}}


def _answer(operation: Operation, by_kind: dict[Any, Any]) -> dict[str, Any]:
    if operation.status == 204:
        return {"description": "Done."}
    answer = _content(
        by_kind[operation.answer] if operation.answer else {}, "The answer.", operation.answered
    )
    if operation.media == BATCHES:
        answer["content"] |= {media: {"schema": {}} for media in BATCHES}
    return answer


def _bodies(operation: Operation, by_kind: dict[Any, Any]) -> dict[str, Any]:
    """Return the forms of the body: one object, or a batch of them, or a file."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    bodies: dict[str, Any] = {media: binary for media in operation.media}
    if operation.request is not None:
        bodies = _content(by_kind[operation.request], "")["content"] | bodies
    return bodies


def _parameter(name: str) -> dict[str, Any]:
    kind = "integer" if name == "number" else "string"
    return {"name": name, "in": "path", "required": True, "schema": {"type": kind}}


async def document(request: Request) -> Response:
    """Return the document."""
    return Response(msgspec.json.encode(build()), media_type="application/json")


async def page(request: Request) -> Response:
    """Return a page that lists all operations; it needs no script and no network."""
    rows = []
    for one in OPERATIONS:
        fields = () if one.request is None else msgspec.structs.fields(one.request)
        cells = (
            one.method.upper(),
            f"<code>{escape(one.path)}</code>",
            f"<code>{one.scope}</code>" if one.scope else "",
            escape(one.summary) + (" Also for batches." if one.media == BATCHES else ""),
            ", ".join(field.encode_name for field in fields),
        )
        rows.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>linmax: HTTP interface</title>'
        '<link rel="stylesheet" href="/docs/page.css"></head><body><h1>HTTP interface of linmax</h1>'
        "<p>Pass a token in the header <code>Authorization: Bearer lmx_...</code>. The complete"
        f' description is <a href="/openapi.json">openapi.json</a>. Batches are {" or ".join(BATCHES)}.</p>'
        "<table><thead><tr><th>method</th><th>path</th><th>scope</th>"
        f"<th>what it does</th><th>fields of the request</th></tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table></body></html>"
    )
    return Response(text, media_type="text/html")


async def style(request: Request) -> Response:
    """Return the style of the page."""
    css = (
        "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;"
        "color-scheme:light dark}table{border-collapse:collapse;width:100%}"
        "td,th{padding:.4rem .6rem;border-bottom:1px solid"
        " #8884;text-align:left;vertical-align:top}code{font-size:.9em}"
    )
    return Response(css, media_type="text/css")
