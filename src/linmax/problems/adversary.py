"""A stream made against one learner, by someone who sees its weights."""

from __future__ import annotations

import numpy as np

from linmax.fusion import Fusion
from linmax.problems._common import Panel
from linmax.spec import Learner
from linmax.validation import check_integer, check_panel_size

ROUNDING = 1e-12  # of the sum of all weights


def adversary(learner: Learner, trials: int, experts: int = 100, size: int = 3) -> Panel:
    """Trials on each of which this learner errs, though the first ``size`` experts are always right.

    Two classes, at most ``trials`` trials, and the majority of the first ``size`` experts by one vote:

    u = 1/size on the panel and 0 elsewhere;  u . z = 1/size on every trial;  |z_i| = 1

    The adversary looks at the weights before each trial. Of the panel he makes the lightest right; the others
    he sets against the truth or for it, heaviest first, such that the learner is wrong by as little as can
    be: w . z is 0 or just below, which is where the proofs of the bounds are tight. He gives up when all the
    weight outside of the panel is too little. Labels are 1, so that ties, which go to class 0, are mistakes;
    where there are threshold experts, labels are what these speak against.

    A learner is deterministic: a new one of the same kind, given these votes, errs on every one of them.

    >>> from linmax import Fusion, Perceptron
    >>> from linmax.bounds import Case, bound
    >>> from linmax.experts import Votes
    >>> from linmax.problems.adversary import adversary
    >>> learner = Perceptron().on(Votes())
    >>> votes, labels = adversary(learner, 1000, experts=100)
    >>> Fusion(learner, classes=[0, 1]).learn(votes, labels)
    Run(trials=300, right=0, mistakes=300, novel=0, ignored=0)
    >>> bound(learner, Case(n=100, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3]))
    300.0
    """
    check_integer("adversary", "trials", trials, 0)
    check_panel_size("adversary", "size", size, experts)
    if size % 2 == 0:
        raise ValueError(f"adversary needs an odd size, which rules out ties (got {size})")
    fusion = Fusion(learner, classes=[0, 1], experts=range(experts))
    if not fusion.runner.single_run:
        raise ValueError(f"adversary needs a single learner, whose weights can be seen (got {learner!r})")
    run = fusion.runner.rule_runs[0]
    votes, labels = np.zeros((0, experts), dtype=np.int32), np.zeros(0, dtype=np.int64)
    told: list[tuple[np.ndarray, int]] = []
    w = np.ones(experts)  # before anyone has spoken all are alike
    while len(told) < trials:
        trial = _hard_trial(fusion, w, size)
        if trial is None:
            break
        told.append(trial)
        fusion.learn(trial[0][None], trial[1:])
        if len(told) == 1:
            places = np.array([at for key, _, at in run.sources.named_weights() if key in range(experts)])
        w = run.weights(mean=run.averages)[places]
    if told:
        votes, labels = np.array([row for row, _ in told]), np.array([y for _, y in told], dtype=np.int64)
    return Panel(votes, labels)


def _hard_trial(fusion: Fusion, w: np.ndarray, size: int) -> tuple[np.ndarray, int] | None:
    """Votes with a label that the panel gets right and the learner wrong; None if there are none."""
    y, lead = 1, 0.0
    if len(fusion.runner.parts) > 1:  # what others than the experts say, such as threshold experts
        silence = fusion.scores(np.full((1, len(w)), -1))[0]
        y = int(silence[1] <= silence[0])
        lead = -abs(float(silence[1] - silence[0]))
    for least in (0.0, ROUNDING * float(np.abs(w).sum())):
        z = _against(w, size, lead, least)
        if z is None:
            return None
        votes = np.where(z > 0, y, 1 - y).astype(np.int32)
        if fusion.predict(votes[None])[0] != y:  # a tie may be right, and so may a sum in another order
            return votes, y
    return None


def _against(w: np.ndarray, size: int, lead: float, least: float) -> np.ndarray | None:
    """Signs with lead + w . z <= -least, as near to it as going from the heaviest to the lightest gets."""
    z = np.ones(len(w))
    z[np.argsort(w[:size], kind="stable")[(size + 1) // 2 :]] = -1.0
    total = lead + least + float(z[:size] @ w[:size])
    strength = np.abs(w[size:])
    heaviest = np.argsort(-strength, kind="stable")
    signs = []
    for weight in strength[heaviest].tolist():
        sign = 1.0 if total + weight <= 0 else -1.0
        total += sign * weight
        signs.append(sign)
    z[size + heaviest] = np.where(w[size + heaviest] < 0, -1.0, 1.0) * signs
    return z if total <= 0 else None
