"""The page of warnings lists the codes that the source has, no more and no fewer."""

from __future__ import annotations

import ast
import re
from typing import Literal, get_args, get_type_hints

from linmax.validation import DataWarning
from tests.helpers.pages import ROOT

CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def codes_of_the_source() -> dict[str, set[str]]:
    """The codes with their severities; a code that is chosen before comes from a pair of texts."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "DataWarning(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "DataWarning":
                code, severity, _ = node.args
                severities = {one.value for one in ast.walk(severity) if isinstance(one, ast.Constant)} & {
                    "grave",
                    "note",
                }
                if isinstance(code, ast.Constant):
                    found.setdefault(code.value, set()).update(severities)
            chosen = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "grave"
            pair = node.value if chosen else None  # type: ignore[attr-defined]
            if isinstance(pair, ast.Tuple) and isinstance(pair.elts[0], ast.Constant):
                found.setdefault(pair.elts[0].value, set()).add("grave")
    return found


def test_the_page_of_warnings_lists_every_code_with_its_severity() -> None:
    page = (ROOT / "docs" / "warnings.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    described = {row[0].strip(" `"): set(row[1].split(" or ")) for row in rows}
    assert len(described) == len(rows)
    assert all(len(row) == 4 and row[3].strip() for row in rows)
    assert described == codes_of_the_source()
    assert all(CODE.fullmatch(code) for code in described)


def test_a_warning_is_grave_or_a_note() -> None:
    assert get_type_hints(DataWarning)["severity"] == Literal["grave", "note"]
    assert get_args(get_type_hints(DataWarning)["severity"]) == ("grave", "note")
