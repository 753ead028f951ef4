"""Message logs that can be followed: Kafka, Redis Streams and NATS JetStream."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from linmax.scale.messages import GROUP, Message, Position

MODULES = {"kafka": "kafka", "redis": "redis", "rediss": "redis", "nats": "nats", "tls": "nats"}
EXAMPLES = "kafka://HOST:9092/TOPIC, redis://HOST:6379/0?stream=STREAM or nats://HOST:4222/STREAM"


class Address:
    """The address of a message log; its text never has the password.

    Parameters
    ----------
    url
        Such as ``redis://:secret@127.0.0.1:6379/0?stream=votes&group=linmax``.

    Attributes
    ----------
    scheme, host : str
        The protocol and the host.
    port : int or None
        The port.
    user, password : str or None
        The credentials.
    path : str
        What follows the host, without the first slash.
    group : str
        The name under which the position in the log is saved.
    moved : bool
        Whether the log was at another address when its position was saved.

    Examples
    --------
    >>> address = Address("redis://:secret@127.0.0.1:6379/0?stream=votes")
    >>> address, address.password, address.option("stream")
    (redis://127.0.0.1:6379/0?stream=votes, 'secret', 'votes')
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            self.port = parts.port
        except ValueError:
            raise ValueError(f"the address of a message log is not well formed; use {EXAMPLES}") from None
        if parts.scheme not in MODULES or not parts.hostname:
            raise ValueError(
                f"a message log has an address such as {EXAMPLES} (got the protocol {parts.scheme[:20]!r})"
            )
        self.scheme, self.host = parts.scheme, parts.hostname
        self.user = None if parts.username is None else unquote(parts.username)
        self.password = None if parts.password is None else unquote(parts.password)
        self.path = unquote(parts.path.removeprefix("/"))
        self._options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self._known: set[str] = set()
        self.group = self.option("group", GROUP)
        self.moved = self.option("moved") == "1"
        self._shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def __repr__(self) -> str:
        return self._shown

    def option(self, name: str, default: str = "") -> str:
        """Return an option of the query."""
        self._known.add(name)
        return self._options.get(name) or default

    def names(self, text: str, what: str) -> list[str]:
        """Return the names in a text with commas; none, or an unknown option, is an error."""
        found = list(dict.fromkeys(name for name in text.split(",") if name))
        if not found:
            raise ValueError(f"{self} names no {what}; use {EXAMPLES}")
        unknown = sorted(self._options.keys() - self._known)
        if unknown:
            raise ValueError(f"{self} has an unknown option {unknown[0]}; known are {_listed(self._known)}")
        return found


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


class MessageSource:
    """A message log; errors of its connection are ConnectionErrors of one sentence.

    Parameters
    ----------
    address
        Where it is.
    names
        The topics or streams.

    Attributes
    ----------
    key : str
        What names the log and the group where a position is saved.
    place : str
        Where the log is: a position counts at its place only.
    lost : int
        Messages that the broker had removed before they were read, as far as it is known.
    """

    product: ClassVar[str]
    port: ClassVar[int]
    """The usual port."""

    def __init__(self, address: Address, names: list[str]) -> None:
        self.address = address
        self.names = names
        self.key = f"{self.product} {','.join(names)} {address.group}"
        self.place = f"{address.host}:{address.port or self.port}"
        self.lost = 0

    def __repr__(self) -> str:
        return repr(self.address)

    async def connect(self) -> None:
        """Connect to the broker."""
        raise NotImplementedError

    async def committed(self) -> Position | None:
        """Return the position that the broker has saved for the group; None if there is none."""
        raise NotImplementedError

    async def seek(self, position: Position | None, from_start: bool) -> Position:
        """Continue from a position.

        Parameters
        ----------
        position
            The position; partitions that it does not have are read from their first message.
        from_start
            Without a position: whether the first message that will be read is the oldest one, or a new one.

        Returns
        -------
        dict
            The position of all partitions.
        """
        raise NotImplementedError

    async def read(self, most: int, seconds: float) -> list[Message]:
        """Return the next messages, as soon as there are any; none if none came in time."""
        raise NotImplementedError

    async def is_at_end(self) -> bool:
        """Whether a read that has returned nothing means that there is nothing."""
        return True

    async def commit(self, position: Position) -> None:
        """Save a position for the group in the broker."""
        raise NotImplementedError

    async def lag(self, position: Position) -> int | None:
        """Return how many messages come after a position; None if the broker does not say."""
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection."""
        raise NotImplementedError

    @contextlib.contextmanager
    def errors(self, kind: type[Exception]) -> Iterator[None]:
        """Turn errors of a kind and of the network into ConnectionErrors without credentials."""
        try:
            yield
        except (kind, OSError, TimeoutError) as error:
            reason = str(error).split("\n")[0].strip(" .") or type(error).__name__
            if self.address.password:
                reason = reason.replace(self.address.password, "***")
            raise ConnectionError(
                f"{self} cannot be read ({reason}); check the address and the broker"
            ) from None

    def other_log(self, partition: str, place: Any, end: Any) -> ValueError:
        """Return the error about a position that is after the end of the log."""
        return ValueError(
            f"{partition} of {self} ends at {end}, and {place} was read before: this is another log; pass"
            " another group= in the address to read it from its start"
        )


def open_source(url: str) -> MessageSource:
    """Return the log with an address; nothing is connected yet.

    Parameters
    ----------
    url
        The address.

    Examples
    --------
    >>> open_source("amqp://127.0.0.1/votes")
    Traceback (most recent call last):
    ValueError: a message log has an address such as kafka://HOST:9092/TOPIC, ... (got the protocol 'amqp')
    """
    address = Address(url)
    module = importlib.import_module(f"linmax.scale.sources.{MODULES[address.scheme]}")
    source: MessageSource = module.make_source(address)
    return source
