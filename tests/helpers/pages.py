"""Pages whose code blocks are run: ```python blocks in order, in one namespace, as doctests."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

from linmax import spec as _registry

ROOT = Path(__file__).parents[2]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(page: Path) -> list[tuple[str, str]]:
    """The fenced blocks of a page, with their kind."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [(kind, block) for kind, block in found]


def run_page(page: Path) -> int:
    """Run every python block and compare what it prints; the number of examples that were run."""
    code = "\n".join(block for kind, block in blocks(page) if kind == "python")
    whole: dict[str, Any] = {"__name__": f"page_{page.stem.lower()}"}
    before = _registry.registered()
    test = doctest.DocTestParser().get_doctest(code, whole, page.name, str(page), 0)
    report: list[str] = []
    try:
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    finally:
        _registry._things = before  # what a page registers is the page's
    assert result.failed == 0, "".join(report)
    return result.attempted
