"""Votes and labels of a message log are learned once each, in their order, whatever learns and what fails."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion, load
from linmax.client import Client
from linmax.fusion.model_file import fingerprint
from linmax.scale import follow, follow_async, targets
from linmax.scale.targets import Target
from linmax.scale.targets.log import LogTarget
from linmax.scale.targets.model import ModelTarget
from linmax.scale.targets.server import ServerTarget
from linmax.service import administration
from linmax.service.event_log import database
from linmax.service.event_log.database import Database
from linmax.service.local import LocalServer
from linmax.service.messages.errors import ServiceError
from tests.helpers.examples import EVERYTHING, rarely_compiled
from tests.scale.brokers import Broker, KafkaBroker, make_broker
from tests.scale.killed import follow_and_kill
from tests.scale.logs import learned, stream
from tests.service.api import LEARNER, digest_of, serving

IDLE = 0.15


@pytest.fixture(scope="module", params=["redis", "nats", "kafka"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Each kind of broker."""
    found = make_broker(request.param, tmp_path_factory.mktemp(request.param))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    with LocalServer(tmp_path_factory.mktemp("server") / "data") as found:
        found.service.items.store.label_wait = (
            0.0  # labels that came before their votes are tried again anyway
        )
        yield found


def digest_in(folder: Path) -> str:
    """The digest of the fusion in a data folder, when every snapshot was found to be right."""

    async def read() -> str:
        async with serving(folder) as api:
            return await api.digest()

    assert administration.verify(folder, lambda *_: None) == []
    return asyncio.run(read())


def run(url: str, target: Any, **options: Any) -> Any:
    return follow(url, target, **{"from_start": True, "until_idle": IDLE, **options})


# --- what is learned


def test_a_session_learns_what_a_log_has(broker: Broker, tmp_path: Path) -> None:
    messages, trials = stream(300)
    log, file = broker.new_log(), tmp_path / "panel.linmax"
    broker.send(log, messages)
    fusion = Fusion(LEARNER)
    report = run(log, fusion, file=file, batch=64)
    expected = learned(trials)
    assert fingerprint(fusion) == fingerprint(load(file)) == fingerprint(expected)
    assert (report.messages, report.items, report.rejected, report.lag) == (len(messages), 300, 0, 0)
    assert (report.learned, report.mistakes) == (len(trials), expected.mistakes + expected.novel)
    assert report.waiting == 300 - len(trials)


def test_a_run_continues_where_the_last_one_ended(broker: Broker, tmp_path: Path) -> None:
    messages, trials = stream(200, delay=50)
    log, file = broker.new_log(), tmp_path / "panel.linmax"
    fusion = Fusion(LEARNER)
    for start, stop in ((0, 37), (37, 38), (38, 250), (250, len(messages))):
        broker.send(log, messages[start:stop])
        report = run(log, fusion, file=file, batch=30)
        assert report.messages == stop - start
        fusion = load(file)
    assert fingerprint(fusion) == fingerprint(learned(trials))


def test_the_log_of_a_server_learns_in_process(broker: Broker, tmp_path: Path) -> None:
    messages, trials = stream(200, delay=50)
    log, folder = broker.new_log(), tmp_path / "data"
    for part in (messages[:150], messages[150:]):
        broker.send(log, part)
        report = run(log, LogTarget(folder, "spam", LEARNER), batch=40)
        assert (report.messages, report.rejected) == (len(part), 0)
    assert digest_in(folder) == digest_of(*trials)


def test_a_server_learns_over_http(broker: Broker, server: LocalServer) -> None:
    messages, trials = stream(100, delay=50)
    log, name = broker.new_log(), f"spam-{type(broker).__name__}"
    with Client(server.url, server.token) as client:
        for part in (messages[:70], messages[70:]):
            broker.send(log, part)
            report = run(log, ServerTarget(server.url, server.token, name, LEARNER), batch=40)
            assert report.rejected == 0
        assert client.describe(name)["trials"] == len(trials)


def test_only_new_messages_count_unless_the_start_is_asked_for(broker: Broker, tmp_path: Path) -> None:
    messages, _ = stream(20)
    log, file = broker.new_log(), tmp_path / "panel.linmax"
    broker.send(log, messages)
    assert run(log, Fusion(LEARNER), file=file, from_start=False).messages == 0
    broker.send(log, messages[:7])
    assert run(log, load(file), file=file, from_start=False).messages == 7


