"""V-Combine against the slow one: guesses, leaders, saved hypotheses, figures, restarts."""

from typing import Any

import pytest

from linmax import (
    Alma,
    Averaged,
    Combine,
    Fusion,
    Perceptron,
    Recycled,
    Voted,
    Winnow,
    standard_bank,
    vr_combine,
)
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Pairs, PerClass, Thresholds, Votes
from tests.helpers.compare_committees import at_once, follow, random_stream
from tests.helpers.compare_rules import CLASSES
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import different, same

P = Perceptron()
R = Recycled(P, size=6, updates=2)
W = Winnow(1.3)

# whole numbers all the way: the same in any program
WHOLE = [P, R, Perceptron(start="equal")]
MIXED = [P, W, Alma(2.0), Averaged(P), Averaged(Recycled(W, size=6, updates=2)), Averaged(Alma(2.0))]

OPTIONS: list[dict[str, Any]] = [
    {"hypotheses": 0},
    {"hypotheses": 1, "window": 100, "recent": 7, "patience": 3},
    {"hypotheses": 3, "window": 12, "recent": 0, "patience": 3},
    {"hypotheses": 3, "window": 0, "recent": 100, "patience": 1},
    {"hypotheses": 4, "window": 12, "recent": 7, "patience": 2},
    {"hypotheses": 4, "window": 100, "recent": 100, "patience": 5},
    {"hypotheses": 20, "window": 12, "recent": 7, "patience": 10},
    {"hypotheses": 20, "window": 100, "recent": 0, "patience": 1000},
    {"hypotheses": 20, "window": 100, "recent": 100, "patience": 100},
]


def named(options: dict[str, Any]) -> str:
    return " ".join(f"{name[0]}={value}" for name, value in options.items())


