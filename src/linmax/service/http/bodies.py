"""The bodies of requests and answers: JSON, or a line of JSON for each item of a batch."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import NO_CONTROL, PredictRequest, fusion_name_fault

FEW_CELLS = 50_000  # of a batch that takes too little time for a thread of its own
BYTES_OF_VOTE = 16  # in JSON, about
MAX_LINES = 10_000
GROUP = 1000  # items of a batch that are processed before others have their turn
JSON = b"content-type", b"application/json"
T = TypeVar("T")


class JsonResponse(Response):
    """An answer with JSON; its headers are always the same.

    Parameters
    ----------
    content
        What is encoded.
    status
        The status.
    """

    def __init__(self, content: Any, status: int = 200) -> None:
        self.status_code = status
        self.background = None
        self.body = msgspec.json.encode(content)
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), JSON]


def answer_json(content: Any, status: int = 200) -> Response:
    """Return an answer with JSON."""
    return JsonResponse(content, status)


async def answer_problem(request: Request, error: Exception) -> Response:
    """Return an error as an answer."""
    headers = {}
    if isinstance(error, HTTPException):
        headers = dict(error.headers or {})  # the methods that are allowed
        codes = {404: "unknown_path", 405: "wrong_method"}
        code = codes.get(error.status_code, "bad_request")
        message = f"{request.method} {request.url.path[:200]} is not possible; /docs lists what is"
        error = ServiceError(error.status_code if error.status_code in codes else 400, code, message)
    assert isinstance(error, ServiceError)
    if error.retry_after is not None:
        headers["retry-after"] = str(error.retry_after)
    content = msgspec.json.encode(error.problem())
    return Response(content, error.status, headers, "application/problem+json")


def check_fusion_name(name: str) -> None:
    """Refuse what cannot be the name of a fusion.

    >>> check_fusion_name("spam/ham")
    Traceback (most recent call last):
    linmax.service.messages.errors.ServiceError: a fusion cannot be called 'spam/ham'; use ...
    """
    fault = fusion_name_fault(name)
    if fault:
        raise ServiceError(422, "bad_name", fault)


def parse(body: bytes, kind: type[T]) -> T:
    """Return a request; a sentence says what is wrong with it."""
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        what = str(error).replace(f"`str` matching regex {NO_CONTROL!r}", "text without control characters")
        raise ServiceError(422, "bad_request", f"the request is not as expected: {what}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ServiceError(400, "bad_json", f"the body is not JSON: {_fault(body, error)}") from None


def _fault(body: bytes, error: Exception) -> str:
    """Return why a body is not JSON; msgspec says of some that they are truncated."""
    if "truncated" not in str(error):
        return str(error)
    if not body.strip():
        return "it is empty"
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return "it ends too early"
    return "a text in it has half of a pair of surrogates (\\ud800 to \\udfff), which is no character"


def parse_lines(lines: list[bytes], kind: type[T], limit: int) -> list[T | ServiceError]:
    """Return the items of the lines of a batch, or what is wrong with each."""
    try:
        if max(map(len, lines)) <= limit:
            items = list(map(msgspec.json.Decoder(kind).decode, lines))
            if not any(getattr(item, "explain", False) for item in items):
                return list(items)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        pass  # one of the lines is to blame
    return [_parse_line(line, kind, limit) for line in lines]


async def parse_groups(
    lines: list[bytes], kind: type[T], limit: int
) -> AsyncIterator[list[T | ServiceError]]:
    """Yield the items of a batch in groups, or what is wrong with each.

    Parameters
    ----------
    lines
        The lines of the batch.
    kind
        The structure of an item.
    limit
        Its largest size in bytes.
    """
    for start in range(0, len(lines), GROUP):
        some = lines[start : start + GROUP]
        yield await run_for_cells(sum(map(len, some)) // BYTES_OF_VOTE, parse_lines, some, kind, limit)


def _parse_line(line: bytes, kind: type[T], limit: int) -> T | ServiceError:
    """Return the item of one line of a batch, or what is wrong with it."""
    try:
        if len(line) > limit:
            raise ServiceError(413, "too_large", f"an item may have {limit} bytes")
        item = parse(line, kind)
        if isinstance(item, PredictRequest) and item.explain:
            raise ServiceError(422, "bad_request", "explain is for single items; leave it out of a batch")
        return item
    except ServiceError as error:
        return error


async def run_for_cells(cells: int, function: Callable[..., T], *values: Any) -> T:
    """Call a function that handles so many cells of a batch: in a thread, unless they are few.

    Parameters
    ----------
    cells
        How many values it reads or writes, about.
    function, *values
        The function, and what it is called with.
    """
    return function(*values) if cells <= FEW_CELLS else await asyncio.to_thread(function, *values)


def split_lines(body: bytes) -> list[bytes]:
    """Return the lines of a batch; empty ones do not count."""
    lines = [line for line in body.split(b"\n") if line.strip()]
    if len(lines) > MAX_LINES:
        raise ServiceError(413, "too_large", f"a batch may have {MAX_LINES} lines (got {len(lines)})")
    return lines


def media_type(request: Request) -> str:
    """Return the type of the body of a request, in lower case."""
    found = b""
    for name, value in request.scope["headers"]:
        if name == b"content-type":
            if value == JSON[1]:
                return "application/json"
            found = value
            break
    return found.partition(b";")[0].strip().lower().decode("latin-1")


def path_name(request: Request) -> str:
    """Return the name of the fusion in the path."""
    name: str = request.scope["path_params"]["name"]
    return name


def query_number(request: Request, name: str, default: int, least: int, most: int) -> int:
    """Return a whole number of the query of a request."""
    text = request.query_params.get(name)
    if text is None:
        return default
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else -1
    if not least <= number <= most:
        raise ServiceError(
            422, "bad_request", f"{name} should be a number from {least} to {most} (got {text[:100]!r})"
        )
    return number
