"""What a pass has shown, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from linmax.cli.output import brief, number
from linmax.evaluate.audit import Item
from linmax.evaluate.findings import Expert, Findings
from linmax.report.text import account, answer

BAR = 6  # characters of the longest bar
MOST = 20  # experts of a table
FEW = 5  # items of a list
ANSWERED = (1.0, 0.9, 0.8, 0.5, 0.2)  # parts of the items, in the table of coverage
BLOCK = ("█", "#")


def summary(console: Console, found: Findings) -> None:
    """Print the answer first, then what it rests on."""
    console.print()
    console.print(Text(simple(answer(found)), style="bold"), soft_wrap=True)
    for sentence in account(found):
        console.print(Text(simple(sentence)), soft_wrap=True)
    if found.trials:
        console.print(_standings(found))
    if found.experts:
        _experts(console, found)
    _confusions(console, found)
    _coverage(console, found)
    _items(console, "Hardest: confident, and wrong", found.hardest)
    _items(console, "Label these next: the guess hardly leads", found.next_labels)
    console.print(Text(_sentence(found.promise)), soft_wrap=True)
    for remark in found.remarks:
        console.print(Text(remark, style="dim"), soft_wrap=True)


def _standings(found: Findings) -> Table:
    table = _table("", "right", "last half", "mistakes", "")
    for one in found.standings:
        of = "" if one.trials == found.trials else f" (of {one.trials:,} items)"
        table.add_row(
            one.name, _percent(one.accuracy), _percent(one.last_half), f"{one.mistakes:,}",
            Text(brief(one.who, 60) + of), style="bold cyan" if one.name == "linmax" else "",
        )  # fmt: skip
    return table


def _experts(console: Console, found: Findings) -> None:
    console.print(Text("Whom linmax trusts", style="bold"))
    lossy = any(one.log_loss is not None for one in found.experts)
    dropped = any(one.without is not None for one in found.experts)
    priced = any(one.cost is not None for one in found.experts)
    headings = ["expert", "right", "speaks", "trust", "", "heard"]
    headings += ["left out"] * dropped + ["cost"] * priced + ["square loss", "log loss"] * lossy
    table = _table(*headings)
    largest = max(one.trust for one in found.experts) or 1.0
    for one in found.experts[:MOST]:
        bar = BLOCK[console.options.ascii_only] * round(BAR * one.trust / largest)
        cells: list[Any] = [
            Text(brief(one.name, 24)), _percent(one.accuracy), _percent(one.speaks),
            _percent(one.trust), Text(bar, style="cyan"), one.hears,
        ]  # fmt: skip
        cells += [_without(one)] * dropped + [_number(one.cost)] * priced
        table.add_row(*cells, *([_number(one.square_loss), _number(one.log_loss)] if lossy else []))
    console.print(table)
    if len(found.experts) > MOST:
        console.print(Text(f"... and {len(found.experts) - MOST} more; --report and --json have them all."))
    for sentence in droppable(found.experts):
        console.print(Text(sentence), soft_wrap=True)


def droppable(experts: list[Expert]) -> list[str]:
    """Who could be left out, one at a time, in a sentence; the dearest first where costs are given."""
    tried = [one for one in experts if one.costs is not None]
    idle = [one for one in tried if one.costs is not None and one.costs <= 0.0]
    if not tried:
        return []
    if not idle:
        return ["Leaving out any one expert makes linmax less accurate."]
    idle.sort(key=lambda one: (-(one.cost or 0.0), one.costs))
    names = ", ".join(
        brief(one.name, 28) + (f" (saves {one.cost:g})" if one.cost else "") for one in idle[:MOST]
    )
    more = f" and {len(idle) - MOST} more" if len(idle) > MOST else ""
    return [f"Could be dropped, one at a time, at no loss of accuracy: {names}{more}."]


def _confusions(console: Console, found: Findings) -> None:
    pairs = [
        (count, truth, guess)
        for truth, row in zip(found.confusion.classes, found.confusion.table, strict=True)
        for guess, count in zip(found.confusion.classes, row, strict=True)
        if truth != guess and count
    ]
    if pairs:
        told = (
            f"{brief(truth, 20)} taken for {brief(guess, 20)} ({count:,})"
            for count, truth, guess in sorted(pairs, key=lambda pair: -pair[0])[:FEW]
        )
        console.print(Text(f"Most confused: {', '.join(told)}."), soft_wrap=True)


def _coverage(console: Console, found: Findings) -> None:
    levels = [one for one in found.coverage if any(abs(one.answered - part) < 0.01 for part in ANSWERED)]
    if len(levels) > 1:
        told = ", ".join(f"{one.accuracy:.1%} of the surest {one.answered:.0%}" for one in levels)
        console.print(Text(f"Answering only when sure: right on {told}."), soft_wrap=True)


def _items(console: Console, title: str, items: Iterable[Item]) -> None:
    told = [named(one) for one in list(items)[:FEW]]
    if told:
        console.print(Text(f"{title}: {', '.join(told)}."), soft_wrap=True)


def named(item: Item) -> str:
    """An item by its id, or its line in the file, and how it was guessed."""
    who = f"line {item.line}" if item.id is None else brief(item.id, 30)
    truth = "" if item.truth is None else f", is {brief(item.truth, 20)}"
    return f"{who} (guess {brief(item.guess, 20)}{truth})"


def simple(text: str) -> str:
    """A text of a page in signs that every terminal has.

    >>> simple("\u2212\xa01")
    '- 1'
    """
    return text.translate({0xA0: " ", 0x2212: "-", 0x2013: "-", 0x2026: "..."})


def _table(*headings: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        text = heading in ("", "expert", "heard")
        table.add_column(heading, justify="left" if text else "right", no_wrap=heading == "expert")
    return table


def _without(one: Expert) -> str:
    return "" if one.costs is None else f"{-100 * one.costs + 0.0:+.1f}".replace("-0.0", "+0.0")


def _percent(part: float | None, digits: int = 1) -> str:
    return "" if part is None or part != part else f"{part:.{digits}%}"


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