def pieces_are_the_whole(learner: Any, fusion: Fusion, given: Any, classes: Any, seed: int = 0) -> None:
    """One by one has been compared with the oracle; the same at once, and in two pieces."""
    for cut in (0, len(given) // 3):
        other = Fusion(learner, classes=list(classes) or None, seed=seed)
        for piece in (given[:cut], given[cut:]):
            if piece:
                at_once(other, piece)
        assert same(fusion, other), f"{learner!r} cut at {cut}: {different(fusion, other)}"


# --- against the oracle


@pytest.mark.parametrize("options", OPTIONS, ids=named)
def test_members_with_whole_weights_are_the_oracles_exactly(options: dict[str, Any]) -> None:
    learner = Combine(WHOLE, **options)
    unknown, known = (3, ()), (7, CLASSES)
    even = OPTIONS.index(options) % 2 == 0
    for seed, classes in (unknown, known) if EVERYTHING else (unknown if even else known,):
        # windows of 12 trials open near trial 60; the others are no wider than the distance of hypotheses
        stream = random_stream(100 if EVERYTHING or options.get("window") == 12 else 60, seed)
        with interpreted():
            fusion, oracle, given = follow(learner, stream, classes, exact=True)
        assert len(given) == len(stream)
        assert (oracle.restarts > 0) == (options["hypotheses"] > 0 and options.get("patience", 100) <= 10)
        assert len(set(oracle.leaders)) > 1
        pieces_are_the_whole(learner, fusion, given, classes)  # compiled


# whole weights have been compared under all options
@pytest.mark.parametrize(
    "options",
    [
        pytest.param(options, id=named(options), marks=() if number % 4 == 0 else pytest.mark.slow)
        for number, options in enumerate(OPTIONS)
    ],
)
def test_members_of_all_kinds_are_the_oracles(options: dict[str, Any]) -> None:
    learner = Combine(MIXED, **options)
    with interpreted():
        fusion, oracle, given = follow(learner, random_stream(100 if EVERYTHING else 75, 2), ["b"])
    assert len(given) > 50
    assert oracle.novel
    assert len(set(oracle.leaders)) > 1
    pieces_are_the_whole(learner, fusion, given, ["b"])


SOURCES: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "per class": ([P, P.on(Votes() + PerClass()), Averaged(W).on(Votes() + PerClass())], {}),
    "attributes": (
        [P, P.on(Attributes()), Averaged(P).on(Attributes()), R.on(Votes() + Attributes())],
        {"parts": "votes and attributes"},
    ),
    "attributes alone": ([P.on(Attributes()), R.on(Attributes() + Thresholds())], {"parts": "attributes"}),
    "readings": (
        [
            P,
            P.on(Votes(as_="rank")),
            Averaged(W).on(Votes(as_="softmax") + Thresholds()),
            R.on(Votes(as_="onehot")),
        ],
        {"scores": True},
    ),
    "pairs": ([R.on(Pairs()), Averaged(R).on(Pairs())], {"parts": "words"}),
    "pairs and votes": (
        [R.on(Pairs()), Winnow(1.5).on(Pairs()), P, Recycled(W, size=7), Averaged(P).on(Pairs())],
        {"parts": "votes and words"},
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_members_on_different_sources_are_the_oracles(source: str) -> None:
    """A saved hypothesis scores with its own source, and with what that source remembers now."""
    members, kind = SOURCES[source]
    orders = ((members, OPTIONS[4]), (members[::-1], OPTIONS[6]))
    for order, options in orders if EVERYTHING or "and" in source else orders[:1]:
        learner, trials = Combine(order, **options), 60 if EVERYTHING or "and" in source else 45
        with interpreted():
            fusion, _, given = follow(learner, random_stream(trials, 3, **kind))
            assert len(given) > 30
            if order is members:
                pieces_are_the_whole(learner, fusion, given, ())


def test_sources_that_share_names_do_not_share_weights() -> None:
    """Votes() + Thresholds() and Votes() + PerClass() both have an expert's own weight."""
    learner = Combine([P, P.on(Votes() + PerClass())], hypotheses=3, window=0)
    with interpreted():
        fusion, _, _ = follow(learner, random_stream(30), exact=True)
    head: Any = fusion.runner.predictor
    assert len(head.member_parts) == 2
    assert head.layout.size == sum(member.run.layout.size for member in head.members)
    assert sum(map(abs, fusion.weights.values())) == pytest.approx(1)


# --- Voted


@pytest.mark.parametrize("options", [OPTIONS[0], OPTIONS[1], OPTIONS[2], OPTIONS[4]], ids=named)
@pytest.mark.parametrize("inner", [P, Averaged(W), Averaged(R)], ids=repr)
def test_voted_is_combine_with_one_member(inner: Any, options: dict[str, Any]) -> None:
    stream = random_stream(80, 4)
    one, other = Fusion(Voted(inner, **options)), Fusion(Combine([inner], **options))
    assert at_once(one, stream) == at_once(other, stream)
    assert same(one, other)
    assert one.weights == other.weights


@pytest.mark.parametrize("inner", [P, Averaged(P), R, W], ids=repr)
def test_voted_is_the_oracles(inner: Any) -> None:
    with interpreted():
        _, oracle, given = follow(
            Voted(inner, hypotheses=4, window=12, recent=7, patience=3), random_stream(80, 5)
        )
    assert len(given) > 60
    assert oracle.restarts


# --- hypotheses drawn at random


@pytest.mark.parametrize(
    ("seed", "hypotheses"),
    [
        (0, 1),
        (3, 7),
        (0, 30),
        *(pytest.param(seed, count, marks=pytest.mark.slow) for seed, count in ((3, 1), (0, 7), (3, 30))),
    ],
)
def test_hypotheses_drawn_at_random_are_the_oracles_exactly(hypotheses: int, seed: int) -> None:
    learner = Combine(WHOLE, hypotheses=hypotheses, choose="random")
    fusion, oracle, given = follow(
        learner, random_stream(80 if EVERYTHING else 50, seed), exact=True, seed=seed
    )
    assert len({it.trial for it in oracle.saved}) > (hypotheses > 1)
    pieces_are_the_whole(learner, fusion, given, (), seed)


def test_hypotheses_of_many_members_drawn_at_random_are_the_oracles() -> None:
    learner = Voted(Averaged(W), hypotheses=5, choose="random")
    fusion, _, given = follow(learner, random_stream(80, 6), CLASSES, seed=1)
    assert len(given) > 40
    pieces_are_the_whole(learner, fusion, given, CLASSES, 1)
    learner = Combine(MIXED, hypotheses=5, choose="random")  # type: ignore[assignment]
    follow(learner, random_stream(80 if EVERYTHING else 40, 6), CLASSES)


def test_another_seed_draws_others() -> None:
    stream = random_stream(60)
    moments = []
    for seed in (0, 0, 1):
        fusion = Fusion(Voted(P, hypotheses=30, choose="random"), seed=seed)
        at_once(fusion, stream)
        moments.append(fusion.state()["head.0.moment"].tolist())
    assert moments[0] == moments[1] != moments[2]


# --- runs that are shared


def test_a_learner_and_its_average_are_one_run() -> None:
    for learner, runs, members in (
        (vr_combine(), 31, 62),
        (Combine(standard_bank()), 31, 62),
        (Combine([W, Averaged(R), R, Averaged(W), Recycled(Averaged(P), size=6, updates=2)]), 2, 5),
        (Combine([P, P.on(Votes()), Perceptron(slack=1)]), 3, 3),
    ):
        runner = Fusion(learner).runner
        assert len(learner.members) == len(runner.predictor.shares()) == members
        assert len(runner.rule_runs) == runs


def test_members_are_what_they_would_be_alone() -> None:
    plain = [Recycled(rule, size=8, updates=3) for rule in (W, P, Alma(3.0))]
    members = [*plain, *map(Averaged, plain), P, Averaged(P), Winnow(1.1), Averaged(Alma(2.0))]
    fusion, stream = Fusion(Combine(members, hypotheses=4, window=12)), random_stream(120, 7)
    alone = [Fusion(member) for member in members]
    for begin in range(0, 120, 6):
        at_once(fusion, stream[begin : begin + 6])
        for session in alone:
            at_once(session, stream[begin : begin + 6])
        head: Any = fusion.runner.predictor
        assert head.mistakes.tolist() == [session.mistakes for session in alone]
    for (leaf, _), session in zip(head.shares(), alone, strict=True):
        assert leaf.weights() == session.weights
    assert len(fusion.runner.rule_runs) == 6
