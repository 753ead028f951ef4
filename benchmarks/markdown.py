"""Tables of Markdown."""

from __future__ import annotations

from collections.abc import Iterable


def table(lines: Iterable[list[str]]) -> str:
    """Lines as a table; the first is its head."""
    head, *body = lines
    rule = ["---" if at == 0 else "---:" for at in range(len(head))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *body))
