"""Messages, names and files that a log and its targets must not take for what they are not."""

from __future__ import annotations

import asyncio
import logging
import re
from pathlib import Path
from typing import Any

import pytest

from linmax import Fusion, load
from linmax.client import AsyncClient, Client
from linmax.fusion.model_file import fingerprint
from linmax.scale import follow, follower, targets
from linmax.scale.sources import open_source
from linmax.scale.sources.redis import RedisSource
from linmax.scale.targets.log import LogTarget
from linmax.scale.targets.model import NOTE, ModelTarget
from linmax.scale.targets.server import ServerTarget
from linmax.service.event_log import database
from linmax.service.event_log.database import Database
from linmax.service.local import LocalServer
from linmax.service.messages.errors import ServiceError
from tests.scale.brokers import Broker, NatsBroker, make_broker, name_in
from tests.scale.logs import learned
from tests.scale.test_follow_command import ONCE, call
from tests.service.api import LEARNER
from tests.service.test_client_faults import answering

VOTES, OTHER = {"ann": "x", "bob": "y"}, {"ann": "y", "bob": "y"}


def run(log: str, target: Any, **options: Any) -> Any:
    return follow(log, target, **{"from_start": True, "until_idle": 0.05, **options})


@pytest.mark.parametrize("batch", [1, 1000])
@pytest.mark.parametrize(
    ("first", "again", "reason"),
    [
        ({"votes": VOTES, "label": "x"}, {"votes": OTHER}, "was used for other votes"),
        ({"votes": VOTES, "label": "x"}, {"votes": OTHER, "label": "x"}, "was used for other votes"),
        ({"votes": VOTES, "label": "x"}, {"votes": VOTES, "attributes": {"size": 1}}, "other votes"),
        ({"votes": VOTES}, {"votes": OTHER, "label": "x"}, "was used for other votes"),
        ({"votes": VOTES}, {"votes": VOTES, "label": "x"}, "send its label without votes"),
        ({"votes": {"ann": 1}}, {"votes": {"ann": True}}, "was used for other votes"),
    ],
)
def test_an_id_with_other_votes_is_rejected(
    redis: Broker, first: dict[str, Any], again: dict[str, Any], reason: str, batch: int
) -> None:
    log = redis.new_log()
    redis.send(log, [{"id": "a"} | first, {"id": "a"} | again])
    report = run(log, Fusion(LEARNER), batch=batch)
    assert (report.rejected, report.repeated) == (1, 0)
    assert reason in report.reasons[0]


def test_votes_in_another_order_are_repeated(redis: Broker) -> None:
    log = redis.new_log()
    swapped = dict(reversed(VOTES.items()))
    redis.send(log, [{"id": "a", "votes": VOTES}, {"id": "a", "votes": swapped}, {"id": "a", "label": "x"},
                     {"id": "a", "votes": swapped}])  # fmt: skip
    report = run(log, Fusion(LEARNER))
    assert (report.rejected, report.repeated, report.learned) == (0, 2, 1)


@pytest.mark.parametrize("batch", [1, 2, 1000])
def test_what_could_not_be_learned_can_be_corrected(redis: Broker, batch: int, tmp_path: Path) -> None:
    log = redis.new_log()
    messages: list[Any] = [
        {"id": "a", "votes": VOTES, "label": "x"},
        {"id": "b", "votes": {"ann": True}, "label": "x"},  # another kind of class
        {"id": "b", "votes": OTHER, "label": "x"},
        {"id": "c", "votes": VOTES},
        {"id": "c", "label": 7},
        {"id": "c", "label": "y"},
        {"id": "d", "label": 7},
        {"id": "d", "votes": VOTES},
        {"id": "d", "label": "x"},
    ]
    redis.send(log, messages)
    fusion, file = Fusion(LEARNER), tmp_path / "rejected.jsonl"
    report = run(log, fusion, batch=batch, rejected=file)
    expected = learned([(VOTES, "x"), (OTHER, "x"), (VOTES, "y"), (VOTES, "x")])
    assert fingerprint(fusion) == fingerprint(expected)
    assert (report.learned, report.rejected, report.repeated, report.waiting) == (4, 3, 0, 0)
    assert sorted(line.count('label\\": 7') for line in file.read_text().splitlines()) == [0, 1, 1]
    folder = LogTarget(tmp_path / "data", "spam", LEARNER)
    assert run(f"{log}&group=folder", folder, batch=batch).learned == 4


def test_notes_of_earlier_versions_are_read(redis: Broker) -> None:
    log, fusion = redis.new_log(), Fusion(LEARNER)
    redis.send(log, [{"id": "a", "votes": VOTES, "label": "x"}])
    run(log, fusion)
    fusion.notes[NOTE]["labelled"] = [["a", "x"]]
    redis.send(log, [{"id": "a", "votes": VOTES, "label": "x"}, {"id": "a", "label": "y"}])
    report = run(log, fusion)
    assert (report.repeated, report.rejected, fusion.trials) == (1, 1, 1)


