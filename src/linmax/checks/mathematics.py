"""Mathematics: what is true of a learner by its formula, whatever it is given."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from linmax._jit import interpreted
from linmax.checks.fixtures import (
    EXPERTS,
    dense,
    expect,
    expect_same,
    expect_same_guesses,
    layers_of,
    material,
    needs_of,
    rules_of,
    sources_of,
)
from linmax.experts import Kernel, Thresholds
from linmax.fusion import Fusion
from linmax.rules import cycle
from linmax.spec import Learner
from linmax.techniques import Recycled

NEAR = 1e-9  # closer scores than this may be a tie to another order of additions
LONG = 1_000_000


def check_compiled_equals_interpreted(learner: Learner) -> None:
    """Machine code and the Python it was made from give the same guesses and the same state, bit for bit."""
    m = material(learner, 40)
    compiled, plain = m.session(learner), m.session(learner)
    guesses = m.learn(compiled).guesses
    with interpreted():
        others = m.learn(plain).guesses
    expect_same_guesses(guesses, others, f"{learner!r} compiled and interpreted")
    expect_same(compiled, plain, f"{learner!r} compiled and interpreted")


def check_ties_ignore_the_label(learner: Learner) -> None:
    """A guess is the same whatever the label will be, at the first trial (where all may tie) and later."""
    m = material(learner, 40, noise=0.5)
    firsts = set()
    for label in m.classes:
        fusion = m.session(learner)
        firsts.add(m.rows(0, 1).told([label]).learn(fusion).guesses[0])
    expect(len(firsts) == 1, f"{learner!r} guesses its first trial {sorted(firsts)}, depending on the label")
    fusion = m.session(learner)
    for t, (votes, label, cells) in enumerate(m.items()):
        before = fusion.predict_one(votes, attributes=cells)
        guess = fusion.learn_one(votes, label, attributes=cells)
        expect(
            guess == before,
            f"{learner!r} predicts {before!r} for trial {t} and guesses {guess!r} when told {label!r}",
        )


def check_silent_experts_change_nothing(learner: Learner) -> None:
    """An expert who always abstains, put between the others, changes no guess and no weight."""
    m = material(learner, 60)
    assert m.votes is not None
    names = [*range(EXPERTS)]
    fusion = Fusion(learner, classes=m.classes, experts=names)
    guesses = m.learn(fusion).guesses
    wider = Fusion(learner, classes=m.classes, experts=[*names[:2], "silent", *names[2:]])
    others = dataclasses.replace(m, votes=np.insert(m.votes, 2, -1, axis=1)).learn(wider).guesses
    expect_same_guesses(guesses, others, f"{learner!r} without and with a silent expert")
    more = wider.weights
    for name, weight in fusion.weights.items():
        expect(
            weight == more[name],
            f"{learner!r}: a silent expert changes the weight of {name!r} to {more[name]}",
        )


def check_still_when_right(learner: Any) -> None:
    """A rule moves on every mistake, and on a right guess only if its margin is at most the slack."""
    m = material(learner, 80)
    fusion, slack = m.session(learner), learner.threshold()
    constant = any(isinstance(part, Thresholds) for part in sources_of(learner))  # then z is never 0
    for t in range(len(m.labels)):
        one = m.rows(t, t + 1)
        margin = _margin(fusion, one)
        run = one.learn(fusion)
        if run.mistakes and constant:
            expect(run.moves == 1, f"{learner!r} does not move on trial {t}, which it guessed wrong")
        if run.right and margin > max(slack, 0.0) + NEAR * abs(margin):
            expect(
                run.moves == 0, f"{learner!r} moves on trial {t}, which it guessed right with margin {margin}"
            )


def check_theta_adds_z(learner: Any) -> None:
    """On a move theta grows by z = x^y - x^rival, exactly, and else it stays."""
    m = material(learner, 80)
    fusion = Fusion(learner, classes=m.classes, experts=range(EXPERTS))
    for t, y in enumerate(m.labels.tolist()):
        one = m.rows(t, t + 1)
        assert one.votes is not None
        scores = fusion.scores(one.votes)[0]
        others = np.delete(scores, y)
        rival = int(np.delete(np.arange(len(scores)), y)[others.argmax()])
        theta = fusion.state()["theta"]
        moved = bool(one.learn(fusion).moves)
        if np.sum(others > others.max() - NEAR * max(abs(others.max()), 1e-300)) > 1 and others.max() != 0:
            continue  # two rivals tie, but for rounding: either may be the one
        z = _sub_experts(learner, one.votes[0], len(m.classes)) @ _pick(len(m.classes), y, rival)
        change = fusion.state()["theta"] - theta
        expect(
            np.array_equal(change, z * moved),
            f"{learner!r}: theta changes by {change}, not by z = {z}, on trial {t}",
        )


def check_constants_change_nothing(learner: Any) -> None:
    """A constant added to all scores of an expert adds to all classes alike, so nothing changes."""
    m = material(learner, 40)
    k = len(m.classes)
    scores = (
        np.random.default_rng(1).integers(1, 256, size=(40, EXPERTS, k)) / 64
    )  # sums are exact, ties rare
    more = scores + np.arange(0.0, 7.0 * EXPERTS, 7.0)[:, None]
    fusion, raised = m.session(learner), m.session(learner)
    for t in range(len(scores)):
        row, label = scores[t : t + 1], m.labels[t : t + 1]
        if _in_doubt(fusion.scores(row)[0], int(label[0]), learner.threshold()):
            return  # exact in theory; from here on rounding may decide
        guesses = fusion.learn(row, label).guesses[0], raised.learn(more[t : t + 1], label).guesses[0]
        expect(
            guesses[0] == guesses[1],
            f"{learner!r}: a constant added to scores turns guess {t} from %s to %s" % guesses,
        )
        _expect_near(
            fusion.weights,
            raised.weights,
            f"{learner!r} with a constant added to an expert's scores, trial {t}",
        )


def check_permutations_permute(learner: Learner) -> None:
    """Experts in another order, or classes, and the result is the same in that order."""
    m = material(learner, 60)
    k, names = len(m.classes), [f"class {c}" for c in m.classes]
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(60, EXPERTS, k))
    labels = np.array(names)[np.where(rng.random(60) < 0.6, scores[:, 0].argmax(axis=1), m.labels)]
    labels[0] = names[-1]  # at equal weights the first class is guessed, and is the rival: it keeps its place
    fusion = Fusion(learner, classes=names, experts=range(EXPERTS))
    guesses = fusion.learn(scores, labels).guesses
    order = rng.permutation(EXPERTS)
    other = Fusion(learner, classes=names, experts=order)
    expect_same_guesses(
        guesses, other.learn(scores[:, order], labels).guesses, f"{learner!r} with experts permuted"
    )
    _expect_near(fusion.weights, other.weights, f"{learner!r} with experts permuted")
    turned = [0, *range(k - 1, 0, -1)]
    other = Fusion(learner, classes=[names[c] for c in turned], experts=range(EXPERTS))
    expect_same_guesses(
        guesses, other.learn(scores[:, :, turned], labels).guesses, f"{learner!r} with classes permuted"
    )
    _expect_near(fusion.weights, other.weights, f"{learner!r} with classes permuted")


def check_average_is_the_mean(learner: Any) -> None:
    """The weights of an average are the mean of those held at the start of each trial, and now."""
    m = material(learner, 400, noise=0.0)
    assert m.votes is not None
    votes = np.where(m.votes < 0, m.labels[:, None], m.votes)  # all speak at once, so that nobody joins later
    averaged, inner = m.session(learner), m.session(learner.inner)
    averaged.learn(votes[:1], m.labels[:1])
    inner.learn(votes[:1], m.labels[:1])
    total = {name: 2 * weight for name, weight in averaged.weights.items()}
    for t in range(1, len(votes)):
        inner.learn(votes[t : t + 1], m.labels[t : t + 1])
        total = {name: total[name] + weight for name, weight in inner.weights.items()}
    averaged.learn(votes[1:], m.labels[1:])
    mean = {name: weight / (len(votes) + 1) for name, weight in total.items()}
    _expect_near(mean, averaged.weights, f"{learner!r} and the mean of what it averages")


def check_no_overflow(learner: Learner) -> None:
    """After a million trials whose labels are never the guess, and after huge scores, all is finite."""
    recycles = any(isinstance(layer, Recycled) for layer in layers_of(learner))
    cycles = any(isinstance(rule.rivals, cycle) for rule in rules_of(learner))
    grows = any(isinstance(part, Kernel) for part in sources_of(learner))  # by a support on each of them
    trials = LONG // 100 if recycles or cycles or grows else LONG
    m = material(learner, trials // 50)
    fusion = m.session(learner)
    for _ in range(50):
        guesses = fusion.predict(m.votes, attributes=m.attributes)
        m.told((np.asarray(guesses) + 1) % len(m.classes)).learn(fusion)
    _expect_finite(fusion, f"{learner!r} after {trials} hostile trials")
    if m.votes is not None:
        few = m.rows(0, 500)
        fusion.learn(1e9 * dense(m.votes[:500], len(m.classes)), few.labels, attributes=few.attributes)
        _expect_finite(fusion, f"{learner!r} after scores of 10^9")


def holds(learner: Learner, what: str) -> bool:
    """Do all of its sources, votes among them, say that this check holds on them?"""
    return "votes" in needs_of(learner) and all(part.holds(what) for part in sources_of(learner))


def _expect_finite(fusion: Fusion, what: str) -> None:
    for name, array in fusion.state().items():
        expect(name.split(".")[-1] == "s" or bool(np.isfinite(array).all()), f"{what}: {name} is not finite")
    expect(all(map(math.isfinite, fusion.weights.values())), f"{what}: weights are not finite")


def _expect_near(ours: dict[Any, float], theirs: dict[Any, float], what: str) -> None:
    size = max(map(abs, ours.values()), default=0.0)
    for name, weight in ours.items():
        near = abs(weight - theirs[name]) <= 1e-7 * size
        expect(near, f"{what}: the weight of {name!r} is {weight} and {theirs[name]}")


def _margin(fusion: Fusion, one: Any) -> float:
    scores = fusion.scores(one.votes, attributes=one.attributes)[0]
    y = int(one.labels[0])
    return float(scores[y] - np.delete(scores, y).max())


def _in_doubt(scores: np.ndarray, y: int, slack: float) -> bool:
    second, first = np.sort(scores)[-2:]
    size = float(np.abs(scores).max())
    margin = float(scores[y] - np.delete(scores, y).max())
    return size > 0 and bool(first - second < NEAR * size or abs(margin - slack) < NEAR * size)


def _sub_experts(learner: Learner, votes: np.ndarray, k: int) -> np.ndarray:
    """The votes of all sub-experts, one a row, for every class."""
    parts = [np.eye(k) if isinstance(part, Thresholds) else _named(votes, k) for part in sources_of(learner)]
    return np.concatenate(parts)


def _named(votes: np.ndarray, k: int) -> np.ndarray:
    return np.asarray(votes[:, None] == np.arange(k), dtype=float)


def _pick(k: int, y: int, rival: int) -> np.ndarray:
    return np.asarray(1.0 * (np.arange(k) == y) - 1.0 * (np.arange(k) == rival))
