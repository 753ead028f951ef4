"""Every form of a trial, compiled: the same predictions and state as interpreted, bit for bit.

Most other tests of rare sources run interpreted, because each form takes seconds to compile. This file ties
them to compiled runs, so each case names the kernel that it compiles.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse

from linmax import (
    Averaged,
    Combine,
    Fusion,
    LeastSquares,
    Logistic,
    Mixture,
    NaiveBayes,
    Perceptron,
    Recycled,
    SquaredHinge,
    Stacked,
    Tempered,
    Triplets,
    Voted,
    WeightedMajority,
    Winnow,
)
from linmax._jit import compilation
from linmax.experts import (
    Attributes,
    Gaussian,
    Pairs,
    PerClass,
    RandomFeatures,
    ScaledAttributes,
    Shared,
    Source,
    Split,
    Thresholds,
    Votes,
)
from linmax.experts import Kernel as KernelSource
from linmax.kernels import forms, in_place, rule_group, trial
from linmax.kernels import program as programs
from linmax.kernels.ensembles import board, mixtures, naive_bayes, regression, voting
from linmax.runtime import program

TRIALS, EXPERTS, CLASSES = 60, 11, 10  # more experts and classes than a vector has numbers
DEFAULT = Votes() + Thresholds()
WIDE = Votes() + PerClass() + Thresholds()
# what a kernel is compiled for, beside the form
PLAIN, BUFFERED = "NoBuffer", "Buffer"
ADDING, ADAPTING, MULTIPLYING = IN_PLACE = "Adding", "Adapting", "Multiplying"
TABLES, ACCURACIES = "Tables", "Accuracies"
HINGE, DIAGONAL, MATRIX = "Hinge", "DiagonalSquares", "MatrixSquares"
KINDS = (PLAIN, BUFFERED, *IN_PLACE, TABLES, ACCURACIES, HINGE, DIAGONAL, MATRIX)
PARTS = {"LastWeights", "MeanWeights", "Sharing", "StatisticArrays"}  # parts of forms
FORMS = set(forms.__all__) - PARTS
KERNELS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": kernel
    for module in (trial, in_place, rule_group, voting, naive_bayes, regression, board, mixtures, programs)
    for name, kernel in vars(module).items()
    if isinstance(kernel, compilation.CompiledKernel)
}
Variant = tuple[str, str]  # form, kind
# over stages: an interpreted program has a loop of its own
LOOPS = {"program.run", "program.first", "program.each"}


def inputs(kind: str, experts: int = EXPERTS, classes: int = CLASSES) -> dict[str, Any]:
    """Sixty trials of experts, or of four attributes and three classes."""
    rng = np.random.default_rng(3)
    labels = rng.integers(classes, size=TRIALS)
    cells = (TRIALS, experts)
    votes = np.where(rng.random(cells) < 0.6, labels[:, None], rng.integers(-1, classes, size=cells))
    scores = rng.normal(size=(*cells, classes)) + (np.arange(classes) == labels[:, None])[:, None]
    three = labels % 3
    rows = rng.random((TRIALS, 4)) * (rng.random((TRIALS, 4)) < 0.7) + (three[:, None] == np.arange(4))
    item, expert = np.nonzero(votes >= 0)
    values = np.where(item % 2 == 0, 1.0, rng.random(len(item)))  # half of the trials are labels
    given: dict[str, dict[str, Any]] = {
        "labels": {"votes": votes},
        "scores": {"votes": scores},
        "triplets": {"votes": Triplets(item, expert, votes[item, expert], values, items=TRIALS)},
        "rows": {"labels": three, "attributes": rows},
        "sparse rows": {"labels": three, "attributes": scipy.sparse.csr_array(rows)},
        "two classes": {"attributes": rows / 2, "labels": three % 2},
        "words": {
            "labels": three,
            "attributes": np.array(["red", "blue", "green"])[(rows * 3).astype(int) % 3],
        },
    }
    return {"labels": labels, **given[kind]}


def shape(form: Any) -> str:
    """The class of a form, or of numba's type of a form, and of the forms inside it."""
    inner = [shape(part) for part in form if _name(part) in FORMS]
    return f"{_name(form)}({', '.join(inner)})" if inner else _name(form)


