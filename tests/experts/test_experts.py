"""Every source of sub-experts against its oracle, alone and in sums, with classes known or met on the way."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linmax import Alma, Averaged, Fusion, Logistic, Perceptron, Recycled, Rule, Winnow, parse
from linmax._jit.compilation import interpreted
from linmax.checks import applicable, behaviour, check_learner, mathematics, runner
from linmax.experts import Attributes, Pairs, PerClass, Shared, Source, Split, Thresholds, Votes
from tests.helpers.compare_rules import CLASSES, TECHNIQUES, follow, items, oracle_of
from tests.helpers.covering import every_pair
from tests.helpers.examples import EVERYTHING, examples
from tests.oracles import class_statistics
from tests.oracles import session as slow
from tests.oracles.session import Session

Stream = Iterator[tuple[dict[str, Any], Any]]


def numbers(count: int, seed: int, classes: list[str]) -> Stream:
    """Votes and numeric attributes, some of them zero; later items have more attributes."""
    rng = random.Random(seed)
    for t, (item, y) in enumerate(items("triplets", count, seed)):
        y = y if y in classes else classes[0]
        votes = {e: {c: x for c, x in vote.items() if c in classes} for e, vote in item["votes"].items()}
        cells = {f"x{a}": rng.choice([0.0, 0.0, rng.random()]) for a in range(2 + t // 6)}
        yield {"votes": votes, "attributes": cells}, y


def without_votes(count: int, seed: int, classes: list[str]) -> Stream:
    return (({**item, "votes": {}}, y) for item, y in numbers(count, seed, classes))


def whole(count: int, seed: int, classes: list[str]) -> Stream:
    """Whole-number scores, among which many tie."""
    return items("dicts", count, seed, whole=True)


def hard(count: int, seed: int, classes: list[str]) -> Stream:
    return items("hard", count, seed)


def all_there(count: int, seed: int, classes: list[str]) -> Stream:
    """Attributes in [0, 1] that are always given, for two classes."""
    rng = random.Random(seed)
    for _ in range(count):
        cells = {f"x{a}": rng.choice([0.0, 1.0, rng.random()]) for a in range(3)}
        y = classes[cells["x0"] + 0.3 * cells["x1"] + 0.2 * rng.random() > 0.7]
        yield {"votes": {}, "attributes": cells}, y


def words(count: int, seed: int, classes: list[str]) -> Stream:
    """Nominal attributes, of which one may be missing."""
    rng = random.Random(seed)
    for _ in range(count):
        cells = {"day": rng.choice(["mon", "tue"]), "who": rng.choice(["ann", "bob", "eve"])}
        if rng.random() < 0.7:
            cells["room"] = rng.choice(["small", "large"])
        y = classes[(len(cells["who"]) + (cells["who"] == "ann") + (rng.random() < 0.3)) % len(classes)]
        yield {"votes": {}, "attributes": cells}, y


def present(count: int, seed: int, classes: list[str]) -> Stream:
    """Attributes that are there or not, 1 or 0 or not even named; some come late, and so does a class."""
    rng = random.Random(seed)
    for t in range(count):
        cells = {f"x{a}": float(rng.random() < 0.6) for a in range(3 + t // 5) if rng.random() < 0.8}
        said = int(sum(cells.values()) + 2 * cells.get("x0", 0.0)) % len(classes)
        yield {"votes": {}, "attributes": cells}, classes[said if said < 3 or t > 8 else 0]


KINDS = {"early": ("a", "b"), "all": ("a", "b", "c", "d"), "late": ("c",)}  # d is in one, c in two
OTHERS = {"left": ("a", "c"), "right": ("b",)}  # d is in none

Case = tuple[Source, Callable[[], list[Any]], Callable[[int, int, list[str]], Stream]]
CASES: dict[str, Case] = {
    "one-hot votes": (
        Votes(as_="onehot") + Thresholds(),
        lambda: [slow.Votes("onehot"), slow.Thresholds()],
        whole,
    ),
    "soft-max votes": (
        Votes(as_="softmax") + Thresholds(),
        lambda: [slow.Votes("softmax"), slow.Thresholds()],
        whole,
    ),
    "ranked votes": (
        Votes(as_="rank") + Thresholds(),
        lambda: [slow.Votes("rank"), slow.Thresholds()],
        whole,
    ),
    "thresholds": (Thresholds(), lambda: [slow.Thresholds()], words),
    "split experts": (Votes() + Split(), lambda: [slow.Votes(), slow.Split()], numbers),
    "split for two classes": (
        Votes() + Split(classes=("a", "c")) + Thresholds(),
        lambda: [slow.Votes(), slow.Split(["a", "c"]), slow.Thresholds()],
        numbers,
    ),
    "votes as attributes": (
        Votes() + PerClass() + Thresholds(),
        lambda: [slow.Votes(), slow.PerClass(), slow.Thresholds()],
        numbers,
    ),
    "attributes": (Attributes(), lambda: [slow.Attributes()], without_votes),
    "pairs": (Pairs() + Thresholds(), lambda: [slow.Pairs(), slow.Thresholds()], words),
    "pairs of short memory": (Pairs(memory=2), lambda: [slow.Pairs(2)], words),
    "everything": (
        Votes() + PerClass() + Attributes() + Thresholds(),
        lambda: [slow.Votes(), slow.PerClass(), slow.Attributes(), slow.Thresholds()],
        numbers,
    ),
    "one vector": (Shared("product"), lambda: [class_statistics.Shared("product")], without_votes),
    "common and rare words": (Shared("ternary"), lambda: [class_statistics.Shared("ternary")], present),
    "distances": (Shared("distance"), lambda: [class_statistics.Shared("distance")], without_votes),
    "sets of classes": (
        Shared("product", sets=KINDS, statistic="mean"),
        lambda: [class_statistics.Shared("product", "mean", KINDS)],
        without_votes,
    ),
    "hybrid": (
        Shared("product") + Attributes(),
        lambda: [class_statistics.Shared("product"), slow.Attributes()],
        without_votes,
    ),
    "general mixing": (
        Shared("distance", sets=KINDS) + Shared("plain", sets=OTHERS) + Shared("ternary") + Thresholds(),
        lambda: [
            class_statistics.Shared("distance", None, KINDS),
            class_statistics.Shared("plain", None, OTHERS),
            class_statistics.Shared("ternary"),
            slow.Thresholds(),
        ],
        present,
    ),
    "votes and differences": (
        Votes() + Shared("difference", statistic="first") + Thresholds(),
        lambda: [slow.Votes(), class_statistics.Shared("difference", "first"), slow.Thresholds()],
        numbers,
    ),
}
RULES = [Perceptron(), Perceptron(start="equal"), Winnow(1.4), Alma(3.0), Logistic(0.3)]


@every_pair(case=CASES, rule=RULES, technique=("plain", "averaged", "averaged recycled"), ids=str)
def test_a_source_is_the_oracles(case: str, rule: Rule, technique: str) -> None:
    """Interpreted, which costs no compilation; that compiled is the same is a check of its own."""
    source, slow_sources, stream = CASES[case]
    wrap, options = TECHNIQUES[technique]
    trials = 0
    known = (list(CASES).index(case) + RULES.index(rule)) % 2 == 0
    with interpreted():
        for classes in (CLASSES, []) if known else ([], CLASSES):
            fusion = Fusion(wrap(rule.on(source)), classes=classes)
            session = Session(oracle_of(rule), slow_sources(), classes, **options)
            trials += follow(fusion, session, stream(11, 0, CLASSES))
            if trials >= 3 and not EVERYTHING:  # every case meets both with some rules
                break
    assert trials >= 3


@pytest.mark.parametrize("technique", TECHNIQUES)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_the_short_form_for_two_classes_is_the_oracles(rule: Rule, technique: str) -> None:
    wrap, options = TECHNIQUES[technique]
    with interpreted():
        fusion = Fusion(wrap(rule.on(Attributes(complement=True))), classes=["a", "b"])
        session = Session(oracle_of(rule), [slow.Attributes(complement=True)], ["a", "b"], **options)
        assert follow(fusion, session, all_there(14, 0, ["a", "b"])) >= 10


NAMES = ["split experts", "votes as attributes", "pairs", "everything", "general mixing", "sets of classes"]


@examples(15)
@given(st.integers(0, 10**6), st.sampled_from(NAMES))
def test_any_stream_of_new_classes_and_names_is_the_oracles(seed: int, case: str) -> None:
    source, slow_sources, stream = CASES[case]
    learner = Averaged(Recycled(Winnow(1.3).on(source), size=5, updates=2))
    with interpreted():
        session = Session(oracle_of(learner.rule), slow_sources(), averaged=True, recycled=(5, 2))
        follow(Fusion(learner), session, stream(10, seed, CLASSES))


@pytest.mark.parametrize(
    "source",
    [Votes() + PerClass() + Thresholds(), Attributes(), Pairs(limit=50) + Thresholds()],
    ids=repr,
)
def test_learners_on_other_sources_pass_the_common_checks(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not EVERYTHING:
        monkeypatch.setattr(mathematics, "LONG_RUN", 20_000)  # seconds where it is interpreted
        if source.parts[0] != Pairs(limit=50):  # only a source with a limit could grow beyond it
            memory = behaviour.check_memory_is_bounded
            others = [pair for pair in runner.CHECKS if pair[0] is not memory]
            monkeypatch.setattr(runner, "CHECKS", others)
    learner = Averaged(Recycled(Winnow(1.2), size=5, updates=2)).on(source)
    assert "check_chunks_equal_whole" in applicable(learner)
    with interpreted():  # tests/slow compiles them
        check_learner(learner)


# --- what each is for


def test_an_expert_who_always_says_the_opposite_is_understood() -> None:
    votes, truth = [["no"], ["yes"]] * 20, ["yes", "no"] * 20
    with interpreted():
        fusion = Fusion(Perceptron().on(PerClass()), classes=["yes", "no"])
        fusion.learn(votes, truth)
        assert fusion.predict([["yes"], ["no"]]).tolist() == ["no", "yes"]


def test_an_expert_good_at_one_class_is_trusted_there() -> None:
    """e0 knows a, and of the others only says b; e1 knows them."""
    votes = [["a", "c"], ["b", "b"], ["b", "c"]] * 20
    with interpreted():
        fusion = Fusion(Perceptron().on(Votes() + Split()), classes=["a", "b", "c"])
        fusion.learn(votes, ["a", "b", "c"] * 20)
        assert fusion.predict(votes[:3]).tolist() == ["a", "b", "c"]


def test_for_two_classes_the_linear_machine_learns_opposite_weights() -> None:
    """Littlestone's Balanced: what one class gains the other loses (1999, section 4)."""
    with interpreted():
        fusion = Fusion(Perceptron().on(Attributes()), classes=["a", "b"])
        for item, y in all_there(30, 1, ["a", "b"]):
            fusion.learn_one(None, y, attributes=item["attributes"])
    weights = fusion.weights
    assert all(weights["attribute", f"x{a}", "a"] == -weights["attribute", f"x{a}", "b"] for a in range(3))
    assert any(weights.values())


