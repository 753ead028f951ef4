"""Every rule against its oracle, under every technique and form."""

import dataclasses
import math
import random
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import (
    AdaptiveWinnow,
    Alma,
    BalancedWinnow,
    Cycle,
    Fusion,
    Logistic,
    PassiveAggressive,
    Perceptron,
    PNorm,
    QuasiAdditive,
    Romma,
    Rule,
    Winnow,
    parse,
)
from linmax import experts as sources
from linmax._jit.compilation import CompiledKernel, interpreted
from linmax.rules import MOVED, winnow
from tests.helpers.compare_rules import (
    CLASSES,
    EXPERTS,
    FORMS,
    TECHNIQUES,
    agree,
    follow,
    give,
    items,
    oracle_of,
    own_rules,
    renamed,
)
from tests.helpers.covering import every_pair
from tests.helpers.examples import EVERYTHING, examples
from tests.oracles import rules as oracles
from tests.oracles.session import Session, Votes, tally

DEFAULTS = [rule() for rule in own_rules().values()]
VARIANTS = [
    Perceptron(start="equal"),
    Winnow(2.5),
    BalancedWinnow(1.5, start="equal"),
    Romma(aggressive=0.2),
    AdaptiveWinnow(),
    AdaptiveWinnow(2.0),
    Alma(3.5),
    Alma(2.5, alpha=0.9),
    PNorm(3.5),
    PNorm(6, start="equal"),
    QuasiAdditive("square"),
    PassiveAggressive(0.05),
    PassiveAggressive(0.5, kind="PA"),
    PassiveAggressive(0.5, kind="PA-II", start="equal"),
    PassiveAggressive(0.2, kind="PA-II", slack=0.5),
    Logistic(0.3, decay="sqrt", start="equal"),
    Logistic(0.3, decay="adagrad"),
    Logistic(0.3, decay="adagrad", start="equal"),
]
OPTIONS = [
    {"slack": 0.3},
    {"ties": True},
    {"rivals": "violators"},
    {"rivals": "violators", "slack": 0.2},
    {"rivals": "softmax"},
    {"rivals": Cycle(1)},
    {"rivals": Cycle(3), "slack": 0.1},
    {"rivals": Cycle()},
]


def few(rule: Rule) -> int:
    """More items than ten, and than twice the buffer; passive-aggressive margins tie often, at 1."""
    return 25 if isinstance(rule, PassiveAggressive) else 14


def run(rule: Rule, technique: str, form: str, count: int = 25, seed: int = 0) -> int:
    wrap, options = TECHNIQUES[technique]
    fusion = Fusion(wrap(rule), classes=CLASSES, experts=EXPERTS)
    session = Session(oracle_of(rule), classes=CLASSES, **options)
    # kernels that nothing else needs: `make test-all` compares them with the interpreted ones
    alone = technique in ("plain", "averaged") and "adagrad" in repr(rule) and form != "hard"
    with interpreted() if alone else nullcontext():
        return follow(fusion, session, items(form, count, seed), form)


def fits(rule: Rule, options: dict) -> bool:
    """Options that make sense for a rule, and whose float programs stay together."""
    how = options.get("rivals", "top")
    if isinstance(rule, Logistic):
        return isinstance(how, str)
    if isinstance(rule, PassiveAggressive):
        return isinstance(how, str)  # steps end at, or near, the margin that the next round asks for
    if isinstance(rule, Romma):
        return how != "softmax"  # asks for w.z = 1 of a z that vanishes
    return not (isinstance(rule, Alma) and rule.alpha < 1 and how == "softmax")


def test_every_rule_has_an_oracle() -> None:
    missing = [name for name in own_rules() if not hasattr(oracles, name)]
    assert not missing


# recycling and averaging commute
@every_pair(
    rule=DEFAULTS + VARIANTS,
    technique=[name for name in TECHNIQUES if name != "recycled averaged"],
    form=FORMS,
    ids=str,
)
def test_weights_are_the_oracles(rule: Rule, technique: str, form: str) -> None:
    """Hard votes tie often, and then both are spared the item: there must be enough that do not."""
    assert run(rule, technique, form, 30 if form == "hard" else few(rule)) >= (5 if form == "hard" else 10)


MIXED = [*DEFAULTS, Alma(2.5, alpha=0.9), PassiveAggressive(0.5, kind="PA-II")]


@pytest.mark.parametrize(
    ("rule", "options", "techniques"),
    [
        (rule, options, techniques if EVERYTHING else techniques[:1])
        for i, rule in enumerate(MIXED)
        for j, options in enumerate(OPTIONS)
        for techniques in [("averaged", "recycled") if (i + j) % 2 else ("recycled", "averaged")]
        if fits(rule, options)
    ],
    ids=repr,
)
def test_options_are_the_oracles(rule: Rule, options: dict, techniques: tuple[str, ...]) -> None:
    """Every rule and every option meets both techniques."""
    for technique in techniques:
        changed = dataclasses.replace(rule, **options)
        assert run(changed, technique, "triplets", few(rule), seed=1) >= 10


