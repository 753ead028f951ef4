"""Weighted Majority and mixtures against the slow ones."""

import math
from typing import Any

import numpy as np
import pytest

from linmax import (
    Averaged,
    Combine,
    Fusion,
    Logistic,
    Mixture,
    Perceptron,
    Recycled,
    Triplets,
    Voted,
    WeightedMajority,
    Winnow,
)
from linmax._jit.compilation import interpreted
from linmax.experts import PerClass, Votes
from linmax.problems import panel
from tests.helpers.compare_committees import agree, at_once, follow, random_stream
from tests.helpers.compare_rules import CLASSES, items
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import different, same
from tests.oracles import majorities as slow

P = Perceptron()
L = Logistic(0.3, start="equal")
VR = Combine([P, Averaged(Recycled(Winnow(1.3), size=6))], hypotheses=3, window=12, recent=7, patience=3)


def weights_agree(fusion: Fusion, oracle: Any, *, exact: bool, where: str) -> None:
    heads_agree(fusion, fusion.runner.predictor, oracle, where)


def heads_agree(fusion: Fusion, head: Any, oracle: Any, where: str) -> None:
    """The logarithms of all weights, and what committees inside keep."""
    if isinstance(oracle, slow.WeightedMajorityOfExperts):
        ours = {e: head.logs[i] for e, i in fusion.names.experts.codes.items() if head.spoken[i]}
        assert ours == pytest.approx({e: log for (_, e), log in oracle.logs.items()}, rel=1e-9, abs=1e-9), (
            where
        )
    elif isinstance(oracle, slow.WeightedMajority | slow.Mixture):
        theirs = oracle.logs if isinstance(oracle.logs, list) else list(oracle.logs.values())
        logs = np.log(head.v[: len(theirs)]) if isinstance(oracle, slow.Mixture) else head.logs
        assert logs.tolist() == pytest.approx(theirs, rel=1e-9, abs=1e-9), where
        for member, other in zip(head.members, oracle.members, strict=True):
            heads_agree(fusion, member, other, where)
    elif hasattr(oracle, "saved"):
        agree(head, oracle, exact=False, where=where)


LEARNERS = [
    WeightedMajority(),
    WeightedMajority(multiplier=1e90),
    WeightedMajority([P, Averaged(P), Winnow(1.3)], multiplier=3.0),
    WeightedMajority([P, P.on(Votes() + PerClass()), Recycled(P, size=5)], multiplier=1e60),
    WeightedMajority([P, WeightedMajority(), WeightedMajority([P, Winnow(1.5)])]),
    Mixture([P, L, Averaged(Winnow(1.4))]),
    Mixture([L, P.on(Votes() + PerClass())], multiplier=3.0, share=0.05),
    Mixture([L, WeightedMajority(), Mixture([P, L], share=1.0)], share=0.1),
    WeightedMajority([VR, Mixture([L, P]), Winnow(1.2)]),
    Mixture([VR, Voted(Winnow(1.2), hypotheses=2, patience=2), Combine([P, L], hypotheses=0)], multiplier=2),
]


# committees of experts read scores in their own way; of the others every second one reads them in `make test`
@pytest.mark.parametrize(
    ("kind", "learner"),
    [
        pytest.param(
            kind,
            learner,
            id=f"{kind}-{repr(learner)[:60]}",
            marks=pytest.mark.slow if number >= 2 and number % 2 != (kind == "hard") else (),
        )
        for kind in ("hard", "scores")
        for number, learner in enumerate(LEARNERS)
    ],
)
def test_committees_are_the_oracles(kind: str, learner: Any) -> None:
    """With abstentions, newcomers, novel labels and rows without a label; then all at once."""
    unknown, known = (0, ()), (1, CLASSES)
    for seed, classes in (unknown, known) if EVERYTHING else (unknown if kind == "hard" else known,):
        # of whole-number scores many tie, and are given to neither
        stream = random_stream(50 if kind == "hard" and not EVERYTHING else 80, seed, scores=kind == "scores")
        with interpreted():
            fusion, oracle, given = follow(learner, stream, classes, agreed=weights_agree)
        assert len(given) > 20
        assert oracle.mistakes
        whole = Fusion(learner, classes=list(classes) or None)
        with interpreted():
            at_once(whole, given)
        assert same(fusion, whole), different(fusion, whole)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_members_that_draw_at_random_are_the_oracles(seed: int) -> None:
    drawing = Voted(P, hypotheses=3, choose="random")
    for learner in (WeightedMajority([drawing, P, Winnow(1.3)]), Mixture([drawing, Averaged(P)])):
        _, _, given = follow(learner, random_stream(50, seed), seed=seed, agreed=weights_agree)
        assert len(given) > 30


