"""Starting the server: the first token, the address, and uvicorn."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linmax.service.app import Service
from linmax.service.connections import (
    PATIENCE,
    Connection,
    abort_unread,
    allow_open_files,
    close_idle,
    connection_limit,
)
from linmax.service.event_log.database import FILE
from linmax.service.fusions.item_store import LABEL_WAIT
from linmax.service.fusions.served_panels import MEMORY
from linmax.service.http.guard import MAX_REQUESTS
from linmax.service.http.logs import configure
from linmax.service.messages.errors import ServiceError
from linmax.service.tokens import REVOKE, SCOPES, hash_of, new_token

ADMIN_VARIABLE = "LINMAX_ADMIN_TOKEN"
OF_ENVIRONMENT = "admin (environment)"
"""The name of its token."""
SHORTEST_TOKEN = 32  # characters of a token that is given
GRACE = 5  # seconds for requests that run when the server is stopped
logger = logging.getLogger("linmax.service")


def first_token(service: Service, given: str | None) -> str | None:
    """Make sure that there is an admin token; return the text of a new one that was drawn.

    Parameters
    ----------
    service
        The service.
    given
        The token that the environment gives, if any.
    """
    if given:
        if len(given) < SHORTEST_TOKEN:
            raise ValueError(
                f"{ADMIN_VARIABLE} has {len(given)} characters; a token needs {SHORTEST_TOKEN} random ones"
            )
        _use_token(service, given)
        return None
    if len(service.tokens):
        return None
    text, statement = new_token("admin", SCOPES)
    service.database.write([statement])
    service.tokens.reload()
    return text


def _use_token(service: Service, given: str) -> None:
    """Store the token that the environment gives; the one that it gave before is revoked."""
    stored = service.database.rows("SELECT revoked FROM tokens WHERE hash = ?", hash_of(given))
    if stored and stored[0][0] is not None:
        raise ValueError(f"the token in {ADMIN_VARIABLE} was revoked; set another one, or none")
    if not stored:
        former = [token.number for token in service.tokens.list() if token.name == OF_ENVIRONMENT]
        service.database.write(
            [
                *[(REVOKE, (time.time(), number)) for number in former],
                new_token(OF_ENVIRONMENT, SCOPES, text=given)[1],
            ]
        )
        service.tokens.reload()


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_host_name(name: str) -> None:
    """Refuse a host that no request can be for, since it has a protocol, a port or a path.

    >>> check_host_name("votes.example.org")
    >>> check_host_name("votes.example.org:8443")
    Traceback (most recent call last):
    ValueError: --allow-host should be a name without protocol, port and path (got 'votes.example.org:8443')
    """
    try:
        ipaddress.ip_address(name)
    except ValueError:
        if not name or any(one in ":/[]@*" or one.isspace() for one in name):
            raise ValueError(
                f"--allow-host should be a name without protocol, port and path (got {name[:100]!r})"
            ) from None


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; an error is one sentence.

    Parameters
    ----------
    host, port
        Where to listen; the port 0 is a free one.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        one = socket.socket(family, kind, protocol)
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(address)
        except OSError:
            one.close()
            raise
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"the server cannot listen on {host}:{port} ({reason}); choose another host or port"
        ) from None
    one.set_inheritable(False)
    return one


def start_service(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    hosts: frozenset[str] = frozenset(),
    rate: float = 0.0,
    keep: float | None = None,
    memory: int = MEMORY,
    label_wait: float = LABEL_WAIT,
) -> tuple[Service, str | None]:
    """Open a data folder; return the service and, the first time, the text of its admin token.

    Parameters
    ----------
    folder, host, hosts, rate, keep, memory, label_wait
        As for `serve`.
    """
    given = os.environ.get(ADMIN_VARIABLE)
    for name in hosts:
        check_host_name(name)
    if not is_loopback(host) and not given and not (folder / FILE).exists():
        raise ValueError(
            f"a new server does not listen on {host}, which others can reach, before there is a token: start"
            f" it once on 127.0.0.1, or set {ADMIN_VARIABLE}"
        )
    own = frozenset() if is_loopback(host) else frozenset({host.lower()})
    own |= {name.lower() for name in hosts}
    service = Service(folder, hosts=own, rate=rate, keep=keep, memory=memory, label_wait=label_wait)
    try:
        return service, first_token(service, given)
    except (ValueError, ServiceError) as error:
        service.database.close()
        raise ValueError(str(error)) from None


def make_server(service: Service) -> Any:
    """Return the server of uvicorn for a service.

    Parameters
    ----------
    service
        The service.
    """
    import uvicorn

    limit = connection_limit()
    app = service.app(min(MAX_REQUESTS, limit * 3 // 4))  # there are always connections that wait

    class Server(uvicorn.Server):
        async def on_tick(self, counter: int) -> bool:  # ten times per second
            if counter % 10 == 0:  # what has come meanwhile is read first, if the process was stopped
                asyncio.get_running_loop().call_later(0.05, close_idle, self.server_state.connections)
            if counter % 100 == 0 and len(self.server_state.connections) >= limit:
                logger.warning("%d connections are open; new ones close those that wait longest", limit)
            return await super().on_tick(counter)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.stopping = True
            service.streams.stop()  # they would keep their connections open
            asyncio.get_running_loop().call_later(0.9 * GRACE, abort_unread, self.server_state.connections)
            await super().shutdown(sockets)

    config = uvicorn.Config(
        app, http=Connection, log_config=None, access_log=False, server_header=False,
        ws="none", lifespan="on", limit_concurrency=limit, timeout_keep_alive=PATIENCE,
        timeout_graceful_shutdown=GRACE, proxy_headers=False,
    )  # fmt: skip
    return Server(config)


def dashboard_link(service: Service, url: str) -> str:
    """Return a link that signs in to the dashboard once, as the oldest token with all rights.

    Without such a token, the link leads to the form for a token.

    Parameters
    ----------
    service
        The service.
    url
        Where it listens.
    """
    for token in service.tokens.list():
        if token.allows("admin", None) and service.tokens.is_valid(token):
            return f"{url}/#/sign-in/{service.sign_ins.new_code(token)}"
    return f"{url}/"


def serve(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    hosts: frozenset[str] = frozenset(),
    rate: float = 0.0,
    keep: float | None = None,
    memory: int = MEMORY,
    label_wait: float = LABEL_WAIT,
    log_format: str = "text",
    log_level: str = "warning",
    announce: Callable[[str], None] = print,
    link: bool = False,
) -> None:
    """Serve a data folder until the process is told to stop.

    Parameters
    ----------
    folder
        The data folder; it is created if it does not exist.
    host, port
        Where to listen.
    hosts
        Host names that requests may be for, beside those of loopback: of a proxy, for example.
    rate
        Requests per second of one token; 0 means no limit.
    keep
        For how many seconds events are kept; None means forever.
    memory
        The largest size of the fusions in memory, in bytes; others are loaded when they are needed.
    label_wait
        For how many seconds a label waits for its prediction.
    log_format, log_level
        As for `logs.configure`.
    announce
        Called with lines for the person who starts the server.
    link
        Whether a link to the dashboard is among them, which signs in once; the first time it always is.
    """
    configure(log_format, log_level)
    allow_open_files()
    with listen(host, port) as one:
        service, text = start_service(
            folder, host=host, hosts=hosts, rate=rate, keep=keep, memory=memory, label_wait=label_wait
        )
        if text is not None:
            announce(f"admin token, shown only now: {text}")
        url = f"http://{host}:{one.getsockname()[1]}"
        announce(f"linmax serves {folder} on {url} (interface: /docs)")
        if link or text is not None:
            announce(f"dashboard, to be opened once within ten minutes: {dashboard_link(service, url)}")
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked at again
        gc.set_threshold(5_000, 50, 1_000)  # a pause of less than a millisecond
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        make_server(service).run(sockets=[one])