def test_a_model_that_another_program_has_written_is_not_overwritten(redis: Broker, tmp_path: Path) -> None:
    log, file = redis.new_log(), tmp_path / "panel.linmax"
    redis.send(log, [{"id": "a", "votes": VOTES, "label": "x"}])
    run(log, Fusion(LEARNER), file=file)
    first, second = ModelTarget(load(file), file), ModelTarget(load(file), file)
    redis.send(log, [{"id": "b", "votes": VOTES, "label": "x"}])
    run(log, first)
    with pytest.raises(ValueError, match=r"was changed by another program .* start again"):
        run(f"{log}&group=other", second)
    assert load(file).trials == 2
    redis.send(log, [{"id": "c", "votes": VOTES, "label": "x"}])
    run(log, first)
    assert load(file).trials == 3


def test_a_model_that_the_session_does_not_continue_is_not_overwritten(redis: Broker, tmp_path: Path) -> None:
    log, file = redis.new_log(), tmp_path / "panel.linmax"
    redis.send(log, [{"id": "a", "votes": VOTES, "label": "x"}])
    run(log, Fusion(LEARNER), file=file)
    content = file.read_bytes()
    for other in (Fusion(LEARNER), learned([(VOTES, "y")])):
        with pytest.raises(ValueError, match=r"panel.linmax has another model than the session; load it"):
            run(log, other, file=file)
    assert file.read_bytes() == content
    assert run(log, load(file), file=file).messages == 0


@pytest.mark.parametrize("kind", ["model", "data"])
def test_a_position_counts_at_the_place_of_its_log_only(redis: Broker, tmp_path: Path, kind: str) -> None:
    log, fusion = redis.new_log(), Fusion(LEARNER)
    redis.send(log, [{"id": "a", "votes": VOTES, "label": "x"}])

    def target() -> Any:
        return fusion if kind == "model" else LogTarget(tmp_path, "spam", LEARNER)

    assert run(log, target()).learned == 1
    elsewhere = log.replace("127.0.0.1", "localhost")
    with pytest.raises(ValueError, match=r"was saved at 127.0.0.1:\d+/0, and this is localhost:\d+/0; add"):
        run(elsewhere, target())
    assert run(f"{elsewhere}&moved=1", target()).messages == 0
    assert run(elsewhere, target()).messages == 0, "the new place is saved"


def test_names_of_streams_and_groups_that_differ_have_positions_of_their_own() -> None:
    pairs = [("a", "b_c"), ("a_b", "c"), ("a", "b.c"), ("a", "b=c"), ("a", "é"), ("a", "b=2Ec")]
    keys = {open_source(f"nats://h/{stream}?group={group}")._group for stream, group in pairs}
    assert len(keys) == len(pairs)
    assert all(re.fullmatch(r"[-/_=.a-zA-Z0-9]+", key) for key in keys), "what NATS allows"


def test_a_broker_of_kafka_that_does_not_answer_is_one_sentence_and_nothing_is_printed() -> None:
    with pytest.raises(ValueError, match=r"kafka://127.0.0.1:1/votes cannot be read"):
        run("kafka://127.0.0.1:1/votes", Fusion(LEARNER))
    handlers = logging.getLogger("aiokafka").handlers
    assert [type(one) for one in handlers] == [logging.NullHandler], "else Python prints what is logged"


def test_a_log_in_the_place_of_another_one_is_learned(tmp_path: Path) -> None:
    """Its messages without ids have the same numbers, and are others."""
    broker, fusion = make_broker("nats", tmp_path), Fusion(LEARNER)
    assert isinstance(broker, NatsBroker)
    try:
        log = broker.new_log()
        name = name_in(log)
        broker.send(log, [{"votes": VOTES, "label": "x"}] * 3)
        run(log, fusion)
        broker.remove_log(log)
        broker.send(log, [{"votes": VOTES, "label": "y"}] * 2)
        with pytest.raises(ValueError, match=f"{name} of .* this is another log; pass another group="):
            run(log, fusion)
        report = run(f"{log}?group=second", fusion)
    finally:
        broker.stop()
    assert (report.learned, report.repeated, report.rejected, fusion.trials) == (2, 0, 0, 5)


@pytest.mark.parametrize("name", ["spam/ham", "é", "", "a b"])
def test_a_name_that_a_server_refuses_is_refused_in_its_folder(
    redis: Broker, name: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="a fusion cannot be called"):
        run(redis.new_log(), LogTarget(tmp_path, name, LEARNER))
    run(redis.new_log(), LogTarget(tmp_path, "spam", LEARNER))


