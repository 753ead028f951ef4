"""What consultations check of their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from inspect import isawaitable, iscoroutine
from typing import TYPE_CHECKING, Any

import numpy as np

from linmax.decisions.answers import SMALLEST_ERROR
from linmax.decisions.costs import LARGEST, is_cost
from linmax.spec import short
from linmax.validation import is_finite

if TYPE_CHECKING:
    import asyncio


def check_risk(risk: Any, confidence: Any) -> None:
    """Raise a ValueError unless both are in range."""
    if not is_finite(risk) or not (risk == 0.0 or SMALLEST_ERROR <= risk < 1.0):
        raise ValueError(
            f"risk must be 0, or at least {SMALLEST_ERROR:g} and below 1 (got {risk!r}); 0.01 is usual"
        )
    if not is_finite(confidence) or not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be above 0 and below 1 (got {confidence!r}); 0.95 is usual")


def check_answers(votes: Any) -> None:
    """Raise a ValueError unless the answers so far are a dict."""
    if not isinstance(votes, Mapping):
        raise ValueError(f"next_expert needs the answers so far as a dict (got {short(votes)})")


def checked_answer(answer: Any) -> Any:
    """Return the answer of an expert; raise a ValueError if it has to be awaited."""
    if isawaitable(answer):
        if iscoroutine(answer):
            answer.close()
        raise ValueError("ask is asynchronous; call await fusion.consult_async(ask), or pass a plain one")
    return answer


def check_ask(ask: Any) -> None:
    """Raise a ValueError if what asks the experts is not a function."""
    if not callable(ask):
        hint = "; pass its method get" if isinstance(ask, Mapping) else ""
        raise ValueError(f"ask must be a function from an expert to its vote (got {short(ask)}){hint}")


def checked_awaitable(answer: Any) -> Awaitable[Any]:
    """Return the answer of an asynchronous function; raise a ValueError if it has not to be awaited."""
    if not isawaitable(answer):
        raise ValueError(
            f"consult_async needs an asynchronous ask (got {short(answer)} from it); call consult for others"
        )
    return answer


async def answers_at_once(ask: Callable[[Any], Awaitable[Any]], experts: Sequence[Any]) -> list[Any]:
    """Return the answers of several experts; if one of them fails, the others are cancelled."""
    import asyncio  # takes a twentieth of the import of linmax, and is loaded where this is called

    tasks: list[asyncio.Future[Any]] = []
    try:
        for name in experts:
            tasks.append(asyncio.ensure_future(checked_awaitable(ask(name))))
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def checked_experts(experts: Any) -> tuple[Any, ...]:
    """Return the experts of an item; a text would be read as one expert per letter."""
    if isinstance(experts, str) or not isinstance(experts, Iterable):
        raise ValueError(f"experts= must be a list of experts (got {experts!r})")
    names = tuple(experts)
    try:
        valid = None not in set(names)
    except TypeError:
        valid = False
    if not valid:
        raise ValueError(f"experts= must be a list of texts or numbers (got {short(experts)})")
    return names


def price_array(prices: Mapping[Any, float] | None, experts: Any) -> np.ndarray | None:
    """Return the price of each expert, after checking it."""
    if prices is None:
        return None
    if not isinstance(prices, Mapping):
        raise ValueError(f"prices must be {{expert: number}} (got {short(prices)})")
    for name in experts:
        if name not in prices:
            raise ValueError(f"prices have no price of the expert {name!r}; add it")
        if not is_cost(prices[name]):
            raise ValueError(
                f"the price of {name!r} must be a number from 0 to {LARGEST:g} (got {prices[name]!r})"
            )
    return np.array([float(prices[name]) for name in experts])


def checked_range(score_range: Any) -> tuple[float, float]:
    """Return the range of scores, after checking it."""
    if (
        not isinstance(score_range, tuple | list)
        or len(score_range) != 2
        or not all(map(is_finite, score_range))
        or score_range[0] > score_range[1]
    ):
        raise ValueError(
            f"score_range must be the lowest and the highest score, as (0, 1) (got {score_range!r})"
        )
    return float(score_range[0]), float(score_range[1])
