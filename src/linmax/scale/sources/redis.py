"""Redis Streams: ``redis://HOST:6379/0?stream=votes``."""

from __future__ import annotations

import contextlib
from typing import Any

from linmax.scale.messages import Message, Position
from linmax.scale.sources import Address, MessageSource
from linmax.validation import require_extra

OLDEST = "0-0"


def make_source(address: Address) -> MessageSource:
    """Return the streams that an address names."""
    require_extra("redis", "redis", "following Redis Streams")
    field = address.option("field", "message")
    return RedisSource(address, address.names(address.option("stream"), "stream"), field)


class RedisSource(MessageSource):
    """Streams of Redis; an entry has the JSON of the message in one of its fields.

    The last id that was read is the position. A consumer group of Redis saves it, and is used for nothing
    else: entries are read in their order by one consumer, and none are pending.

    Parameters
    ----------
    address, names
        As for `MessageSource`.
    field
        The field with the message.
    """

    product = "redis"
    port = 6379

    def __init__(self, address: Address, names: list[str], field: str) -> None:
        super().__init__(address, names)
        self.place += f"/{address.path or 0}"
        self.field = field.encode()
        self._last: Position = {}
        self._read: dict[str, int] = {}  # entries up to the position, where it is known
        self._removed: dict[str, int] = {}  # entries that are gone, of which those not read are counted
        self._client: Any = None

    async def connect(self) -> None:
        """Connect to the server."""
        import redis.asyncio as redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff

        address = self.address
        try:
            database = int(address.path or 0)
        except ValueError:
            raise ValueError(f"{self} should have the number of a database after the host") from None
        self._client = redis.Redis(
            host=address.host, port=address.port or self.port, db=database, username=address.user or None,
            password=address.password, ssl=address.scheme == "rediss", socket_connect_timeout=5,
            socket_timeout=30, retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
        with self.errors(redis.RedisError):
            await self._client.ping()

    async def _info(self, name: str) -> dict[str, Any]:
        """Return what Redis knows about a stream; an empty one if there is none."""
        from redis.exceptions import RedisError, ResponseError

        with self.errors(RedisError):
            try:
                found: dict[str, Any] = await self._client.xinfo_stream(name)
            except ResponseError as error:
                if "no such key" not in str(error):
                    raise
                return {"entries-added": 0, "length": 0, "last-generated-id": OLDEST, "last-entry": None}
        if "entries-added" not in found:
            raise ValueError(
                f"{self} is on a server that is older than Redis 7; update it to follow its streams"
            )
        return found

    async def _group(self, name: str) -> tuple[str, int | None] | None:
        """Return the last id of the consumer group, and how many entries there are up to it."""
        from redis.exceptions import RedisError

        if not (await self._info(name))["entries-added"]:
            return None
        with self.errors(RedisError):
            for group in await self._client.xinfo_groups(name):
                if group["name"] == self.address.group.encode():
                    return _text(group["last-delivered-id"]), group.get("entries-read")
        return None

    async def committed(self) -> Position | None:
        """Return the last ids of the consumer group."""
        found = {name: await self._group(name) for name in self.names}
        return {name: group[0] for name, group in found.items() if group is not None} or None

    async def seek(self, position: Position | None, from_start: bool) -> Position:
        """Continue after the ids of a position."""
        found: Position = {}
        self._read.clear()
        for name in self.names:
            info = await self._info(name)
            last, removed = _text(info["last-generated-id"]), info["entries-added"] - info["length"]
            if position is None:
                found[name] = OLDEST if from_start else last
            else:
                found[name] = position.get(name, OLDEST)
            if _pair(found[name]) > _pair(last):
                raise self.other_log(name, found[name], last)
            group = await self._group(name)
            if group is not None and group[0] == found[name] != OLDEST and group[1] is not None:
                self._read[name] = max(group[1], removed)
                self.lost += max(0, removed - max(group[1], self._removed.get(name, 0)))
                self._removed[name] = removed
            elif found[name] == last:
                self._read[name] = info["entries-added"]
            elif found[name] == OLDEST:
                self._read[name] = removed
        self._last = dict(found)
        return found

    async def read(self, most: int, seconds: float) -> list[Message]:
        """Return the next entries."""
        from redis.exceptions import RedisError

        with self.errors(RedisError):
            found = await self._client.xread(dict(self._last), count=most, block=max(1, int(seconds * 1000)))
        messages = []
        for stream, entries in found or ():
            name = stream.decode()
            for id_, fields in entries:
                text = id_.decode()
                messages.append(Message(name, text, self._last[name], text, fields.get(self.field)))
                self._last[name] = text
            if name in self._read:
                self._read[name] += len(entries)
        return messages

    async def commit(self, position: Position) -> None:
        """Save the ids in the consumer group."""
        from redis.exceptions import RedisError, ResponseError

        group = self.address.group
        with self.errors(RedisError):
            for name, place in position.items():
                with contextlib.suppress(ResponseError):  # it exists
                    await self._client.xgroup_create(name, group, id=place, mkstream=True)
                read = self._entries_read(name, place)
                await self._client.xgroup_setid(name, group, place, entries_read=read)

    def _entries_read(self, name: str, place: str) -> int | None:
        return self._read.get(name) if place == self._last.get(name) else None

    async def lag(self, position: Position) -> int | None:
        """Return how many entries come after a position, where it is known; count those that were removed."""
        total = 0
        for name, place in position.items():
            info = await self._info(name)
            added, last, read = (
                int(info["entries-added"]),
                info["last-entry"],
                self._entries_read(name, place),
            )
            if last is None or _pair(_text(last[0])) <= _pair(place):  # nothing is left to read
                self.lost += 0 if read is None else max(0, added - read)
                self._read[name] = added
            elif read is None:
                return None
            else:
                total += added - read
        return total

    async def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._client.aclose()


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _pair(id_: str) -> tuple[int, int]:
    """Return an id as numbers that can be compared."""
    time, _, number = id_.partition("-")
    return int(time), int(number or 0)