def test_any_size_of_batches_gives_the_same_state(redis: Broker, tmp_path: Path) -> None:
    messages, trials = stream(80, delay=60)
    messages += messages[::7]  # repeated by the producer
    log = redis.new_log()
    redis.send(log, messages)
    for batch in (1, 3, 1000):
        target = ModelTarget(Fusion(LEARNER), window=60)
        report = run(log, target, batch=batch, until_idle=0.01)
        found = fingerprint(target.fusion), report.learned, report.mistakes, report.repeated, report.expired
        if batch == 1:
            first = found
        assert found == first
    for batch in (2, 1000):
        folder = tmp_path / str(batch)
        report = run(log, LogTarget(folder, "spam", LEARNER), batch=batch, until_idle=0.01)
        assert digest_in(folder) == digest_of(*trials)


def test_the_default_learner_scores_attributes_and_numbers_are_learned_as_one_by_one(redis: Broker) -> None:
    chance = random.Random(5)
    items: list[dict[str, Any]] = []
    for _ in range(60 if EVERYTHING else 25):
        votes = {"ann": {"1": chance.random(), "2": chance.random()}, "bob": chance.choice([1, 2, None])}
        items.append(
            {"votes": votes, "attributes": {"size": chance.random()}, "label": chance.choice([1, 2])}
        )
    log = redis.new_log()
    redis.send(log, items)
    fusion, expected = Fusion(), Fusion()
    with rarely_compiled():
        assert run(log, fusion).learned == len(items)
        for item in items:
            votes = {name: {int(key): one for key, one in vote.items()} if isinstance(vote, dict) else vote
                     for name, vote in item["votes"].items()}  # fmt: skip
            expected.learn_one(votes, item["label"], attributes=item["attributes"])
        assert fingerprint(fusion) == fingerprint(expected)


def test_partitions_of_kafka_are_all_read(tmp_path: Path) -> None:
    broker = KafkaBroker(tmp_path)
    broker.start()
    messages, trials = stream(100)
    log = broker.new_log()
    for partition in range(4):
        broker.send(log, messages[partition::4], partition)
    report = run(log, Fusion(LEARNER), batch=9)
    assert (report.messages, report.learned, report.lag) == (len(messages), len(trials), 0)
    broker.stop()


# --- what cannot be used

BAD = [
    (b"{", "is not JSON"),
    (b'{"id": "a", "votes": {"ann": "x"}, "labels": "x"}', "unknown field"),
    (b'{"votes": {"ann": "x"}}', "need an id"),
    (b'{"label": "x"}', "needs the id"),
    (b'{"id": "b", "votes": {"ann": [1]}, "label": "x"}', "Expected"),
    (b'{"id": "c", "votes": {"ann": "x"}, "label": 5}', "5"),
    (b'{"id": "0-0", "votes": {"eve": "z", "new": "z"}, "label": "other"}', "0-0"),
    (b"", "is empty"),
]


@pytest.mark.parametrize("kind", ["model", "log", "server"])
def test_bad_messages_are_counted_and_kept_and_the_others_learned(
    redis: Broker, server: LocalServer, tmp_path: Path, kind: str
) -> None:
    messages, trials = stream(60)
    sent = list(messages)
    for place, (bad, _) in zip((50, 51, 52, 53, 54, 90, 91, 92), BAD, strict=True):
        sent.insert(place, bad)
    log, file = redis.new_log(), tmp_path / "rejected.jsonl"
    redis.send(log, sent)
    made: dict[str, Target] = {
        "model": ModelTarget(Fusion(LEARNER)),
        "log": LogTarget(tmp_path / "data", "spam", LEARNER),
        "server": ServerTarget(server.url, server.token, "rejecting", LEARNER),
    }
    report = run(log, made[kind], rejected=file)
    assert (report.rejected, report.learned) == (len(BAD), len(trials))
    kept = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(row["value"] for row in kept) == sorted(bad.decode() for bad, _ in BAD)
    for bad, reason in BAD:
        (row,) = [row for row in kept if row["value"] == bad.decode()]
        assert reason in row["reason"]
        assert row["offset"] in "".join(report.reasons)
        assert "\n" not in row["reason"]


