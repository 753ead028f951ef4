"""`linmax warm-up`: compile what a deployment needs before the first item arrives."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import sparse

from linmax._jit.numba_internals import State
from linmax._jit.tiers import VARIABLE, compile_now
from linmax.cli.inputs import parse_learner
from linmax.cli.output import stderr_console, stdout_console
from linmax.fusion import Fusion
from linmax.inputs import Triplets

ITEMS, EXPERTS, CLASSES = 24, 3, 3
DEFAULTS = ("recommended()", "recommended(votes=False, attributes=True)", "recommended(attributes=True)")
FILES = "linmax fuse on a file"


class Form(NamedTuple):
    """One form in which items are given.

    Attributes
    ----------
    name : str
        What it is called.
    votes, attributes : Any
        What `learn` takes; None without.
    single : bool
        Whether the items are learned one by one.
    """

    name: str
    votes: Any
    attributes: Any
    single: bool


def forms(needs: frozenset[str]) -> Iterator[Form]:
    """Yield the forms of items for what a learner reads: every form has machine code of its own."""
    rng = np.random.default_rng(0)
    hard = rng.integers(CLASSES, size=(ITEMS, EXPERTS))
    scores = rng.random((ITEMS, EXPERTS, CLASSES))
    rows = rng.random((ITEMS, EXPERTS)) * (rng.random((ITEMS, EXPERTS)) < 0.7)
    words = np.array(["red", "green", "blue"])[hard]
    cells: dict[str, Any] = {"no attributes": None}
    if "nominal" in needs:
        cells = {"nominal attributes": words}
    elif "rows" in needs:
        cells = {"attributes": rows, "sparse attributes": sparse.csr_array(rows)}
    dicts = None if "rows" not in needs else [dict(enumerate(row)) for row in rows.tolist()]
    votes: dict[str, Any] = {"no votes": None}
    singles: dict[str, Any] = {"no votes": [None] * ITEMS}
    if "votes" in needs:
        item, expert = np.indices(hard.shape).reshape(2, -1)
        triplets = Triplets(item, expert, hard.reshape(-1), items=ITEMS)
        votes = {"labels": hard, "scores": scores, "triplets": triplets}
        by_class = [[dict(enumerate(one)) for one in item] for item in scores.tolist()]
        singles = {
            "labels": [dict(enumerate(row)) for row in hard.tolist()],
            "scores": [dict(enumerate(row)) for row in by_class],
        }
    for name, given in votes.items():
        for other, attributes in cells.items():
            yield Form(f"{name}, {other}", given, attributes, False)
    if "nominal" not in needs:
        for name, items in singles.items():
            yield Form(f"{name}, one by one", items, dicts, True)


def compile_form(learner: Any, form: Form, labels: np.ndarray) -> None:
    """Learn and predict a few items in this form."""
    fusion = Fusion(learner, classes=range(CLASSES))
    if not form.single:
        fusion.learn(form.votes, labels, attributes=form.attributes)
        fusion.scores(form.votes, attributes=form.attributes)
        return
    for i in range(3):
        cells = None if form.attributes is None else form.attributes[i]
        fusion.learn_one(form.votes[i], int(labels[i]), attributes=cells)
        fusion.predict_one(form.votes[i], attributes=cells)


def compile_files() -> None:
    """Run `linmax fuse` on a small file in another process, which stores its machine code, too."""
    rng = np.random.default_rng(0)
    votes = np.array(["ham", "spam"])[rng.integers(2, size=(60, 4))].tolist()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.csv"
        lines = ["ann,bob,eve,label", *(",".join(row) for row in votes)]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = [sys.executable, "-c", "import linmax.cli; linmax.cli.main()", "fuse", str(file), "--json"]
        at_once = {**os.environ, VARIABLE: "0"}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=at_once)
    if done.returncode:
        raise ValueError(f"linmax fuse has failed on a small file: {done.stderr.strip()}")


def warm_up(names: list[str], console: Console | None = None) -> list[tuple[str, str, float]]:
    """Compile all forms of the learners, print what took how long, and return it.

    Parameters
    ----------
    names
        The texts of learners; empty for the defaults, and for files.
    console
        Where to print.
    """
    console = console or stdout_console()
    if not State.compiles:
        raise ValueError("there is nothing to compile: numba is switched off here, and linmax runs as Python")
    compile_now()
    labels = np.arange(ITEMS) % CLASSES
    work: list[tuple[str, str, Any]] = []
    for name in names or DEFAULTS:
        learner = parse_learner(name)
        for form in forms(frozenset(Fusion(learner).needs)):
            work.append((name, form.name, partial(compile_form, learner, form, labels)))
    if not names:
        work.append(("recommended()", FILES, compile_files))
    found: list[tuple[str, str, float]] = []
    bar = stderr_console()
    for name, form_name, run in track(
        work, "compiling", console=bar, transient=True, disable=not bar.is_terminal or bar.is_dumb_terminal
    ):
        start = time.perf_counter()
        run()
        found.append((name, form_name, time.perf_counter() - start))
    table = Table("learner", "items", "seconds", box=None)
    for name, form_name, seconds in found:
        table.add_row(name, form_name, f"{seconds:.1f}")
    console.print(table)
    total = sum(seconds for _, _, seconds in found)
    console.print(f"compiled in {total:.0f} s; processes that start from now on load the machine code")
    return found
