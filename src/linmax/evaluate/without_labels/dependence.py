"""Signs that errors are not independent: experts that copy, and items that divide all experts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from linmax.evaluate.without_labels.dawid_skene_em import CONFUSION, DawidSkene, dawid_skene
from linmax.evaluate.without_labels.vote_table import Codes, Floats, VoteTable

MAX_DISAGREEMENT = 0.02
"""Two experts that differ on at most this share of their common items may be copies."""
EXPECTED_DIFFERENCES = 8.0
"""Differences that are to be expected between two experts, so that none or few are a sign; for panels of
many experts, which have many pairs, more."""
COMPARED_EXPERTS = 400
"""Experts whose votes are compared, those with the most votes."""
COMPARED_PAIRS = 1 << 23
"""Pairs of votes that are compared; with more, a random sample of the items is used."""
SIMULATED_CELLS = 1 << 20
"""Votes times classes of simulated votes; with more, a random sample of the items is used."""
SMALL_SIMULATION = 50_000
"""With fewer votes, the simulation is repeated."""
MAX_DISPERSION = 1.2
"""The largest dispersion, relative to a simulation with independent errors, that is no sign of dependence."""


class Dispersion(NamedTuple):
    """How much the number of correct votes varies between items.

    Attributes
    ----------
    observed : float
        The variance of the number of votes for the estimated class, divided by that of independent errors.
    expected : float
        The same for simulated votes with independent errors.
    items : int
        The items on which it was measured.
    """

    observed: float
    expected: float
    items: int

    @property
    def ratio(self) -> float:
        """Observed / expected."""
        return self.observed / self.expected if self.expected > 0.0 else math.nan

    @property
    def dependent(self) -> bool:
        """Whether errors are clearly not independent."""
        return self.ratio > MAX_DISPERSION + 3.0 * math.sqrt(2.0 / max(self.items, 1))


def copied_experts(table: VoteTable, *, seed: int = 0) -> Codes:
    """Find experts whose votes are nearly identical, while others differ from them.

    Two experts are put together if they differ on at most 2 % of their common items, although they differ
    from other experts so often that several differences were to be expected. They may copy each other, or
    both be nearly always right: votes alone cannot tell.

    Parameters
    ----------
    table : VoteTable
        The votes.
    seed : int, default 0
        Seed of the sample of items, if there are many.

    Returns
    -------
    original : ndarray of int64, shape (experts,)
        For each expert the one with the most votes of those that are nearly identical, itself if none is.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax.evaluate.without_labels import vote_table
    >>> votes = np.random.default_rng(0).integers(0, 2, (200, 4))
    >>> votes[:, 3] = votes[:, 1]
    >>> copied_experts(vote_table(votes)).tolist()
    [0, 1, 2, 1]
    """
    n, k = len(table.experts), max(len(table.classes), 1)
    original = np.arange(n)
    order = np.argsort(-table.votes_per_expert, kind="stable")[:COMPARED_EXPERTS]
    compared = np.full(n, -1)
    compared[order] = np.arange(len(order))
    votes = compared[table.expert] >= 0
    per_item = np.bincount(table.item[votes], minlength=table.items)
    votes &= sample_items(per_item**2, COMPARED_PAIRS, seed)[table.item]
    expert = compared[table.expert[votes]]
    ones, shape = np.ones(len(expert)), (len(order), table.items)
    spoke = sparse.csr_array((ones, (expert, table.item[votes])), shape=shape)
    cell = table.item[votes] * k + table.label[votes]
    same = sparse.csr_array((ones, (expert, cell)), shape=(shape[0], shape[1] * k))
    common, equal = (spoke @ spoke.T).toarray(), (same @ same.T).toarray()
    differences = common - equal
    apart = differences > MAX_DISAGREEMENT * common
    usual = _usual_disagreement(np.where(apart, differences / np.maximum(common, 1.0), np.nan))
    expected = np.minimum(usual[:, None], usual[None, :]) * common
    alike = ~apart & (expected >= EXPECTED_DIFFERENCES + 2.0 * math.log(max(len(order), 1)))
    _, group = connected_components(sparse.csr_array(alike), directed=False)
    _, first = np.unique(group, return_index=True)  # by number of votes: the first has the most
    original[order] = order[first[group]]
    return original


def _usual_disagreement(rates: Floats) -> Floats:
    """Return how often each expert differs from those it agrees with most: the lowest decile of its rates."""
    usual = np.zeros(len(rates))
    rows = ~np.isnan(rates).all(axis=1)
    if rows.any():
        usual[rows] = np.nanquantile(rates[rows], 0.1, axis=1)
    return usual


def dispersion(fit: DawidSkene, *, seed: int = 0) -> Dispersion:
    """Compare how much the number of correct votes varies between items with a simulation.

    Errors of several experts on the same items, because these are difficult or misleading, make it vary more
    than independent errors do. Then estimated accuracies are too high.

    Parameters
    ----------
    fit : DawidSkene
        An estimate.
    seed : int, default 0
        Seed of the simulation.

    Returns
    -------
    dispersion : Dispersion
        The variation in the votes and in the simulation.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth, hard = rng.integers(0, 2, 1000), rng.random((1000, 1)) < 0.4
    >>> right = rng.random((1000, 7)) < np.where(hard, 0.5, 0.95)
    >>> dispersion(dawid_skene(np.where(right, truth[:, None], 1 - truth[:, None]))).dependent
    True
    """
    rng = np.random.default_rng(seed)
    table = fit.table
    sampled = sample_items(table.votes_per_item * len(table.classes), SIMULATED_CELLS, seed)
    sampled &= table.votes_per_item >= 2
    if not sampled.all():
        table = _items_only(table, sampled)
        fit = dawid_skene(table, model=fit.model)
    if not table.votes:
        return Dispersion(math.nan, math.nan, 0)
    repeats = 3 if table.votes < SMALL_SIMULATION else 1
    simulated = [dawid_skene(_simulate(fit, rng), model=fit.model) for _ in range(repeats)]
    return Dispersion(_dispersion(fit), float(np.mean([_dispersion(one) for one in simulated])), table.items)


def sample_items(cost: NDArray[Any], budget: float, seed: int) -> NDArray[np.bool_]:
    """Choose items at random until their costs exceed a budget; all of them if they do not.

    Parameters
    ----------
    cost : ndarray of shape (items,)
        The cost of each item.
    budget : float
        The largest sum.
    seed : int
        Seed of the choice.

    Examples
    --------
    >>> int(sample_items(np.ones(5), 3.0, seed=0).sum()), int(sample_items(np.ones(5), 9.0, seed=0).sum())
    (3, 5)
    """
    chosen = np.ones(len(cost), np.bool_)
    if cost.sum() > budget:
        order = np.random.default_rng(seed).permutation(len(cost))
        chosen[order] = np.cumsum(cost[order]) <= budget
    return chosen


def _items_only(table: VoteTable, chosen: NDArray[np.bool_]) -> VoteTable:
    """Return the votes on some items, which are numbered anew."""
    number = np.cumsum(chosen) - 1
    votes = table.select(chosen[table.item])
    return VoteTable(
        number[votes.item], votes.expert, votes.label, int(chosen.sum()), table.experts, table.classes
    )


def _hit_rates(fit: DawidSkene, truth: Codes) -> Floats:
    """Return the probability of each vote to be correct, given the true classes of the items."""
    if fit.model == CONFUSION:
        c = truth[fit.table.item]
        return fit.confusion[fit.table.expert, c, c]
    return fit.accuracy[fit.table.expert]


def _dispersion(fit: DawidSkene) -> float:
    truth = fit.prediction_codes
    rate = _hit_rates(fit, truth)
    surplus = (fit.table.label == truth[fit.table.item]) - rate
    squares = np.bincount(fit.table.item, surplus, minlength=fit.table.items) ** 2
    variance = float((rate * (1.0 - rate)).sum())
    return float(squares.sum()) / variance if variance > 0.0 else math.nan


def _simulate(fit: DawidSkene, rng: np.random.Generator) -> VoteTable:
    """Return votes of the same experts on as many items, with independent errors."""
    table, k = fit.table, len(fit.table.classes)
    truth = rng.choice(k, table.items, p=fit.priors / fit.priors.sum())
    if fit.model == CONFUSION:
        cumulated = fit.confusion[table.expert, truth[table.item]].cumsum(axis=1)
        draw = rng.random((table.votes, 1)) * cumulated[:, -1:]
        label = np.minimum((cumulated < draw).sum(axis=1), k - 1)
    else:
        wrong = rng.random(table.votes) >= fit.accuracy[table.expert]
        label = (truth[table.item] + wrong * rng.integers(1, max(k, 2), table.votes)) % k
    return VoteTable(table.item, table.expert, label, table.items, table.experts, table.classes)
