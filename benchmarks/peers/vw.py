"""Vowpal Wabbit reads a file of examples and writes a file of guesses, each made before its label counts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np


def guesses(setting: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> list[int]:
    """One pass with these options over the items in the order given."""
    from vowpalwabbit import Workspace  # type: ignore[import-not-found]  # only the peers' environment has it

    by_class = "_ldf" in setting
    write = lines_by_class if by_class else one_line
    with tempfile.TemporaryDirectory() as folder:
        examples, said = Path(folder) / "examples", Path(folder) / "said"
        with examples.open("w") as file:
            for row, y in zip(votes.tolist(), labels.tolist(), strict=True):
                file.write(write(row, y, k))
        options = f"{setting.format(k=k)} --quiet --no_stdin -d {examples} -p {said}"
        Workspace(options).finish()
        numbers = [int(float(line)) for line in said.read_text().split()]
    if by_class:  # a number per class: the guessed class's is its name, the others' are 0
        numbers = [max(numbers[at : at + k]) for at in range(0, len(numbers), k)]
    return [number - 1 for number in numbers]


def lines_by_class(row: list[int], y: int, k: int) -> str:
    """A line per class: its cost, and who voted for it."""
    voters = [""] * k
    for expert, said in enumerate(row):
        if said >= 0:
            voters[said] += f" e{expert}"
    return "".join(f"{c + 1}:{int(c != y)} |{voters[c]}\n" for c in range(k)) + "\n"


def one_line(row: list[int], y: int, k: int) -> str:
    """The label, and who said what."""
    return f"{y + 1} |" + "".join(f" e{expert}^{said}" for expert, said in enumerate(row) if said >= 0) + "\n"