@examples(10)
@given(st.sampled_from(sorted(TECHNIQUES)), st.integers(0, 10**6), st.sampled_from(["zero", "equal"]))
def test_the_perceptron_on_whole_numbers_is_exact(technique: str, seed: int, start: str) -> None:
    """Nothing is rounded, so guesses, ties and counts are the oracle's, too."""
    wrap, options = TECHNIQUES[technique]
    rule = Perceptron(start=start, ties=seed % 2 == 0, slack=seed % 3)
    fusion = Fusion(wrap(rule), classes=CLASSES, experts=EXPERTS)
    session = Session(oracle_of(rule), classes=CLASSES, **options)
    form = ("hard", "dense", "triplets", "dicts")[seed % 4]
    assert follow(fusion, session, items(form, 12, seed, whole=True), form, exact=True) == 12


@examples(8)
@given(st.integers(0, 10**6), st.sampled_from([{"rivals": Cycle(2)}, {"rivals": Cycle()}, {"ties": True}]))
def test_the_perceptron_with_other_rivals_is_exact(seed: int, options: dict) -> None:
    rule = Perceptron(**options)
    fusion = Fusion(rule, classes=CLASSES, experts=EXPERTS)
    session = Session(oracle_of(rule), classes=CLASSES)
    assert follow(fusion, session, items("triplets", 12, seed, whole=True), "triplets", exact=True) == 12


# --- one formula at a time


def test_the_first_guess_of_winnow_is_the_plurality() -> None:
    votes = {"e0": "a", "e1": "b", "e2": "b", "e3": "c"}
    assert Fusion(Winnow(1.2), classes=CLASSES).predict_one(votes) == "b"
    assert Fusion(Perceptron(), classes=CLASSES).predict_one(votes) == "a"
    assert Fusion(Perceptron(start="equal"), classes=CLASSES).predict_one(votes) == "b"


@pytest.mark.parametrize(
    "rule", [Romma(), Romma(aggressive=0.5), PassiveAggressive(1.0, kind="PA")], ids=repr
)
def test_one_move_reaches_a_margin_of_one(rule: Rule) -> None:
    fusion = Fusion(rule, classes=CLASSES)
    votes = {"e0": {"a": 2.0, "b": 0.5}, "e1": {"b": 1.0, "c": 0.25}}
    fusion.learn_one(votes, "b")
    scores = fusion.explain_one(votes).scores
    assert scores["b"] - scores["a"] == pytest.approx(1)


def test_a_tie_that_was_lost_moves_even_the_most_patient_romma() -> None:
    """Otherwise the same mistake is made for ever."""
    with interpreted():  # a kernel that nothing else needs
        fusion = Fusion(Romma(aggressive=1.0).on(sources.Votes()), classes=["a", "b"])
        fusion.learn_one({"e0": "a", "e1": "b"}, "b")
        guesses = [fusion.learn_one({"e2": "b"}, "b") for _ in range(3)]
    assert guesses == ["a", "b", "b"]


@pytest.mark.parametrize("rivals", ["softmax", "top"])
@pytest.mark.parametrize("start", ["zero", "equal"])
def test_adagrad_divides_each_step_by_the_root_of_one_plus_all_squares(start: str, rivals: str) -> None:
    """Every trial is an update; theta is the sum of squares, and is compared beside the weights."""
    rule = Logistic(0.5, decay="adagrad", start=start, rivals=rivals)
    fusion = Fusion(rule.on(sources.Votes()), classes=CLASSES, experts=EXPERTS)
    session = Session(oracle_of(rule), [Votes()], CLASSES)
    with interpreted():  # a kernel that nothing else needs
        for item, y in items("dense", 30, silent=0.0):
            assert give(fusion, item, y, "dense") == session.trial(item, y)
            agree(fusion, session, exact=False, where=repr(rule))
    squares = [session.rule.squares["vote", e] for e in EXPERTS]
    assert fusion.state()["theta"][: len(EXPERTS)].tolist() == pytest.approx(squares)
    assert max(squares) > 2  # or the sum would not matter


