"""Starting the server: the first token, the address, and uvicorn."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from linmax.service.app import Service
from linmax.service.database import FILE
from linmax.service.problems import ServiceError
from linmax.service.tokens import SCOPES, hash_of, new_token

ADMIN_VARIABLE = "LINMAX_ADMIN_TOKEN"
SHORTEST_TOKEN = 32  # characters of a token that is given
MAX_CONNECTIONS = 2000
GRACE = 5  # seconds for requests that run when the server is stopped


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
        known = {token.hash for token in service.tokens.list()}
        if hash_of(given) not in known:
            service.database.write([new_token("admin (environment)", SCOPES, text=given)[1]])
            service.tokens.reload()
        return None
    if len(service.tokens):
        return None
    text, statement = new_token("admin", SCOPES)
    service.database.write([statement])
    service.tokens.reload()
    return text


def is_loopback(host: str) -> bool:
    """Whether an address is one of this machine only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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
    folder: Path, *, host: str = "127.0.0.1", hosts: frozenset[str] = frozenset(), rate: float = 0.0
) -> tuple[Service, str | None]:
    """Open a data folder; return the service and, the first time, the text of its admin token.

    Parameters
    ----------
    folder, host, hosts, rate
        As for `serve`.
    """
    given = os.environ.get(ADMIN_VARIABLE)
    if not is_loopback(host) and not given and not (folder / FILE).exists():
        raise ValueError(
            f"a new server does not listen on {host}, which others can reach, before there is a token: start"
            f" it once on 127.0.0.1, or set {ADMIN_VARIABLE}"
        )
    own = frozenset() if is_loopback(host) else frozenset({host.lower()})
    service = Service(folder, hosts=frozenset(name.lower() for name in hosts) | own, rate=rate)
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

    config = uvicorn.Config(
        service.app(), log_level="warning", access_log=False, server_header=False, ws="none", lifespan="on",
        limit_concurrency=MAX_CONNECTIONS, timeout_graceful_shutdown=GRACE, proxy_headers=False,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    hosts: frozenset[str] = frozenset(),
    rate: float = 0.0,
    announce: Callable[[str], None] = print,
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
    announce
        Called with lines for the person who starts the server.
    """
    with listen(host, port) as one:
        service, text = start_service(folder, host=host, hosts=hosts, rate=rate)
        if text is not None:
            announce(f"admin token, shown only now: {text}")
        announce(f"linmax serves {folder} on http://{host}:{one.getsockname()[1]} (interface: /docs)")
        gc.collect()
        gc.freeze()  # what lives as long as the process is not looked at again
        gc.set_threshold(50_000, 20, 100)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
        make_server(service).run(sockets=[one])
