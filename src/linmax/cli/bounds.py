"""The calculator: how often a rule can be wrong, in a case or on a panel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.bounds import Case, printed_1999, printed_2003, printed_2008, promise
from linmax.cli.asking import learner_of
from linmax.cli.panel import LEAST, Line, Votes, best_alpha, promised, read, rules
from linmax.rules import Rule

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
