"""Mistake bounds on a panel of votes, computed with a comparator that is fitted to the panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from linmax.bounds import Case, mistake_bound
from linmax.bounds.certificate import comparator_kind, fit_comparator
from linmax.bounds.tightest import tightest_for
from linmax.fusion import Fusion
from linmax.rules import Rule
from linmax.rules.adaptive_winnow import AdaptiveWinnow
from linmax.rules.alma import Alma
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.pnorm import PNorm
from linmax.rules.romma import Romma
from linmax.rules.winnow import Winnow
from linmax.streams import Chunk, Stream
from linmax.svm import Instances, instances

MAX_ITEMS = 20_000
"""Items that are read by default: the linear programme for u is slow on more."""

MAX_C = 1e6
"""The largest C: a solver did not terminate with 1e300."""


class PanelVotes(NamedTuple):
    """The votes and labels of a file.

    Attributes
    ----------
    file : str
        The name of the file.
    rows : list of dict
        The votes on each item.
    labels : list
        The label of each item, or None.
    classes : list
        All classes in order of appearance.
    experts : int
        The number of experts that vote.
    items : int
        The number of items in the file, of which these are the first.
    """

    file: str
    rows: list[dict[str, Any]]
    labels: list[Any]
    classes: list[Any]
    experts: int
    items: int


class PanelBound(NamedTuple):
    """The bound of a rule on a panel, and its mistakes there.

    Attributes
    ----------
    rule : Rule
        The rule.
    comparator : str
        How u was fitted.
    case : Case or None
        The case at the margin with the smallest bound, with sum |u| = 1.
    bound : float or None
        The bound.
    reason : str
        Why there is no bound.
    mistakes : int
        The mistakes of the rule.
    n : int
        The number of sub-experts.
    """

    rule: Rule
    comparator: str
    case: Case | None
    bound: float | None
    reason: str
    mistakes: int
    n: int


def best_alpha(delta: float) -> float:
    """The alpha with the smallest multiplicative bound; near a margin of 1, where there is none, a large one.

    >>> round(best_alpha(1 / 3) ** 2, 9)
    2.0
    """
    near = min(delta, 1 - 1e-6)
    return math.sqrt((1 + near) / (1 - near))


def bounded_rules(n: int, delta: float) -> list[Rule]:
    """The rules that have a bound, with the best parameters for n sub-experts and this margin."""
    return [
        Perceptron(),
        Romma(),
        Winnow(best_alpha(delta)),
        AdaptiveWinnow(),
        BalancedWinnow(best_alpha(delta)),
        PNorm(max(2.0, round(2 * math.log(n), 1))),
        Alma(2.0),
        PassiveAggressive(),
    ]


def read_votes(
    stream: Stream, first: int | None = None, watch: Callable[[Iterator[Chunk]], Iterator[Chunk]] = iter
) -> PanelVotes:
    """Read the first items of a file, which `watch` sees; -1 is no vote, unless it is a label."""
    rows: list[dict[str, Any]] = []
    labels: list[Any] = []
    with stream:
        file, label = stream.schema.file, stream.schema.label
        if label is None:
            raise ValueError(f"{file} has no column of labels; name it with --label")
        for part in watch(_first_items(stream, first or MAX_ITEMS)):
            rows += part.vote_dicts()
            labels += part.labels.tolist()
    if abstentions := {-1, "-1"} - {*labels}:
        rows = [
            {name: vote for name, vote in row.items() if isinstance(vote, dict) or vote not in abstentions}
            for row in rows
        ]
    names = [*labels, *(name for row in rows for vote in row.values() for name in _voted_classes(vote))]
    classes = [one for one in dict.fromkeys(names) if one is not None]
    experts = len({name for row in rows for name in row})
    votes = PanelVotes(file, rows, labels, classes, experts, stream.rows_read)
    _check_panel(votes, label)
    return votes


def _first_items(stream: Stream, left: int) -> Iterator[Chunk]:
    """The first items of a stream, all of which is read so that its items are counted."""
    for chunk in stream:
        part = chunk.slice(0, left)
        left -= part.items
        if part.items:
            yield part


def _voted_classes(vote: Any) -> list[Any]:
    return list(vote) if isinstance(vote, dict) else [vote]


def _check_panel(votes: PanelVotes, label: str) -> None:
    """Require labels, votes, and votes for labels: without them there is no comparator."""
    voted = {name: None for row in votes.rows for vote in row.values() for name in _voted_classes(vote)}
    known = {one: None for one in votes.labels if one is not None}
    if not votes.rows:
        raise ValueError(f"{votes.file} has no items; it needs a header and a line per item")
    if not known:
        raise ValueError(f"no item of {votes.file} has a label in {label!r}; name another with --label")
    if not voted:
        raise ValueError(f"no expert votes in {votes.file}; the columns other than {label!r} must hold votes")
    if not voted.keys() & known.keys():
        raise ValueError(
            f"no vote in {votes.file} is equal to a label: votes are like {next(iter(voted))!r}, labels like"
            f" {next(iter(known))!r}; write them alike, or name the column of labels with --label"
        )
    if len(votes.classes) == 1:
        raise ValueError(f"{votes.file} has only the class {votes.classes[0]!r}; a bound requires two")


def check_cost(C: float) -> None:
    """Require a C with which the solvers terminate."""
    if not 0 < C <= MAX_C:  # also refuses NaN
        raise ValueError(f"--C must be in 0 < C <= {MAX_C:g} (got {C:g}); a typical value is 1")


def panel_bounds(votes: PanelVotes, C: float = 1.0, only: Rule | None = None) -> list[PanelBound]:
    """The bounds of all rules that have one, or of one rule, and the mistakes of each on the panel."""
    check_cost(C)
    z = instances(Fusion(only or Perceptron(), classes=votes.classes, abstain=None), votes.rows, votes.labels)
    n = z.z.shape[1]
    rules = bounded_rules(n, 0.5) if only is None else [only]
    fitted = {kind: _fit_comparator(kind, z, C) for kind in {comparator_kind(rule) for rule in rules}}
    found = []
    for at, rule in enumerate(rules):
        u, case = fitted[comparator_kind(rule)], None
        if isinstance(u, str):
            reason = u
        else:
            make = lambda delta, at=at: only or bounded_rules(n, delta)[at]  # noqa: E731
            case, rule = tightest_for(make, u, z)
            reason = "the comparator is correct on no trial"
        result = mistake_bound(rule, case) if case else None
        run = Fusion(rule, classes=votes.classes, abstain=None).learn(votes.rows, votes.labels)
        value, reason = (result.value, result.reason) if result else (None, reason)
        found.append(PanelBound(rule, comparator_kind(rule), case, value, reason, run.mistakes, n))
    return found


def _fit_comparator(kind: str, z: Instances, C: float) -> np.ndarray | str:
    """The comparator, or why there is none."""
    try:
        return fit_comparator(kind, z, C)
    except ValueError as error:
        reason, separator, _ = str(error).partition(";")
        return f"{reason}; raise --C, or use fewer items with --first" if separator else reason
