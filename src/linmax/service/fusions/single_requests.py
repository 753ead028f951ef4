"""Single requests: those that arrive together are processed in a row, and written at once.

That takes less time than one after the other: what a step needs is still in the caches of the processor when
the next request comes to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial

import msgspec

from linmax.service.fusions.bulk import Request
from linmax.service.fusions.items import Items, not_written
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import PanelClosedError
from linmax.service.messages.answer_runs import Answer
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import LabelRequest
from linmax.service.tokens import Token

MOST = 256  # requests in a row, before those of other fusions have their turn


class Arrival(msgspec.Struct, eq=False, gc=False):
    """A request that waits for its turn.

    Attributes
    ----------
    request, token
        The request, and who asks.
    answered : Future
        Its answer, when that is on disk; cancelled if nobody waits for it any more.
    """

    request: Request
    token: Token
    answered: asyncio.Future[Answer]

    def answer(self, answer: Answer) -> None:
        """Answer the request."""
        if not self.answered.done():
            self.answered.set_result(answer)

    def fail(self, error: BaseException) -> None:
        """Answer the request with an error, unless it has been answered."""
        if not self.answered.done():
            self.answered.set_exception(error)


Promise = tuple[Arrival, Answer]  # that holds when the answer is on disk


class SingleRequests:
    """Processes single requests, with those that arrive in the same turn of the event loop.

    Parameters
    ----------
    items
        What processes them.
    """

    def __init__(self, items: Items) -> None:
        self.items = items
        self.panels = items.panels
        self._tasks: set[asyncio.Task[None]] = set()

    async def process(self, panel: ServedPanel, request: Request, token: Token) -> Answer:
        """Process a request, and return its answer when it is on disk; `Items.process` is for batches.

        Parameters
        ----------
        panel, request, token
            The fusion, the request, and who asks.
        """
        store = self.items.store
        if type(request) is LabelRequest and not store.remembers(panel, request.id):
            await store.wait_for(panel, {request.id})
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        panel.arrivals.append(Arrival(request, token, answered))
        if len(panel.arrivals) == 1:
            self._begin(panel)
        return await answered

    def _begin(self, panel: ServedPanel) -> None:
        """Process what has arrived when the event loop has brought all requests of this turn."""
        task = asyncio.ensure_future(self._process_arrivals(panel))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _process_arrivals(self, panel: ServedPanel) -> None:
        """Process the requests that have arrived when the fusion is free."""
        async with panel.lock:
            arrivals, panel.arrivals = panel.arrivals[:MOST], panel.arrivals[MOST:]
            if panel.arrivals:
                self._begin(panel)
            try:
                self.panels.check_open(panel)
            except PanelClosedError as error:
                _fail(arrivals, error)
            else:
                await self._process_in_a_row(panel, arrivals)

    async def _process_in_a_row(self, panel: ServedPanel, arrivals: list[Arrival]) -> None:
        """Process requests in their order; the lock of the fusion is held.

        After an error that is no answer, the state is taken from the log again, and those who wait for the
        requests that were not submitted send them again.
        """
        panel.begin_batch()
        promises: dict[asyncio.Future[None], list[Promise]] = {}
        others = iter(arrivals)
        for arrival in others:
            if arrival.answered.done():  # nobody waits for it
                continue
            try:
                await self.panels.pause_if_long(panel)
                item, answer = await self.items.process_request(panel, arrival.request, arrival.token)
            except ServiceError as error:
                arrival.fail(error)
                continue
            except BaseException as error:
                self.items.give_up(panel)
                arrival.fail(error if isinstance(error, Exception) else PanelClosedError())
                _fail(others, PanelClosedError())
                if isinstance(error, Exception):
                    return
                raise
            written = None if item is None else item.written
            if written is None:
                arrival.answer(answer)
            elif written in promises and not written.done():
                promises[written].append((arrival, answer))
            else:
                promises[written] = [(arrival, answer)]
                written.add_done_callback(partial(_keep, promises[written]))
        self.panels.submit_batch(panel)


def _keep(promises: list[Promise], written: asyncio.Future[None]) -> None:
    """Answer requests whose events are on disk, or say why they are not."""
    error = PanelClosedError() if written.cancelled() else written.exception()
    for arrival, answer in promises:
        if error is None:
            arrival.answer(answer)
        else:
            arrival.fail(not_written(error, type(arrival.request)))


def _fail(arrivals: Iterable[Arrival], error: Exception) -> None:
    """Answer requests with an error."""
    for arrival in arrivals:
        arrival.fail(error)
