"""Checks of mathematics: what follows from the formula of a learner, whatever its data."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from linmax._jit.compilation import interpreted
from linmax.checks.fixtures import (
    EXPERTS,
    assert_same_predictions,
    assert_same_session,
    assert_true,
    make_data,
    needs_of,
    nested_learners,
    one_hot,
    rules_of,
    sources_of,
    uncompiled_if_rare,
)
from linmax.experts import Kernel, Thresholds
from linmax.fusion import Fusion
from linmax.rules import Cycle
from linmax.spec import Learner
from linmax.techniques import Recycled

NEAR = 1e-9  # relative; closer scores may tie if they are added in another order
LONG_RUN = 1_000_000


def check_compiled_equals_interpreted(learner: Learner) -> None:
    """Check that compiled and interpreted runs give the same predictions and state, bit for bit.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 40)
    compiled, plain = data.session(learner), data.session(learner)
    predictions = data.learn(compiled).guesses
    with interpreted():
        others = data.learn(plain).guesses
    assert_same_predictions(predictions, others, f"{learner!r} compiled and interpreted")
    assert_same_session(compiled, plain, f"{learner!r} compiled and interpreted")


def check_ties_ignore_the_label(learner: Learner) -> None:
    """Check that no prediction depends on the label, on the first trial (a tie) and later.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 40, noise=0.5)
    firsts = set()
    for label in data.classes:
        fusion = data.session(learner)
        firsts.add(data.rows(0, 1).with_labels([label]).learn(fusion).guesses[0])
    assert_true(
        len(firsts) == 1, f"{learner!r} predicts {sorted(firsts)} for its first trial, depending on the label"
    )
    fusion = data.session(learner)
    for t, (votes, label, cells) in enumerate(data.items()):
        with uncompiled_if_rare(learner):
            before = fusion.predict_one(votes, attributes=cells, new_experts="vote")
            prediction = fusion.learn_one(votes, label, attributes=cells)
        assert_true(
            prediction == before,
            f"{learner!r} predicts {before!r} for trial {t}, but {prediction!r} on learning label {label!r}",
        )


def check_silent_experts_change_nothing(learner: Learner) -> None:
    """Check that an expert that always abstains changes no prediction and no weight.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 60)
    assert data.votes is not None
    names = [*range(EXPERTS)]
    fusion = Fusion(learner, classes=data.classes, experts=names)
    predictions = data.learn(fusion).guesses
    wider = Fusion(learner, classes=data.classes, experts=[*names[:2], "silent", *names[2:]])
    others = dataclasses.replace(data, votes=np.insert(data.votes, 2, -1, axis=1)).learn(wider).guesses
    assert_same_predictions(predictions, others, f"{learner!r} without and with a silent expert")
    more = wider.weights
    for name, weight in fusion.weights.items():
        assert_true(
            weight == more[name],
            f"{learner!r}: a silent expert changes the weight of {name!r} to {more[name]}",
        )


def check_no_move_when_right(learner: Any) -> None:
    """Check that a rule moves on a mistake, and when right only within its slack.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 80)
    fusion, slack = data.session(learner), learner.threshold()
    constant = any(isinstance(part, Thresholds) for part in sources_of(learner))  # then z is never 0
    for t in range(len(data.labels)):
        one = data.rows(t, t + 1)
        margin = _margin(fusion, one)
        run = one.learn(fusion)
        if run.mistakes and constant:
            assert_true(run.moves == 1, f"{learner!r} does not move on trial {t}, which it predicted wrong")
        if run.right and margin > max(slack, 0.0) + NEAR * abs(margin):
            assert_true(
                run.moves == 0,
                f"{learner!r} moves on trial {t}, which it predicted right with margin {margin}",
            )


def check_theta_adds_z(learner: Any) -> None:
    """Check that an update adds exactly z = x^y - x^rival to theta.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 80)
    fusion = Fusion(learner, classes=data.classes, experts=range(EXPERTS))
    for t, y in enumerate(data.labels.tolist()):
        one = data.rows(t, t + 1)
        assert one.votes is not None
        scores = fusion.scores(one.votes)[0]
        others = np.delete(scores, y)
        rival = int(np.delete(np.arange(len(scores)), y)[others.argmax()])
        theta = fusion.state()["theta"]
        moved = bool(one.learn(fusion).moves)
        if np.sum(others > others.max() - NEAR * max(abs(others.max()), 1e-300)) > 1 and others.max() != 0:
            continue  # two rivals tie up to rounding: either may be chosen
        z = _sub_experts(learner, one.votes[0], len(data.classes)) @ _difference(len(data.classes), y, rival)
        change = fusion.state()["theta"] - theta
        assert_true(
            np.array_equal(change, z * moved),
            f"{learner!r}: theta changes by {change}, not by z = {z}, on trial {t}",
        )


