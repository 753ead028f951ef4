"""What both clients send, with the values that a session accepts, and when they try again."""

from __future__ import annotations

import json
import math
import random
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np

from linmax.client.errors import ClientError, bad_request, to_problem
from linmax.inputs.names import to_label
from linmax.validation import require_extra

RETRIED = frozenset({408, 429, 502, 503, 504, 507})
ATTEMPTS = 11  # with the pauses below, they take 16 to 31 seconds
FIRST_PAUSE, LONGEST_PAUSE, LONGEST_RETRY_AFTER = 0.1, 5.0, 30.0  # seconds
JSON, NDJSON = "application/json", "application/x-ndjson"
ARROW, FILE = "application/vnd.apache.arrow.stream", "application/octet-stream"
NOTHING = ""
STORING = frozenset({"predict", "learn"})  # requests for new items


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
        a file, or nothing.
    items : sequence
        For each item of a batch None, or the error because of which it is not sent.
    """

    method: str
    path: str
    body: bytes | None = None
    sends: str = JSON
    reads: str = JSON
    items: Sequence[Any] = ()

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
    >>> call("GET", "fusions", "spam", "items", "..").path
    '/v1/fusions/spam/items/%2E%2E'
    """
    path = "/v1/" + "/".join(map(_quote, parts))
    if query:
        path += "?" + urlencode(query)
    return Call(method, path, None if body is None else to_json(body).encode())


def fusion_call(method: str, name: str, *parts: str, **options: Any) -> Call:
    """Return a request for a fusion.

    >>> fusion_call("GET", "")
    Traceback (most recent call last):
    linmax.client.errors.ClientError: a fusion cannot be called ''; use at most 100 letters, ...
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise ClientError(
            422,
            "bad_name",
            f"a fusion cannot be called {repr(name)[:100]}; use at most 100 letters, digits, dots, dashes and"
            " underscores, with a letter or digit first",
        )
    return call(method, "fusions", name, *parts, **options)


def _quote(part: str) -> str:
    """Return a part of a path; one of dots only would be taken for a folder."""
    if not isinstance(part, str) or not part:
        raise bad_request(f"an id should be text of 1 to 200 characters (got {repr(part)[:100]})")
    try:
        quoted = quote(part, safe="")
    except UnicodeEncodeError:
        raise bad_request(
            f"{ascii(part)[:100]} has half of a pair of surrogates, which is no character; leave it out"
        ) from None
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def batch(name: str, verb: str, items: Iterable[Any]) -> Call:
    """Return the request of a batch; items that are stored get an id if they have none.

    Parameters
    ----------
    name
        The fusion.
    verb
        The end of the path.
    items
        The items; one that is no dict is sent as it is, since the server answers it with its error.
    """
    request = fusion_call("POST", name, verb)
    lines: list[str] = []
    errors: list[Any] = []
    for item in items:
        try:
            lines.append(_line(verb, item))
            errors.append(None)
        except ClientError as error:
            errors.append(to_problem(error))
    content = "".join(line + "\n" for line in lines).encode()
    return request._replace(body=content, sends=NDJSON, reads=NDJSON, items=errors)


def _line(verb: str, item: Any) -> str:
    if not isinstance(item, Mapping):
        return to_json(item)
    made = to_item(item)
    return to_json({"id": new_id(), **made} if verb in STORING and "id" not in made else made)


def table_batch(name: str, verb: str, table: Any) -> Call:
    """Return the request of a batch in columns; rows that are stored get an id if they have none."""
    pyarrow = require_extra("pyarrow", "service", "a batch of tables")
    if not isinstance(table, pyarrow.Table):
        table = _to_arrow(pyarrow, table)
    if verb in STORING and "id" not in table.column_names:
        ids = pyarrow.array([new_id() for _ in range(len(table))], pyarrow.string())
        table = table.append_column("id", ids)
    elif verb in STORING and table.column_names.count("id") == 1 and table["id"].null_count:
        ids = [new_id() if id_ is None else id_ for id_ in table["id"].to_pylist()]
        table = table.set_column(table.column_names.index("id"), "id", pyarrow.array(ids))
    body = pyarrow.BufferOutputStream()
    with arrow_ipc().new_stream(body, table.schema) as stream:
        stream.write_table(table)
    content = body.getvalue().to_pybytes()
    request = fusion_call("POST", name, verb)
    return request._replace(body=content, sends=ARROW, reads=ARROW, items=[None] * len(table))


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


def arrow_ipc() -> Any:
    """Return the module of pyarrow for streams."""
    return require_extra("pyarrow.ipc", "service", "a batch of tables")


def without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields that are given.

    >>> without_none(votes={"ann": "x"}, attributes=None)
    {'votes': {'ann': 'x'}}
    """
    return {name: value for name, value in fields.items() if value is not None}