def test_a_label_without_votes_waits_for_a_number_of_messages(redis: Broker, tmp_path: Path) -> None:
    messages, _ = stream(30)
    late = {"id": "late", "votes": {"ann": "x"}}
    sent = [{"id": "late", "label": "x"}, *messages[:10], late, {"id": "never", "label": "x"}, *messages[10:]]
    for target in (
        ModelTarget(Fusion(LEARNER), window=12),
        LogTarget(tmp_path / "data", "spam", LEARNER, window=12),
    ):
        log = redis.new_log()
        redis.send(log, sent)
        report = run(log, target)
        assert report.rejected == 1
        assert "no votes of the item 'never' came within 12 messages" in report.reasons[0]


def test_a_label_that_waits_is_read_again_after_a_restart(redis: Broker, server: LocalServer) -> None:
    log = redis.new_log()
    redis.send(log, [{"id": "a", "label": "x"}, {"id": "b", "votes": {"ann": "x"}}])
    target = lambda: ServerTarget(server.url, server.token, "waiting", LEARNER)  # noqa: E731
    assert run(log, target()).waiting == 1
    redis.send(log, [{"id": "a", "votes": {"ann": "y"}}])
    report = run(log, target())
    assert (report.messages, report.learned, report.waiting) == (3, 1, 0)


def test_another_label_for_an_item_is_rejected_by_a_model(redis: Broker) -> None:
    log = redis.new_log()
    votes = {"id": "a", "votes": {"ann": "x"}}
    label = {"id": "a", "label": "x"}
    redis.send(log, [votes, label, label, votes, {"id": "a", "label": "y"}, {**label, "replaces": "y"}])
    report = run(log, Fusion(LEARNER))
    assert (report.learned, report.repeated, report.rejected) == (1, 2, 2)
    assert "has the label 'x' already" in report.reasons[0]
    assert "cannot replace a label" in report.reasons[1]


# --- what fails


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.slow)])
def test_kills_change_nothing(redis: Broker, server: LocalServer, tmp_path: Path, kills: int) -> None:
    messages, trials = stream(200, seed=kills, delay=40)
    log = redis.new_log()
    redis.send(log, messages)
    file, folder, name = tmp_path / "panel.linmax", tmp_path / "data", f"killed-{kills}"
    words = {"model": [str(file)], "log": [str(folder)], "server": [server.url, server.token, name]}
    assert follow_and_kill(log, words, LEARNER, kills=kills, batch=130, save_every=100) > 0
    assert fingerprint(load(file)) == fingerprint(learned(trials))
    assert digest_in(folder) == digest_of(*trials)
    with Client(server.url, server.token) as client:
        assert client.describe(name)["digest"] == digest_of(*trials)


@pytest.mark.parametrize("kind", ["redis", "nats"])
def test_a_broker_that_restarts_is_read_on(kind: str, tmp_path: Path) -> None:
    broker = make_broker(kind, tmp_path)
    messages, trials = stream(400)
    log = broker.new_log()
    fusion, stop = Fusion(LEARNER), threading.Event()
    reports: list[Any] = []
    thread = threading.Thread(
        target=lambda: reports.append(run(log, fusion, until_idle=None, should_stop=stop.is_set))
    )
    broker.send(log, messages[:200])
    thread.start()
    deadline = time.monotonic() + 60
    while not fusion.trials and time.monotonic() < deadline:
        time.sleep(0.02)
    assert fusion.trials
    time.sleep(0.5)  # it waits for more
    broker.stop(signal.SIGTERM)
    time.sleep(0.2)
    broker.start()
    broker.send(log, messages[200:])
    while fusion.trials + fusion.novel < len(trials) and time.monotonic() < deadline:
        time.sleep(0.02)
    stop.set()
    thread.join()
    broker.stop()
    assert fingerprint(fusion) == fingerprint(learned(trials))
    assert reports[0].messages == len(messages)


