"""Every form of a trial, compiled: the same predictions and state as interpreted, bit for bit.

Most other tests of rare sources run interpreted, because each form takes seconds to compile. This file ties
them to compiled runs, so each case names the kernel that it compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from linmax import Averaged, Combine, Fusion, Perceptron, Recycled, Triplets, Voted, Winnow, _jit
from linmax.experts import Attributes, Gaussian, Pairs, PerClass, Shared, Source, Split, Thresholds, Votes
from linmax.experts import Kernel as KernelSource
from linmax.kernels import forms, trial, voting

TRIALS = 60
DEFAULT = Votes() + Thresholds()
PLAIN, BUFFERED = "NoBuffer", "Buffer"
PARTS = {"LastWeights", "MeanWeights", "Sharing", "StatisticArrays"}  # parts of forms
FORMS = set(forms.__all__) - PARTS


def inputs(kind: str) -> dict[str, Any]:
    """Sixty trials of five experts and three classes, or of four attributes."""
    rng = np.random.default_rng(3)
    labels = rng.integers(3, size=TRIALS)
    votes = np.where(rng.random((TRIALS, 5)) < 0.6, labels[:, None], rng.integers(-1, 3, size=(TRIALS, 5)))
    scores = rng.normal(size=(TRIALS, 5, 3)) + (np.arange(3) == labels[:, None])[:, None]
    rows = rng.random((TRIALS, 4)) * (rng.random((TRIALS, 4)) < 0.7) + (labels[:, None] == np.arange(4))
    item, expert = np.nonzero(votes >= 0)
    given: dict[str, dict[str, Any]] = {
        "labels": {"votes": votes},
        "scores": {"votes": scores},
        "triplets": {
            "votes": Triplets(item, expert, votes[item, expert], rng.random(len(item)), items=TRIALS)
        },
        "rows": {"attributes": rows},
        "sparse rows": {"attributes": scipy.sparse.csr_array(rows)},
        "two classes": {"attributes": rows / 2, "labels": labels % 2},
        "words": {"attributes": np.array(["red", "blue", "green"])[(rows * 3).astype(int) % 3]},
    }
    return {"labels": labels, **given[kind]}


def shape(form: Any) -> str:
    """The class of a form, or of numba's type of a form, and of the forms inside it."""
    inner = [shape(part) for part in form if _name(part) in FORMS]
    return f"{_name(form)}({', '.join(inner)})" if inner else _name(form)


def _name(part: Any) -> str:
    return str(getattr(part, "instance_class", type(part)).__name__)


def run(learner: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, bytes]]:
    """Predictions and state after 50 trials in one array, 9 in another, and scores of the last one."""
    fusion = Fusion(learner)
    predictions: list[Any] = []
    for rows in (slice(0, 50), slice(50, 59)):
        predictions += fusion.learn(
            **{name: _rows(it, rows) for name, it in arguments.items()}
        ).guesses.tolist()
    last = {name: _rows(it, slice(59, 60)) for name, it in arguments.items() if name != "labels"}
    predictions += fusion.scores(**last).tolist()
    return predictions, {name: array.tobytes() for name, array in fusion.state().items()}


def _rows(given: Any, rows: slice) -> Any:
    if not isinstance(given, Triplets):
        return given[rows]
    chosen = (given.item >= rows.start) & (given.item < rows.stop)
    return Triplets(
        given.item[chosen] - rows.start, given.expert[chosen], given.label[chosen], given.value[chosen],
        items=rows.stop - rows.start,
    )  # fmt: skip