def check_constants_change_nothing(learner: Any) -> None:
    """Check that a constant added to all scores of an expert changes nothing.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 40)
    k = len(data.classes)
    # multiples of 1/64, so that sums are exact and ties rare
    scores = np.random.default_rng(1).integers(1, 256, size=(40, EXPERTS, k)) / 64
    more = scores + np.arange(0.0, 7.0 * EXPERTS, 7.0)[:, None]
    fusion, raised = data.session(learner), data.session(learner)
    for t in range(len(scores)):
        row, label = scores[t : t + 1], data.labels[t : t + 1]
        if _near_tie(fusion.scores(row)[0], int(label[0]), learner.threshold()):
            return  # exact in theory, but from here on rounding may decide
        predictions = fusion.learn(row, label).guesses[0], raised.learn(more[t : t + 1], label).guesses[0]
        assert_true(
            predictions[0] == predictions[1],
            f"{learner!r}: a constant added to scores changes the prediction of trial {t} from %s to %s"
            % predictions,
        )
        _assert_near(
            fusion.weights,
            raised.weights,
            f"{learner!r} with a constant added to an expert's scores, trial {t}",
        )


def check_permutations_permute(learner: Learner) -> None:
    """Check that permuting experts or classes permutes the result.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 60)
    k, names = len(data.classes), [f"class {c}" for c in data.classes]
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(60, EXPERTS, k))
    labels = np.array(names)[np.where(rng.random(60) < 0.6, scores[:, 0].argmax(axis=1), data.labels)]
    labels[0] = names[-1]  # with equal weights the first class is predicted, so it must stay first
    order, permuted = rng.permutation(EXPERTS), [0, *range(k - 1, 0, -1)]
    fusion = Fusion(learner, classes=names, experts=range(EXPERTS))
    by_expert = Fusion(learner, classes=names, experts=order)
    by_class = Fusion(learner, classes=[names[c] for c in permuted], experts=range(EXPERTS))
    with uncompiled_if_rare(learner):
        predictions = fusion.learn(scores, labels).guesses
        others = {
            "experts": (by_expert, by_expert.learn(scores[:, order], labels).guesses),
            "classes": (by_class, by_class.learn(scores[:, :, permuted], labels).guesses),
        }
    for what, (other, guesses) in others.items():
        assert_same_predictions(predictions, guesses, f"{learner!r} with {what} permuted")
        _assert_near(fusion.weights, other.weights, f"{learner!r} with {what} permuted")


