"""Settlement by enumeration: predict the item with every possible answer of the experts not asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from linmax import Fusion


def completions(
    votes: Mapping[Any, Any], experts: Sequence[Any], answers: Sequence[Any]
) -> Iterator[dict[Any, Any]]:
    """Yield the answers so far with every combination of answers of the others; None abstains."""
    others = [name for name in experts if name not in votes]
    for given in product([None, *answers], repeat=len(others)):
        yield {**votes, **dict(zip(others, given, strict=True))}


def outcomes(
    fusion: Fusion,
    votes: Mapping[Any, Any],
    experts: Sequence[Any],
    answers: Sequence[Any],
    attributes: Any = None,
) -> set[Any]:
    """All classes that can be predicted after some answers."""
    items = list(completions(votes, experts, answers))
    rows = None if attributes is None else [attributes] * len(items)
    return set(fusion.predict(items, attributes=rows, new_experts="vote").tolist())


def is_tied(fusion: Fusion, votes: Mapping[Any, Any], experts: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether some answers make two classes equal at the top, up to rounding."""
    scores = fusion.scores(list(completions(votes, experts, answers)), new_experts="vote")
    scores.sort(axis=1)
    return bool((scores[:, -1] - scores[:, -2] <= 1e-9 * abs(scores).max()).any())