# --- the experts themselves


def test_experts_lose_a_factor_for_each_wrong_guess() -> None:
    fusion = Fusion(WeightedMajority(multiplier=2.0), classes=["a", "b", "c"])
    first = {"ann": {"a": 1}, "bob": {"b": 1}, "eve": {"b": 0.5, "c": 0.5, "a": 0.1}}
    assert fusion.scores([first]).tolist() == [[1, 2, 0]]  # eve says b: of equals, the first
    assert fusion.learn_one(first, "a") == "b"
    fusion.learn_one({"bob": {"c": 1}, "eve": {}}, "b")  # eve abstains: not wrong
    fusion.learn_one({"ann": {"c": 1}}, "z")  # novel: nothing moves
    assert fusion.weights == pytest.approx({"ann": 4 / 7, "bob": 1 / 7, "eve": 2 / 7})
    newcomers = {"joe": "a", "ann": "b", "kim": "a"}
    assert fusion.scores([newcomers], new_experts="vote")[0] == pytest.approx([2 * 1.75 / 3, 1, 0, 0])
    assert "joe" not in fusion.experts
    fusion.learn_one(newcomers, "a")
    assert [fusion.weights[e] / fusion.weights["ann"] for e in ("kim", "joe", "bob")] == pytest.approx(
        [3.5 / 3, 3.5 / 3, 0.5]
    )


def test_an_expert_who_has_not_spoken_has_no_weight() -> None:
    fusion = Fusion(WeightedMajority(), classes=["a", "b"], experts=["ann", "bob"])
    assert fusion.weights == {"ann": 0.0, "bob": 0.0}
    fusion.learn_one({"ann": "a"}, "b")
    assert fusion.weights == {"ann": 1.0, "bob": 0.0}


def test_hard_votes_scores_and_triplets_are_the_same_experts() -> None:
    stream = list(items("hard", 40, silent=0.3))
    names = sorted({e for item, _ in stream for e in item["votes"]})
    labels = [y for _, y in stream]
    said = [(t, e, max(vote)) for t, (item, _) in enumerate(stream) for e, vote in item["votes"].items()]
    scores = np.full((40, len(names), 4), np.nan)
    for t, e, c in said:
        scores[t, names.index(e)] = [0.2 + 0.5 * (c == other) for other in CLASSES]
    shapes: list[Any] = [
        np.array(
            [[max(item["votes"].get(e, [""])) or None for e in names] for item, _ in stream], dtype=object
        ),
        scores,
        Triplets(*map(list, zip(*said, strict=True)), items=40),
        [item["votes"] for item, _ in stream],
    ]
    sessions = [Fusion(WeightedMajority(), classes=CLASSES, experts=names) for _ in shapes]
    guesses = [
        fusion.learn(votes, labels).guesses.tolist() for fusion, votes in zip(sessions, shapes, strict=True)
    ]
    assert all(other == guesses[0] for other in guesses)
    assert all(same(sessions[0], other) for other in sessions)


def test_members_pay_whether_or_not_the_whole_is_right() -> None:
    members = [P, Averaged(P), Winnow(1.3)]
    fusion, stream = Fusion(WeightedMajority(members, multiplier=1.5)), random_stream(80, 2)
    at_once(fusion, stream)
    alone = [Fusion(member) for member in members]
    for session in alone:
        at_once(session, stream)
    parts = np.array([1.5**-session.mistakes for session in alone])
    assert [share for _, share in fusion.runner.predictor.shares()] == pytest.approx(parts / parts.sum())


