"""What theory promises, where it promises anything and the promise can be worked out."""

from __future__ import annotations

from linmax.bounds import Case, promise, tightest
from linmax.evaluate.sample import Rows
from linmax.evaluate.without import named
from linmax.fusion import Fusion
from linmax.rules.winnow import Winnow
from linmax.svm import comparator, instances, simplex_comparator

MOST = 2000  # items: the comparator of more takes long to find


def promised(fusion: Fusion, trials: int, rows: Rows | None) -> str:
    """How many mistakes there could have been at most on all trials, or why nobody knows."""
    known = promise(fusion.learner, Case(n=10, delta=0.1))
    if known.value is None:
        reason = known.reason.partition("; register")[0]
        return reason if reason.startswith("no bound") else f"no bound is known: {reason}"
    if rows is None or trials > MOST or len(rows.row) < trials:
        return f"the bound is worked out for up to {MOST} items (linmax bounds --panel does for more)"
    found = instances(fusion, rows.piece.votes, named(fusion, rows.truth), rows.piece.attributes)
    try:
        u = simplex_comparator(found) if isinstance(fusion.learner.rule, Winnow) else comparator(found)
        value = promise(fusion.learner, tightest(fusion.learner, u, found)).value
    except ValueError as error:
        return f"no bound was found: {error}"
    if value is None:
        return "on this panel its bound says nothing"
    return f"its bound, for the best weights in hindsight, is {value:,.0f}"