def test_a_server_that_restarts_is_sent_the_rest(redis: Broker, tmp_path: Path) -> None:
    messages, trials = stream(80)
    log = redis.new_log()
    redis.send(log, messages[:60])
    first = LocalServer(tmp_path / "data").start()
    done: list[Any] = []
    target = ServerTarget(first.url, first.token, "spam", LEARNER)
    stop = threading.Event()
    thread = threading.Thread(
        target=lambda: done.append(run(log, target, until_idle=None, should_stop=stop.is_set))
    )
    thread.start()
    deadline = time.monotonic() + 60
    with Client(first.url, first.token) as client:
        while not client.fusions()["fusions"] and time.monotonic() < deadline:
            time.sleep(0.02)
    first.stop()
    redis.send(log, messages[60:])
    time.sleep(0.3)
    port = int(first.url.rpartition(":")[2])
    with LocalServer(tmp_path / "data", port) as second, Client(second.url, second.token) as client:
        while client.describe("spam")["trials"] < len(trials) and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()
        thread.join()
        assert client.describe("spam")["digest"] == digest_of(*trials)


def test_a_full_disk_is_waited_for(
    redis: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    messages, trials = stream(150, delay=40)
    log = redis.new_log()
    redis.send(log, messages)
    commit, calls = Database._commit, itertools.count()

    def commit_sometimes(self: Database, writes: Any) -> Any:
        if next(calls) in (6, 7, 12):
            return ServiceError(507, "storage_full", "the disk is full", 1)
        return commit(self, writes)

    target = LogTarget(tmp_path, "spam", LEARNER)
    monkeypatch.setattr(Database, "_commit", commit_sometimes)
    monkeypatch.setattr(database, "RETRY", 0.01)
    monkeypatch.setattr(targets, "FIRST_PAUSE", 0.02)
    shown: list[int] = []
    report = run(log, target, batch=40, on_progress=lambda report: shown.append(report.messages))
    assert next(calls) > 6
    warned = [one.getMessage() for one in caplog.records if one.getMessage().endswith("; trying again")]
    assert warned
    assert all(one.startswith(f"{tmp_path} cannot be written (") for one in warned)
    before_the_end = [count for count in shown if count < len(messages)]
    assert len(before_the_end) > len(set(before_the_end)), "progress is shown while nothing can be saved"
    assert (report.messages, report.learned) == (len(messages), len(trials))
    monkeypatch.undo()
    assert digest_in(tmp_path) == digest_of(*trials)


def test_a_log_that_is_another_one_is_not_read(redis: Broker, tmp_path: Path) -> None:
    import redis as client

    log, file = redis.new_log(), tmp_path / "panel.linmax"
    redis.send(log, stream(5)[0])
    run(log, Fusion(LEARNER), file=file)
    client.Redis(port=redis.port).delete(log.rpartition("=")[2])
    with pytest.raises(ValueError, match="this is another log; pass another group="):
        run(log, load(file), file=file)


def test_messages_that_the_broker_has_removed_are_reported(redis: Broker, tmp_path: Path) -> None:
    import redis as client

    log, file = redis.new_log(), tmp_path / "panel.linmax"
    redis.send(log, stream(5)[0])
    run(log, Fusion(LEARNER), file=file)
    redis.send(log, stream(20, seed=1)[0])
    client.Redis(port=redis.port).xtrim(log.rpartition("=")[2], maxlen=3, approximate=False)
    report = run(log, load(file), file=file)
    assert report.messages == 3
    assert report.lost > 0


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("amqp://127.0.0.1/votes", "got the protocol 'amqp'"),
        ("redis://127.0.0.1:1/0?stream=votes", "cannot be read"),
        ("nats://user:secret@127.0.0.1:1/votes", "cannot be read"),
        ("kafka://user:secret@127.0.0.1:1/votes", "cannot be read"),
        ("redis://:secret@127.0.0.1:1/0", "names no stream"),
        ("redis://:secret@127.0.0.1:1/0?stream=votes&grup=a", "unknown option grup"),
        ("redis://:secret@127.0.0.1:x/0?stream=votes", "not well formed"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_sentence_without_the_password(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        follow(url, Fusion(LEARNER), until_idle=0.1)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


def test_it_runs_in_a_program_of_asyncio(redis: Broker) -> None:
    log = redis.new_log()
    redis.send(log, stream(10)[0])
    fusion = Fusion(LEARNER)
    report = asyncio.run(follow_async(log, fusion, from_start=True, until_idle=0.05))
    assert report.learned == fusion.trials > 0