def test_adagrad_adds_the_square_of_z_before_the_step() -> None:
    """Two updates by z = 1 and one by z = -2 from nothing: 1, 1 + 1, then 1 + 1 + 4 under the root."""
    p, s, theta, w = np.array([0.5, 2.0, 1.0]), np.zeros(8), np.zeros(2), np.zeros(2)
    for z in (1.0, 1.0, -2.0):
        assert Logistic.update(p, s, theta, w, np.array([1]), np.array([z]), 0.0) == 1
    assert theta.tolist() == [0.0, 6.0]
    assert w[1] == pytest.approx(0.5 * (1 / math.sqrt(2) + 1 / math.sqrt(3) - 2 / math.sqrt(7)))
    assert w[0] == 0.0
    assert Logistic(0.5, decay="adagrad").parameters() == (0.5, 2.0, 1.0)


def test_texts_of_earlier_versions_name_cycle_in_lower_case() -> None:
    rule = parse("Winnow(1.2, rivals=cycle(2))")
    assert rule == Winnow(1.2, rivals=Cycle(2)) == parse(repr(rule))
    assert repr(rule) == "Winnow(1.2, rivals=Cycle(2))"
    assert parse("cycle()") == Cycle()


def test_winnow_is_given_by_alpha_eta_or_margin() -> None:
    assert Winnow.from_eta(math.log(1.25)).alpha == pytest.approx(1.25)
    assert Winnow.for_margin(0.6) == Winnow(2.0)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_p_norm_of_two_is_the_perceptron(technique: str) -> None:
    wrap, _ = TECHNIQUES[technique]
    one, other = (Fusion(wrap(rule), classes=CLASSES) for rule in (Perceptron(), PNorm(2)))
    for item, y in items("triplets", 30):
        assert one.learn_one(item["votes"], y) == other.learn_one(item["votes"], y)
    assert one.weights == pytest.approx(other.weights)


def test_for_two_classes_complementary_votes_make_winnow_weighted_majority() -> None:
    """Each who erred has its weight divided by alpha squared, beside each who did not: beta = exp(-2 eta)."""
    fusion = Fusion(Winnow(1.5).on(sources.Votes()), classes=["a", "b"])
    weights = dict.fromkeys(EXPERTS, 1.0)
    for item, _ in items("hard", 40, silent=0.0):
        votes = {e: "a" if "a" in vote or "c" in vote else "b" for e, vote in item["votes"].items()}
        y = votes["e1"]
        with interpreted():  # a kernel that nothing else needs
            predicted = fusion.learn_one(votes, y)
        if predicted != y:
            weights = {e: w * (1 if votes[e] == y else 1.5**-2) for e, w in weights.items()}
    total = sum(weights.values())
    assert fusion.weights == pytest.approx({e: w / total for e, w in weights.items()})
    assert fusion.mistakes > 0


@pytest.mark.parametrize("rule", DEFAULTS, ids=repr)
def test_when_nobody_voted_for_either_nothing_moves(rule: Rule) -> None:
    """z = 0, by which some rules would divide."""
    fusion = Fusion(rule.on(sources.Votes()), classes=CLASSES)
    session = Session(oracle_of(rule), [Votes()], CLASSES)
    silent = [
        ({"votes": {}}, "c"),
        ({"votes": {"e0": {"a": 1, "c": 1, "b": 1, "d": 1}}}, "c"),
        ({"votes": {}}, "d"),
    ]
    with interpreted():  # a kernel that nothing else needs
        assert follow(fusion, session, silent, exact=True) == 3
    moved = {name: weight for name, weight in fusion.weights.items() if weight}
    assert moved == ({"e0": 1.0} if isinstance(rule, Winnow | AdaptiveWinnow) else {})


@pytest.mark.parametrize("rule", DEFAULTS, ids=repr)
def test_a_label_nobody_names_for_ever_overflows_nothing(rule: Rule) -> None:
    fusion = Fusion(rule.on(sources.Votes()), classes=["a", "b"], experts=["e0", "e1"], abstain="-")
    trials = 5000 if EVERYTHING else 500  # 10^6 other hostile trials are one of the common checks
    both, one = (np.array([row] * trials) for row in (["a", "a"], ["a", "-"]))
    for _ in range(20):
        fusion.learn(both, ["b"] * trials)
        fusion.learn(one, ["b"] * trials)
    assert fusion.trials == 40 * trials
    assert all(map(math.isfinite, fusion.weights.values()))
    assert all(map(math.isfinite, fusion.scores([["a", "a"]])[0]))


@pytest.mark.parametrize("technique", ["plain", "averaged"])
@pytest.mark.parametrize("rule", [Winnow(1e100), BalancedWinnow(1e100)], ids=repr)
def test_weights_are_the_oracles_when_powers_leave_the_range_of_floats(rule: Rule, technique: str) -> None:
    """alpha ** theta is out of range, quotients of weights are not, nor are their averages."""
    wrap, options = TECHNIQUES[technique]
    fusion = Fusion(wrap(rule.on(sources.Votes())), classes=["a", "b"])
    session = Session(oracle_of(rule), [Votes()], ["a", "b"], **options)
    stream = [({"votes": {"e0": {"a": 1}, "e1": {"b": 1}, "e2": {"a": 1}}}, "b")] * 3
    stream += [({"votes": {"e0": {"a": 1}, "e1": {"a": 1}}}, "b")] * 7
    stream += [({"votes": {"e1": {"a": 1}, "e2": {"b": 1}}}, "b")] * 7
    assert follow(fusion, session, stream) >= 10


