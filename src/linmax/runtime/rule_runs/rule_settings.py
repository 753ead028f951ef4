"""Which kernel can run a rule, and what it is told about the rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from linmax._jit import addresses, compilation
from linmax.experts.base import Source
from linmax.kernels.in_place import Adapting, Adding, Multiplying
from linmax.kernels.structs import MOST_PASSES, RunSettings
from linmax.rules import base
from linmax.rules.base import Rule
from linmax.spec import UNLIMITED


@cache
def _functions(rule: type[Rule], interpreting: bool) -> tuple[Any, Any, Any]:
    """Return the functions of a class of rules as the kernel takes them: their addresses, once compiled."""
    return (
        addresses.reach(rule.update, addresses.UPDATE),
        addresses.reach(rule.join, addresses.JOIN),
        addresses.reach(rule.settle, addresses.SETTLE),
    )


def can_add(rule: Rule, parts: Sequence[Source], averages: bool) -> bool:
    """Whether `kernels/in_place.py` can run a rule on these sources, by adding to its weights."""
    step = rule.step()
    return (
        step is not None
        and not step.multiplies
        and base.describes_update(type(rule))
        and not rule.joins
        and not (step.adapts and averages)
        and isinstance(rule.rivals, str)
        and all(part.in_place for part in parts)
    )


def can_multiply(rule: Rule, parts: Sequence[Source], averages: bool) -> bool:
    """Whether `kernels/in_place.py` can run a rule on these sources, by multiplying its weights.

    That depends on the votes, too; the state is the same in any case.
    """
    step = rule.step()
    return (
        step is not None
        and step.multiplies
        and base.describes_update(type(rule))
        and not averages
        and rule.rivals == "top"
        and any(part.per_class for part in parts)  # thresholds, so that z is never 0
    )


def run_settings(rule: Rule, tracks: bool, averages: bool, updates: int) -> RunSettings:
    """Return the settings for `kernels/trial.py`."""
    code, rounds = base.rivals_code(rule.rivals)
    return RunSettings(
        *_functions(type(rule), compilation.interpreting()),  # type: ignore[arg-type]
        code,
        rounds,
        int(rule.asks_margin),
        int(tracks),
        int(averages),
        updates,
        MOST_PASSES if updates == UNLIMITED else UNLIMITED,
    )


def adding_settings(rule: Any, averages: bool) -> Adding | Adapting:
    """Return the settings for `kernels/in_place.py` of a rule that adds."""
    step, (code, _) = rule.step(), base.rivals_code(rule.rivals)
    options = int(len(rule.scalars()) > 0), code, int(rule.first() != 0.0), int(averages)
    if step.adapts:
        return Adapting(float(step.size), float(step.initial), *options)
    return Adding(float(step.size), *options)


def multiplying_settings(settings: RunSettings, safe_updates: np.ndarray) -> Multiplying:
    """Return the settings for `kernels/in_place.py` of a rule that multiplies."""
    return Multiplying(
        settings.update, settings.join, settings.settle, safe_updates,
        margin=0, counts_steps=0, rivals=settings.rivals, tracks_new_experts=1, averages=0,
    )  # fmt: skip
