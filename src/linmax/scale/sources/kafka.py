"""Kafka and whatever speaks its protocol: ``kafka://HOST:9092/TOPIC``."""

from __future__ import annotations

import contextlib
import logging
from typing import Any

from linmax.scale.messages import Message, Position
from linmax.scale.sources import Address, MessageSource
from linmax.validation import require_extra

PROTOCOLS = {(False, False): "PLAINTEXT", (False, True): "SASL_PLAINTEXT"}
PROTOCOLS |= {(True, False): "SSL", (True, True): "SASL_SSL"}
TLS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
UNPRINTED = logging.NullHandler()
"""What aiokafka logs is not printed, unless a program asks for logs: errors are raised, too."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def make_source(address: Address) -> MessageSource:
    """Return the topics that an address names."""
    require_extra("aiokafka", "kafka", "following Kafka")
    logging.getLogger("aiokafka").addHandler(UNPRINTED)
    tls = address.option("tls", "0")
    if tls not in TLS:
        raise ValueError(f"{address} should have tls=1 or tls=0 (got {tls[:20]!r})")
    mechanism = address.option("mechanism", "PLAIN")
    if mechanism not in MECHANISMS:
        known = ", ".join(MECHANISMS)
        raise ValueError(f"{address} has the unknown mechanism {mechanism[:20]!r}; use one of {known}")
    return KafkaSource(address, address.names(address.path, "topic"), TLS[tls], mechanism)


class KafkaSource(MessageSource):
    """Topics of Kafka; the next offset of each partition is the position.

    All partitions are read by one consumer, without rebalancing; the group saves the offsets. Kafka keeps the
    order within a partition only.

    Parameters
    ----------
    address, names
        As for `MessageSource`.
    tls
        Whether the connection is encrypted.
    mechanism
        How the user of the address signs in, such as PLAIN or SCRAM-SHA-256.
    """

    product = "kafka"
    port = 9092

    def __init__(self, address: Address, names: list[str], tls: bool, mechanism: str) -> None:
        super().__init__(address, names)
        self.tls = tls
        self.mechanism = mechanism
        self._consumer: Any = None

    async def connect(self) -> None:
        """Connect to the brokers."""
        from aiokafka import AIOKafkaConsumer, TopicPartition
        from aiokafka.errors import KafkaError
        from aiokafka.helpers import create_ssl_context

        address = self.address
        host = f"[{address.host}]" if ":" in address.host else address.host
        with self.errors(KafkaError):
            self._consumer = AIOKafkaConsumer(
                bootstrap_servers=f"{host}:{address.port or self.port}", group_id=address.group,
                enable_auto_commit=False, auto_offset_reset="none", request_timeout_ms=10_000,
                security_protocol=PROTOCOLS[self.tls, address.user is not None],
                ssl_context=create_ssl_context() if self.tls else None, sasl_mechanism=self.mechanism,
                sasl_plain_username=address.user, sasl_plain_password=address.password,
            )  # fmt: skip
            await self._consumer.start()
            unknown = set(self.names) - await self._consumer.topics()
            if unknown:
                raise ValueError(f"{self} has no topic {min(unknown)!r}; create it first")
            some = [TopicPartition(topic, 0) for topic in self.names]
            self._consumer.assign(some)
            await self._consumer.beginning_offsets(some)  # fetches what is known of the topics

    def _partitions(self) -> dict[str, Any]:
        """Return all partitions by their names."""
        from aiokafka import TopicPartition

        found: dict[str, Any] = {}
        for topic in self.names:
            numbers = sorted(self._consumer.partitions_for_topic(topic) or ())
            found |= {f"{topic}/{number}": TopicPartition(topic, number) for number in numbers}
        return found

    async def committed(self) -> Position | None:
        """Return the offsets that the group has committed."""
        from aiokafka.errors import KafkaError

        found: Position = {}
        with self.errors(KafkaError):
            for name, partition in self._partitions().items():
                offset = await self._consumer.committed(partition)
                if offset is not None:
                    found[name] = offset
        return found or None

    async def seek(self, position: Position | None, from_start: bool) -> Position:
        """Continue at the offsets of a position."""
        from aiokafka.errors import KafkaError

        partitions = self._partitions()
        with self.errors(KafkaError):
            first = await self._consumer.beginning_offsets(list(partitions.values()))
            end = await self._consumer.end_offsets(list(partitions.values()))
        found: Position = {}
        for name, partition in partitions.items():
            if position is None:
                found[name] = (first if from_start else end)[partition]
            else:
                place = int(position.get(name, first[partition]))
                if place > end[partition]:
                    raise self.other_log(name, place, end[partition])
                self.lost += max(0, first[partition] - place)
                found[name] = max(place, first[partition])
        self._consumer.assign(list(partitions.values()))
        for name, partition in partitions.items():
            self._consumer.seek(partition, found[name])
        return found

    async def read(self, most: int, seconds: float) -> list[Message]:
        """Return the next messages."""
        from aiokafka.errors import KafkaError

        with self.errors(KafkaError):
            found = await self._consumer.getmany(timeout_ms=int(seconds * 1000), max_records=most)
        messages = []
        for partition, records in found.items():
            name = f"{partition.topic}/{partition.partition}"
            messages += [
                Message(name, str(one.offset), one.offset, one.offset + 1, one.value) for one in records
            ]
        return messages

    async def is_at_end(self) -> bool:
        """Whether everything was read: a read may return nothing before the brokers have answered."""
        return not await self._behind()

    async def _behind(self) -> int:
        from aiokafka.errors import KafkaError

        with self.errors(KafkaError):
            partitions = list(self._partitions().values())
            end = await self._consumer.end_offsets(partitions)
            return sum([int(end[one]) - int(await self._consumer.position(one)) for one in partitions])

    async def commit(self, position: Position) -> None:
        """Commit the offsets for the group."""
        from aiokafka.errors import KafkaError

        partitions = self._partitions()
        with self.errors(KafkaError):
            await self._consumer.commit(
                {partitions[name]: place for name, place in position.items() if name in partitions}
            )

    async def lag(self, position: Position) -> int | None:
        """Return how many messages were not read yet."""
        if self._partitions().keys() != position.keys():
            raise ConnectionError(
                f"{self} has other partitions than before; all of them are read from now on"
            )
        return await self._behind()

    async def close(self) -> None:
        """Close the connections."""
        if self._consumer is not None:
            with contextlib.suppress(Exception):
                await self._consumer.stop()
