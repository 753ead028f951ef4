"""Tables and numbers in Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(lines: Iterable[list[str]]) -> str:
    """Return a table; the first line is its header."""
    head, *body = lines
    rule = ["---" if at == 0 else "---:" for at in range(len(head))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))


def us(nanoseconds: float) -> str:
    """Return nanoseconds as microseconds with three digits."""
    value = nanoseconds / 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
