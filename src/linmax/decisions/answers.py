"""When to answer: the confidence from which on the share of wrong answers is below a limit.

Labelled items are counted by their doubt 1 - p, p the probability of the prediction made before the label was
seen, in bins of a quarter of an octave. For a bin edge d, let R(d) be the error rate among items with doubt
<= d. For a fixed edge, wrong answers among n items counted are binomial, so that
P(Bin(n, max_error) <= wrong) is a p-value for R(d) > max_error.

Edges are tested from the strictest to the loosest. The level 1 - confidence is split between three edges
fixed in advance, where tests begin, and an edge whose test is rejected gives its level to the next one (the
fallback procedure). The probability that any edge with R(d) > max_error is rejected is at most
1 - confidence, so the loosest rejected edge can be used.

References
----------
Geifman & El-Yaniv, Selective classification for deep neural networks, 2017. Angelopoulos et al., Learn then
test, 2021. Wiens & Dmitrienko, The fallback procedure, 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from linmax._jit.compilation import inline
from linmax.validation import is_finite, require

BINS = 84  # of doubt; the last has all below 2^-21
BINS_PER_OCTAVE = 4
ITEMS, WRONG = 0, 1  # columns of a tally
CURRENT, PREVIOUS = 0, 1  # rows of a tally
SMALLEST_ERROR = 1e-9
FIRST_BLOCK = 256  # items of the first block; every block is as long as all before it
STARTS = ((4.0, 0.2), (1.0, 0.6), (0.25, 0.2))
"""Where tests begin, as multiples of the allowed error, and their parts of the level."""


class NoAnswerWarning(UserWarning):
    """No item is answered: the labels learned so far do not show that errors would be rare enough."""


@dataclass(frozen=True)
class AnswerThreshold:
    """From which probability on predictions are answers.

    Parameters
    ----------
    probability
        The least probability of an answer; infinity if nothing is answered.
    labels
        The number of labelled items that were counted.
    needed
        The least number of labelled items with which anything can be answered.
    answered
        The share of the counted items that would have been answered.
    error
        The share of wrong answers among these; 0 if there are none.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.problems import majority
    >>> fusion = Fusion(Winnow(1.2), classes=range(5))
    >>> run = fusion.learn(*majority(300, noise=0))
    >>> found = fusion.answer_threshold(max_error=0.02)
    >>> found.labels, found.needed, found.probability
    (300, 174, inf)
    """

    probability: float
    labels: int
    needed: int
    answered: float
    error: float


@inline
def doubt_bin(doubt):
    """Return the bin of a doubt 1 - p: bin b has 2^(-(b+1)/4) < doubt <= 2^(-b/4)."""
    if doubt <= 0.0:
        return BINS - 1
    return min(max(math.floor(-BINS_PER_OCTAVE * math.log2(doubt)), 0), BINS - 1)


@inline
def tally_answer(doubt, wrong, number, tally):
    """Count item `number` since the last alarm; the block before the previous one is dropped."""
    if number >= FIRST_BLOCK and number & (number - 1) == 0:
        for b in range(BINS):
            for j in range(2):
                tally[PREVIOUS, b, j] = tally[CURRENT, b, j]
                tally[CURRENT, b, j] = 0
    b = doubt_bin(doubt)
    tally[CURRENT, b, ITEMS] += 1
    tally[CURRENT, b, WRONG] += wrong


def check_limits(max_error: float, confidence: float) -> None:
    """Raise a ValueError unless both are probabilities that can be kept."""
    require(
        is_finite(max_error) and SMALLEST_ERROR <= max_error < 1.0,
        f"max_error must be at least {SMALLEST_ERROR:g} and below 1 (got {max_error!r}); 0.02 is usual",
    )
    require(
        is_finite(confidence) and 0.0 < confidence < 1.0,
        f"confidence must be above 0 and below 1 (got {confidence!r}); a typical value is 0.95",
    )


def find_threshold(tally: np.ndarray, max_error: float, confidence: float) -> AnswerThreshold:
    """Return the lowest probability from which on the error is below the limit, with this confidence.

    Parameters
    ----------
    tally
        Counts of items and of wrong predictions, by block and bin.
    max_error
        The allowed share of wrong answers.
    confidence
        The probability with which it is kept.
    """
    check_limits(max_error, confidence)
    by_bin = tally.sum(axis=0)
    total = int(by_bin[:, ITEMS].sum())
    below = by_bin[::-1].cumsum(axis=0)[::-1]  # row b: items in bin b or a stricter one
    level, loosest = 0.0, -1
    starts: dict[int, float] = {}
    for multiple, part in STARTS:
        b = start_bin(multiple * max_error)
        starts[b] = starts.get(b, 0.0) + part * (1.0 - confidence)
    for b in range(BINS - 1, -1, -1):
        level += starts.get(b, 0.0)
        items, wrong = int(below[b, ITEMS]), int(below[b, WRONG])
        if items and binomial_tail(wrong, items, max_error) <= level:
            loosest = b
        else:
            level = 0.0
    largest_level = max(part for _, part in STARTS) * (1.0 - confidence)
    needed = math.ceil(math.log(largest_level) / math.log1p(-max_error))
    if loosest < 0:
        return AnswerThreshold(math.inf, total, needed, 0.0, 0.0)
    items, wrong = int(below[loosest, ITEMS]), int(below[loosest, WRONG])
    return AnswerThreshold(1.0 - doubt_of(loosest), total, needed, items / total, wrong / items)


def binomial_tail(wrong: int, items: int, p: float) -> float:
    """Return the probability of at most so many successes of probability p in so many independent trials.

    Terms are added from the largest one on. `scipy.special`, which has this, takes long to import.

    Parameters
    ----------
    wrong, items
        The number of successes, and of trials.
    p
        The probability of a success, 0 < p < 1.

    Examples
    --------
    >>> round(binomial_tail(1, 3, 0.5), 12), round(binomial_tail(0, 149, 0.02), 4)
    (0.5, 0.0493)
    """
    if wrong > items * p:
        return 1.0 - binomial_tail(items - wrong - 1, items, 1.0 - p) if wrong < items else 1.0
    log_term = math.lgamma(items + 1) - math.lgamma(wrong + 1) - math.lgamma(items - wrong + 1)
    term = math.exp(log_term + wrong * math.log(p) + (items - wrong) * math.log1p(-p))
    total, odds = term, (1.0 - p) / p
    for i in range(wrong, 0, -1):
        term *= i / (items - i + 1) * odds
        total += term
        if term < 1e-17 * total:
            break
    return total


def start_bin(doubt: float) -> int:
    """Return the first bin whose doubts are all at most this one."""
    return min(max(math.ceil(-BINS_PER_OCTAVE * math.log2(doubt)), 0), BINS - 1)


def doubt_of(b: int) -> float:
    """Return the largest doubt of a bin."""
    return float(2.0 ** (-b / BINS_PER_OCTAVE))


def why_no_answers(threshold: AnswerThreshold) -> str:
    """Return why nothing is answered at this threshold.

    Parameters
    ----------
    threshold
        A threshold with an infinite probability.
    """
    if threshold.labels < threshold.needed:
        return f"{threshold.labels} labelled items were counted, and at least {threshold.needed} are needed"
    return f"no confidence gives so few errors on {threshold.labels} labelled items"


def doubts_of(probabilities: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return 1 - p of each prediction; infinity if there is none.

    Parameters
    ----------
    probabilities
        Items by classes.
    codes
        The codes of the predicted classes; -1 if no class is known.
    """
    doubts = np.full(len(codes), np.inf)
    rows = np.flatnonzero(codes >= 0)
    doubts[rows] = 1.0 - probabilities[rows, codes[rows]]
    return doubts


def answers_of(doubts: np.ndarray, threshold: AnswerThreshold) -> np.ndarray:
    """Return which items are answered, by the very bins that were counted.

    Parameters
    ----------
    doubts
        1 - p of each prediction.
    threshold
        The threshold.
    """
    if threshold.probability == math.inf:
        return np.zeros(len(doubts), dtype=bool)
    with np.errstate(divide="ignore"):
        bins = np.floor(-BINS_PER_OCTAVE * np.log2(np.maximum(doubts, 0.0)))
    loosest = round(-BINS_PER_OCTAVE * math.log2(1.0 - threshold.probability))
    return np.asarray(np.minimum(bins, BINS - 1) >= loosest)