def pause_before(attempt: int, retry_after: str | None) -> float:
    """Return for how many seconds to wait before another attempt; the server may ask for a longer pause.

    >>> pause_before(0, "7"), 0.05 <= pause_before(0, None) <= 0.1, pause_before(50, None) <= 5
    (7.0, True, True)
    """
    pause = min(FIRST_PAUSE * 2.0 ** min(attempt, 20), LONGEST_PAUSE) * random.uniform(0.5, 1.0)
    if retry_after is not None and retry_after.isdecimal():
        return max(pause, min(float(retry_after), LONGEST_RETRY_AFTER))
    return pause


UNCHANGED = frozenset({str, int, bool, dict, type(None)})
CLASSES = ("label", "replaces")


def to_json(value: Any) -> str:
    """Return a value as JSON; scalars of numpy are numbers, text and truth values.

    Parameters
    ----------
    value
        What is sent.

    Raises
    ------
    ClientError
        If JSON has no such value.

    Examples
    --------
    >>> to_json({"a": np.int64(1), "b": {np.int64(2): np.float32(0.5)}})
    '{"a": 1, "b": {"2": 0.5}}'
    >>> to_json({"a": {"x": float("nan")}})
    Traceback (most recent call last):
    linmax.client.errors.ClientError: nan is not a finite number, which JSON needs; ...
    """
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        pass  # found out below, value by value
    try:
        return json.dumps(_to_plain(value), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise bad_request(f"the request cannot be written as JSON ({error}); send a smaller value") from None


def _to_plain(value: Any) -> Any:
    """Return a value with dicts, lists and scalars of Python only."""
    if isinstance(value, Mapping):
        return {_to_scalar(key): _to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(one) for one in value]
    return _to_scalar(value)


def _to_scalar(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Enum):
        return _to_scalar(value.value)
    if isinstance(value, float) and not math.isfinite(value):
        raise bad_request(f"{value} is not a finite number, which JSON needs; leave it out or replace it")
    if value is None or isinstance(value, str | int | float):
        return value
    raise bad_request(
        f"{repr(value)[:100]} ({type(value).__name__}) cannot be written as JSON; use text, numbers, truth"
        " values, None, lists and dicts"
    )


def to_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item with its classes as the server reads them: NaN abstains, and 1.0 is the class 1.

    Parameters
    ----------
    item
        With some of the fields votes, label and replaces.

    Examples
    --------
    >>> to_item({"votes": {"ann": float("nan"), "bob": 1.0}, "label": np.int64(1)})
    {'votes': {'ann': None, 'bob': 1}, 'label': 1}
    """
    made = dict(item)
    votes = made.get("votes")
    if isinstance(votes, Mapping):
        made["votes"] = {expert: _to_class(vote) for expert, vote in votes.items()}
    for field in CLASSES:
        if field in made:
            made[field] = _to_class(made[field])
    return made


def _to_class(value: Any) -> Any:
    if type(value) in UNCHANGED:
        return value
    try:
        return to_label(value, "votes")
    except ValueError:
        return value  # the server says what is wrong with it
