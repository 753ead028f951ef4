"""Margins by cost: the slack of a rule times what the mistake would cost, on every path."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import (
    Averaged,
    BalancedWinnow,
    Combine,
    Cycle,
    Fusion,
    Logistic,
    Mixture,
    NaiveBayes,
    PassiveAggressive,
    Perceptron,
    PNorm,
    Recycled,
    Romma,
    Rule,
    Voted,
    WeightedMajority,
    Winnow,
    load,
)
from linmax._jit.compilation import interpreted
from linmax.experts import Votes
from linmax.fusion.model_file import fingerprint
from tests.helpers.compare_rules import CLASSES, EXPERTS, FORMS, TECHNIQUES, follow, items, oracle_of
from tests.helpers.covering import every_pair
from tests.helpers.examples import examples
from tests.oracles.session import Session

COSTS = {("a", "b"): 8, ("b", "a"): 0, ("c", "d"): 3, ("d", "c"): 0.5}
RULES: list[Rule] = [
    Perceptron(slack=0.7),
    Winnow(1.3, slack=0.05),
    BalancedWinnow(1.4, slack=0.05),
    PNorm(3.5, slack=0.5),
    PassiveAggressive(0.3),
    PassiveAggressive(kind="PA", slack=0.4),
    PassiveAggressive(0.3, kind="PA-II", start="equal"),
    Perceptron(slack=0.6, rivals=Cycle(2)),
    Winnow(1.3, slack=0.05, rivals=Cycle()),
]


def session_of(learner: Any, **options: Any) -> Fusion:
    return Fusion(learner, mistake_costs=COSTS, cost_margins=True, **options)


def panel(trials: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.integers(4, size=trials)
    votes = np.where(rng.random((trials, 6)) < 0.5, labels[:, None], rng.integers(4, size=(trials, 6)))
    names = np.array(CLASSES, dtype=object)
    return names[votes], names[labels]


def same(one: Fusion, other: Fusion) -> bool:
    first, second = one.state(), other.state()
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


@every_pair(
    rule=RULES,
    technique=["plain", "averaged", "recycled"],
    form=[form for form in FORMS if form != "hard"],  # hard votes tie too often, see the next test
    ids=str,
)
def test_weights_are_those_of_the_oracle(rule: Rule, technique: str, form: str) -> None:
    wrap, options = TECHNIQUES[technique]
    compared = 0
    for seed in range(5):  # a comparison ends at the first tie, which may come early with recycling
        with interpreted():
            fusion = session_of(wrap(rule), classes=CLASSES, experts=EXPERTS)
            session = Session(oracle_of(rule), classes=CLASSES, costs=COSTS, **options)
            compared += follow(fusion, session, items(form, 15, seed), form)
        if compared >= 5:
            return
    raise AssertionError(f"only {compared} trials were compared")


@examples(15)
@given(st.integers(0, 10**6), st.sampled_from(["plain", "averaged", "recycled"]))
def test_the_perceptron_on_whole_numbers_is_exact(seed: int, technique: str) -> None:
    """Classes appear as they are named; nothing is rounded, so ties are the oracle's, too."""
    wrap, options = TECHNIQUES[technique]
    rule = Perceptron(slack=1 + seed % 3, start=("zero", "equal")[seed % 2])
    form = ("hard", "triplets", "dicts")[seed % 3]
    fusion = session_of(wrap(rule), experts=EXPERTS)
    session = Session(oracle_of(rule), costs=COSTS, **options)
    assert follow(fusion, session, items(form, 12, seed, whole=True), form, exact=True) == 12


