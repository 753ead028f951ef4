"""A rule from outside is tried in plain Python first: compiled code cannot raise an error."""

from __future__ import annotations

import numpy as np

from linmax import _jit
from linmax.rules.base import OWN, SCALARS, SCALE, SLACK, Rule

ANSWERS = range(4)


def rehearse(rule: Rule) -> None:
    """Let a user's rule move once over three sub-experts; what goes wrong is a ValueError of one sentence."""
    if type(rule).__module__.startswith("linmax.") and type(rule) is not Rule:
        return
    name = type(rule).__name__
    try:
        with _jit.interpreted():
            p = _jit.parameters(rule.parameters())
            s = np.zeros(SCALARS)
            s[SCALE], s[SLACK] = 1.0, rule.threshold()
            s[OWN : OWN + len(rule.scalars())] = rule.scalars()
            theta, w, spoken = np.full(3, float(rule.first())), np.zeros(3), np.ones(3, dtype=np.uint8)
            rule.join(p, s, theta, w, np.arange(3))
            answer = rule.update(p, s, theta, w, np.arange(2), np.array([1.0, -1.0]), 0.0)
            rule.settle(p, s, theta, w, spoken)
    except NotImplementedError:
        raise ValueError(f"{name} has no update; write how its weights move") from None
    except Exception as error:
        raise ValueError(f"{name} fails when it is tried: {type(error).__name__}: {error}") from None
    if answer not in ANSWERS:
        raise ValueError(f"{name}.update must return MOVED, STILL or MOVED_AND_SETTLE (got {answer!r})")
    if not (np.isfinite(w).all() and np.isfinite(theta).all()):
        raise ValueError(f"{name}.update makes weights that are not finite ({w.tolist()})")
