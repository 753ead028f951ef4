"""Compile what most tests need, in two processes at once: `python -m tests.helpers.warm_up`.

The workers of pytest would compile some kernels twice, and every test file twice. Kernels that share their
parts are compiled by the same process, which compiles each part once. What is on disk already is only loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from linmax import Fusion, Logistic, Mixture, NaiveBayes, Perceptron, recommended
from linmax._jit.tiers import VARIABLE, compile_now
from linmax.evaluate.consultation import replay_consultations
from linmax.experts import RandomFeatures
from linmax.kernels.forms.votes import BYTE_CLASSES
from linmax.problems import majority
from linmax.runtime import tables
from linmax.svm import instances
from tests.kernels.test_compiled_forms import (
    ENSEMBLES,
    QUICK_RUNS,
    QUICK_VOTERS,
    RULES,
    VOTERS,
    inputs,
    learners_of,
    run,
    run_and_learn_one,
)
from tests.runtime.test_large_panels import ADAPTING, panel


def compile_votes() -> None:
    """Compile the kernels of votes, of ensembles, of voting, and of tables in blocks."""
    for source, kind, form, way in QUICK_RUNS:
        if _is_of_votes(form):
            run(learners_of(form, way)[0].on(source), inputs(kind))
    for learner in ENSEMBLES.values():
        run_and_learn_one(learner, inputs("labels"))
    run(Mixture(RULES), inputs("triplets"))
    for buffer, kind in QUICK_VOTERS:
        run(VOTERS[buffer], inputs(kind, experts=5, classes=3))
    usual = tables.DENSE
    for large, dense in ((ADAPTING, 0), (NaiveBayes(), 0)):
        tables.DENSE = dense
        Fusion(large, classes=range(10)).learn(*panel(25, 40, 10))
    tables.DENSE = usual
    Fusion(Perceptron(), classes=range(BYTE_CLASSES + 1)).learn(*panel(25, 5, BYTE_CLASSES + 1))
    # mixtures, whose kernels are those of the ensembles above
    run(recommended(votes=False, attributes=True), inputs("rows"))
    run(recommended(votes=True, attributes=True), {**inputs("labels"), **inputs("rows")})


def compile_others() -> None:
    """Compile the kernels of attributes, the slowest first, of Naive Bayes by accuracies and regressions."""
    for source, kind, form, way in QUICK_RUNS:
        if not _is_of_votes(form):
            run(learners_of(form, way)[0].on(source), inputs(kind))
    run(NaiveBayes("tables"), inputs("triplets"))  # those of labels are part of ensembles
    for kind in ("labels", "triplets"):
        run(NaiveBayes("accuracies"), inputs(kind))
    run(Perceptron().on(RandomFeatures()), inputs("rows"))


def compile_evaluation() -> None:
    """Compile the kernels of `linmax fuse`, of bounds and of consultations."""
    votes, labels = majority(100, relevant=3, experts=5, classes=3)
    instances(Perceptron(), votes, labels)
    for learner in (Perceptron(start="equal"), Mixture([Logistic(start="equal"), NaiveBayes()])):
        fusion = Fusion(learner, classes=range(3), experts=range(5))
        fusion.learn(votes, labels)
        fusion.next_expert({0: 1}, experts=range(5))
        replay_consultations(fusion, votes, labels)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.csv"
        rows = np.column_stack((votes, labels)).tolist()
        file.write_text(
            "\n".join(",".join(map(str, row)) for row in [["a", "b", "c", "d", "e", "truth"], *rows])
        )
        words = [
            "fuse",
            str(file),
            "--learner",
            "Perceptron()",
            "--json",
            "--output",
            str(file.with_name("out.csv")),
        ]
        _run("-c", "from linmax.cli import app; app()", *words)


def compile_tests() -> None:
    """Rewrite the assertions of all test files, and write their bytecode."""
    _run("-m", "pytest", "--collect-only", "-qq")


def _run(*words: str) -> None:
    """Run Python, and print nothing; where it fails, the tests will tell."""
    subprocess.run(
        [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
    )


def _is_of_votes(form: str) -> bool:
    return any(name in form for name in ("Hard", "Sparse,", "Dense"))


def main() -> None:
    """Compile all groups, the largest first; an error stops the warm-up, and the tests will tell."""
    os.environ[VARIABLE] = "0"
    compile_now()
    groups = (compile_votes, compile_others, compile_tests, compile_evaluation)
    with ProcessPoolExecutor(2) as processes:
        for done in [processes.submit(group) for group in groups]:
            done.result()


if __name__ == "__main__":
    sys.exit(main())
