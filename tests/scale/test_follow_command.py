"""`linmax follow`: what learns, how it stops, and what it says."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from linmax import load
from linmax.cli import app
from linmax.client import Client
from linmax.fusion.model_file import fingerprint
from linmax.service.local import LocalServer
from tests.scale.brokers import Broker, make_broker
from tests.scale.logs import learned, stream
from tests.service.api import LEARNER

MESSAGES, TRIALS = stream(100)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    found = make_broker("redis", tmp_path_factory.mktemp("redis"))
    yield found
    found.stop()


@pytest.fixture
def log(broker: Broker) -> str:
    found = broker.new_log()
    broker.send(found, MESSAGES)
    return found


def call(*words: str | Path, **env: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["follow", *map(str, words)], env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


ONCE = ("--from-start", "--until-idle", "0.05", "--learner", LEARNER)


def test_a_model_file_learns_and_continues(log: str, broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "panel.linmax"
    code, printed, errors = call(log, "--model", file, *ONCE)
    assert (code, errors) == (0, "")
    assert printed.startswith(f"{len(MESSAGES)} messages: 100 items, ")
    assert printed.endswith("lag 0\n")
    assert fingerprint(load(file)) == fingerprint(learned(TRIALS))
    broker.send(log, [{"id": "more", "votes": {"ann": "x"}, "label": "x"}, b"bad"])
    code, printed, errors = call(log, "--model", file, "--until-idle", "0.05", "--json")
    found = json.loads(printed)
    assert (code, found["messages"], found["learned"], found["rejected"]) == (0, 2, 1, 1)
    assert found["reasons"][0].endswith("the body is not JSON: JSON is malformed: invalid character (byte 0)")


def test_a_data_folder_and_a_server_learn(log: str, tmp_path: Path) -> None:
    code, _, errors = call(log, "--data", tmp_path / "data", "--fusion", "spam", *ONCE)
    assert (code, errors) == (0, "")
    with LocalServer(tmp_path / "data") as server, Client(server.url, server.token) as client:
        token = {"LINMAX_TOKEN": server.token}
        other = f"{log}&group=other"
        assert call(other, "--server", server.url, "--fusion", "other", *ONCE, **token)[0] == 0
        digests = {client.describe(name)["digest"] for name in ("spam", "other")}
        assert digests == {fingerprint(learned(TRIALS))}
        code, _, errors = call(log, "--data", tmp_path / "data", "--fusion", "spam", *ONCE)
        assert code == 2
        assert "in use by another server" in errors
        assert "--server" in errors


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_after_the_batch_is_saved(log: str, tmp_path: Path, how: int) -> None:
    file = tmp_path / "panel.linmax"
    before = signal.getsignal(how)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), how))
    timer.start()
    code, printed, errors = call(
        log, "--model", file, "--from-start", "--learner", LEARNER, "--save-seconds", "900"
    )
    timer.join()
    assert (code, errors) == (0, "")
    assert printed.startswith(f"{len(MESSAGES)} messages: ")
    assert fingerprint(load(file)) == fingerprint(learned(TRIALS))
    assert signal.getsignal(how) == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "pass one of --model FILE, --data DIR and --server URL"),
        (("--model", "a.linmax", "--data", "data"), "pass one of --model FILE"),
        (("--model", "a.linmax", "--fusion", "a"), "--fusion is for --data and --server"),
        (("--model", "nowhere/a.linmax"), "there is no folder nowhere"),
        (("--data", "data"), "pass --fusion NAME"),
        (("--data", "data", "--fusion", "a", "--save-every", "5"), "--save-every is for --model"),
        (("--data", "data", "--fusion", "a", "--save-seconds", "1"), "--save-seconds is for --model"),
        (("--server", "http://127.0.0.1:9", "--fusion", "a"), "set LINMAX_TOKEN"),
        (("--model", "a.linmax", "--learner", "Winow(2)"), "Winow"),
        (("--model", "a.linmax"), "redis://127.0.0.1:1/0?stream=votes cannot be read"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LINMAX_TOKEN", raising=False)
    code, printed, errors = call("redis://:secret@127.0.0.1:1/0?stream=votes", *words)
    assert (code, printed) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert "secret" not in errors


def test_another_learner_for_a_model_is_refused(log: str, tmp_path: Path) -> None:
    file = tmp_path / "panel.linmax"
    call(log, "--model", file, *ONCE)
    code, _, errors = call(log, "--model", file, "--learner", "Winnow(1.5)")
    assert code == 2
    assert "leave out --learner" in errors


def test_what_is_said_about_a_bad_message_is_one_short_line(broker: Broker, tmp_path: Path) -> None:
    log, rejected = broker.new_log(), tmp_path / "rejected.jsonl"
    broker.send(log, [{"vote\nrejected nothing\x1b[2J": 1}, {"v" * 100_000: 1}])
    code, printed, _ = call(log, "--model", tmp_path / "m", *ONCE, "--rejected", rejected, "--json")
    reasons = json.loads(printed)["reasons"] + [
        json.loads(row)["reason"] for row in rejected.read_text().splitlines()
    ]
    assert (code, len(reasons)) == (0, 4)
    assert all(reason.isprintable() and len(reason) < 600 for reason in reasons)
    assert "`vote\\nrejected nothing\\x1b[2J`" in reasons[0]
