"""`linmax bounds`: mistake bounds in a given case, or on a panel of votes."""

from __future__ import annotations

import math

from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.bounds import Case, mistake_bound, published_1999, published_2003, published_2008
from linmax.bounds.tightest import MIN_MARGIN
from linmax.cli.bounds.panel import (
    PanelBound,
    PanelVotes,
    best_alpha,
    bounded_rules,
    panel_bounds,
    read_votes,
)
from linmax.cli.fuse.late_doubts import StreamedVotes
from linmax.cli.inputs import parse_learner, require_reading
from linmax.cli.options.files import BoundsOptions
from linmax.cli.output import print_warning_messages, stdout_console
from linmax.rules import Rule
from linmax.validation import require_extra

MAX_NOISE = 1e12
"""The largest noise; a trial contributes at most 2."""


def print_bounds(
    rule: str | None, n: int, margin: float, noise: float, console: Console | None = None
) -> None:
    """Print the bound of one rule with its theorem, or the bounds of all rules that have one."""
    console = console or stdout_console()
    if not MIN_MARGIN <= margin <= 1:  # also refuses NaN
        raise ValueError(
            f"--margin must be in {MIN_MARGIN:f} <= margin <= 1, because sum |u| = 1 and |z_i| <= 1"
            f" (got {margin:g}); a typical value is 0.1"
        )
    if not 0 <= noise <= MAX_NOISE:
        raise ValueError(
            f"--noise must be in 0 <= noise <= {MAX_NOISE:g}, a sum over trials of at most 2 each"
            f" (got {noise:g}); 0 is no noise"
        )
    case = Case(n=n, delta=margin, hinge=noise)
    if rule is None:
        _print_all_bounds(case, console)
        return
    result = mistake_bound(parse_learner(rule, "rule"), case)
    if result.value is None:
        raise ValueError(f"{rule} has no bound here: {result.reason}")
    if not math.isfinite(result.value):
        raise ValueError(f"the bound of {rule} overflows at --margin {margin:g}; pass a larger margin")
    console.print(Text(f"{rule} makes at most {result.value:.1f} mistakes."))
    console.print(Text(f"  {result.formula}\n  {result.source}", style="dim"), soft_wrap=True)


def _print_all_bounds(case: Case, console: Console) -> None:
    n, margin, noise = case.n, case.delta, case.hinge
    table = Table(title=f"n = {n}, margin = {margin:g}, noise = {noise:g}", title_justify="left")
    for heading in ("rule", "mistakes at most", "formula, or why there is none"):
        table.add_column(heading, overflow="fold", justify="right" if "most" in heading else "left")
    for one in bounded_rules(n, margin):
        result = mistake_bound(one, case)
        value = "" if result.value is None else f"{result.value:.1f}"
        table.add_row(Text(_format_rule(one)), value, Text(result.reason or result.formula))
    if not noise and margin < 1:
        table.add_section()
        false = "as published, with alpha = (1 - margin)^(-1/2); false"
        table.add_row("Winnow, 1999", f"{published_1999(n, margin):.1f}", false)
        table.add_row("Winnow, 2003", f"{published_2003(n, margin):.1f}", false)
    unproven = "as published, with alpha = 1 + margin; not proven here"
    value_2008 = published_2008(n, margin, noise=noise / margin)
    table.add_row("BalancedWinnow, 2008", f"{value_2008:.1f}", unproven)
    console.print(table)
    console.print(
        Text(
            "Valid for any comparator with sum |u| = 1 and votes in [0, 1]; noise is its hinge loss, summed"
            f" over the trials. Winnow and BalancedWinnow use the best alpha, {best_alpha(margin):.4g}."
        ),
        soft_wrap=True,
    )


def print_panel_bounds(panel: BoundsOptions, rule: str | None = None, console: Console | None = None) -> None:
    """Print bounds on a panel next to the mistakes there, of one rule or of all that have a bound."""
    console = console or stdout_console()
    only = None if rule is None else parse_learner(rule, "rule")
    if not (only is None or isinstance(only, Rule)):
        inner = getattr(only, "rule", None)
        such = repr(inner) if isinstance(inner, Rule) else "Winnow(1.2)"
        raise ValueError(f"--panel requires a rule, and {rule} is a technique; pass a rule like {such}")
    require_extra("sklearn", "sklearn", "linmax bounds --panel")
    assert panel.panel is not None
    found_panel = require_reading(panel.read([panel.panel]), [panel.panel])
    print_warning_messages(found_panel.warnings)
    watched = StreamedVotes(found_panel)
    votes = read_votes(found_panel.stream(), panel.first, watched.watch)
    print_warning_messages(watched.doubts())
    with console.status("Fitting comparators and learning ..."):
        found = panel_bounds(votes, 1.0 if panel.C is None else panel.C, only)
    trials = sum(one is not None for one in votes.labels)
    console.print(_panel_table(found, f"{votes.file}: {trials} trials, {len(votes.classes)} classes"))
    for one in found:
        if one.bound is None:
            console.print(Text(f"{_format_rule(one.rule)}: {one.reason}"), soft_wrap=True)
    for sentence in _panel_notes(votes, found, panel.first):
        console.print(Text(sentence), soft_wrap=True)


def _panel_table(found: list[PanelBound], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in ("rule", "comparator", "margin", "hinge", "mistakes at most", "mistakes made"):
        is_text = heading in ("rule", "comparator")
        table.add_column(heading, overflow="fold", justify="left" if is_text else "right")
    for one in found:
        margin = f"{one.case.delta:.4f}" if one.case else ""
        hinge = f"{one.case.hinge:.2f}" if one.case else ""
        bound = "none" if one.bound is None else f"{one.bound:.0f}"
        table.add_row(Text(_format_rule(one.rule)), one.comparator, margin, hinge, bound, str(one.mistakes))
    return table


def _panel_notes(votes: PanelVotes, found: list[PanelBound], first: int | None) -> list[str]:
    trials = sum(one is not None for one in votes.labels)
    notes = []
    if any(one.bound is not None and one.bound >= trials for one in found):
        notes.append(f"A bound of {trials} or more is trivial, because there are {trials} trials.")
    used = len(votes.rows)
    if used < votes.items:
        more = "" if first else "; --first uses more, and then fitting u takes longer"
        notes.append(f"Only the first {used} of {votes.items} items are used{more}.")
    if trials < used:
        notes.append(f"{used - trials} of {used} items have no label and do not count.")
    thresholds = ", including thresholds" if found[0].rule.experts is None else ""
    notes.append(f"n = {found[0].n} sub-experts from {votes.experts} experts{thresholds}.")
    if len(found) > 1:
        notes.append("Winnow and BalancedWinnow use the best alpha for the margin shown.")
    notes.append(
        "Margin and hinge are those of the comparator scaled to sum |u| = 1, at the margin with the smallest"
        " bound. The comparator is fitted to the same labels, so these values are known only in hindsight."
    )
    return notes


def _format_rule(rule: Rule) -> str:
    """A rule whose only parameter has few digits.

    >>> from linmax import Winnow
    >>> _format_rule(Winnow(1.0408329997))
    'Winnow(1.0408)'
    """
    text = repr(rule)
    name, bracket, rest = text.partition("(")
    number = rest.removesuffix(")")
    return f"{name}({float(number):.5g})" if bracket and number.replace(".", "", 1).isdecimal() else text
