"""Logs say who did what and how long it took, and have neither votes nor tokens."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linmax.service.http import logs
from tests.service.api import ADMIN, Api
from tests.service.test_items import run


@pytest.fixture
def written() -> Iterator[Any]:
    """Configure logs, and return what was written."""
    before = {name: vars(logging.getLogger(name)).copy() for name in logs.LOGGERS}
    stream = io.StringIO()

    def configure(form: str, level: str) -> io.StringIO:
        logs.configure(form, level, stream)
        return stream

    yield configure
    for name, state in before.items():
        vars(logging.getLogger(name)).update(state)
        logging.getLogger(name).manager._clear_cache()  # type: ignore[attr-defined]


def test_a_request_is_a_line_of_json_without_votes_and_tokens(tmp_path: Path, written: Any) -> None:
    stream = written("json", "info")

    async def story(api: Api) -> None:
        await api.create()
        await api.predict("secret-id", ann="secret-vote")
        await api("GET", "/v1/fusions/spam/items/secret-id?explain=now")
        await api("GET", "/v1/fusions", headers={"authorization": "Bearer lmx_secret-token"})
        await api("GET", "/secret-path")

    run(story, tmp_path)
    assert "secret" not in stream.getvalue()
    assert ADMIN not in stream.getvalue()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(one["endpoint"], one["status"], one["fusion"]) for one in lines] == [
        ("create", 201, "spam"), ("predict", 200, "spam"), ("item", 200, "spam"), (None, 401, None),
        (None, 404, None),
    ]  # fmt: skip
    assert [one["token"] for one in lines] == ["admin (environment)"] * 3 + [None, "admin (environment)"]
    assert all(one["level"] == "info" and one["milliseconds"] > 0 for one in lines)


@pytest.mark.parametrize("form", logs.FORMATS)
def test_a_failure_is_logged_without_the_values_in_its_message(
    tmp_path: Path, written: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = written(form, "warning")

    async def story(api: Api) -> None:
        await api.create()

        def fail(*_: Any) -> Any:
            raise KeyError("secret")

        monkeypatch.setattr(api.service.singles, "process", fail)
        assert (await api.predict("a", ann="x")).status_code == 500

    run(story, tmp_path)
    text = stream.getvalue()
    assert "predict failed" in text
    assert "KeyError" in text
    assert "test_logs.py" in text
    assert "secret" not in text
    if form == "json":
        assert json.loads(text)["exception"] == "KeyError"


def test_wrong_options_are_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"should be text or json \(got 'xml'\)"):
        logs.configure("xml")
    with pytest.raises(ValueError, match=r"should be error, warning or info \(got 'all'\)"):
        logs.configure("json", "all")


def test_a_request_that_a_stop_cuts_off_is_one_line(written: Any) -> None:
    stream = written("text", "warning")
    try:
        raise asyncio.CancelledError
    except asyncio.CancelledError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application")
    assert stream.getvalue().endswith(" warning a request was cut off, since the server stops\n")
    assert stream.getvalue().count("\n") == 1