def _name(part: Any) -> str:
    return str(getattr(part, "instance_class", type(part)).__name__)


def _field(record: Any, name: str) -> Any:
    """A field of a NamedTuple, or of numba's type of it."""
    return tuple(record)[getattr(record, "fields", getattr(record, "_fields", ())).index(name)]


def variant(arguments: Any) -> Variant:
    """What is different between the machine codes of a kernel, from its arguments or their types."""
    named = {_name(part): part for part in arguments}
    form = shape(arguments[0]) if _name(arguments[0]) in FORMS else ""
    kind = next((kind for kind in KINDS if kind in named), "")
    if kind == ADAPTING:
        w = _field(named["Hypothesis"], "w")
        kind += " blocks" if _name(w) == "BlockColumn" else f" {w.dtype}"
    return form, kind


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


# source, input, form, and kinds: with a buffer where recycling reads the form in its own way, and in place
# such that each form of votes is added, averaged and adapted
CASES: list[tuple[Source, str, str, tuple[str, ...]]] = [
    (KernelSource(Gaussian(1.0)), "rows", "DualVotes(Rows)", (PLAIN,)),  # first: it takes longest
    (DEFAULT, "labels", "Sum(Hard, ConstantVotes)", (PLAIN, BUFFERED, *IN_PLACE)),
    (DEFAULT, "triplets", "Sum(Sparse, ConstantVotes)", (PLAIN, BUFFERED, ADDING, ADAPTING)),
    (DEFAULT, "scores", "Sum(Dense, ConstantVotes)", (PLAIN, BUFFERED, ADDING, ADAPTING)),
    (
        WIDE,
        "labels",
        "Sum(Sum(Hard, PerClassVotes(Hard)), ConstantVotes)",
        (PLAIN, BUFFERED, ADDING, ADAPTING),
    ),
    (WIDE, "triplets", "Sum(Sum(Sparse, PerClassVotes(Sparse)), ConstantVotes)", (PLAIN, ADAPTING)),
    (WIDE, "scores", "Sum(Sum(Dense, PerClassVotes(Dense)), ConstantVotes)", (BUFFERED, ADAPTING)),
    (Votes(), "labels", "Hard", (PLAIN, BUFFERED, ADDING)),
    (Votes(), "triplets", "Sparse", (PLAIN, ADDING)),
    (Votes() + Split(), "labels", "Sum(Hard, SplitVotes(Hard))", (PLAIN, ADDING, ADAPTING)),
    (Votes() + Split(), "triplets", "Sum(Sparse, SplitVotes(Sparse))", (BUFFERED, ADDING)),
    (Attributes(), "rows", "LinearMachine(Rows)", (PLAIN, BUFFERED, ADDING)),
    (Attributes(), "sparse rows", "LinearMachine(SparseRows)", (PLAIN,)),
    (ScaledAttributes(), "rows", "LinearMachine(SparseRows)", (ADDING, ADAPTING)),
    (ScaledAttributes(), "sparse rows", "LinearMachine(SparseRows)", (BUFFERED,)),
    (RandomFeatures(), "rows", "LinearMachine(FeatureRows(SparseRows))", (PLAIN,)),
    (Attributes() + Thresholds(), "rows", "Sum(LinearMachine(Rows), ConstantVotes)", (PLAIN,)),
    (
        Attributes() + Thresholds(),
        "sparse rows",
        "Sum(LinearMachine(SparseRows), ConstantVotes)",
        (PLAIN, ADDING),
    ),
    (Attributes(complement=True), "two classes", "Complement", (PLAIN,)),
    (Pairs() + Thresholds(), "words", "Sum(RememberedPairs, ConstantVotes)", (PLAIN, BUFFERED)),
    (Shared("product"), "rows", "SharedFeatures(Rows)", (PLAIN,)),
    (Shared("product") + Attributes(), "rows", "Sum(SharedFeatures(Rows), LinearMachine(Rows))", (PLAIN,)),
]
RUNS = [(source, kind, form, way) for source, kind, form, ways in CASES for way in ways]
# each takes seconds to compile, and its parts are compiled in other combinations; make test-all runs them
SLOW = {
    ("Sum(Sparse, ConstantVotes)", ADAPTING),
    ("Sum(Dense, ConstantVotes)", ADAPTING),
    ("Sum(Sum(Hard, PerClassVotes(Hard)), ConstantVotes)", BUFFERED),
    ("Sum(Sum(Hard, PerClassVotes(Hard)), ConstantVotes)", PLAIN),
    ("Sum(Sum(Sparse, PerClassVotes(Sparse)), ConstantVotes)", PLAIN),
    ("Sum(Sum(Dense, PerClassVotes(Dense)), ConstantVotes)", ADAPTING),
    ("Sum(Sum(Dense, PerClassVotes(Dense)), ConstantVotes)", BUFFERED),
    ("Hard", BUFFERED),
    ("Sum(Hard, SplitVotes(Hard))", PLAIN),
    ("Sum(Hard, SplitVotes(Hard))", ADAPTING),
    ("Sum(Sparse, SplitVotes(Sparse))", BUFFERED),
    ("Sum(Sparse, SplitVotes(Sparse))", ADDING),
    ("LinearMachine(Rows)", PLAIN),
    ("LinearMachine(Rows)", BUFFERED),
    ("LinearMachine(SparseRows)", BUFFERED),
    ("LinearMachine(FeatureRows(SparseRows))", PLAIN),
    ("Sum(LinearMachine(Rows), ConstantVotes)", PLAIN),
    ("Sum(LinearMachine(SparseRows), ConstantVotes)", PLAIN),
    ("Sum(LinearMachine(SparseRows), ConstantVotes)", ADDING),
    ("Sum(RememberedPairs, ConstantVotes)", BUFFERED),
    ("Sum(Sparse, ConstantVotes)", BUFFERED),
}
RULES = [Logistic(0.3, start="equal"), Averaged(Perceptron(rivals="violators", start="equal"))]
QUICK_RUNS = [one for one in RUNS if one[2:] not in SLOW]


