"""An adversarial problem: a stream made against one learner, given its weights."""

from __future__ import annotations

import numpy as np

from linmax.fusion import Fusion
from linmax.problems._common import VoteData
from linmax.spec import Learner
from linmax.validation import check_integer, check_panel_size

ROUNDING = 1e-12  # relative to the sum of all weights


def adversary(learner: Learner, trials: int, experts: int = 100, size: int = 3) -> VoteData:
    """Generate trials on each of which a learner errs, although a few experts are always right by majority.

    There are two classes. With u = 1/size on the first `size` experts and 0 elsewhere,

    u . z = 1/size on every trial,  abs(z_i) = 1

    Before each trial the adversary reads the weights. It makes the experts of the panel with the smallest
    weights right, and sets the signs of all others, largest weight first, such that the learner errs by as
    little as possible: w . z is 0 or just below, where the proofs of mistake bounds are tight. The stream
    ends when the weights outside of the panel no longer suffice. Labels are 1, because ties go to class 0;
    with threshold experts, labels are the class against which these vote.

    Parameters
    ----------
    learner : Learner
        The learner, with a single rule. It is not changed. As learners are deterministic, a new session with
        it errs on every trial.
    trials : int
        The largest number of trials.
    experts : int, default 100
        The number of all experts.
    size : int, default 3
        The number of experts whose majority is always right; odd.

    Returns
    -------
    data : VoteData
        The votes and the labels, of at most `trials` trials.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.bounds import Case, bound
    >>> from linmax.experts import Votes
    >>> from linmax.problems import adversary
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
        raise ValueError(f"adversary requires an odd size, which rules out ties (got {size})")
    fusion = Fusion(learner, classes=[0, 1], experts=range(experts))
    if not fusion.runner.single_run:
        raise ValueError(f"adversary requires a single learner, whose weights can be read (got {learner!r})")
    run = fusion.runner.rule_runs[0]
    stream: list[tuple[np.ndarray, int]] = []
    w = np.ones(experts)  # before the first trial all experts are equal
    while len(stream) < trials:
        trial = _hard_trial(fusion, w, size)
        if trial is None:
            break
        stream.append(trial)
        fusion.learn(trial[0][None], trial[1:])
        if len(stream) == 1:
            places = np.array([at for key, _, at in run.sources.named_weights() if key in range(experts)])
        w = run.weights(mean=run.averages)[places]
    if not stream:
        return VoteData(np.zeros((0, experts), dtype=np.int32), np.zeros(0, dtype=np.int64))
    return VoteData(np.array([row for row, _ in stream]), np.array([y for _, y in stream], dtype=np.int64))


def _hard_trial(fusion: Fusion, w: np.ndarray, size: int) -> tuple[np.ndarray, int] | None:
    """Return votes and a label with which the panel is right and the learner wrong; None if impossible."""
    y, lead = 1, 0.0
    if len(fusion.runner.parts) > 1:  # other sub-experts, such as threshold experts
        others = fusion.scores(np.full((1, len(w)), -1))[0]
        y = int(others[1] <= others[0])
        lead = -abs(float(others[1] - others[0]))
    for least in (0.0, ROUNDING * float(np.abs(w).sum())):
        z = adverse_signs(w, size, lead, least)
        if z is None:
            return None
        votes = np.where(z > 0, y, 1 - y).astype(np.int32)
        if fusion.predict(votes[None])[0] != y:  # the learner may be right on a tie, or add in another order
            return votes, y
    return None


def adverse_signs(w: np.ndarray, size: int, lead: float, least: float) -> np.ndarray | None:
    """Return signs with lead + w . z <= -least, as close as a greedy choice by weight gets; None if none."""
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
