"""Logs of the server on standard error: lines of text, or a JSON object per line.

Neither votes nor tokens are logged, nor the ids of items: a request is named by its endpoint, its fusion and
the name of its token, and an exception by its type and the lines of code that it passed.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
import traceback
from typing import Any, TextIO

FORMATS, LEVELS = ("text", "json"), ("error", "warning", "info")
LOGGERS = ("linmax.service", "uvicorn")
FIELDS = ("method", "endpoint", "fusion", "token", "status", "milliseconds")
requests = logging.getLogger("linmax.service.requests")


class JsonFormatter(logging.Formatter):
    """Formats a record as a line of JSON.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "request", "levelname": "INFO", "created": 0.5, "status": 200})
    >>> JsonFormatter().format(record)
    '{"time": "1970-01-01T00:00:00.500Z", "level": "info", "message": "request", "status": 200}'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": _time(record), "level": record.levelname.lower(), "message": record.getMessage(),
        }  # fmt: skip
        line |= {name: vars(record)[name] for name in FIELDS if name in vars(record)}
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["traceback"] = _places(record)
        return json.dumps(line)


class TextFormatter(logging.Formatter):
    """Formats a record as a line of text; of an exception, its type and the lines of code follow.

    Examples
    --------
    >>> record = logging.makeLogRecord({"msg": "request", "levelname": "INFO", "created": 0.5, "status": 200})
    >>> TextFormatter().format(record)
    '1970-01-01T00:00:00.500Z info request status=200'
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        words = [_time(record), record.levelname.lower(), record.getMessage()]
        words += [f"{name}={vars(record)[name]}" for name in FIELDS if vars(record).get(name) is not None]
        line = " ".join(words)
        if record.exc_info and record.exc_info[0] is not None:
            line += "\n".join([f" ({record.exc_info[0].__name__})", *_places(record)])
        return line


def _time(record: logging.LogRecord) -> str:
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{moment}.{int(record.created * 1000) % 1000:03}Z"


def _places(record: logging.LogRecord) -> list[str]:
    """Return where an exception was; its message may have values of an item."""
    assert record.exc_info is not None
    frames = traceback.extract_tb(record.exc_info[2])
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _shorten(record: logging.LogRecord) -> bool:
    """Let a request that was cut off when the server stopped be one line: it is no fault of the code."""
    if record.exc_info and record.exc_info[0] is asyncio.CancelledError:
        record.msg, record.args = "a request was cut off, since the server stops", ()
        record.levelno, record.levelname, record.exc_info = logging.WARNING, "WARNING", None
    return True


def configure(form: str = "text", level: str = "warning", stream: TextIO | None = None) -> None:
    """Write the logs of the server; those of other libraries stay as they are.

    Parameters
    ----------
    form
        "text" or "json".
    level
        "error", "warning" or "info", which includes every request.
    stream
        Where to; None is standard error.
    """
    if form not in FORMATS:
        raise ValueError(f"the format of logs should be {' or '.join(FORMATS)} (got {form!r})")
    if level not in LEVELS:
        raise ValueError(
            f"the level of logs should be {', '.join(LEVELS[:-1])} or {LEVELS[-1]} (got {level!r})"
        )
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.addFilter(_shorten)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper() if name != "uvicorn" else "WARNING")


def log_request(scope: Any, status: int, seconds: float) -> None:
    """Log a request that was answered.

    Parameters
    ----------
    scope
        Its ASGI scope.
    status
        The status of the answer.
    seconds
        How long it took.
    """
    endpoint, token = scope.get("endpoint"), scope.get("linmax.token")
    fields = {
        "method": scope["method"], "endpoint": getattr(endpoint, "__name__", None),
        "fusion": scope.get("path_params", {}).get("name"), "token": token and token.name,
        "status": status, "milliseconds": round(1000.0 * seconds, 3),
    }  # fmt: skip
    requests.info("request", extra=fields)
