"""The findings of `linmax fuse` as text: the answer first, then the tables behind it."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from linmax.cli.output import BLOCK, format_number, print_table, shorten
from linmax.evaluate.audit.sample import ItemRecord
from linmax.evaluate.findings.findings import ExpertSummary, Findings
from linmax.report.decision_sentences import describe_decisions
from linmax.report.sentences import account, answer, describe_calibration, describe_droppable

TEXT = ("", "expert", "reading")
"""Headings of columns that are text; the others are numbers."""

BAR = 6
"""Characters of the longest bar."""

MAX_EXPERTS = 20
"""Experts in a table or a sentence."""

MAX_ITEMS = 5
"""Items, or pairs of classes, in a sentence."""

COVERAGE_SHOWN = (1.0, 0.9, 0.8, 0.5, 0.2)
"""Fractions of the items, of the findings' coverage."""


def print_summary(console: Console, found: Findings) -> None:
    """Print the findings."""
    console.print()
    console.print(Text(f"Verdict: {found.verdict}", style="bold"), soft_wrap=True)
    console.print(Text(to_plain_text(answer(found)), style="bold"), soft_wrap=True)
    for sentence in account(found):
        console.print(Text(to_plain_text(sentence)), soft_wrap=True)
    if found.trials:
        _print_results(console, found)
        for sentence in (describe_metrics(found), describe_calibration(found)):
            if sentence:
                console.print(Text(to_plain_text(sentence)), soft_wrap=True)
    if found.experts:
        _print_experts(console, found)
    _print_confusion(console, found)
    _print_coverage(console, found)
    for sentence in describe_decisions(found):
        console.print(Text(to_plain_text(sentence)), soft_wrap=True)
    _print_items(console, "Hardest items (confident but wrong)", found.hardest, found.unit)
    _print_items(console, "Label these next (smallest margins)", found.next_labels, found.unit)
    console.print(Text(found.bound[:1].upper() + found.bound[1:]), soft_wrap=True)
    for note in found.notes:
        console.print(Text(note, style="dim"), soft_wrap=True)


def _print_results(console: Console, found: Findings) -> None:
    rows = []
    for one in found.results:
        of = "" if one.trials == found.trials else f" (of {one.trials:,} items)"
        rows.append(
            (
                one.name,
                _percent(one.accuracy),
                _percent(one.accuracy_last_half),
                f"{round(one.mistakes):,}",
                shorten(one.detail, 60) + of,
            )
        )
    headings = ("", "accuracy", "last half", "mistakes", "")
    styles = ["bold cyan" if one.name == "linmax" else "" for one in found.results]
    print_table(console, headings, rows, left=TEXT, styles=styles)


def describe_metrics(found: Findings) -> str:
    """The metrics of linmax, with those of the strongest baseline that has them."""
    names = ("balanced accuracy", "macro F1", "Cohen's kappa", "mean absolute error")
    texts = []
    best = max(found.baselines, key=lambda one: one.accuracy, default=None)
    for name, own, other in zip(
        names, found.metrics[1:], best.metrics[1:] if best else [None] * len(names), strict=True
    ):
        if own is not None:
            beside = "" if other is None else f" ({other:.3f})"
            texts.append(f"{name} {own:.3f}{beside}")
    if not texts:
        return ""
    of = f", in brackets those of the {best.name}" if best else ""
    return f"Further metrics of linmax{of}: {', '.join(texts)}."


def _print_experts(console: Console, found: Findings) -> None:
    console.print(Text("Trust in the experts", style="bold"))
    with_losses = any(one.log_loss is not None for one in found.experts)
    with_ablation = any(one.ablated_accuracy is not None for one in found.experts)
    with_prices = any(one.price is not None for one in found.experts)
    headings = ["expert", "accuracy", "votes", "trust", "", "reading"]
    headings += (
        ["ablation"] * with_ablation + ["price"] * with_prices + ["square loss", "log loss"] * with_losses
    )
    largest = max(one.trust for one in found.experts) or 1.0
    block = BLOCK[console.options.ascii_only]
    rows = []
    for one in found.experts[:MAX_EXPERTS]:
        cells = [
            shorten(one.name, 24),
            _percent(one.accuracy),
            _percent(one.vote_rate),
            _percent(one.trust),
            block * round(BAR * one.trust / largest),
            one.reading,
        ]
        cells += [_format_ablation(one)] * with_ablation + [_number(one.price)] * with_prices
        rows.append(cells + [_number(one.square_loss), _number(one.log_loss)] * with_losses)
    print_table(console, headings, rows, left=TEXT)
    if len(found.experts) > MAX_EXPERTS:
        more = len(found.experts) - MAX_EXPERTS
        console.print(Text(f"... and {more} more; --report and --json list all of them."))
    if describe_droppable(found):
        console.print(Text(to_plain_text(describe_droppable(found))), soft_wrap=True)


def _print_confusion(console: Console, found: Findings) -> None:
    pairs = [
        (count, truth, guess)
        for truth, row in zip(found.confusion.classes, found.confusion.table, strict=True)
        for guess, count in zip(found.confusion.classes, row, strict=True)
        if truth != guess and count
    ]
    if pairs:
        texts = (
            f"{shorten(truth, 20)} predicted as {shorten(guess, 20)} ({count:,})"
            for count, truth, guess in sorted(pairs, key=lambda pair: -pair[0])[:MAX_ITEMS]
        )
        console.print(Text(f"Most confused classes: {', '.join(texts)}."), soft_wrap=True)


def _print_coverage(console: Console, found: Findings) -> None:
    points = [
        one for one in found.coverage if any(abs(one.answered - part) < 0.01 for part in COVERAGE_SHOWN)
    ]
    if len(points) > 1:
        texts = ", ".join(f"{one.accuracy:.1%} at {one.answered:.0%}" for one in points)
        console.print(
            Text(f"Accuracy if only the items with the largest margins are answered: {texts} coverage."),
            soft_wrap=True,
        )


def _print_items(console: Console, title: str, items: Iterable[ItemRecord], unit: str) -> None:
    texts = [describe_item(one, unit) for one in list(items)[:MAX_ITEMS]]
    if texts:
        console.print(Text(f"{title}: {', '.join(texts)}."), soft_wrap=True)


def describe_item(item: ItemRecord, unit: str) -> str:
    """The id of an item, or its line or row in the file, and its prediction and label."""
    name = f"{unit} {item.line}" if item.id is None else shorten(item.id, 30)
    truth = "" if item.truth is None else f", truth {shorten(item.truth, 20)}"
    return f"{name} (predicted {shorten(item.guess, 20)}{truth})"


def to_plain_text(text: str) -> str:
    """Replace typographic characters of the report by ASCII.

    >>> to_plain_text("\u2212\xa01")
    '- 1'
    """
    return text.translate({0xA0: " ", 0x2212: "-", 0x2013: "-", 0x2026: "..."})


def _format_ablation(one: ExpertSummary) -> str:
    """The change of the accuracy without an expert, in percentage points."""
    if one.accuracy_drop is None:
        return ""
    return f"{-100 * one.accuracy_drop + 0.0:+.1f}".replace("-0.0", "+0.0")


def _percent(part: float | None, digits: int = 1) -> str:
    return "" if part is None or part != part else f"{part:.{digits}%}"


def _number(value: float | None) -> str:
    return "" if value is None else format_number(value)
