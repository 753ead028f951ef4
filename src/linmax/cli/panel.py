"""What theory promises on a panel of votes, beside the mistakes that are made on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linmax.bounds import Case, promise
from linmax.bounds.case import leads
from linmax.fusion import Fusion
from linmax.rules import Rule
from linmax.rules.alma import Alma
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.pnorm import PNorm
from linmax.rules.romma import Romma
from linmax.rules.winnow import Winnow
from linmax.streams import open_stream
from linmax.svm import Instances, comparator, instances, simplex_comparator

MOST = 20_000  # items, unless more are asked for: the linear programme for u takes long on more
MARGINS = 200  # of the comparator's own, as many evenly spread, and half as many around the best
LEAST = 1e-6  # the smallest margin: below, alpha is 1 to all digits that matter
MOST_C = 1e6  # with 1e300 a solver did not come to an end
SIGNED, POSITIVE = "SVM", "SVM, u >= 0"


class Votes(NamedTuple):
    """A file as it was read."""

    rows: list[dict[str, Any]]
    labels: list[Any]
    classes: list[Any]  # in the order they are met, expert by expert and item by item
    experts: int  # that vote at all
    items: int  # in the file, of which these are the first


class Line(NamedTuple):
    """One rule on a panel."""

    rule: Rule
    comparator: str
    case: Case | None  # at the margin with the smallest bound, and sum |u| = 1
    bound: float | None
    reason: str  # why there is no bound
    mistakes: int
    n: int  # sub-experts


def best_alpha(delta: float) -> float:
    """What makes the multiplicative bounds least; a perfect margin has no best, so near it.

    >>> round(best_alpha(1 / 3) ** 2, 9)
    2.0
    """
    near = min(delta, 1 - 1e-6)
    return math.sqrt((1 + near) / (1 - near))


def rules(n: int, delta: float) -> list[Rule]:
    """The rules that have a bound, each as this margin asks for, where it may ask."""
    return [
        Perceptron(),
        Romma(),
        Winnow(best_alpha(delta)),
        BalancedWinnow(best_alpha(delta)),
        PNorm(max(2.0, round(2 * math.log(n), 1))),
        Alma(2.0),
        PassiveAggressive(),
    ]


def read(path: Path, label: str | None = None, first: int | None = None) -> Votes:
    """The first items of a file; who says -1 abstains, unless that is a label."""
    rows: list[dict[str, Any]] = []
    labels: list[Any] = []
    with open_stream(path, label=label) as stream:
        label = stream.layout.label
        if label is None:
            raise ValueError(f"{path} has no column of labels; name it with --label")
        for piece in stream:
            some = piece.part(0, (first or MOST) - len(rows))
            rows += some.ballots()
            labels += some.labels.tolist()
    if silence := {-1, "-1"} - {*labels}:
        rows = [
            {name: vote for name, vote in row.items() if isinstance(vote, dict) or vote not in silence}
            for row in rows
        ]
    named = [*labels, *(name for row in rows for vote in row.values() for name in _names(vote))]
    classes = [one for one in dict.fromkeys(named) if one is not None]
    votes = Votes(rows, labels, classes, len({name for row in rows for name in row}), stream.rows)
    _demand(votes, path, label)
    return votes


def _names(vote: Any) -> list[Any]:
    """The classes that a vote names: one, or all that it has a score for."""
    return list(vote) if isinstance(vote, dict) else [vote]


def _demand(votes: Votes, path: Path, label: str) -> None:
    """Labels, votes, and a vote that names a label: without them there is no comparator."""
    said = {name: None for row in votes.rows for vote in row.values() for name in _names(vote)}
    known = {one: None for one in votes.labels if one is not None}
    if not votes.rows:
        raise ValueError(f"{path} has no items; it needs a line of names and a line for each item")
    if not known:
        raise ValueError(f"no item of {path} has a label in {label!r}; name another column with --label")
    if not said:
        raise ValueError(f"no expert votes in {path}; its columns beside {label!r} are to hold votes")
    if not said.keys() & known.keys():
        raise ValueError(
            f"no vote in {path} ever names a label: votes are like {next(iter(said))!r}, labels like"
            f" {next(iter(known))!r}; write them alike, or name the column of labels with --label"
        )
    if len(votes.classes) == 1:
        raise ValueError(
            f"{path} names the one class {votes.classes[0]!r} and no rival; a bound needs items of two"
        )


def promised(votes: Votes, C: float = 1.0, only: Rule | None = None) -> list[Line]:
    """Every rule with a bound, or only one: its comparator's case, what follows, and what it really did."""
    if not 0 < C <= MOST_C:  # nor NaN
        raise ValueError(f"--C is a number above 0, {MOST_C:g} at most (got {C:g}); 1 is usual")
    z = instances(Fusion(only or Perceptron(), classes=votes.classes, abstain=None), votes.rows, votes.labels)
    n = z.z.shape[1]
    plain = rules(n, 0.5) if only is None else [only]
    found = {who: _fitted(who, z, C) for who in {_who(rule) for rule in plain}}
    lines = []
    for at, rule in enumerate(plain):
        u, case = found[_who(rule)], None
        if isinstance(u, str):
            reason = u
        else:
            case, rule = _best(lambda delta, at=at: only or rules(n, delta)[at], u, z)  # type: ignore[misc]
            reason = "the comparator is right on no trial"
        said = promise(rule, case) if case else None
        run = Fusion(rule, classes=votes.classes, abstain=None).learn(votes.rows, votes.labels)
        value, reason = (said.value, said.reason) if said else (None, reason)
        lines.append(Line(rule, _who(rule), case, value, reason, run.mistakes, n))
    return lines