@pytest.mark.parametrize(
    "learner",
    [
        Averaged(Perceptron(slack=2, start="equal")),
        PassiveAggressive(0.5),
        Averaged(Recycled(Perceptron(slack=2), size=8)),
        Combine([Perceptron(slack=2), Averaged(Perceptron(slack=3)), Winnow(1.3, slack=0.1)]),
        Voted(Perceptron(slack=1)),
    ],
    ids=repr,
)
def test_arrays_chunks_items_tickets_and_compiled_runs_learn_alike(learner: Any, tmp_path: Path) -> None:
    votes, labels = panel()
    options: dict[str, Any] = {"experts": EXPERTS}
    with interpreted():
        whole = session_of(learner, **options)
        whole.learn(votes, labels)
        chunks, single = session_of(learner, **options), session_of(learner, **options)
        for begin in range(0, 40, 7):
            chunks.learn(votes[begin : begin + 7], labels[begin : begin + 7])
            if begin == 28:
                chunks.save(tmp_path / "half.linmax")
                chunks = pickle.loads(pickle.dumps(load(tmp_path / "half.linmax")))
                assert chunks.cost_margins
        for t, (row, label) in enumerate(zip(votes, labels, strict=True)):
            item = dict(zip(EXPERTS, row, strict=True))
            single.learn_one(single.predict_one(item, ticket=True) if t % 2 else item, label)
    compiled = session_of(learner, **options)
    compiled.learn(votes, labels)
    assert same(whole, chunks)
    assert same(whole, single)
    assert same(whole, compiled)


def test_a_group_of_rules_learns_as_each_does_alone() -> None:
    votes, labels = panel()
    members = [Perceptron(slack=2), Averaged(Perceptron(slack=5))]
    with interpreted():
        together = session_of(Mixture(members), classes=CLASSES)
        assert together.runner.rule_runs[0].group is not None
        together.learn(votes, labels)
        for member, run in zip(members, together.runner.rule_runs, strict=True):
            alone = session_of(member, classes=CLASSES)
            alone.learn(votes, labels)
            assert np.array_equal(run.state()["w"], alone.state()["w"])


def test_equal_costs_are_the_slack_itself() -> None:
    votes, labels = panel()
    for learner in (Averaged(Perceptron(slack=2)), PassiveAggressive(0.5), Recycled(Winnow(1.3, slack=0.1))):
        with interpreted():
            plain = Fusion(learner, classes=CLASSES, mistake_costs={("a", "b"): 1})
            costly = Fusion(learner, classes=CLASSES, mistake_costs={("a", "b"): 1}, cost_margins=True)
            plain.learn(votes, labels)
            costly.learn(votes, labels)
        assert same(plain, costly)
        assert fingerprint(plain) != fingerprint(costly)


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (None, r"needs 0 < slack < inf \(got Logistic"),
        (Perceptron(), r"needs 0 < slack < inf \(got Perceptron\(\)\)"),
        (Logistic(0.1), r"needs 0 < slack < inf \(got Logistic\(0.1\)\)"),
        (Averaged(Romma(slack=1)), r"cannot scale the margin of Romma\(slack=1\); take another rule"),
        (NaiveBayes(), r"needs rules with a slack.*\(got NaiveBayes"),
        (WeightedMajority(), r"needs rules with a slack.*\(got WeightedMajority"),
        (Combine([Perceptron(slack=1), Winnow()]), r"needs 0 < slack < inf \(got Winnow"),
        (Perceptron(slack=1, rivals="violators"), r'needs rivals="top" or Cycle\(rounds\) \(got'),
    ],
    ids=repr,
)
def test_learners_without_a_slack_are_refused_by_name(learner: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"cost_margins .*{message}"):
        session_of(learner)


@pytest.mark.parametrize("costs", [None, COSTS])
def test_cost_margins_is_a_flag_that_needs_costs(costs: Any) -> None:
    with pytest.raises(ValueError, match=r"cost_margins is True or False, and needs mistake_costs \(got"):
        Fusion(Perceptron(slack=1), mistake_costs=costs, cost_margins=True if costs is None else "yes")  # type: ignore[arg-type]


# --- what is proved