def test_another_learner_for_a_fusion_is_refused(redis: Broker, tmp_path: Path) -> None:
    log = redis.new_log()
    run(log, LogTarget(tmp_path / "data", "spam", "Winnow(1.2)"))
    run(log, LogTarget(tmp_path / "data", "spam", "Winnow( 1.20 )"))
    with pytest.raises(ValueError, match=r"spam has the learner Winnow\(.*; leave out --learner"):
        run(log, LogTarget(tmp_path / "data", "spam", "Winnow(1.3)"))
    with LocalServer(tmp_path / "data") as server, Client(server.url, server.token):
        run(log, ServerTarget(server.url, server.token, "spam", "Winnow(1.2)"))
        with pytest.raises(ValueError, match=r"spam has the learner Winnow\(.*; leave out --learner"):
            run(log, ServerTarget(server.url, server.token, "spam", "Winnow(1.3)"))


@pytest.mark.parametrize("batch", [1, 3, 6])
def test_votes_that_come_again_after_their_label_change_no_order(
    redis: Broker, tmp_path: Path, batch: int
) -> None:
    votes = {"id": "1", "votes": VOTES}
    trials = [("0", VOTES, "y"), ("3", VOTES, "x"), ("2", {"ann": "y", "cat": "x"}, "y")]
    first, second, third = ({"id": id_, "votes": given, "label": label} for id_, given, label in trials)
    early, late = {"id": "4", "label": "x"}, {"id": "4", "votes": VOTES}
    log = redis.new_log()
    redis.send(log, [votes, first, second, {"id": "1", "label": "x"}, third, votes, early, late, first])
    with LocalServer(tmp_path) as server, Client(server.url, server.token) as client:
        run(log, ServerTarget(server.url, server.token, "spam", LEARNER), batch=batch)
        order = [(VOTES, "y"), (VOTES, "x"), (VOTES, "x"), (trials[2][1], "y"), (VOTES, "x")]
        assert client.describe("spam")["digest"] == fingerprint(learned(order))


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("again", [VOTES, OTHER])
def test_votes_that_come_again_after_an_early_label_are_not_stored_first(
    redis: Broker, tmp_path: Path, batch: int, again: dict[str, Any]
) -> None:
    log = redis.new_log()
    redis.send(log, [{"id": "1", "label": "x"}, {"id": "0", "votes": VOTES, "label": "y"},
                     {"id": "1", "votes": VOTES}, {"id": "1", "votes": again}])  # fmt: skip
    sent: list[str] = []

    class SeenTarget(ServerTarget):
        async def _send(self, items: list[Any]) -> list[Any]:
            sent.extend(item.id for item in items)
            return await super()._send(items)

    expected = fingerprint(learned([(VOTES, "y"), (VOTES, "x")]))
    with LocalServer(tmp_path / "server") as server, Client(server.url, server.token) as client:
        report = run(log, SeenTarget(server.url, server.token, "spam", LEARNER), batch=batch)
        assert client.describe("spam")["digest"] == expected
    assert report.rejected == (again is OTHER)
    wanted = sent[1:] if batch == 1 else sent  # the label alone is sent, and unknown
    assert wanted == ["0", "1", "1", "1"], "votes before the earlier label would be found after a kill"


def test_rejected_messages_need_a_file_of_their_own(redis: Broker, tmp_path: Path) -> None:
    file = tmp_path / "panel.linmax"
    code, _, errors = call(redis.new_log(), "--model", file, "--rejected", tmp_path / "." / file.name, *ONCE)
    assert (code, errors.count("\n")) == (2, 1)
    assert "name two files" in errors


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("kafka://u:secret@h/votes?tls=on", r"should have tls=1 or tls=0 \(got 'on'\)"),
        ("kafka://u:secret@h/votes?mechanism=MD5", "unknown mechanism 'MD5'; use one of PLAIN"),
        ("nats://u:secret@h/vo tes", "has no stream 'vo tes'"),
        ("nats://u:secret@h/votes.>", "has no stream 'votes.>'"),
    ],
)
def test_options_of_an_address_are_checked(url: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        asyncio.run(open_source(url).close())
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (
            308,
            {"location": "https://votes.example.org/"},
            "points to https://votes.example.org/; use that address",
        ),
        (200, {}, "which linmax does not; check the address"),
        (204, {}, "which linmax does not; check the address"),
    ],
)
def test_a_server_that_is_none_of_linmax_is_one_line(
    status: int, headers: dict[str, str], message: str
) -> None:
    with answering(status, **headers) as (url, _):
        words = ("redis://127.0.0.1:1/0?stream=votes", "--server", url, "--fusion", "spam")
        code, printed, errors = call(*words, LINMAX_TOKEN="adm_0123\n")
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert message in errors
    assert "0123" not in errors


