"""Krippendorff's alpha: how far experts agree beyond chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from linmax.evaluate.without_labels.vote_table import Floats, VoteTable, vote_table
from linmax.validation import check_choice, check_integer

LEVELS = ("nominal", "ordinal", "interval")
MAX_GROUPS = 2000
"""Items are put into at most so many random groups, which are drawn in the bootstrap."""


class Alpha(NamedTuple):
    """Krippendorff's alpha.

    Attributes
    ----------
    alpha : float
        1 for perfect agreement, 0 for agreement by chance, negative below that; NaN if it is not defined: no
        item has two votes, or all votes are for one class.
    low, high : float
        A 95 % bootstrap interval over items; NaN without one.
    level : {"nominal", "ordinal", "interval"}
        How far apart two classes are.
    items, votes : int
        The items with at least two votes, and the votes on them.
    """

    alpha: float
    low: float
    high: float
    level: str
    items: int
    votes: int

    @property
    def reading(self) -> str:
        """The usual reading of alpha, in a few words.

        Krippendorff (2004) draws conclusions from alpha >= 0.8 and tentative ones from alpha >= 2/3. These
        limits are conventions.
        """
        if math.isnan(self.alpha):
            return "agreement is not defined"
        if self.alpha < 0.0:
            return "less agreement than by chance"
        for limit, text in ((0.8, "high agreement"), (2 / 3, "moderate agreement"), (0.2, "low agreement")):
            if self.alpha >= limit:
                return text
        return "hardly more agreement than by chance"


def krippendorff_alpha(
    votes: Any,
    *,
    level: str = "nominal",
    classes: Iterable[Hashable] | None = None,
    resamples: int = 500,
    seed: int = 0,
) -> Alpha:
    """Measure how far experts agree beyond chance: alpha = 1 - observed / expected disagreement.

    Experts may abstain. Items with fewer than two votes do not count.

    Parameters
    ----------
    votes : Triplets, array, data frame, list of dicts, VoteTable or Batch
        The votes, in any form that `vote_table` reads.
    level : {"nominal", "ordinal", "interval"}
        The distance of two classes: nominal classes are equal or different, ordinal classes differ by the
        votes between them, interval classes are numbers.
    classes : iterable, optional
        The classes, for "ordinal" in their order. Default: those that occur, sorted.
    resamples : int, default 500
        Bootstrap samples of items; 0 for no interval.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    alpha : Alpha
        The agreement and its interval.

    References
    ----------
    K. Krippendorff (2011), "Computing Krippendorff's alpha-reliability".

    Examples
    --------
    >>> votes = [["a", "a", None], ["b", "b", "b"], ["a", "b", "b"], ["a", "a", "a"]]
    >>> found = krippendorff_alpha(votes)
    >>> round(found.alpha, 3), found.items, found.votes
    (0.667, 4, 11)
    """
    check_choice("krippendorff_alpha", "level", level, LEVELS)
    check_integer("krippendorff_alpha", "resamples", resamples, 0)
    table = vote_table(votes, classes=classes)
    rows = np.flatnonzero(table.votes_per_item >= 2)
    if not len(rows):
        return Alpha(math.nan, math.nan, math.nan, level, 0, 0)
    counts = table.class_counts[rows]
    totals = np.asarray(counts.sum(axis=0)).ravel()
    values = _values(table, level, totals)
    observed = _disagreement(counts, values) / (table.votes_per_item[rows] - 1.0)
    alpha = float(_alpha(observed.sum()[None], totals[None], values)[0])
    low = high = math.nan
    if resamples and len(rows) > 1 and not math.isnan(alpha):
        samples = _bootstrap(observed, counts, values, resamples, np.random.default_rng(seed))
        if len(samples):
            low, high = (float(end) for end in np.quantile(samples, [0.025, 0.975]))
    return Alpha(alpha, low, high, level, len(rows), int(totals.sum()))


def _values(table: VoteTable, level: str, totals: Floats) -> Floats | None:
    """Return numbers whose squared differences are the distances of classes; None for nominal classes."""
    if level == "nominal":
        return None
    if level == "ordinal":  # the distance is the number of votes between two classes, half of each included
        ranks: Floats = np.cumsum(totals) - totals / 2.0
        return ranks
    try:
        values = np.array([float(name) for name in table.classes])
    except ValueError:
        text = next(name for name in table.classes if not _is_numeric(name))
        raise ValueError(
            f'level "interval" requires classes that are numbers (got {text!r}); use "ordinal" or "nominal"'
        ) from None
    centered: Floats = values - np.average(values, weights=totals)
    return centered


def _is_numeric(name: Any) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _disagreement(counts: Any, values: Floats | None) -> Floats:
    """Return, for each row of counts, the sum of the distances of all ordered pairs of votes."""
    total = np.asarray(counts.sum(axis=1)).ravel()
    found: Floats
    if values is None:
        squares = counts.multiply(counts) if sparse.issparse(counts) else counts * counts
        found = total**2 - np.asarray(squares.sum(axis=1)).ravel()
    else:
        found = np.maximum(2.0 * (total * (counts @ values**2) - (counts @ values) ** 2), 0.0)
    return found


def _alpha(observed: Floats, totals: NDArray[Any], values: Floats | None) -> Floats:
    """Return 1 - observed / expected disagreement, given the votes for each class; NaN where undefined."""
    votes = totals.sum(axis=1)
    expected = _disagreement(totals, values) / np.maximum(votes - 1.0, 1.0)
    ratio: Floats = np.divide(observed, expected, where=expected > 0.0, out=np.full(len(votes), np.nan))
    return 1.0 - ratio


def _bootstrap(
    observed: Floats, counts: Any, values: Floats | None, resamples: int, rng: np.random.Generator
) -> Floats:
    """Return alpha of samples of items, or of random groups of items where there are many."""
    items = len(observed)
    groups = min(items, MAX_GROUPS)
    group = rng.permutation(items) % groups
    gather = sparse.csr_array((np.ones(items), (group, np.arange(items))), shape=(groups, items))
    observed, counts = gather @ observed, (gather @ counts).tocsc()
    alphas = np.empty(resamples)
    step = max(1, min(resamples, (1 << 22) // max(counts.shape)))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        weights = rng.multinomial(groups, np.full(groups, 1.0 / groups), size).astype(np.float64)
        totals = np.asarray((counts.T @ weights.T).T)
        alphas[start : start + size] = _alpha(weights @ observed, totals, values)
    return alphas[~np.isnan(alphas)]
