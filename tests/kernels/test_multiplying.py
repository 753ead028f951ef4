"""Winnow in place: the same state as with the kernel of all rules, bit for bit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Triplets, Winnow, register
from linmax._jit import compilation
from linmax.experts import Votes
from linmax.rules.base import SCALARS
from linmax.rules.winnow import PAUSE, POWERS, SHIFT, count_safe_updates
from linmax.runtime.rule_runs import rule_run

State = dict[str, np.ndarray]


def panel(trials: int, right: list[float], classes: int = 3, silent: float = 0.0) -> tuple[Any, Any]:
    """Votes of experts that are right so often, some of which abstain, and labels."""
    rng = np.random.default_rng(5)
    labels = rng.integers(classes, size=trials)
    cells = (trials, len(right))
    votes = np.where(rng.random(cells) < right, labels[:, None], (labels[:, None] + 1) % classes)
    return np.where(rng.random(cells) < silent, -1, votes), labels


def learned(learner: Any, votes: Any, labels: Any) -> tuple[Fusion, list[Any], State]:
    """A session that has learned half of the trials at once and some one by one, and predicted in between."""
    fusion, half, found = Fusion(learner), len(labels) // 2, []
    found += fusion.learn(votes[:half], labels[:half]).guesses.tolist()
    found += fusion.scores(votes[:5]).tolist()
    for row, label in zip(votes[half : half + 30].tolist(), labels[half : half + 30].tolist(), strict=True):
        found += [fusion.predict_one({i: vote for i, vote in enumerate([*row, 0, 1]) if vote >= 0})]
        found += [fusion.learn_one(row, label)]
    found += fusion.learn(votes[half + 30 :], labels[half + 30 :]).guesses.tolist()
    return fusion, found, fusion.state()


def in_both_ways(learner: Any, votes: Any, labels: Any, monkeypatch: Any) -> Fusion:
    """Require the same predictions and state with both kernels; return the session."""
    with compilation.interpreted():
        fusion, found, state = learned(learner, votes, labels)
        monkeypatch.setattr(rule_run, "has_multiply", lambda form: False)
        _, expected, other = learned(learner, votes, labels)
    assert found == expected
    assert {name: array.tobytes() for name, array in state.items()} == {
        name: array.tobytes() for name, array in other.items()
    }
    return fusion


@pytest.mark.parametrize(
    "learner",
    [Winnow(1.2), Winnow(1.05, slack=0.2), Winnow(3.0, ties=True), Winnow(1.2).on(Votes()), Winnow(1e40)],
)
def test_its_state_is_that_of_the_kernel_of_all_rules(learner: Winnow, monkeypatch: Any) -> None:
    votes, labels = panel(300, [0.9, 0.5, 0.4, 0.3], silent=0.3)
    in_both_ways(learner, votes, labels, monkeypatch)


def test_costs_scale_the_margin_in_both_ways(monkeypatch: Any) -> None:
    votes, labels = panel(200, [0.8, 0.5, 0.4])
    states = []
    for fast in (True, False):
        with compilation.interpreted():
            fusion = Fusion(Winnow(1.2, slack=0.1), classes=range(3), mistake_costs={(0, 1): 5.0})
            fusion.learn(votes, labels)
        states.append({name: array.tobytes() for name, array in fusion.state().items()})
        if fast:
            monkeypatch.setattr(rule_run, "has_multiply", lambda form: False)
    assert states[0] == states[1]


def test_exponents_beyond_the_powers_are_computed(monkeypatch: Any) -> None:
    votes, labels = panel(1500, [1.0, 0.0, 0.0])  # the last two outvote the first for long with a small alpha
    fusion = in_both_ways(Winnow(1.0001), votes, labels, monkeypatch)
    assert np.abs(fusion.state()["theta"]).max() > POWERS


def test_what_other_kernels_and_stages_have_learned_is_seen(monkeypatch: Any) -> None:
    votes, labels = panel(900, [1.0, 0.0, 0.0])
    one, label = votes[0].tolist(), int(labels[0])
    thirds = Triplets(np.arange(9), np.arange(9) % 3, np.arange(9) // 3, np.full(9, 1 / 3))
    weights = []
    for fast in (True, False):
        fusion = Fusion(Winnow(1.0001), classes=range(3), experts=range(3))
        fresh = fusion.state()
        for chunk in (slice(0, 3), slice(3, 440), slice(440, 880)):
            fusion.learn_one(one, label)  # always the same stage
            fusion.learn(votes[chunk], labels[chunk])
        fusion.learn_one(one, label)
        weights.append(fusion.state()["w"].tolist())
        fusion.set_state(fresh)
        fusion.learn_one(one, label)
        fusion.learn(thirds, [1] * 9)  # another kernel, after which exponents are no whole numbers
        fusion.learn_one(one, label)
        weights.append(fusion.state()["w"].tolist())
        fusion.set_state(fresh)
        fusion.learn_one(one, label)
        fusion.set_state(fusion.state() | {"theta": np.full(6, 600.0)})  # after as many updates
        fusion.learn_one(one, label)
        weights.append(fusion.state()["w"].tolist())
        if fast:
            monkeypatch.setattr(rule_run, "has_multiply", lambda form: False)
    assert weights[:3] == weights[3:]


def test_shifted_exponents_are_computed(monkeypatch: Any) -> None:
    votes, labels = panel(400, [0.9, 0.5, 0.2])
    fusion = in_both_ways(Winnow(10.0, slack=1.0), votes, labels, monkeypatch)  # every trial is an update
    assert fusion.state()["s"][SHIFT] != 0.0


def test_steps_are_counted_up_to_the_largest_power() -> None:
    p, s = np.array(Winnow(1.2).parameters()), np.zeros(SCALARS)
    assert count_safe_updates(p, s, np.array([0.0, 12.0, -500.0])) == POWERS - 500
    assert count_safe_updates(p, s, np.zeros(0)) == POWERS
    for theta in ([float(POWERS)], [0.5], [1e300], [-math.inf], [math.nan]):
        assert count_safe_updates(p, s, np.array(theta)) == -PAUSE
    assert count_safe_updates(p[:1], s, np.zeros(3)) == -PAUSE  # no powers
    s[SHIFT] = 1.0
    assert count_safe_updates(p, s, np.zeros(3)) == -PAUSE


def test_a_subclass_that_replaces_update_is_called() -> None:
    @register
    @dataclass(frozen=True, repr=False)
    class Stubborn(Winnow):
        """Winnow that never learns."""

        @staticmethod
        def update(p: Any, s: Any, theta: Any, w: Any, index: Any, value: Any, margin: Any) -> int:
            return 0

    votes, labels = panel(50, [0.9, 0.1])
    with compilation.interpreted():
        fusion = Fusion(Stubborn(1.2))
        fusion.learn(votes, labels)
    assert not fusion.state()["theta"].any()
    assert not fusion.runner.rule_runs[0].multiplies


@pytest.mark.parametrize(
    ("learner", "multiplies"),
    [
        (Winnow(1.2), True),
        (Averaged(Winnow(1.2)), False),
        (Winnow(1.2, rivals="violators"), False),
        (Winnow(1.2).on(Votes()), False),  # z may be 0
    ],
)
def test_which_runs_multiply(learner: Any, multiplies: bool) -> None:
    assert Fusion(learner).runner.rule_runs[0].multiplies is multiplies