def test_labels_that_a_redirection_swallows_are_sent_again_later(redis: Broker, tmp_path: Path) -> None:
    log = redis.new_log()
    redis.send(log, [{"id": str(i), "votes": VOTES, "label": "x"} for i in range(3)])
    with LocalServer(tmp_path) as server, answering(301, location="https://h/") as (elsewhere, seen):

        class MovedTarget(ServerTarget):
            async def open(self, context: Any) -> Any:
                await super().open(context)
                await self.close()
                self.client = AsyncClient(elsewhere, "token", attempts=1)

        with pytest.raises(ValueError, match="points to https://h/; use that address"):
            run(log, MovedTarget(server.url, server.token, "spam", LEARNER))
        assert len(seen) == 1
        assert run(log, ServerTarget(server.url, server.token, "spam", LEARNER)).learned == 3


@pytest.mark.parametrize(
    ("url", "token", "message"),
    [
        ("http://127.0.0.1:1", "adm_0123\n4567", "token should be text of one or more visible ASCII"),
        ("http://127.0.0.1:1", "adm_0123é", "token should be text of one or more visible ASCII"),
        ("http://127.0.0.1:1", " ", "token should be text of one or more visible ASCII"),
        ("127.0.0.1:1", "adm_0123", "'127.0.0.1:1' is not the address of a server; begin it with http://"),
    ],
)
def test_tokens_and_addresses_that_cannot_be_used_are_one_line_without_the_token(
    url: str, token: str, message: str
) -> None:
    words = ("redis://127.0.0.1:1/0?stream=votes", "--server", url, "--fusion", "spam")
    code, printed, errors = call(*words, LINMAX_TOKEN=token)
    assert (code, printed, errors.count("\n")) == (2, "", 1)
    assert message in errors
    assert "0123" not in errors


def test_predictions_that_a_server_cannot_store_are_sent_again(
    redis: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [str(number) for number in range(30)]
    log = redis.new_log()
    redis.send(log, [{"id": id_, "votes": VOTES} for id_ in ids] + [{"id": id_, "label": "x"} for id_ in ids])
    commit, failures = Database._commit, [0]

    def commit_later(self: Database, writes: Any) -> Any:
        if failures[0]:
            failures[0] -= 1
            return ServiceError(507, "storage_full", "the disk is full", 1)
        return commit(self, writes)

    class FullTarget(ServerTarget):
        async def open(self, context: Any) -> Any:
            await super().open(context)
            failures[0] = 3

    monkeypatch.setattr(Database, "_commit", commit_later)
    monkeypatch.setattr(database, "RETRY", 0.01)
    monkeypatch.setattr(targets, "FIRST_PAUSE", 0.02)
    with LocalServer(tmp_path) as server:
        report = run(log, FullTarget(server.url, server.token, "spam", LEARNER), batch=10)
    assert not failures[0]
    assert (report.learned, report.waiting, report.rejected) == (len(ids), 0, 0)


def test_a_redis_that_is_too_old_is_one_sentence(redis: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    from redis.asyncio import Redis

    log = redis.new_log()
    redis.send(log, [{"id": "a", "votes": VOTES}])

    async def info_of_redis_6(self: Any, name: str) -> dict[str, Any]:
        return {"length": 1, "last-generated-id": b"1-0"}

    monkeypatch.setattr(Redis, "xinfo_stream", info_of_redis_6)
    with pytest.raises(ValueError, match="older than Redis 7; update it"):
        run(log, Fusion(LEARNER))


@pytest.mark.parametrize("hangs", ["describe", "learn_many", "read", "commit"])
def test_work_can_end_while_a_server_or_a_broker_does_not_answer(
    redis: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    stop = False

    async def hang(*_: Any, **__: Any) -> None:
        nonlocal stop
        stop = True
        await asyncio.sleep(3600)

    log = redis.new_log()
    redis.send(log, [{"id": f"i{i}", "votes": VOTES, "label": "x"} for i in range(5)])
    with LocalServer(tmp_path) as server, Client(server.url, server.token) as client:
        client.create("spam", learner=LEARNER)
        owner = AsyncClient if hangs in ("describe", "learn_many") else RedisSource
        with monkeypatch.context() as patch:
            patch.setattr(owner, hangs, hang)
            patch.setattr(follower, "STOP_SECONDS", 0.2)
            target = ServerTarget(server.url, server.token, "spam")
            found = run(log, target, until_idle=None, should_stop=lambda: stop)
        assert stop
        assert found.learned == 0
        run(log, ServerTarget(server.url, server.token, "spam"))
        assert client.describe("spam")["trials"] == 5
