"""What both clients send, how they read the answers, and when they try again."""

from __future__ import annotations

import json
import random
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from linmax.validation import require_extra

RETRIED = frozenset({429, 502, 503, 504, 507})
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0  # seconds
JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW, FILE = "application/vnd.apache.arrow.stream", "application/octet-stream"


class ClientError(Exception):
    """A request that the server has refused, or that did not reach it.

    Parameters
    ----------
    status
        The HTTP status; 0 if there was no answer.
    code
        A word for programs, such as "unknown_item"; "no_answer" if there was no answer.
    message
        A sentence for people.

    Examples
    --------
    >>> error = ClientError(404, "unknown_fusion", "there is no fusion 'spam'")
    >>> error.code, str(error)
    ('unknown_fusion', "there is no fusion 'spam'")
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


class Call(NamedTuple):
    """One request.

    Attributes
    ----------
    method, path : str
        The method and the path.
    body : bytes or None
        The body.
    sends, reads : str
        The media types of the body and of the answer: a JSON value, a line of JSON per item, an Arrow stream,
        or a file.
    """

    method: str
    path: str
    body: bytes | None = None
    sends: str = JSON
    reads: str = JSON

    @property
    def headers(self) -> dict[str, str]:
        """Headers for the body."""
        return {} if self.body is None else {"content-type": self.sends}


def new_id() -> str:
    """Return a new id; later ones sort after earlier ones.

    >>> len(new_id()), new_id() != new_id()
    (32, True)
    """
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def call(method: str, *parts: str, body: Any = None, query: Mapping[str, Any] | None = None) -> Call:
    """Return a request; the parts of its path are quoted.

    >>> call("GET", "fusions", "spam", "items", "a/b", query={"explain": "now"}).path
    '/v1/fusions/spam/items/a%2Fb?explain=now'
    """
    path = "/v1/" + "/".join(quote(part, safe="") for part in parts)
    if query:
        path += "?" + urlencode(query)
    return Call(method, path, None if body is None else json.dumps(body, allow_nan=False).encode())


def batch(name: str, verb: str, items: Iterable[Mapping[str, Any]]) -> Call:
    """Return the request of a batch; items without an id get one, except labels, which need it."""
    made = [dict(item) if "id" in item or verb == "labels" else {"id": new_id(), **item} for item in items]
    lines = "".join(json.dumps(item, allow_nan=False) + "\n" for item in made)
    return call("POST", "fusions", name, verb)._replace(body=lines.encode(), sends=NDJSON, reads=NDJSON)


def table_batch(name: str, verb: str, table: Any) -> Call:
    """Return the request of a batch in columns; rows without an id get one, except labels."""
    pyarrow = require_extra("pyarrow", "service", "a batch of tables")
    if not isinstance(table, pyarrow.Table):
        table = _to_arrow(pyarrow, table)
    if "id" not in table.column_names and verb != "labels":
        table = table.append_column("id", pyarrow.array([new_id() for _ in range(len(table))]))
    elif verb != "labels" and table.column_names.count("id") == 1 and table["id"].null_count:
        ids = [new_id() if id_ is None else id_ for id_ in table["id"].to_pylist()]
        table = table.set_column(table.column_names.index("id"), "id", pyarrow.array(ids))
    body = pyarrow.BufferOutputStream()
    with _arrow_ipc().new_stream(body, table.schema) as stream:
        stream.write_table(table)
    content = body.getvalue().to_pybytes()
    return call("POST", "fusions", name, verb)._replace(body=content, sends=ARROW, reads=ARROW)


def _to_arrow(pyarrow: Any, table: Any) -> Any:
    """Return a table as one of pyarrow; an index of pandas is no column, unless it is that of the ids."""
    import narwhals

    if isinstance(table, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([table])
    try:
        frame = narwhals.from_native(table, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a batch is a table of pyarrow, pandas or polars (got {type(table).__name__}); convert it first"
        ) from None
    index = narwhals.maybe_get_index(frame)
    if index is not None and index.name == "id" and "id" not in frame.columns:
        return narwhals.from_native(table.reset_index(), eager_only=True).to_arrow()
    try:
        return narwhals.maybe_reset_index(frame).to_arrow()
    except pyarrow.ArrowException as error:
        reason = str(error.args[-1]).splitlines()[0]
        raise ValueError(
            f"the table cannot be sent ({reason}); give each column values of one type"
        ) from None


def _arrow_ipc() -> Any:
    return require_extra("pyarrow.ipc", "service", "a batch of tables")


def without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that are given.

    >>> without_none(votes={"ann": "x"}, attributes=None)
    {'votes': {'ann': 'x'}}
    """
    return {name: value for name, value in fields.items() if value is not None}


def read_answer(request: Call, status: int, content: bytes) -> Any:
    """Return what an answer says; an error is a ClientError."""
    if status >= 400:
        raise read_error(status, content)
    if request.reads == FILE:
        return content
    if request.reads == ARROW:
        return _arrow_ipc().open_stream(content).read_all()
    if request.reads == NDJSON:
        return [json.loads(line) for line in content.splitlines() if line.strip()]
    return json.loads(content) if content else None


def read_error(status: int, content: bytes) -> ClientError:
    """Return the error of an answer, also of one that a proxy has written."""
    try:
        error = json.loads(content)["error"]
        return ClientError(status, str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return ClientError(status, "no_linmax_error", f"the server, or a proxy, has answered {status}")


def pause_before(attempt: int, retry_after: str | None) -> float:
    """Return for how many seconds to wait before another attempt.

    >>> pause_before(0, "7"), 0.05 <= pause_before(0, None) <= 0.1, pause_before(50, None) <= 30
    (7.0, True, True)
    """
    if retry_after is not None and retry_after.isdigit():
        return min(float(retry_after), LONGEST_PAUSE)
    return min(FIRST_PAUSE * 2.0 ** min(attempt, 20), LONGEST_PAUSE) * random.uniform(0.5, 1.0)
