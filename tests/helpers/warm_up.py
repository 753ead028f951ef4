"""Compile the kernels that most tests need, in two processes at once: `python -m tests.helpers.warm_up`.

The workers of pytest would compile some of them twice. Kernels that share their parts are compiled by the
same process, which compiles each part once. What is on disk already is only loaded.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

from linmax import NaiveBayes
from tests.kernels.test_compiled_forms import (
    ENSEMBLES,
    QUICK_RUNS,
    VOTERS,
    inputs,
    learners_of,
    run,
    run_and_learn_one,
)


def compile_votes() -> None:
    """Compile the kernels of votes, and of ensembles."""
    for source, kind, form, way in QUICK_RUNS:
        if _is_of_votes(form):
            run(learners_of(form, way)[0].on(source), inputs(kind))
    for learner in ENSEMBLES.values():
        run_and_learn_one(learner, inputs("labels"))


def compile_others() -> None:
    """Compile the kernels of attributes, the slowest one first, of voting and of Naive Bayes."""
    for source, kind, form, way in QUICK_RUNS:
        if not _is_of_votes(form):
            run(learners_of(form, way)[0].on(source), inputs(kind))
    for kind in ("labels", "triplets"):
        for learner in VOTERS.values():
            run(learner, inputs(kind, experts=5, classes=3))
    for kind in ("labels", "triplets"):
        for of in ("tables", "accuracies"):
            run(NaiveBayes(of), inputs(kind))


def _is_of_votes(form: str) -> bool:
    return any(name in form for name in ("Hard", "Sparse,", "Dense"))


def main() -> None:
    """Compile both groups; an error stops the warm-up, and the tests will tell."""
    with ProcessPoolExecutor(2) as processes:
        for done in [processes.submit(task) for task in (compile_votes, compile_others)]:
            done.result()


if __name__ == "__main__":
    sys.exit(main())
