"""NATS JetStream: ``nats://HOST:4222/STREAM``."""

from __future__ import annotations

import contextlib
import re
from typing import Any

from linmax.scale.messages import Message, Position
from linmax.scale.sources import Address, MessageSource
from linmax.validation import require_extra

BUCKET = "linmax_follow"
FORGOTTEN_AFTER = 60.0  # seconds without a request after which the server removes the consumer


def make_source(address: Address) -> MessageSource:
    """Return the stream that an address names."""
    require_extra("nats", "nats", "following NATS JetStream")
    subject = address.option("subject")
    names = address.names(address.path, "stream")
    if len(names) > 1:
        raise ValueError(f"{address} should name one stream, which may have many subjects")
    if re.search(r"[\s.*>/\\]", names[0]):
        raise ValueError(
            f"{address} has no stream {names[0][:100]!r}: spaces and any of . * > / \\ are not allowed"
        )
    return NatsSource(address, names, subject)


def _key(name: str) -> str:
    """Return a name as a part of a key of a bucket; different names give different keys.

    >>> _key("a_b"), _key("a.b"), _key("é")
    ('a_b', 'a=2Eb', '=C3=A9')
    """
    return "".join(
        chr(byte) if re.match(rb"[A-Za-z0-9_-]", bytes([byte])) else f"={byte:02X}" for byte in name.encode()
    )


class NatsSource(MessageSource):
    """A stream of JetStream; the sequence number of the last message is the position.

    Messages are pulled by a consumer without acknowledgements that the server forgets, and a message that is
    lost on its way is read again, since the numbers of a consumer have no gaps. A key-value bucket saves the
    position of the group.

    Parameters
    ----------
    address, names
        As for `MessageSource`.
    subject
        The subjects to read, with wildcards; empty for all.
    """

    product = "nats"
    port = 4222

    def __init__(self, address: Address, names: list[str], subject: str) -> None:
        super().__init__(address, names)
        self.subject = subject
        (self.stream,) = names
        self._client: Any = None
        self._last = self._count = 0
        self._js: Any = None
        self._pull: Any = None
        self._consumer = ""
        self._group = f"{_key(self.stream)}.{_key(address.group)}"

    async def connect(self) -> None:
        """Connect to the server."""
        import nats

        async def ignore(error: Exception) -> None:
            """Whatever is called next raises the error."""

        address = self.address
        host = f"[{address.host}]" if ":" in address.host else address.host
        with self.errors(nats.errors.Error):
            self._client = await nats.connect(
                f"{address.scheme}://{host}:{address.port or self.port}", user=address.user,
                password=address.password, allow_reconnect=False, max_reconnect_attempts=1,
                reconnect_time_wait=0.1, connect_timeout=5, error_cb=ignore,
            )  # fmt: skip
        self._js = self._client.jetstream(timeout=10)

    async def _state(self) -> Any:
        """Return the first and last sequence number of the stream."""
        from nats.errors import Error
        from nats.js.errors import NotFoundError

        with self.errors(Error):
            try:
                return (await self._js.stream_info(self.stream)).state
            except NotFoundError:
                raise ValueError(f"{self} has no stream {self.stream!r}; create it first") from None

    async def _bucket(self) -> Any:
        from nats.js.errors import BucketNotFoundError

        try:
            return await self._js.key_value(BUCKET)
        except BucketNotFoundError:
            return await self._js.create_key_value(bucket=BUCKET)

    async def committed(self) -> Position | None:
        """Return the number that the bucket has."""
        from nats.errors import Error
        from nats.js.errors import KeyNotFoundError

        with self.errors(Error):
            try:
                entry = await (await self._bucket()).get(self._group)
            except KeyNotFoundError:
                return None
        return {self.stream: int(entry.value)}

    async def seek(self, position: Position | None, from_start: bool) -> Position:
        """Continue after the number of a position."""
        state = await self._state()
        if position is None:
            self._last = state.first_seq - 1 if from_start and state.messages else state.last_seq
        else:
            self._last = int(position.get(self.stream, 0))
            if self._last > state.last_seq:
                raise self.other_log(self.stream, self._last, state.last_seq)
            self.lost += max(0, state.first_seq - 1 - self._last)
            self._last = max(self._last, state.first_seq - 1)  # they are counted once
        await self._subscribe()
        return {self.stream: self._last}

    async def _subscribe(self) -> None:
        """Make a consumer that begins after the last message."""
        from nats.errors import Error
        from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=self._last + 1,
            ack_policy=AckPolicy.NONE, inactive_threshold=FORGOTTEN_AFTER, mem_storage=True,
            filter_subject=self.subject or None,
        )  # fmt: skip
        with self.errors(Error):
            info = await self._js.add_consumer(self.stream, config)
            self._consumer, self._count = info.name, 0
            self._pull = await self._js.pull_subscribe_bind(consumer=info.name, stream=self.stream)

    async def read(self, most: int, seconds: float) -> list[Message]:
        """Return the next messages."""
        from nats.errors import Error

        with self.errors(Error):
            try:
                found = await self._pull.fetch(most, timeout=seconds)
            except TimeoutError:  # also the one of nats
                await self._info()
                return []
        messages = []
        for one in found:
            place = one.metadata.sequence
            self._count += 1
            if place.consumer != self._count:
                await self._subscribe()
                break
            messages.append(Message(self.stream, str(place.stream), self._last, place.stream, one.data))
            self._last = place.stream
        return messages

    async def is_at_end(self) -> bool:
        """Whether everything was read: the server may have sent what has not arrived."""
        info = await self._info()
        return not info.num_pending and info.delivered.consumer_seq == self._count

    async def _info(self) -> Any:
        """Return what the server knows about the consumer; an error if it is gone."""
        from nats.errors import Error

        with self.errors(Error):
            return await self._js.consumer_info(self.stream, self._consumer)

    async def commit(self, position: Position) -> None:
        """Save the number in the bucket."""
        from nats.errors import Error

        with self.errors(Error):
            await (await self._bucket()).put(self._group, str(position[self.stream]).encode())

    async def lag(self, position: Position) -> int | None:
        """Return how many messages were not read yet."""
        return int((await self._info()).num_pending)

    async def close(self) -> None:
        """Close the connection; the server forgets the consumer."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._client.close()
