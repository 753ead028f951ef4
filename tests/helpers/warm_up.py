"""Compile the kernels that most tests need, in two processes at once: `python -m tests.helpers.warm_up`.

The workers of pytest would compile some of them twice. Kernels that share their parts are compiled by the
same process, which compiles each part once. What is on disk already is only loaded.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor

from tests.kernels.test_compiled_forms import RUNS, VOTERS, inputs, learner_of, run


def compile_votes() -> None:
    """Compile the kernels of votes, and of voting."""
    for source, kind, form, buffer in RUNS:
        if _is_of_votes(form):
            run(learner_of(form, buffer).on(source), inputs(kind))
    for kind in ("labels", "triplets"):
        for learner in VOTERS.values():
            run(learner, inputs(kind))


def compile_attributes() -> None:
    """Compile the kernels of attributes, the slowest one first."""
    for source, kind, form, buffer in RUNS:
        if not _is_of_votes(form):
            run(learner_of(form, buffer).on(source), inputs(kind))


def _is_of_votes(form: str) -> bool:
    return any(name in form for name in ("Hard", "Sparse,", "Dense"))


def main() -> None:
    """Compile both groups; an error stops the warm-up, and the tests will tell."""
    with ProcessPoolExecutor(2) as processes:
        for done in [processes.submit(task) for task in (compile_votes, compile_attributes)]:
            done.result()


if __name__ == "__main__":
    sys.exit(main())