def compiled_for(kernel: compilation.CompiledKernel) -> set[Variant]:
    """What this process has compiled a kernel for, as a call or as a stage."""
    called = getattr(kernel._compiled, "signatures", ())
    staged = getattr(kernel._staged, "signatures", ())
    return {variant(signature) for signature in called} | {variant(list(s[-1].arguments)) for s in staged}


def kernels_of(
    learner: Any, arguments: dict[str, Any], monkeypatch: Any, work: Any = run
) -> dict[str, set[Variant]]:
    """What a learner runs each kernel for; compiled and interpreted runs must be the same."""
    assert not compilation.interpreting()
    compiled = work(learner, arguments)
    seen: dict[str, set[Variant]] = {}

    def recorded(name: str, python: Any) -> Any:
        def call(*arguments: Any) -> Any:
            seen.setdefault(name, set()).add(variant(arguments))
            return python(*arguments)

        return call

    with monkeypatch.context() as patch, compilation.interpreted():
        for name, kernel in KERNELS.items():
            patch.setattr(kernel, "python", recorded(name, kernel.python))
        interpreted = work(learner, arguments)
    assert compiled == interpreted
    for name, variants in seen.items():
        assert variants <= compiled_for(KERNELS[name]), name
    return seen


def learners_of(form: str, way: str) -> list[Any]:
    """The learners that run the same machine code."""
    if way == ADDING:
        return [Perceptron(), Averaged(Perceptron(slack=0.5, rivals="violators")), Logistic(start="equal")]
    if way == ADAPTING:
        return [Logistic(decay="adagrad", start="equal")]
    if way == MULTIPLYING:
        return [Winnow(1.2), Winnow(1.1, slack=0.1)]
    rule = Perceptron() if form.startswith("Dual") else Winnow(1.2)
    return [Averaged(Recycled(rule, size=10, updates=2)) if way == BUFFERED else Averaged(rule)]


