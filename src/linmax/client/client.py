"""Clients for programs with and without asyncio: the same verbs, ids with every request, and safe retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any, Self

from linmax.client.requests import (
    RETRIED,
    Call,
    ClientError,
    batch,
    call,
    new_id,
    pause_before,
    read_answer,
    without_none,
)
from linmax.validation import require_extra

Item = Mapping[str, Any]


class _Verbs:
    """The requests that both clients make; `_send` decides how."""

    def _send(self, request: Call) -> Any:
        raise NotImplementedError

    def create(
        self,
        name: str,
        *,
        learner: str | None = None,
        classes: list[Any] | None = None,
        on_new_class: str | None = None,
        limits: dict[str, Any] | None = None,
    ) -> Any:
        """Create a fusion; if it exists with the same settings, nothing happens.

        Parameters
        ----------
        name
            Its name.
        learner
            The learner as text, such as ``"Averaged(Winnow(1.2))"``; None is the default.
        classes
            Classes that are known in advance.
        on_new_class
            "add" or "error", as for `Fusion`.
        limits
            What it may grow to, such as ``{"experts": 50}``.

        Returns
        -------
        dict
            As from `describe`.
        """
        learner = None if learner is None else str(learner)
        body = without_none(learner=learner, classes=classes, on_new_class=on_new_class, limits=limits)
        return self._send(call("PUT", "fusions", name, body=body))

    def predict(
        self,
        name: str,
        votes: Item | None = None,
        *,
        attributes: Item | None = None,
        id: str | None = None,
        explain: bool = False,
    ) -> Any:
        """Predict an item; its votes wait for a label.

        Parameters
        ----------
        name
            The fusion.
        votes, attributes
            The item, as for `Fusion.predict_one`.
        id
            What names the item from now on; without it, a new one.
        explain
            Whether the answer says what each expert contributed.

        Returns
        -------
        dict
            With id, prediction, probabilities and version.
        """
        body = without_none(id=id or new_id(), votes=votes, attributes=attributes, explain=explain or None)
        return self._send(call("POST", "fusions", name, "predict", body=body))

    def label(self, name: str, id: str, label: Any, *, replaces: Any = None) -> Any:
        """Teach the label of an item that was predicted.

        Parameters
        ----------
        name
            The fusion.
        id
            The item.
        label
            Its true class.
        replaces
            The label that it was given before, if that was wrong.

        Returns
        -------
        dict
            With id, prediction, right and position.
        """
        body = without_none(id=id, label=label, replaces=replaces)
        return self._send(call("POST", "fusions", name, "labels", body=body))

    def learn(
        self,
        name: str,
        votes: Item | None,
        label: Any,
        *,
        attributes: Item | None = None,
        id: str | None = None,
    ) -> Any:
        """Predict an item, then learn its label.

        Parameters
        ----------
        name
            The fusion.
        votes, attributes
            The item, as for `Fusion.learn_one`.
        label
            Its true class.
        id
            What names the item from now on; without it, a new one.

        Returns
        -------
        dict
            With id, prediction, right and position.
        """
        body = without_none(id=id or new_id(), votes=votes, label=label, attributes=attributes)
        return self._send(call("POST", "fusions", name, "learn", body=body))

    def next_expert(
        self,
        name: str,
        votes: Item,
        *,
        experts: Iterable[str] | None = None,
        attributes: Item | None = None,
        prices: Item | None = None,
    ) -> Any:
        """Return whom to ask next about an item, as from `Fusion.next_expert`; nothing is stored.

        Parameters
        ----------
        name
            The fusion.
        votes
            The answers so far; None for an expert that was asked and abstains.
        experts, attributes, prices
            As for `Fusion.next_expert`.

        Returns
        -------
        dict
            With expert: its name, or None if the prediction is settled.
        """
        listed = None if experts is None else list(experts)
        body = without_none(votes=votes, experts=listed, attributes=attributes, prices=prices)
        return self._send(call("POST", "fusions", name, "next-expert", body=body))

    def predict_many(self, name: str, items: Iterable[Item]) -> Any:
        """Predict items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with votes and, if needed, id and attributes; at most 10,000.

        Returns
        -------
        list of dict
            An answer for each, in the same order; one that could not be predicted has the key "error".
        """
        return self._send(batch(name, "predict", items))

    def label_many(self, name: str, items: Iterable[Item]) -> Any:
        """Teach the labels of items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with id and label.

        Returns
        -------
        list of dict
            As from `predict_many`.
        """
        return self._send(batch(name, "labels", items))

    def learn_many(self, name: str, items: Iterable[Item]) -> Any:
        """Learn items in one request.

        Parameters
        ----------
        name
            The fusion.
        items
            Dicts with votes, label and, if needed, id and attributes.

        Returns
        -------
        list of dict
            As from `predict_many`.
        """
        return self._send(batch(name, "learn", items))

    def fusions(self) -> Any:
        """Return the names of the fusions that the token may read."""
        return self._send(call("GET", "fusions"))

    def describe(self, name: str) -> Any:
        """Describe a fusion: its classes, experts, trials, mistakes, digest and settings.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(call("GET", "fusions", name))

    def weights(self, name: str) -> Any:
        """Return the weight of every sub-expert.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(call("GET", "fusions", name, "weights"))

    def item(self, name: str, id: str, *, explain: str | None = None) -> Any:
        """Return what is known about an item.

        Parameters
        ----------
        name, id
            The fusion and the item.
        explain
            "now" adds what each expert contributes with the present weights, "then" with those of the time
            of the prediction.
        """
        return self._send(call("GET", "fusions", name, "items", id, query=without_none(explain=explain)))

    def history(self, name: str, *, points: int = 200) -> Any:
        """Return mistakes over time: of linmax, the plurality, the best expert and the most frequent class.

        Parameters
        ----------
        name
            The fusion.
        points
            The largest number of points, from 2 to 1000.

        Returns
        -------
        dict
            With trials, position, points (a list per column) and experts (mistakes of the best ones).
        """
        return self._send(call("GET", "fusions", name, "history", query={"points": points}))

    def delete(self, name: str) -> Any:
        """Delete a fusion.

        Parameters
        ----------
        name
            The fusion.
        """
        return self._send(call("DELETE", "fusions", name))


class Client(_Verbs):
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


class AsyncClient(_Verbs):
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