def test_the_short_form_is_for_two_classes() -> None:
    with pytest.raises(ValueError, match="complement"):
        Fusion(Winnow(1.2).on(Attributes(complement=True)), classes=["a", "b", "c"])


def test_a_pair_is_silent_the_first_time_and_forgets_after_its_memory() -> None:
    with interpreted():
        fusion = Fusion(Winnow(2.0).on(Pairs(memory=2)), classes=["a", "b"])
        meeting = {"day": "mon", "who": "ann"}
        assert fusion.scores(attributes=[meeting]).tolist() == [[0.0, 0.0]]
        labels = ["b", "b", "a", "a"]
        guesses = [fusion.learn_one(None, y, attributes=meeting) for y in labels]
        assert guesses == ["a", "b", "b", "a"]  # silent; b; b and b; a and b share
        assert fusion.predict_one(attributes=meeting) == "a"


def test_pairs_beyond_the_limit_stay_silent() -> None:
    stream = list(words(30, 0, ["a", "b"]))
    with interpreted():
        fusion = Fusion(Perceptron().on(Pairs(limit=3)), classes=["a", "b"])
        for item, y in stream:
            fusion.learn_one(None, y, attributes=item["attributes"])
    assert len(fusion.weights) == 3


def test_attributes_come_as_arrays_or_dicts() -> None:
    stream = list(all_there(30, 2, ["a", "b"]))
    table = np.array([list(item["attributes"].values()) for item, _ in stream])
    labels = [y for _, y in stream]
    with interpreted():
        one, other = (Fusion(Averaged(Winnow(1.3)).on(Attributes()), classes=["a", "b"]) for _ in range(2))
        guesses = one.learn(attributes=table, labels=labels).guesses
        cells = [dict(enumerate(row)) for row in table.tolist()]
        assert (other.learn(attributes=cells, labels=labels).guesses == guesses).all()
    assert one.weights == other.weights


@pytest.mark.parametrize("case", CASES)
def test_sources_are_values_that_print_and_parse(case: str) -> None:
    source = CASES[case][0]
    assert parse(repr(source)) == source
    assert parse(repr(Winnow(1.2).on(source))) == Winnow(1.2).on(source)


def test_sources_refuse_nonsense() -> None:
    with pytest.raises(ValueError, match="as_"):
        Votes(as_="loud")
    with pytest.raises(ValueError, match="memory"):
        Pairs(memory=0)
    with pytest.raises(ValueError, match="limit"):
        Pairs(limit=0)
    with pytest.raises(ValueError, match="twice"):
        Votes() + Thresholds() + Votes()
