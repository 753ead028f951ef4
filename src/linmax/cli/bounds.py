"""What theory promises on a panel of votes, beside the mistakes that are made on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.bounds import Case, printed_1999, printed_2003, printed_2008, promise
from linmax.bounds.case import leads
from linmax.cli.options import learner_of
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


MOST_NOISE = 1e12  # a trial has at most 2


class Panel(NamedTuple):
    """Which file, and what of it."""

    path: Path
    label: str | None = None  # found out by its name
    first: int | None = None
    C: float = 1.0


def calculate(rule: str | None, n: int, margin: float, noise: float, console: Console | None = None) -> None:
    """Print the bound of one rule, with its theorem, or those of all rules that have one."""
    console = console or Console(highlight=False)
    if not LEAST <= margin <= 1:  # nor NaN
        raise ValueError(
            f"--margin is a number from {LEAST:f} to 1, as sum |u| = 1 and |z_i| <= 1 (got {margin:g});"
            " 0.1 is usual"
        )
    if not 0 <= noise <= MOST_NOISE:
        raise ValueError(
            f"--noise is a number from 0 to {MOST_NOISE:g}, a sum over trials of at most 2 each"
            f" (got {noise:g}); 0 is no noise"
        )
    case = Case(n=n, delta=margin, hinge=noise)
    if rule is not None:
        said = promise(learner_of(rule, "rule"), case)
        if said.value is None:
            raise ValueError(f"{rule} has no bound here: {said.reason}")
        if not math.isfinite(said.value):
            raise ValueError(f"the bound of {rule} is beyond all numbers at --margin {margin:g}; raise it")
        console.print(Text(f"{rule} makes at most {said.value:.1f} mistakes."))
        console.print(Text(f"  {said.formula}\n  {said.source}", style="dim"), soft_wrap=True)
        return
    table = Table(title=f"n = {n}, margin = {margin:g}, noise = {noise:g}", title_justify="left")
    for heading in ("rule", "mistakes at most", "why, or why not"):
        table.add_column(heading, overflow="fold", justify="right" if "most" in heading else "left")
    for one in rules(n, margin):
        said = promise(one, case)
        value = "" if said.value is None else f"{said.value:.1f}"
        table.add_row(Text(_short(repr(one))), value, Text(said.reason or said.formula))
    if not noise and margin < 1:
        table.add_section()
        false = "as printed, with alpha = (1 - margin)^(-1/2); false"
        table.add_row("Winnow, 1999", f"{printed_1999(n, margin):.1f}", false)
        table.add_row("Winnow, 2003", f"{printed_2003(n, margin):.1f}", false)
    told = "as printed, with alpha = 1 + margin; not proven here"
    table.add_row("BalancedWinnow, 2008", f"{printed_2008(n, margin, noise=noise / margin):.1f}", told)
    console.print(table)
    console.print(
        Text(
            "For some comparator with sum |u| = 1 and votes in [0, 1]; noise is its hinge loss, summed over"
            f" the trials. Winnow and BalancedWinnow have alpha = {best_alpha(margin):.4g}, the best here."
        ),
        soft_wrap=True,
    )


def on_panel(panel: Panel, rule: str | None = None, console: Console | None = None) -> None:
    """Print what is promised on a panel beside what happens on it, for one rule or all that have a bound."""
    console = console or Console(highlight=False)
    only = None if rule is None else learner_of(rule, "rule")
    if not (only is None or isinstance(only, Rule)):
        inner = getattr(only, "rule", None)
        such = repr(inner) if isinstance(inner, Rule) else "Winnow(1.2)"
        raise ValueError(
            f"bounds on a panel are for rules, and {rule} is a technique; ask for a rule like {such}"
        )
    votes = read(panel.path, panel.label, panel.first)
    with console.status("Looking for comparators, and learning ..."):
        lines = promised(votes, panel.C, only)
    trials = sum(one is not None for one in votes.labels)
    console.print(_table(lines, f"{panel.path.name}: {trials} trials, {len(votes.classes)} classes"))
    for line in lines:
        if line.bound is None:
            console.print(Text(f"{_short(repr(line.rule))}: {line.reason}"), soft_wrap=True)
    for sentence in _said(votes, lines, panel.first):
        console.print(Text(sentence), soft_wrap=True)


def _table(lines: list[Line], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("rule", "comparator", "margin", "hinge", "mistakes at most", "mistakes made"):
        table.add_column(
            heading, overflow="fold", justify="left" if heading in ("rule", "comparator") else "right"
        )
    for line in lines:
        margin = f"{line.case.delta:.4f}" if line.case else ""
        hinge = f"{line.case.hinge:.2f}" if line.case else ""
        bound = "none" if line.bound is None else f"{line.bound:.0f}"
        table.add_row(
            Text(_short(repr(line.rule))), line.comparator, margin, hinge, bound, str(line.mistakes)
        )
    return table


def _said(votes: Votes, lines: list[Line], first: int | None) -> list[str]:
    """What a reader of the table has to know."""
    trials = sum(one is not None for one in votes.labels)
    sentences = []
    if any(line.bound is not None and line.bound >= trials for line in lines):
        sentences.append(f"A bound of {trials} or more says nothing about {trials} trials.")
    taken = len(votes.rows)
    if taken < votes.items:
        more = "" if first else "; --first takes more, and then u takes long to find"
        sentences.append(f"These are the first {taken} of {votes.items} items{more}.")
    if trials < taken:
        sentences.append(f"Of {taken} items {taken - trials} have no label and do not count.")
    with_thresholds = ", thresholds included" if lines[0].rule.experts is None else ""
    sentences.append(f"Here n = {lines[0].n} sub-experts from {votes.experts} experts{with_thresholds}.")
    if len(lines) > 1:
        sentences.append("The alpha of Winnow and BalancedWinnow is that of the margin shown.")
    sentences.append(
        "Margin and hinge are those of the comparator scaled to sum |u| = 1, at the margin with the smallest"
        " bound of some hundreds that were tried (without a bound, at that of the reason); it was fitted to"
        " these very labels, so all this is known only in hindsight."
    )
    return sentences


def _short(learner: str) -> str:
    """A learner with short numbers.

    >>> _short("Winnow(1.0408329997)")
    'Winnow(1.0408)'
    """
    head, bracket, rest = learner.partition("(")
    number = rest.removesuffix(")")
    return f"{head}({float(number):.5g})" if bracket and number.replace(".", "", 1).isdecimal() else learner