@pytest.mark.parametrize(
    ("rule", "technique"),
    [
        (Romma(), "plain"),
        (PNorm(3.0), "averaged"),
        (Winnow(1.5), "averaged"),
        *(
            pytest.param(rule, technique, marks=pytest.mark.slow)
            for rule, technique in [
                (Alma(3.0), "plain"),  # its sum is that of PNorm
                (Romma(), "averaged"),
                (PNorm(3.0), "plain"),
                (Alma(3.0), "averaged"),
                (Winnow(1.5), "plain"),
            ]
        ),
    ],
    ids=str,
)
def test_weights_are_the_oracles_after_sums_were_added_up_anew(rule: Rule, technique: str) -> None:
    """Thousands of moves: noise that is never learned."""
    wrap, options = TECHNIQUES[technique]
    fusion = Fusion(wrap(rule), classes=CLASSES, experts=EXPERTS)
    slow = oracle_of(rule)
    session = Session(slow, classes=CLASSES, **options)
    rng = random.Random(0)
    total: dict = {}
    trials = 4500 if EVERYTHING or not isinstance(rule, Winnow) else 1500  # others add up after 4096 moves
    scores = np.array([[[rng.gauss(0, 1) for _ in CLASSES] for _ in EXPERTS] for _ in range(trials)])
    labels = []
    for t in range(trials):
        x = {
            ("vote", e): dict(zip(CLASSES, scores[t, i].tolist(), strict=True)) for i, e in enumerate(EXPERTS)
        }
        x |= {("threshold", c): {c: 1} for c in CLASSES}
        session.add_sub_experts(x)
        hypothesis = slow.weights()
        total = {i: total.get(i, 0.0) + w for i, w in hypothesis.items()}
        found = tally(hypothesis, x, CLASSES)
        labels.append(min(found, key=found.__getitem__))  # never what is guessed
        session.visit(x, labels[-1])
    fusion.learn(scores, labels)
    now = slow.weights()
    mean = {i: (total[i] + w) / (trials + 1) for i, w in now.items()}
    expected = mean if options else now
    size = max(map(abs, expected.values()))
    assert {renamed(i): w for i, w in fusion.weights.items()} == pytest.approx(
        expected, abs=1e-6 * size, rel=0
    )


def test_a_subclass_that_replaces_update_is_updated_by_it() -> None:
    class Twice(Perceptron):
        """The Perceptron with steps of 2: it replaces `update`, and not `step`."""

        @staticmethod
        def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
            for i, z in zip(index, value):  # noqa: B905
                theta[i] += 2.0 * z
                w[i] = theta[i]
            return MOVED

    votes, labels = [["a", "b"], ["b", "a"], ["b", "a"]], ["b", "b", "b"]
    weights = []
    for rule in (Perceptron(), Twice()):
        fusion = Fusion(rule, classes=["a", "b"])
        with interpreted():
            fusion.learn(votes, labels)
        weights.append(np.array(list(fusion.weights.values())))
    assert weights[0].any()
    assert (weights[1] == 2.0 * weights[0]).all()


@pytest.mark.parametrize("update", [Winnow.update, CompiledKernel(Winnow.update)], ids=["Python", "compiled"])
@pytest.mark.parametrize(
    ("alpha", "shift", "numbers"), [(1.2, 0, 1026), (3.0, 0, 1026), (1.2, 30, 1026), (1.2, 0, 1)]
)
def test_winnow_finds_the_powers_that_it_would_compute(
    update: Any, alpha: float, shift: float, numbers: int
) -> None:
    """Whole exponents are looked up, also those at the ends of the table; others are computed."""
    eta, exponents = math.log(alpha), np.arange(-520, 520.5, 0.5)
    theta, w, s = exponents - 1, np.zeros(len(exponents)), np.zeros(8)
    s[winnow.SHIFT] = shift
    p = np.array(Winnow(alpha).parameters()[:numbers])  # a subclass may have eta alone
    assert len(p) == numbers
    update(p, s, theta, w, np.arange(len(theta)), np.ones(len(theta)), 0.0)
    assert (theta == exponents).all()
    assert w.tolist() == [math.exp(min(eta * exponent - shift, winnow.FAR)) for exponent in exponents]
