"""Items as JSON, with the values that a session accepts."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from linmax.client.errors import bad_request
from linmax.inputs.names import to_label

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
    linmax.client.errors.ClientError: nan is not a finite number, which JSON needs; leave it out or replace it
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
