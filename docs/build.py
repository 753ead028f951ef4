"""Rewrite the generated tables of the pages in this folder; with --check only tell if they are current."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from linmax import _registry
from linmax.bounds.theorems import THEOREMS
from linmax.report import Entry, catalogue, options

HERE = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rules() -> str:
    """Every rule with its formula, its own parameters, and the checks it claims."""
    rows = [
        (
            code(entry.name),
            code(entry.formula),
            parameters(entry),
            ", ".join(sorted(entry.claims)),
            proven(entry),
        )
        for entry in catalogue(own=True)
        if entry.kind == "rule"
    ]
    shared = f"\nEvery rule also takes {', '.join(map(code, options()))}.\n"
    return table(("rule", "formula", "parameters", "checks it claims", "bound"), rows) + shared


def bounds() -> str:
    """The theorem of every rule that has one."""
    named = {_registry.name_of(rule) or rule.__name__: theorem for rule, theorem in THEOREMS.items()}
    rows = [(code(name), code(named[name].formula), named[name].source) for name in sorted(named)]
    return table(("rule", "mistakes at most", "from"), rows)


def techniques() -> str:
    """Every technique."""
    return listing("technique")


def sources() -> str:
    """Every source of sub-experts, with the mathematical checks that hold on it."""
    rows = [
        (code(entry.name), parameters(entry), ", ".join(sorted(entry.claims)), entry.summary)
        for entry in catalogue(own=True)
        if entry.kind == "source"
    ]
    return table(("source", "parameters", "checks that hold on it", "what it does"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "rules": rules,
    "bounds": bounds,
    "techniques": techniques,
    "sources": sources,
}


def listing(kind: str) -> str:
    """The entries of one kind, with what they do."""
    rows = [
        (code(entry.name), parameters(entry), entry.summary)
        for entry in catalogue(own=True)
        if entry.kind == kind
    ]
    return table((kind, "parameters", "what it does"), rows)


def parameters(entry: Entry) -> str:
    """Parameters with their defaults."""
    return ", ".join(map(code, entry.parameters))


def proven(entry: Entry) -> str:
    """Whether a theorem bounds a rule's mistakes."""
    return "[yes](bounds.md)" if _registry.find(entry.name) in THEOREMS else "none known"


def code(text: str) -> str:
    """Text as code, safe in a table."""
    return f"`{text}`".replace("|", "\\|") if text else ""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def rebuilt(page: str) -> str:
    """A page with its generated parts as they should be now."""
    return PART.sub(lambda part: part[1] + PARTS[part[2]]() + part[3], page)


def main() -> int:
    """Rewrite the pages; the number of those that were out of date when only asked to check."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="change nothing; fail if a page is out of date")
    check = options.parse_args().check
    stale = 0
    for page in sorted(HERE.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if rebuilt(text) != text:
            stale += 1
            print(f"{page.name} {'is out of date: run make docs' if check else 'is rewritten'}")
            if not check:
                page.write_text(rebuilt(text), encoding="utf-8")
    return stale if check else 0


if __name__ == "__main__":
    sys.exit(main())