@pytest.mark.parametrize(
    ("source", "kind", "form", "way"),
    [
        pytest.param(*one, id=f"{one[2]} {one[3]}", marks=[pytest.mark.slow] if one[2:] in SLOW else [])
        for one in RUNS
    ],
)
def test_a_compiled_form_is_the_interpreted_one(
    source: Source, kind: str, form: str, way: str, monkeypatch: Any
) -> None:
    kernel = "in_place.run" if way in IN_PLACE else "trial.run"
    if way == ADAPTING:
        way += " float32" if "PerClass" in form or "LinearMachine" in form else " float64"
    for learner in learners_of(form, way.partition(" ")[0]):
        assert kernels_of(learner.on(source), inputs(kind), monkeypatch) == {kernel: {(form, way)}}


@pytest.mark.parametrize(
    ("source", "kind", "form"),
    [
        (DEFAULT, "labels", "Sum(Hard, ConstantVotes)"),
        (DEFAULT, "triplets", "Sum(Sparse, ConstantVotes)"),
        pytest.param(DEFAULT, "scores", "Sum(Dense, ConstantVotes)", marks=pytest.mark.slow),
        pytest.param(Split(), "labels", "SplitVotes(Hard)", marks=pytest.mark.slow),
    ],
)
def test_a_compiled_group_of_rules_is_the_interpreted_one(
    source: Source, kind: str, form: str, monkeypatch: Any
) -> None:
    kernels = kernels_of(Mixture([rule.on(source) for rule in RULES]), inputs(kind), monkeypatch)
    assert kernels["rule_group.run"] == {(form, "")}
    assert "in_place.run" not in kernels


P = Perceptron()
R = Recycled(P, size=6, updates=2)
VOTERS = {
    PLAIN: Voted(Averaged(Winnow(1.3)), hypotheses=3, recent=9, patience=3),
    BUFFERED: Combine([P, R, Averaged(R)], hypotheses=4, window=12, recent=7, patience=3),
}


VOTES = {"labels": "Hard", "triplets": "Sparse", "scores": "Dense"}


QUICK_VOTERS = [(PLAIN, "labels"), (BUFFERED, "labels"), (BUFFERED, "triplets")]
SLOW_VOTERS = [(PLAIN, "triplets"), (PLAIN, "scores"), (BUFFERED, "scores")]


