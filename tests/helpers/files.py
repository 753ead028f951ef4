"""Files of votes and models for the tests of the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from linmax import Averaged, Fusion, Winnow
from linmax.cli import app
from linmax.panels import PanelOptions, read_panel
from linmax.problems import majority

ROWS = 200
EXPERTS = ["ann", "bob", "[red]eve[/red]", "joe"]  # a name that is no markup
CLASSES = ["ham", "spam", "tea, black"]


def run(*words: object, width: int = 100) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], env={"COLUMNS": str(width)})


def refused(*words: object) -> str:
    """What a command says that ends with code 2: one line, and nothing on standard output."""
    result = run(*words)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.startswith("linmax: ")
    lines = [
        line
        for line in result.stderr.splitlines()
        if not line.startswith(("linmax: note: ", "linmax: warning: "))
    ]
    assert len(lines) == 1
    return lines[0].removeprefix("linmax: ")


def values(*words: object) -> dict[str, Any]:
    """What a command prints with --json, which is all it prints."""
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(
        result.stdout, parse_constant=lambda word: 1 / 0
    )  # neither NaN nor Infinity is JSON
    return found


def table(path: Path, rows: Iterable[Iterable[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def panel(path: Path, *, rows: int = ROWS, unlabelled: int = 10) -> Path:
    """Votes and labels, with an id; every so many rows have no label."""
    votes, labels = majority(rows, relevant=3, experts=len(EXPERTS), classes=len(CLASSES), noise=0.1)
    lines: list[list[str]] = [["id", *EXPERTS, "truth"]]
    for i, (row, label) in enumerate(zip(votes.tolist(), labels.tolist(), strict=True)):
        truth = "" if i % unlabelled == 0 else CLASSES[label]
        lines.append([f"a{i}", *(CLASSES[vote] for vote in row), truth])
    return table(path, lines)


def trained(path: Path, votes: Path, learner: Any = None, experts: tuple[str, ...] | None = None) -> Fusion:
    """A session that has learned a file and was saved."""
    fusion = Fusion(learner or Averaged(Winnow(1.2)))
    for chunk in read_panel([votes], PanelOptions(experts=experts)).stream():
        fusion.learn(chunk.votes, chunk.labels, attributes=chunk.attributes)
    fusion.save(path)
    return fusion