def _who(rule: Rule) -> str:
    return POSITIVE if isinstance(rule, Winnow) else SIGNED


def _fitted(who: str, z: Instances, C: float) -> np.ndarray | str:
    """The comparator with sum |u| = 1, so that a hinge is in the same units everywhere; or why not."""
    try:
        u = comparator(z, C) if who == SIGNED else simplex_comparator(z, C)
    except ValueError as error:
        return f"{str(error).partition(';')[0]}; raise --C, or take fewer items with --first"
    size = float(np.abs(u).sum())
    return u / size if size > 0 else "the comparator is 0, as nobody tells the classes apart"


def _best(make: Callable[[float], Rule], u: np.ndarray, z: Instances) -> tuple[Case | None, Rule]:
    """The margin, and the rule made for it, with the smallest bound of all that are tried.

    Tried are the u . z themselves (or so many of them, in order), an even grid below the largest, and a finer
    one around the best. Without a bound it is the margin of least noise, or for an alpha that is too large
    the margin that allows most.
    """
    worst = np.sort(leads(u, z.z, z.trial))
    own = np.unique(worst[worst >= LEAST])
    if not len(own):
        return None, make(0.5)
    own = own[np.unique(np.linspace(0, len(own) - 1, MARGINS).astype(int))]
    base = Case.of(u, z, margin=float(own[0]))
    seen = replace(base, instances=_longest(base, getattr(make(0.5), "p", 2.0)))
    top = float(own[-1])
    tried = np.unique(np.concatenate((own, np.linspace(max(LEAST, top / MARGINS), top, MARGINS))))
    values = _values(make, seen, worst, tried)
    at = int(np.argmin(values))
    if math.isinf(values[at]):
        limited = isinstance(make(0.5), Winnow | BalancedWinnow)
        delta = top if limited else float(own[0])
    else:
        fine = np.linspace(tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)], MARGINS // 2)
        near = np.append(fine, tried[at])
        delta = float(near[np.argmin(_values(make, seen, worst, near))])
    return Case.of(u, z, margin=delta), make(delta)


def _values(make: Callable[[float], Rule], seen: Case, worst: np.ndarray, margins: np.ndarray) -> list[float]:
    """The bound at each margin; hinge and squares are sums over the trials that fall short of it."""
    short = np.searchsorted(worst, margins)
    sums, squares = (np.concatenate(([0.0], np.cumsum(worst**power))) for power in (1, 2))
    hinge = np.maximum(short * margins - sums[short], 0.0)
    squared = np.maximum(short * margins**2 - 2 * margins * sums[short] + squares[short], 0.0)
    values = []
    for delta, noise, square in zip(margins.tolist(), hinge.tolist(), squared.tolist(), strict=True):
        value = promise(make(delta), replace(seen, delta=delta, hinge=noise, squares=square)).value
        values.append(math.inf if value is None else value)
    return values


def _longest(case: Case, p: float) -> Any:
    """The rows of z that are longest by the norms that are asked for; all others make a search only slow."""
    z = case.instances
    lengths = (np.asarray(abs(z / case.largest).power(one).sum(axis=1)).ravel() for one in (2.0, p))
    return z[sorted({int(np.argmax(length)) for length in lengths})]
