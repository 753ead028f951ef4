"""How both clients read answers; what is not an answer of linmax is an error."""

from __future__ import annotations

import json
from typing import Any

from linmax.client.errors import ClientError
from linmax.client.requests import ARROW, FILE, NDJSON, NOTHING, Call, arrow_ipc
from linmax.validation import count_noun, require_extra


def read_answer(request: Call, answer: Any) -> Any:
    """Return what an answer says.

    Parameters
    ----------
    request
        The request.
    answer
        The response of httpx.

    Raises
    ------
    ClientError
        If the answer is an error, a redirection, or not one of linmax.
    """
    status, content = answer.status_code, answer.content
    if status >= 400:
        raise read_error(status, content)
    if status >= 300:
        raise _redirection(status, answer.headers.get("location"))
    if request.reads == NOTHING:
        if status != 204:
            raise _foreign(status, "where 204 is expected")
        return None
    found = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if found != request.reads:
        raise _foreign(status, f"with {found[:100] or 'no type'} where {request.reads} is expected")
    if request.reads == NDJSON:
        lines = [line for line in content.splitlines() if line.strip()]
        return _read_batch(request, status, [_object(status, line) for line in lines])
    if request.reads == ARROW:
        return _read_table(request, status, content)
    if not content:
        raise _foreign(status, "with nothing")
    return content if request.reads == FILE else _object(status, content)


def _read_batch(request: Call, status: int, answers: list[Any]) -> list[Any]:
    """Return an answer for each item, also for those that were not sent."""
    _check_count(request, status, len(answers))
    received = iter(answers)
    return [next(received) if error is None else error for error in request.items]


def _read_table(request: Call, status: int, content: bytes) -> Any:
    pyarrow = require_extra("pyarrow", "service", "a batch of tables")
    try:
        table = arrow_ipc().open_stream(content).read_all()
    except (pyarrow.ArrowException, OSError):
        raise _foreign(status, "with an Arrow stream that cannot be read") from None
    _check_count(request, status, len(table))
    return table


def _check_count(request: Call, status: int, found: int) -> None:
    sent = list(request.items).count(None)
    if found != sent:
        raise _foreign(status, f"with {count_noun(found, 'answer')} to {count_noun(sent, 'item')}")


def _object(status: int, content: bytes) -> Any:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _foreign(status, "with what is not a JSON object")
    return value


def _redirection(status: int, location: str | None) -> ClientError:
    if not location:
        return _foreign(status, "without an address")
    return ClientError(
        status,
        "redirected",
        f"the server, or a proxy, has answered {status} and points to {location[:200]}; use that address",
    )


def _foreign(status: int, how: str) -> ClientError:
    return ClientError(
        status,
        "no_linmax_answer",
        f"the server, or a proxy, has answered {status} {how}, which linmax does not; check the address",
    )


def read_error(status: int, content: bytes) -> ClientError:
    """Return the error of an answer, also of one that a proxy has written."""
    try:
        error = json.loads(content)["error"]
        return ClientError(status, str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return ClientError(status, "no_linmax_error", f"the server, or a proxy, has answered {status}")
