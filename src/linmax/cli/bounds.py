"""The calculator: how often a rule can be wrong, in a case or on a panel."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax import parse
from linmax.bounds import Case, printed_1999, printed_2003, printed_2008, promise
from linmax.cli.panel import best_alpha, promised, read, rules


def calculate(rule: str | None, n: int, margin: float, noise: float, console: Console | None = None) -> None:
    """Print the bound of one rule, with its theorem, or those of all rules that have one."""
    console = console or Console(highlight=False)
    case = Case(n=n, delta=margin, hinge=noise)
    if rule is not None:
        said = promise(parse(rule), case)
        if said.value is None:
            raise ValueError(f"{rule} has no bound here: {said.reason}")
        console.print(Text(f"{rule} makes at most {said.value:.1f} mistakes."))
        console.print(Text(f"  {said.formula}\n  {said.source}", style="dim"), soft_wrap=True)
        return
    if margin > 1:
        raise ValueError(f"a margin is at most 1, as sum |u| = 1 and |z_i| <= 1 (got {margin:g})")
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


def on_panel(path: Path, label: str, first: int | None, C: float, console: Console | None = None) -> None:
    """Print what is promised on a panel beside what happens on it."""
    console = console or Console(highlight=False)
    votes = read(path, label, first)
    with console.status("Looking for comparators, and learning ..."):
        lines = promised(votes, C)
    trials = sum(one is not None for one in votes.labels)
    table = Table(title=f"{path.name}: {trials} trials, {len(votes.classes)} classes", title_justify="left")
    for heading in ("rule", "comparator", "margin", "hinge", "mistakes at most", "mistakes made"):
        table.add_column(
            heading, overflow="fold", justify="left" if heading in ("rule", "comparator") else "right"
        )
    for line in lines:
        margin = f"{line.case.delta / line.case.weight(1):.4f}" if line.case else ""
        hinge = f"{line.case.hinge / line.case.weight(1):.2f}" if line.case else ""
        bound = "none" if line.bound is None else f"{line.bound:.0f}"
        table.add_row(
            Text(_short(repr(line.rule))), line.comparator, margin, hinge, bound, str(line.mistakes)
        )
    console.print(table)
    for line in lines:
        if line.bound is None:
            console.print(Text(f"{_short(repr(line.rule))}: {line.reason}"), soft_wrap=True)
    empty = [line for line in lines if line.bound is not None and line.bound >= trials]
    if empty:
        console.print(
            Text(f"A bound of {trials} or more says nothing about {trials} trials."), soft_wrap=True
        )
    console.print(
        Text(
            "Margin and hinge are those of the comparator scaled to sum |u| = 1, at the margin that promises"
            " most; it was fitted to these very labels, so all this is known only in hindsight."
        ),
        soft_wrap=True,
    )


def _short(learner: str) -> str:
    """A learner with short numbers.

    >>> _short("Winnow(1.0408329997)")
    'Winnow(1.0408)'
    """
    head, bracket, rest = learner.partition("(")
    number = rest.removesuffix(")")
    return f"{head}({float(number):.5g})" if bracket and number.replace(".", "", 1).isdecimal() else learner