def test_winnow_that_moves_on_every_round_is_weighted_majority() -> None:
    """The lecture: beta = e^(-2 eta), for two classes and experts who all speak."""
    eta = 0.3
    trials = 90
    votes, labels = panel(trials, experts=20)
    winnow = Fusion(Winnow.from_eta(eta, slack=math.inf).on(Votes()), classes=[0, 1])
    majority = Fusion(WeightedMajority(multiplier=math.exp(2 * eta)), classes=[0, 1])
    clear = 0
    for t in range(trials):
        rows = slice(t, t + 1)
        (ours,), (theirs,) = winnow.scores(votes[rows]), majority.scores(votes[rows])
        assert ours / ours.sum() == pytest.approx(theirs / theirs.sum())
        guesses = [it.learn(votes[rows], labels[rows]).guesses.tolist() for it in (winnow, majority)]
        if abs(ours[0] - ours[1]) > 1e-9 * ours.sum():  # two programs split ties differently
            assert guesses[0] == guesses[1]
            clear += 1
        assert majority.weights == pytest.approx(winnow.weights)
    assert clear > 29 / 30 * trials


# --- extremes and errors


def test_weights_may_fall_far_beyond_what_exp_can_hold() -> None:
    fusion = Fusion(WeightedMajority(multiplier=1e100), classes=["a", "b"])
    fusion.learn([{"ann": "a", "bob": "b"}] * 500, ["b"] * 500)
    assert fusion.state()["head.0.logs"][0] == pytest.approx(-500 * math.log(1e100))
    assert fusion.weights == {"ann": 0.0, "bob": 1.0}
    assert fusion.scores([{"ann": "b"}, {"ann": "a", "bob": "b"}]).tolist() == [[0, 1], [0, 1]]
    fusion.learn([{"ann": "a", "bob": "b"}] * 1000, ["a"] * 1000)
    assert fusion.weights == {"ann": 1.0, "bob": 0.0}
    fusion.learn_one({"new": "a", "bob": "b"}, "a")  # at the mean of both: half of ann's
    logs = fusion.state()["head.0.logs"]
    assert logs[2] == pytest.approx(logs[0] + math.log(0.5))


def test_a_mixture_stays_finite_and_comes_back_when_a_member_was_hopeless() -> None:
    stream = [({"votes": {"ann": {"a": 1}}}, "a")] * 60 + [({"votes": {"ann": {"b": 1}}}, "a")] * 60
    for share in (0.0, 0.01):
        fusion = Fusion(Mixture([P, L, Winnow(3.0)], multiplier=1e50, share=share), classes=["a", "b"])
        at_once(fusion, stream)
        assert (fusion.state()["head.0.v"] > 0.0).all()
        assert fusion.state()["head.0.v"].sum() == pytest.approx(1)
        assert np.isfinite(fusion.scores([{"ann": "b"}])).all()


def test_the_scores_of_a_mixture_are_the_logarithms_of_probabilities() -> None:
    fusion = Fusion(Mixture([P, L, Winnow(1.3)]), classes=CLASSES)
    stream = random_stream(40)
    at_once(fusion, stream)
    scores = fusion.scores([item["votes"] for item, _ in stream[:20]])
    assert np.exp(scores).sum(axis=1) == pytest.approx(np.ones(20))


@pytest.mark.parametrize("bad", [1, 1.0, 0.5, -2, math.nan, math.inf, 1e101, True, "2", None])
def test_a_multiplier_that_punishes_nobody_is_refused(bad: Any) -> None:
    for make in (WeightedMajority, lambda **it: WeightedMajority([P], **it), lambda **it: Mixture([P], **it)):
        with pytest.raises(ValueError, match=r"requires .*multiplier") as caught:
            make(multiplier=bad)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("share", [-0.1, 1.5, math.nan, "x", True, None])
def test_a_mixture_refuses_a_share_out_of_range(share: Any) -> None:
    with pytest.raises(ValueError, match=r"Mixture requires .*share") as caught:
        Mixture([P], share=share)
    assert "\n" not in str(caught.value)