# source, input, form; with a buffer where recycling reads the form in its own way
CASES: list[tuple[Source, str, str, tuple[str, ...]]] = [
    (KernelSource(Gaussian(1.0)), "rows", "DualVotes(Rows)", (PLAIN,)),  # first: it takes longest
    (DEFAULT, "labels", "Sum(Hard, ConstantVotes)", (PLAIN, BUFFERED)),
    (DEFAULT, "triplets", "Sum(Sparse, ConstantVotes)", (PLAIN, BUFFERED)),
    (DEFAULT, "scores", "Sum(Dense, ConstantVotes)", (PLAIN, BUFFERED)),
    (
        Votes() + PerClass() + Thresholds(),
        "labels",
        "Sum(Sum(Hard, PerClassVotes(Hard)), ConstantVotes)",
        (PLAIN, BUFFERED),
    ),
    (
        Votes() + PerClass() + Thresholds(),
        "triplets",
        "Sum(Sum(Sparse, PerClassVotes(Sparse)), ConstantVotes)",
        (PLAIN,),
    ),
    (Votes(), "labels", "Hard", (PLAIN, BUFFERED)),
    (Votes() + Split(), "labels", "Sum(Hard, SplitVotes(Hard))", (PLAIN,)),
    (Attributes(), "rows", "LinearMachine(Rows)", (PLAIN, BUFFERED)),
    (Attributes() + Thresholds(), "rows", "Sum(LinearMachine(Rows), ConstantVotes)", (PLAIN,)),
    (Attributes() + Thresholds(), "sparse rows", "Sum(LinearMachine(SparseRows), ConstantVotes)", (PLAIN,)),
    (Attributes(complement=True), "two classes", "Complement", (PLAIN,)),
    (Pairs() + Thresholds(), "words", "Sum(RememberedPairs, ConstantVotes)", (PLAIN, BUFFERED)),
    (Shared("product"), "rows", "SharedFeatures(Rows)", (PLAIN,)),
]
RUNS = [(source, kind, form, buffer) for source, kind, form, buffers in CASES for buffer in buffers]


def compiled_for(kernel: _jit.CompiledKernel) -> set[tuple[str, str]]:
    """Form and buffer of all that this process has compiled a kernel for."""
    found = set()
    for signature in kernel.compiled.signatures:
        buffer = next(part for part in signature if _name(part) in (PLAIN, BUFFERED))
        found.add((shape(signature[0]), _name(buffer)))
    return found


def kernels_of(learner: Any, kind: str, monkeypatch: Any) -> dict[str, set[tuple[str, str]]]:
    """Form and buffer of each kernel that a learner runs; compiled and interpreted runs must be the same."""
    arguments, kernels = inputs(kind), {"trials": trial.run, "follow": voting.follow}
    assert not _jit.interpreting()
    compiled = run(learner, arguments)
    seen: dict[str, set[tuple[str, str]]] = {name: set() for name in kernels}

    def recorded(name: str, python: Any) -> Any:
        def call(*arguments: Any) -> Any:
            buffer = next(_name(part) for part in arguments if _name(part) in (PLAIN, BUFFERED))
            seen[name].add((shape(arguments[0]), buffer))
            return python(*arguments)

        return call

    with monkeypatch.context() as patch, _jit.interpreted():
        for name, kernel in kernels.items():
            patch.setattr(kernel, "python", recorded(name, kernel.python))
        interpreted = run(learner, arguments)
    assert compiled == interpreted
    assert all(seen[name] <= compiled_for(kernel) for name, kernel in kernels.items())
    return seen


def learner_of(form: str, buffer: str) -> Any:
    rule = Perceptron() if form.startswith("Dual") else Winnow(1.2)
    return Averaged(Recycled(rule, size=10, updates=2)) if buffer == BUFFERED else Averaged(rule)


@pytest.mark.parametrize(
    ("source", "kind", "form", "buffer"), RUNS, ids=[f"{form} {buffer}" for _, _, form, buffer in RUNS]
)
def test_a_compiled_form_is_the_interpreted_one(
    source: Source, kind: str, form: str, buffer: str, monkeypatch: Any
) -> None:
    kernels = kernels_of(learner_of(form, buffer).on(source), kind, monkeypatch)
    assert kernels == {"trials": {(form, buffer)}, "follow": set()}


P = Perceptron()
R = Recycled(P, size=6, updates=2)
VOTERS = {
    PLAIN: Voted(Averaged(Winnow(1.3)), hypotheses=3, recent=9, patience=3),
    BUFFERED: Combine([P, R, Averaged(R)], hypotheses=4, window=12, recent=7, patience=3),
}


VOTES = {"labels": "Hard", "triplets": "Sparse", "scores": "Dense"}


@pytest.mark.parametrize("kind", ["labels", "triplets", pytest.param("scores", marks=pytest.mark.slow)])
@pytest.mark.parametrize("buffer", VOTERS)
def test_compiled_voting_is_the_interpreted_one(buffer: str, kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(VOTERS[buffer], kind, monkeypatch)
    assert (f"Sum({VOTES[kind]}, ConstantVotes)", buffer) in kernels["follow"]


def test_every_form_is_compiled_above() -> None:
    assert {name for name in FORMS if not any(name in form for _, _, form, _ in CASES)} == set()
