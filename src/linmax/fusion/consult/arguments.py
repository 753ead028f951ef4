"""What consultations check of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from linmax.spec import short
from linmax.validation import is_finite


def check_risk(risk: Any, confidence: Any) -> None:
    """Raise a ValueError unless both are in range."""
    if not is_finite(risk) or not 0.0 <= risk < 1.0:
        raise ValueError(f"risk must be at least 0 and below 1 (got {risk!r}); 0.01 is usual")
    if not is_finite(confidence) or not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be above 0 and below 1 (got {confidence!r}); 0.95 is usual")


def check_answers(votes: Any) -> None:
    """Raise a ValueError unless the answers so far are a dict."""
    if not isinstance(votes, Mapping):
        raise ValueError(f"next_expert needs the answers so far as a dict (got {short(votes)})")


def checked_experts(experts: Any) -> Any:
    """Return the experts of an item; a text would be read as one expert per letter."""
    if isinstance(experts, str) or not isinstance(experts, Iterable):
        raise ValueError(f"experts= must be a list of experts (got {experts!r})")
    return experts


def price_array(prices: Mapping[Any, float] | None, experts: Any) -> np.ndarray | None:
    """Return the price of each expert, after checking it."""
    if prices is None:
        return None
    try:
        array = np.fromiter(map(prices.__getitem__, experts), np.float64, len(experts))
    except KeyError as missing:
        raise ValueError(f"prices have no price of the expert {missing.args[0]!r}; add it") from None
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"prices must be {{expert: number}} (got {short(prices)})") from None
    if len(array) and not 0.0 <= array.min() <= array.max() < np.inf:
        name = next(name for name, price in zip(experts, array, strict=True) if not 0.0 <= price < np.inf)
        raise ValueError(f"the price of {name!r} must be a number, 0 or more (got {prices[name]!r})")
    return array


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
