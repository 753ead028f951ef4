"""What the trial kernel is handed, by what it is for."""

from typing import NamedTuple

import numpy as np

# in `counts`
TRIALS, MISTAKES, NOVEL, MOVES, SILENT, HELD, NEXT = 0, 1, 2, 3, 4, 5, 6
KEPT = 4  # the first four are facts; the others follow from the rest of the state
COUNTS = 7
MOST_PASSES = 1000  # of recycling without a limit on updates


class Hypothesis(NamedTuple):
    """A rule's state over all sub-experts."""

    theta: np.ndarray
    w: np.ndarray  # the hypothesis is s[SCALE] w
    first: np.ndarray  # theta at a sub-expert's first vote
    spoken: np.ndarray  # uint8
    p: np.ndarray
    s: np.ndarray


class History(NamedTuple):
    """What averaging keeps; empty arrays when nothing is averaged."""

    past: np.ndarray
    since: np.ndarray
    total: np.ndarray  # (1,): the cumulated scale


class Work(NamedTuple):
    """Scratch: z as index and value; scores and shares of classes, with a spare slot for abstentions."""

    index: np.ndarray  # type: ignore[assignment]
    value: np.ndarray
    scores: np.ndarray
    mean: np.ndarray
    q: np.ndarray
    saved: np.ndarray
    moved: np.ndarray  # [0]: how many weights the last z was about, at the start of `index`; -1: all


class How(NamedTuple):
    """What the rule and the techniques ask for."""

    update: int
    join: int
    settle: int
    rivals: int
    rounds: int
    margin: int  # does the rule want to know w . z?
    hears: int  # must sub-experts be told apart by whether they have spoken?
    averages: int
    updates: int  # per recycled instance; 0: no recycling
    passes: int  # at most, over the recycled instances


class Out(NamedTuple):
    """Where the results go; what is not asked for is empty."""

    own: np.ndarray  # (trials,) int32: guesses of the last hypothesis
    mean: np.ndarray  # (trials or 0,) int32: guesses of the mean
    own_scores: np.ndarray  # (trials or 0, classes) float64
    mean_scores: np.ndarray  # (trials or 0, classes) float64
    moved: np.ndarray  # (trials or 0,) uint8: did the rule move, on the trial itself or on a recycled one?