@pytest.mark.parametrize(
    ("buffer", "kind"), [*QUICK_VOTERS, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW_VOTERS)]
)
def test_compiled_voting_is_the_interpreted_one(buffer: str, kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(VOTERS[buffer], inputs(kind, experts=5, classes=3), monkeypatch)
    form = f"Sum({VOTES[kind]}, ConstantVotes)"
    assert kernels["voting.follow"] == {(form, "")}
    assert (form, buffer) in kernels["trial.run"]


@pytest.mark.parametrize("kind", ["labels", "triplets", pytest.param("scores", marks=pytest.mark.slow)])
@pytest.mark.parametrize("of", [TABLES, ACCURACIES])
def test_compiled_naive_bayes_is_the_interpreted_one(of: str, kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(NaiveBayes(of.lower()), inputs(kind), monkeypatch)
    assert kernels == {"naive_bayes.count": {(VOTES[kind], of)}}


REGRESSIONS = {HINGE: SquaredHinge(), DIAGONAL: LeastSquares("diagonal"), MATRIX: LeastSquares("matrix")}


@pytest.mark.parametrize("kind", ["rows", "sparse rows"])
@pytest.mark.parametrize("way", REGRESSIONS)
def test_a_compiled_regression_is_the_interpreted_one(way: str, kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(REGRESSIONS[way], inputs(kind), monkeypatch)
    assert kernels == {"regression.regress": {("LinearMachine(SparseRows)", way)}}


RANDOM_FEATURES = "LinearMachine(FeatureRows(SparseRows))"


@pytest.mark.parametrize("kind", ["rows"])
def test_compiled_random_features_are_the_interpreted_ones(kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(SquaredHinge().on(RandomFeatures(16)), inputs(kind), monkeypatch)
    assert kernels == {"regression.regress": {(RANDOM_FEATURES, HINGE)}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", VOTES)
def test_a_compiled_regression_on_votes_is_the_interpreted_one(kind: str, monkeypatch: Any) -> None:
    kernels = kernels_of(SquaredHinge().on(PerClass() + Thresholds()), inputs(kind), monkeypatch)
    form = f"Sum(PerClassVotes({VOTES[kind]}), ConstantVotes)"
    assert kernels == {"regression.regress": {(form, HINGE)}}


N, A = NaiveBayes(), Averaged(P)
ENSEMBLES = {
    "mixture": Mixture([P, A, N, Logistic(0.3), Tempered(A)], share=0.01),
    "stack": Stacked([N, P, Tempered(P)]),
    "many": Mixture([N, *(Tempered(Logistic(eta / 8)) for eta in range(1, 12)), Stacked([N, P])]),
    "tempered": Tempered(A),
    "majority": WeightedMajority([P, A, N]),
    "of experts": Mixture([P, WeightedMajority()]),
    "recycled": Mixture([P, R, A]),
    "nested": Mixture([Stacked([N, P]), Mixture([N, P])]),
}
STAGES = {
    "mixture": {"board.fill_board", "mixtures.mix", "program.copy"},
    "stack": {"board.fill_board", "mixtures.stack", "program.copy"},
    "many": {  # so many that their rules run in threads
        "board.fill_board",
        "mixtures.mix",
        "mixtures.stack",
        "program.copy",
        "program.distribute",
    },
    "tempered": {"mixtures.temper"},
    "majority": {"mixtures.weigh"},
    "of experts": {"mixtures.weigh", "board.fill_board", "mixtures.mix", "program.distribute"},
    "recycled": {"board.fill_board", "mixtures.mix", "program.distribute", "trial.run"},
    "nested": {"board.fill_board", "mixtures.mix", "mixtures.stack"},
}


def run_and_learn_one(learner: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, bytes]]:
    """Predictions and state after arrays of many blocks and two single items."""
    fusion = Fusion(learner)
    votes, labels = arguments["votes"], arguments["labels"]
    predictions = fusion.learn(votes[:57], labels[:57]).guesses.tolist()
    for row, label in zip(votes[57:59].tolist(), labels[57:59].tolist(), strict=True):
        predictions.append(fusion.learn_one({i: v for i, v in enumerate(row) if v >= 0}, label))
    predictions += fusion.scores(votes[59:]).tolist()
    return predictions, {name: array.tobytes() for name, array in fusion.state().items()}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_compiled_ensemble_is_the_interpreted_one(name: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(program, "MAX_BLOCK", 16)
    kernels = kernels_of(ENSEMBLES[name], inputs("labels"), monkeypatch, run_and_learn_one)
    of_members = {"in_place.run", "rule_group.run", "naive_bayes.count"}
    of_programs = {"program.collect"} | (set() if name in ("of experts", "recycled") else {"program.count"})
    assert set(kernels) - of_members == STAGES[name] | of_programs


def test_every_form_is_compiled_above_by_a_quick_test() -> None:
    quick = [form for _, _, form, _ in QUICK_RUNS] + [RANDOM_FEATURES]
    assert {name for name in FORMS if not any(name in form for form in quick)} == set()
    assert {way for _, _, _, way in QUICK_RUNS} == {PLAIN, BUFFERED, *IN_PLACE}


def test_every_kernel_of_a_learner_is_compiled_above() -> None:
    covered = set().union(*STAGES.values()) | LOOPS
    covered |= {"trial.run", "in_place.run", "naive_bayes.count", "voting.follow", "voting.count_mistakes"}
    covered |= {"regression.regress", "rule_group.run"}
    covered |= {"program.collect", "program.count"}
    assert set(KERNELS) - covered == set()