def check_average_is_the_mean(learner: Any) -> None:
    """Check that averaged weights are the mean of those at the start of each trial and now.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    data = make_data(learner, 400, noise=0.0)
    assert data.votes is not None
    # all experts vote on the first trial, so that none is added later
    votes = np.where(data.votes < 0, data.labels[:, None], data.votes)
    averaged, inner = data.session(learner), data.session(learner.inner)
    averaged.learn(votes[:1], data.labels[:1])
    inner.learn(votes[:1], data.labels[:1])
    total = {name: 2 * weight for name, weight in averaged.weights.items()}
    for t in range(1, len(votes)):
        inner.learn(votes[t : t + 1], data.labels[t : t + 1])
        total = {name: total[name] + weight for name, weight in inner.weights.items()}
    averaged.learn(votes[1:], data.labels[1:])
    mean = {name: weight / (len(votes) + 1) for name, weight in total.items()}
    _assert_near(mean, averaged.weights, f"{learner!r} and the mean of its hypotheses")


def check_no_overflow(learner: Learner) -> None:
    """Check that all is finite after 10^6 adversarial trials and after huge scores.

    Parameters
    ----------
    learner : Learner
        The learner to check.
    """
    recycles = any(isinstance(layer, Recycled) for layer in nested_learners(learner))
    cycles = any(isinstance(rule.rivals, Cycle) for rule in rules_of(learner))
    grows = any(isinstance(part, Kernel) for part in sources_of(learner))  # a support vector per mistake
    trials = LONG_RUN // 100 if recycles or cycles or grows else LONG_RUN
    data = make_data(learner, trials // 50)
    fusion = data.session(learner)
    for _ in range(50):
        predictions = fusion.predict(data.votes, attributes=data.attributes)
        data.with_labels((np.asarray(predictions) + 1) % len(data.classes)).learn(fusion)
    _assert_finite(fusion, f"{learner!r} after {trials} adversarial trials")
    if data.votes is not None:
        few = data.rows(0, 100)
        huge = 1e9 * one_hot(data.votes[:100], len(data.classes))
        with uncompiled_if_rare(learner):
            fusion.learn(huge, few.labels, attributes=few.attributes)
        _assert_finite(fusion, f"{learner!r} after scores of 10^9")


def holds(learner: Learner, what: str) -> bool:
    """Whether all sources of the learner, votes among them, declare that the check holds on them."""
    return "votes" in needs_of(learner) and all(part.holds(what) for part in sources_of(learner))


def _assert_finite(fusion: Fusion, what: str) -> None:
    for name, array in fusion.state().items():
        assert_true(
            name.split(".")[-1] == "s" or bool(np.isfinite(array).all()), f"{what}: {name} is not finite"
        )
    assert_true(all(map(math.isfinite, fusion.weights.values())), f"{what}: weights are not finite")


def _assert_near(ours: dict[Any, float], theirs: dict[Any, float], what: str) -> None:
    size = max(map(abs, ours.values()), default=0.0)
    for name, weight in ours.items():
        near = abs(weight - theirs[name]) <= 1e-7 * size
        assert_true(near, f"{what}: the weight of {name!r} is {weight} and {theirs[name]}")


def _margin(fusion: Fusion, one: Any) -> float:
    scores = fusion.scores(one.votes, attributes=one.attributes)[0]
    y = int(one.labels[0])
    return float(scores[y] - np.delete(scores, y).max())


def _near_tie(scores: np.ndarray, y: int, slack: float) -> bool:
    second, first = np.sort(scores)[-2:]
    size = float(np.abs(scores).max())
    margin = float(scores[y] - np.delete(scores, y).max())
    return size > 0 and bool(first - second < NEAR * size or abs(margin - slack) < NEAR * size)


def _sub_experts(learner: Learner, votes: np.ndarray, k: int) -> np.ndarray:
    """Return the votes of all sub-experts, one per row, for every class."""
    parts = [
        np.eye(k) if isinstance(part, Thresholds) else _one_hot_row(votes, k) for part in sources_of(learner)
    ]
    return np.concatenate(parts)


def _one_hot_row(votes: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(votes[:, None] == np.arange(k), dtype=float)


def _difference(k: int, y: int, rival: int) -> np.ndarray:
    return np.asarray(1.0 * (np.arange(k) == y) - 1.0 * (np.arange(k) == rival))
