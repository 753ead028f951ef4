"""Clients for programs with and without asyncio: the same verbs, ids with every request, and safe retries."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Self

from linmax.client.requests import RETRIED, Call, ClientError, pause_before, read_answer
from linmax.client.verbs import Verbs
from linmax.validation import require_extra


class Client(Verbs):
    """A client of a server of `linmax serve`.

    Every item is sent with an id, so a request may be repeated: it is after an answer that says "try later"
    and after a broken connection.

    Parameters
    ----------
    url
        Where the server listens.
    token
        A token that the server knows.
    attempts
        How many times a request is sent at most.
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

    def __init__(self, url: str, token: str, *, attempts: int = 6, timeout: float = 120.0) -> None:
        self._httpx = require_extra("httpx", "service", "linmax.client")
        self._attempts = attempts
        self._client = self._httpx.Client(**_options(url, token, timeout))

    def _send(self, request: Call) -> Any:
        for attempt in range(self._attempts):
            last = attempt + 1 >= self._attempts
            try:
                answer = self._client.request(
                    request.method, request.path, content=request.body, headers=request.headers
                )
            except self._httpx.TransportError as error:
                if last:
                    raise _no_answer(error) from error
                time.sleep(pause_before(attempt, None))
                continue
            if answer.status_code not in RETRIED or last:
                return read_answer(request, answer.status_code, answer.content)
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

    def __init__(self, url: str, token: str, *, attempts: int = 6, timeout: float = 120.0) -> None:
        self._httpx = require_extra("httpx", "service", "linmax.client")
        self._attempts = attempts
        self._client = self._httpx.AsyncClient(**_options(url, token, timeout))

    async def _send(self, request: Call) -> Any:
        for attempt in range(self._attempts):
            last = attempt + 1 >= self._attempts
            try:
                answer = await self._client.request(
                    request.method, request.path, content=request.body, headers=request.headers
                )
            except self._httpx.TransportError as error:
                if last:
                    raise _no_answer(error) from error
                await asyncio.sleep(pause_before(attempt, None))
                continue
            if answer.status_code not in RETRIED or last:
                return read_answer(request, answer.status_code, answer.content)
            await asyncio.sleep(pause_before(attempt, answer.headers.get("retry-after")))
        raise ValueError(f"attempts should be 1 or more (got {self._attempts})")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


def _options(url: str, token: str, timeout: float) -> dict[str, Any]:
    return {"base_url": url, "headers": {"authorization": f"Bearer {token}"}, "timeout": timeout}


def _no_answer(error: Exception) -> ClientError:
    return ClientError(0, "no_answer", f"the server did not answer ({str(error) or type(error).__name__})")
