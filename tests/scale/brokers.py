"""Brokers for the tests of `linmax.scale.follow`: real ones of Redis and NATS, and a mock of Kafka."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.service.api import free_port

NATS_SERVER = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin:/sbin")
REDIS_SERVER = shutil.which("redis-server")

START_SECONDS = 60
"""In which a broker must listen, also on a busy machine."""


class Broker:
    """A broker with logs that tests write to.

    Parameters
    ----------
    folder
        Where it keeps its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._child: subprocess.Popen[bytes] | None = None

    def words(self) -> list[str]:
        """The command that starts it."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._child = subprocess.Popen(
            self.words(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder
        )
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            assert self._child.poll() is None, "the broker has ended"
            time.sleep(0.01)
        raise TimeoutError

    def stop(self, how: int = signal.SIGTERM) -> None:
        """Stop it."""
        if self._child is not None:
            self._child.send_signal(how)
            self._child.wait()
            self._child = None

    def new_log(self) -> str:
        """Make a log; return its address."""
        raise NotImplementedError

    def send(self, url: str, messages: list[Any]) -> None:
        """Append messages to a log: bytes, or what becomes JSON."""
        raise NotImplementedError


def encoded(message: Any) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def name_in(url: str) -> str:
    return url.rpartition("stream=")[2] if "stream=" in url else url.rpartition("/")[2]


class RedisBroker(Broker):
    def words(self) -> list[str]:
        assert REDIS_SERVER is not None
        options = ["--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "no", "--save", ""]
        return [REDIS_SERVER, "--port", str(self.port), *options]

    def start(self) -> None:
        import redis

        super().start()
        self._client = redis.Redis(port=self.port)
        while True:  # it may still load its file
            try:
                self._client.ping()
                return
            except redis.exceptions.BusyLoadingError:
                time.sleep(0.01)

    def new_log(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0?stream=votes-{uuid4().hex[:8]}"

    def send(self, url: str, messages: list[Any]) -> None:
        pipe = self._client.pipeline(transaction=False)
        for message in messages:
            pipe.xadd(name_in(url), {"message": encoded(message)})
        pipe.execute()

    def stop(self, how: int = signal.SIGTERM) -> None:
        self._client.close()
        super().stop(how)


class NatsBroker(Broker):
    def words(self) -> list[str]:
        assert NATS_SERVER is not None
        return [NATS_SERVER, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.folder)]

    def _run(self, work: Any) -> None:
        import nats

        async def run() -> None:
            client = await nats.connect(f"nats://127.0.0.1:{self.port}")
            try:
                await work(client.jetstream())
            finally:
                await client.close()

        asyncio.run(run())

    def new_log(self) -> str:
        name = f"votes-{uuid4().hex[:8]}"
        self._run(lambda stream: stream.add_stream(name=name, subjects=[name]))
        return f"nats://127.0.0.1:{self.port}/{name}"

    def remove_log(self, url: str) -> None:
        """Put an empty log in the place of one."""
        name = name_in(url)
        self._run(lambda stream: stream.delete_stream(name))
        self._run(lambda stream: stream.add_stream(name=name, subjects=[name]))

    def send(self, url: str, messages: list[Any]) -> None:
        async def work(stream: Any) -> None:
            for start in range(0, len(messages), 500):
                sent = [stream.publish(name_in(url), encoded(one)) for one in messages[start : start + 500]]
                await asyncio.gather(*sent)

        self._run(work)


class KafkaBroker(Broker):
    """librdkafka's mock cluster, inside this process: it is not durable, and cannot be restarted."""

    def start(self) -> None:
        from confluent_kafka import Producer

        self._producer = Producer(
            {
                "bootstrap.servers": "127.0.0.1:1",
                "test.mock.num.brokers": 1,
                "linger.ms": 1,
                "log_level": 0,
                "message.max.bytes": 4_000_000,
            }
        )
        (broker,) = self._producer.list_topics(timeout=10).brokers.values()
        self.port = broker.port

    def stop(self, how: int = signal.SIGTERM) -> None:
        self._producer.flush(5)
        del self._producer

    def new_log(self) -> str:
        name = f"votes-{uuid4().hex[:8]}"
        self._producer.list_topics(name, timeout=10)  # makes it
        return f"kafka://127.0.0.1:{self.port}/{name}"

    def send(self, url: str, messages: list[Any], partition: int = 0) -> None:
        for message in messages:
            self._producer.produce(name_in(url), encoded(message), partition=partition)
        assert self._producer.flush(30) == 0


KINDS: dict[str, type[Broker]] = {"redis": RedisBroker, "nats": NatsBroker, "kafka": KafkaBroker}


def make_broker(kind: str, folder: Path) -> Broker:
    """Start a broker; the test is skipped where it is not installed."""
    if kind == "redis" and REDIS_SERVER is None:
        pytest.skip("redis-server is not installed: apt install redis-server")
    if kind == "nats" and NATS_SERVER is None:
        pytest.skip("nats-server is not installed: apt install nats-server")
    broker = KINDS[kind](folder)
    broker.start()
    return broker