def separable(seed: int, n: int = 10, k: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Votes on which a hidden u of length 1 has the margin gamma over every other class."""
    rng = np.random.default_rng(seed)
    u = rng.random(n) ** 2
    u /= np.sqrt(u @ u)
    votes = rng.integers(k, size=(4000, n))
    scores = np.einsum("tic,i->tc", votes[:, :, None] == np.arange(k), u)
    best = np.sort(scores, axis=1)
    kept = best[:, -1] - best[:, -2] >= 0.2
    lead = (best[:, -1] - best[:, -2])[kept].min()
    return u, votes[kept], scores.argmax(axis=1)[kept], float(lead)


def adversarial(fusion: Fusion, updates: int, n: int) -> int:
    """Feed items of class 0 on which the majority of three experts is right; the number of updates.

    The other experts vote so that 0 leads by just less than its costs require.
    """
    run = fusion.runner.rule_runs[0]
    required = fusion.decisions.matrix(fusion.classes, 2)[0, 1] * run.rule.slack
    for t in range(updates):
        w = run.weights(mean=False)[:n]
        z = np.ones(n)
        z[np.argsort(w[:3])[2:]] = -1.0
        total = z[:3] @ w[:3] - required
        for i in sorted(range(3, n), key=lambda i: -abs(w[i])):
            sign = 1.0 if total + abs(w[i]) <= 0 else -1.0
            total += sign * abs(w[i])
            z[i] = sign * (-1.0 if w[i] < 0 else 1.0)
        if total > 0:
            return t
        assert fusion.learn(np.where(z > 0, 0, 1)[None], [0]).moves == 1
    return updates


def perceptron_bound(slack: float, most: float, radius: float, gamma: float) -> float:
    """(R^2 + 2 slack max cost) / gamma^2, for a u of length 1."""
    return (radius**2 + 2.0 * slack * most) / gamma**2


@pytest.mark.parametrize("slack", [0.5, 4.0])
def test_updates_of_the_perceptron_are_bounded_on_random_streams(slack: float) -> None:
    costs = {(0, 1): 5.0, (1, 2): 2.0, (2, 0): 0.1}
    for seed in range(3):
        u, votes, labels, gamma = separable(seed)
        rule = Perceptron(slack=slack).on(Votes())
        fusion = Fusion(rule, classes=range(3), mistake_costs=costs, cost_margins=True)
        run = fusion.learn(votes, labels)
        assert 0 < run.moves <= perceptron_bound(slack, 5.0, len(u) ** 0.5, gamma)


def test_updates_of_the_perceptron_are_bounded_against_an_adversary() -> None:
    with interpreted():
        for slack, cost in ((0.5, 4.0), (3.0, 10.0)):
            fusion = Fusion(
                Perceptron(slack=slack).on(Votes()), classes=[0, 1], experts=range(20),
                mistake_costs={(0, 1): cost}, cost_margins=True, calibrate="all",
            )  # fmt: skip
            limit = perceptron_bound(slack, cost, 20**0.5, 1 / 3**0.5)
            assert 0.85 * limit < adversarial(fusion, 1000, 20) <= limit


def test_squared_costs_of_passive_aggressive_are_bounded() -> None:
    """Sum of (slack cost)^2 over mistakes <= R^2 |v|^2, where v has all margins slack * cost."""
    costs = np.array([[0.0, 5.0, 1.0], [1.0, 0.0, 2.0], [0.5, 1.0, 0.0]])
    for seed in range(3):
        u, votes, labels, gamma = separable(seed)
        rule = PassiveAggressive(kind="PA", slack=0.7).on(Votes())
        fusion = Fusion(rule, classes=range(3), mistake_costs=costs, cost_margins=True, calibrate="all")
        batch = fusion.read(votes, labels)
        scores = fusion.learn_batch(batch, scores=True).scores
        paid = costs[labels, scores.argmax(axis=1)]
        assert 0 < (paid**2).sum() <= len(u) * (costs.max() / gamma) ** 2
