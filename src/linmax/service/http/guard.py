"""What every request passes first: host and origin, size and rate limits, and the token."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from linmax.service.http.logs import log_request, requests
from linmax.service.http.sign_ins import SignIn, SignIns
from linmax.service.messages.errors import ServiceError
from linmax.service.tokens import Token, TokenStore

MAX_BODY = 32 << 20  # bytes
MAX_REQUESTS = 1500  # at a time
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        b" frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
NAMES = frozenset(name for name, _ in HEADERS)
SINGLE = frozenset({b"host", b"origin", b"authorization", b"content-length", b"cookie", b"x-csrf-token"})
OPEN_PATHS = frozenset({"/", "/session", "/healthz", "/readyz", "/openapi.json", "/docs", "/docs/page.css"})
ASSETS = "/assets/"  # the files of the dashboard have no secrets
BASE = ["", "v1", "fusions"]
READS = frozenset({"GET", "HEAD"})

Scope = MutableMapping[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]
App = Callable[[Scope, Callable[[], Awaitable[Any]], Callable[[Any], Awaitable[None]]], Awaitable[None]]


class TokenBucket:
    """A limit on the requests of one token: a rate per second, and a burst.

    Parameters
    ----------
    rate
        Requests per second.
    burst
        The largest number of requests at once.
    """

    __slots__ = ("burst", "left", "rate", "time")

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self.left = burst
        self.time = time.monotonic()

    def take(self) -> float:
        """Take one request; return 0, or the seconds until there is one again."""
        now = time.monotonic()
        self.left = min(self.burst, self.left + (now - self.time) * self.rate)
        self.time = now
        if self.left < 1.0:
            return (1.0 - self.left) / self.rate
        self.left -= 1.0
        return 0.0


class Guard:
    """Checks requests, and adds security headers to answers.

    Parameters
    ----------
    app
        The application behind it.
    endpoints
        The endpoints of items by the last part of their paths; they are called without the router of the
        application, which takes less time.
    tokens, sign_ins
        The tokens, and those who have signed in to the dashboard.
    hosts
        The host names that requests may be for.
    rate
        Requests per second of one token; 0 means no limit.
    most
        The largest number of requests at a time.

    Attributes
    ----------
    stopping : bool
        Whether the server stops: requests that are cancelled are asked to come again.
    """

    def __init__(
        self,
        app: App,
        endpoints: Mapping[str, Endpoint],
        tokens: TokenStore,
        sign_ins: SignIns,
        hosts: frozenset[str],
        rate: float = 0.0,
        most: int = MAX_REQUESTS,
    ) -> None:
        self.app = app
        self.endpoints = endpoints
        self.tokens = tokens
        self.sign_ins = sign_ins
        self.hosts = hosts
        self.rate = rate
        self.most = most
        self.stopping = False
        self._running = 0
        self._buckets: dict[int, TokenBucket] = {}
        self._last_host: bytes | None = None  # that was found among the hosts

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        status, counted, start = 0, False, time.perf_counter()

        async def send_safely(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                own = message.get("headers", ())
                if NAMES.isdisjoint([name for name, _ in own]):
                    message["headers"] = [*own, *HEADERS]
                else:
                    names = {name for name, _ in own}
                    message["headers"] = [*own, *(pair for pair in HEADERS if pair[0] not in names)]
            await send(message)

        try:
            headers = single_headers(scope["headers"])
            self._check_host(headers)
            length = headers.get(b"content-length", b"0")
            if not length.isdigit() or len(length) > 15 or int(length) > MAX_BODY:
                raise ServiceError(
                    413, "too_large", f"a request may have {MAX_BODY} bytes; send less at a time"
                )
            if scope["path"] not in OPEN_PATHS and not scope["path"].startswith(ASSETS):
                scope["linmax.token"] = token = self._identify(scope, headers)
                if self._running >= self.most:
                    raise ServiceError(503, "busy", f"the server has {self.most} requests; try later", 1)
                counted = True
                self._running += 1
                if self.rate > 0.0:
                    self._check_rate(token)
            endpoint = self._endpoint(scope)
            if endpoint is None:
                await self.app(scope, receive, send_safely)
            else:
                response = await endpoint(Request(scope, receive))
                status = response.status_code
                own_headers = [*response.raw_headers, *HEADERS]
                await send({"type": "http.response.start", "status": status, "headers": own_headers})
                await send({"type": "http.response.body", "body": response.body})
        except ServiceError as error:
            await send_problem(error, send_safely)
        except ClientDisconnect:
            status = 400
        except asyncio.CancelledError:  # the server stops, and does not wait any longer
            if status or not self.stopping:
                raise
            await send_problem(ServiceError(503, "stopping", "the server stops; try again", 1), send_safely)
        finally:
            self._running -= counted
        if requests.isEnabledFor(logging.INFO):
            log_request(scope, status, time.perf_counter() - start)

    def _endpoint(self, scope: Scope) -> Endpoint | None:
        """Return the endpoint of a request about items, such as POST /v1/fusions/{name}/predict."""
        parts = scope["path"].split("/")
        endpoint = self.endpoints.get(parts[-1])
        if endpoint is None or len(parts) != 5 or scope["method"] != "POST" or parts[:3] != BASE:
            return None
        scope["path_params"], scope["endpoint"] = {"name": parts[3]}, endpoint
        return endpoint

    def _check_host(self, headers: dict[bytes, bytes]) -> None:
        """Refuse requests that a web page of another origin makes, also on loopback (DNS rebinding)."""
        given, origin = headers.get(b"host", b""), headers.get(b"origin")
        if given == self._last_host and origin is None:
            return
        host = given.decode("latin-1")
        if host_name(host) not in self.hosts:
            raise ServiceError(
                421,
                "unknown_host",
                f"the server does not answer for the host {host[:100]!r}; start it with --allow-host NAME, or"
                " let the proxy pass the header Host on",
            )
        self._last_host = given
        if origin is not None and origin_host(origin.decode("latin-1")) != host.lower():
            shown = origin.decode("latin-1")[:100]
            raise ServiceError(
                403,
                "other_origin",
                f"the request is for the host {host[:100]!r} and comes from a page of {shown!r};"
                " use the same, and let a proxy pass the header Host on unchanged, with the port",
            )

    def _identify(self, scope: Scope, headers: dict[bytes, bytes]) -> Token:
        """Return the token of a request: that of the header, or that of the session of a cookie."""
        session = None if b"authorization" in headers else self._sign_in(scope, headers)
        if session is not None:
            scope["linmax.valid"] = lambda: self.sign_ins.is_valid(session)
            return session.token
        token = self._token(headers)
        scope["linmax.valid"] = lambda: self.tokens.is_valid(token)
        return token

    def _sign_in(self, scope: Scope, headers: dict[bytes, bytes]) -> SignIn | None:
        """Return the session of a request from the page, which no other page can have sent."""
        if headers.get(b"sec-fetch-site", b"same-origin") not in (b"same-origin", b"none"):
            return None
        session = self.sign_ins.find(headers.get(b"cookie", b""))
        if session is not None and scope["method"] not in READS:
            session.check_change(headers.get(b"origin"), headers.get(b"x-csrf-token"))
        return session

    def _token(self, headers: dict[bytes, bytes]) -> Token:
        kind, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if kind.lower() != "bearer" or not text:
            raise ServiceError(401, "no_token", "pass a token: Authorization: Bearer lmx_...")
        return self.tokens.find(text.strip())

    def _check_rate(self, token: Token) -> None:
        bucket = self._buckets.setdefault(token.number, TokenBucket(self.rate, 2.0 * self.rate))
        wait = bucket.take()
        if wait > 0.0:
            raise ServiceError(
                429,
                "too_many_requests",
                f"a token may make {self.rate:g} requests per second",
                int(wait) + 1,
            )


def single_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes]:
    """Return the headers by name; those that decide what a request may do must not be there twice."""
    headers: dict[bytes, bytes] = {}
    for name, value in pairs:
        if name in headers and name in SINGLE:
            raise ServiceError(400, "bad_header", f"the header {name.decode('latin-1')} is there twice")
        headers[name] = value
    return headers


def origin_host(origin: str) -> str:
    """Return the host and port of an origin; empty if it is not one.

    >>> origin_host("http://localhost:8000"), origin_host("null"), origin_host("http://[")
    ('localhost:8000', '', '')
    """
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def host_name(host: str) -> str:
    """Return a host without its port.

    >>> host_name("127.0.0.1:8000"), host_name("[::1]:8000"), host_name("localhost")
    ('127.0.0.1', '::1', 'localhost')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


async def send_problem(error: ServiceError, send: Any) -> None:
    """Send an error as the answer."""
    headers = [(b"content-type", b"application/problem+json")]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="linmax"'))
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    body = msgspec.json.encode(error.problem())
    headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """Return the body of a request, counted while it is read."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise ServiceError(413, "too_large", f"the body has more than {limit} bytes; send less at a time")
        if not message.get("more_body", False):
            return b"".join((*parts, part)) if parts else part
        parts.append(part)
