"""The structures of arrays and numbers that the trial kernel works on."""

from typing import Any, NamedTuple

import numpy as np

# indices in `counts`
TRIALS, MISTAKES, NOVEL, MOVES, SILENT, HELD, NEXT = 0, 1, 2, 3, 4, 5, 6
KEPT = 4  # the first four are saved; the others follow from the rest of the state
COUNTS = 7
MOST_PASSES = 1000  # of recycling without a limit on updates


class Hypothesis(NamedTuple):
    """The state of a rule over all sub-experts; the hypothesis is s[SCALE] w.

    Parameters
    ----------
    theta, w : ndarray of shape (weights,), or BlockColumn
        The state of the rule, and the weights; see `kernels/blocks.py`.
    first : ndarray of shape (weights,)
        theta of a sub-expert before its first update; in place, of those that vote as the experts do.
    spoken : ndarray of the same shape, uint8
        Whether a sub-expert has voted on a labelled trial.
    p, s : ndarray
        The parameters and the scalars of the rule.
    """

    theta: Any
    w: Any
    first: np.ndarray
    spoken: np.ndarray
    p: np.ndarray
    s: np.ndarray


class Workspace(NamedTuple):
    """Scratch arrays of a trial.

    Parameters
    ----------
    index, value : ndarray
        The non-zero coordinates of z.
    scores, mean, q : ndarray of shape (class_slots(classes),)
        Scores of the last hypothesis and of the mean, and the shares of the classes in z; the last slot is
        for abstentions.
    saved : ndarray
        A copy of `s`, to undo a prediction.
    moved : ndarray of shape (1,)
        How many coordinates the last z had, at the start of `index`; -1 if all weights may have changed.
    costs : ndarray of shape (classes, classes), or empty
        What multiplies the slack, by true class and rival; 1 everywhere if it is empty.
    """

    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray
    scores: np.ndarray
    mean: np.ndarray
    q: np.ndarray
    saved: np.ndarray
    moved: np.ndarray
    costs: np.ndarray


class RunSettings(NamedTuple):
    """The settings of a run, from the rule and the techniques around it.

    Parameters
    ----------
    update, join, settle : int
        The addresses of the functions of the rule.
    rivals, rounds : int
        How rivals are chosen (see `rules/base.py`), and the largest number of rounds of a cycle.
    margin : int
        Whether the rule uses the margin w . z.
    tracks_new_experts : int
        Whether the first vote of a sub-expert matters.
    averages : int
        Whether the mean of all hypotheses predicts.
    updates : int
        The largest number of updates of a recycled instance; 0 without recycling.
    passes : int
        The largest number of passes over the recycled instances.
    """

    update: int
    join: int
    settle: int
    rivals: int
    rounds: int
    margin: int
    tracks_new_experts: int
    averages: int
    updates: int
    passes: int


class Outputs(NamedTuple):
    """The results of a run, one row per trial; arrays that are not wanted have no rows.

    Parameters
    ----------
    own, mean : ndarray of shape (trials,), int32
        Predictions of the last hypothesis and of the mean.
    own_scores, mean_scores : ndarray of shape (trials, classes)
        Their scores.
    moved : ndarray of shape (trials,), uint8
        Whether an update was made, on the trial itself or on a recycled instance.
    """

    own: np.ndarray
    mean: np.ndarray
    own_scores: np.ndarray
    mean_scores: np.ndarray
    moved: np.ndarray
