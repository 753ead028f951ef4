"""Clients for programs with and without asyncio: the same verbs, ids with every request, and safe retries."""

from __future__ import annotations

import asyncio
import functools
import re
import time
from typing import Any, Self

from linmax.client.answers import read_answer
from linmax.client.errors import ClientError, bad_request
from linmax.client.requests import ATTEMPTS, RETRIED, Call, pause_before
from linmax.client.verbs import Verbs
from linmax.validation import require_extra


class Client(Verbs):
    """A client of a server of `linmax serve`.

    Every item is sent with an id, so a request may be repeated: it is after an answer that says "try later"
    and after a broken connection. Redirections are not followed, and an answer that is not one of linmax is
    a `ClientError`.

    Parameters
    ----------
    url
        Where the server listens, with http:// or https://.
    token
        A token that the server knows; spaces and line breaks around it are left out.
    attempts
        How many times a request is sent at most. The pauses between attempts double, from 0.1 to 5 seconds,
        are up to half shorter by chance, and longer if the server asks for that: the default of 11 attempts
        ends after 16 to 31 seconds, in which a server can restart.
    timeout
        Seconds until an attempt counts as failed. The first items of a new learner may compile for a minute.

    Examples
    --------
    >>> from linmax.client import Client, ClientError
    >>> with Client("http://127.0.0.1:9", "lmx_...", attempts=1) as client:
    ...     try:
    ...         client.predict("spam", {"ann": "ham"})
    ...     except ClientError as error:
    ...         error.code
    'no_answer'
    """

    def __init__(self, url: str, token: str, *, attempts: int = ATTEMPTS, timeout: float = 120.0) -> None:
        self._httpx = require_extra("httpx", "service", "linmax.client")
        self._attempts = attempts
        self._client = self._httpx.Client(**_options(self._httpx, url, token, timeout))

    def _send(self, request: Call) -> Any:
        for attempt in range(self._attempts):
            last = attempt + 1 >= self._attempts
            try:
                answer = self._client.request(
                    request.method, request.path, content=request.body, headers=request.headers
                )
            except _unsendable(self._httpx) as error:
                raise _not_sent(error) from None
            except (self._httpx.TransportError, self._httpx.DecodingError) as error:
                if last:
                    raise _no_answer(error) from error
                time.sleep(pause_before(attempt, None))
                continue
            if answer.status_code not in RETRIED or last:
                return read_answer(request, answer)
            time.sleep(pause_before(attempt, answer.headers.get("retry-after")))
        raise ValueError(f"attempts should be 1 or more (got {self._attempts})")

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class AsyncClient(Verbs):
    """A client for asyncio: the methods of `Client`, to be awaited.

    Parameters
    ----------
    url, token, attempts, timeout
        As for `Client`.
    """

    def __init__(self, url: str, token: str, *, attempts: int = ATTEMPTS, timeout: float = 120.0) -> None:
        self._httpx = require_extra("httpx", "service", "linmax.client")
        self._attempts = attempts
        self._client = self._httpx.AsyncClient(**_options(self._httpx, url, token, timeout))

    async def _send(self, request: Call) -> Any:
        for attempt in range(self._attempts):
            last = attempt + 1 >= self._attempts
            try:
                answer = await self._client.request(
                    request.method, request.path, content=request.body, headers=request.headers
                )
            except _unsendable(self._httpx) as error:
                raise _not_sent(error) from None
            except (self._httpx.TransportError, self._httpx.DecodingError) as error:
                if last:
                    raise _no_answer(error) from error
                await asyncio.sleep(pause_before(attempt, None))
                continue
            if answer.status_code not in RETRIED or last:
                return read_answer(request, answer)
            await asyncio.sleep(pause_before(attempt, answer.headers.get("retry-after")))
        raise ValueError(f"attempts should be 1 or more (got {self._attempts})")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _options(httpx: Any, url: str, token: str, timeout: float) -> dict[str, Any]:
    return {
        "base_url": _check_url(httpx, url),
        "headers": {"authorization": f"Bearer {_check_token(token)}"},
        "timeout": timeout,
        "verify": _trusted(httpx),
    }


@functools.cache
def _trusted(httpx: Any) -> Any:
    """Return the certificates that httpx trusts, read once: that takes longer than a request."""
    return httpx.create_ssl_context()


def _check_token(token: str) -> str:
    """Return a token without the space around it; errors do not show it."""
    stripped = token.strip() if isinstance(token, str) else ""
    if not re.fullmatch("[!-~]+", stripped):
        raise ValueError(
            "token should be text of one or more visible ASCII characters; pass the one that the server has"
            " printed"
        )
    return stripped


def _check_url(httpx: Any, url: str) -> str:
    """Return an address that requests can be sent to; errors do not show a password in it."""
    reason = "begin it with http:// or https://"
    if isinstance(url, str) and re.match("https?://", url, re.IGNORECASE):
        try:
            found = httpx.URL(url)
            if found.host and (found.port or 0) <= 65535:
                return url
        except httpx.InvalidURL:
            pass
        reason = "write it like http://127.0.0.1:8000"
    shown = url.rpartition("@")[2] if isinstance(url, str) else url
    raise ValueError(f"{shown!r} is not the address of a server; {reason}")


def _unsendable(httpx: Any) -> tuple[type[Exception], ...]:
    """Return the errors of requests that no other attempt can send."""
    return (httpx.InvalidURL, httpx.LocalProtocolError, httpx.UnsupportedProtocol)


def _not_sent(error: Exception) -> ClientError:
    """Return the error of a request that cannot be sent; a message of httpx may show the token."""
    return bad_request(
        f"the request cannot be sent ({type(error).__name__}); check the address, the name and the id"
    )


def _no_answer(error: Exception) -> ClientError:
    return ClientError(0, "no_answer", f"the server did not answer ({str(error) or type(error).__name__})")
