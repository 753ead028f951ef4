"""Whom to ask next about an item, or about each item of a batch; nothing is stored."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from linmax.client.requests import ARROW, NDJSON
from linmax.fusion import Fusion
from linmax.service.fusions.served_panel import ServedPanel
from linmax.service.fusions.served_panels import ServedPanels
from linmax.service.http.arrow_rows import ArrowRows
from linmax.service.http.arrow_stream import BYTES_PER_CELL, read_stream, write_answers
from linmax.service.http.bodies import (
    answer_json,
    media_type,
    parse,
    parse_groups,
    run_for_cells,
    split_lines,
)
from linmax.service.http.guard import read_body
from linmax.service.messages.answer_runs import Answer, count_cells, to_lines
from linmax.service.messages.answers import NextExpertAnswer
from linmax.service.messages.class_keys import typed_votes
from linmax.service.messages.errors import ServiceError
from linmax.service.messages.requests import NextExpertRequest, PredictRequest

TURN = 0.02  # seconds, after which other requests for the fusion have their turn
Found = list[Answer | ServiceError]


class Questions(NamedTuple):
    """Requests for the next expert.

    Attributes
    ----------
    rows : int
        How many there are.
    get : callable
        Returns the one with a number, or raises what is wrong with it.
    """

    rows: int
    get: Callable[[int], NextExpertRequest]


async def read_questions(request: Request, limit: int) -> AsyncIterator[Questions]:
    """Yield the requests of a body, in groups.

    Parameters
    ----------
    request
        One JSON object, lines of them, or an Arrow stream.
    limit
        The largest size of an item, in bytes.
    """
    media = media_type(request)
    body = await (read_body(request) if media in (NDJSON, ARROW) else read_body(request, limit))
    if media == NDJSON:
        async for group in parse_groups(split_lines(body), NextExpertRequest, limit):
            yield Questions(len(group), partial(_of_line, group))
    elif media == ARROW:
        table = await run_for_cells(len(body) // BYTES_PER_CELL, read_stream, body)
        cells = table.num_rows * (table.num_columns + 1)
        rows = await run_for_cells(cells, ArrowRows, table, PredictRequest, limit)
        yield Questions(len(rows), partial(_of_row, rows))
    else:
        wanted = parse(body, NextExpertRequest)
        yield Questions(1, partial(_of_line, [wanted]))


def _of_line(group: Sequence[NextExpertRequest | ServiceError], row: int) -> NextExpertRequest:
    wanted = group[row]
    if isinstance(wanted, ServiceError):
        raise wanted
    return wanted


def _of_row(rows: ArrowRows, row: int) -> NextExpertRequest:
    """Return what a row of a table asks: an expert without a vote in it was not asked."""
    item: Any = rows.request(row)
    return NextExpertRequest(item.votes, None if item.id is msgspec.UNSET else item.id)


async def answer_questions(
    panels: ServedPanels, request: Request, questions: Questions, found: Found, panel: ServedPanel
) -> None:
    """Add an answer for each question that has none yet; others have their turn between.

    Parameters
    ----------
    panels
        All fusions.
    request
        The request; if its client has gone, nothing more is answered.
    questions
        What it asks.
    found
        The answers.
    panel
        The fusion; its lock is not held.
    """
    while len(found) < questions.rows:
        async with panel.lock:
            panels.check_open(panel)
            found += await asyncio.to_thread(_answer_some, panel.fusion, questions, len(found))
        if await request.is_disconnected():
            raise ClientDisconnect


def _answer_some(fusion: Fusion, questions: Questions, start: int) -> Found:
    """Return the answers from a request on, as many as can be found until others have their turn."""
    end = time.perf_counter() + TURN
    found: Found = []
    for row in range(start, questions.rows):
        try:
            found.append(_answer(fusion, questions.get(row)))
        except ServiceError as error:
            found.append(error)
        if time.perf_counter() > end:
            break
    return found


def _answer(fusion: Fusion, wanted: NextExpertRequest) -> NextExpertAnswer:
    votes = typed_votes(fusion, wanted.votes) or {}
    try:
        expert = fusion.next_expert(
            votes,
            experts=wanted.experts,
            attributes=wanted.attributes,
            prices=wanted.prices,
            score_range=wanted.score_range,
        )
    except ValueError as error:
        raise ServiceError(422, "bad_item", str(error)) from None
    return NextExpertAnswer(expert, wanted.id)


async def write_found(found: Found, media: str) -> Response:
    """Return the answers to a body.

    Parameters
    ----------
    found
        The answers; an error is that of its item, and of the request if it is for one item.
    media
        The type of the body.
    """
    if media == NDJSON:
        lines = await run_for_cells(count_cells(found), to_lines, found)
        return Response(b"\n".join([*lines, b""]), media_type=NDJSON)
    if media == ARROW:
        content = await run_for_cells(count_cells(found), write_answers, [found], NextExpertRequest)
        return Response(content, media_type=ARROW)
    (answer,) = found
    if isinstance(answer, ServiceError):
        raise answer
    return answer_json(answer)
