"""Dawid and Skene's estimate of true classes and of the experts' confusion matrices, by EM."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import xlogy

from linmax.evaluate.significance import wilson_interval
from linmax.evaluate.without_labels.vote_table import Codes, Floats, VoteTable, vote_table
from linmax.validation import check_choice, check_integer, is_number, require

CONFUSION: Final = "confusion"
ONE_COIN: Final = "one-coin"
MODELS = ("auto", CONFUSION, ONE_COIN)
MAX_CONFUSION_CELLS = 1 << 22
"""Cells of all confusion matrices; with more, the one-coin model is used."""
MAX_PROBABILITIES = 1 << 26
"""Cells of the matrix of probabilities; with more, the one-coin model is used, which does not hold it."""
MAX_WORK = 1 << 26
"""Votes times classes, the time of an iteration; with more, "auto" is the one-coin model."""
VOTES_PER_CLASS = 1.0
"""Votes per expert and class, on average; with fewer, the one-coin model is used."""
TINY = 1e-300


class PosteriorEntries(NamedTuple):
    """Posterior probabilities of the classes that were voted for, in compressed rows.

    Attributes
    ----------
    item, label : ndarray of int64
        An item and a class that has a vote on it; ordered by item and class, each pair once.
    probability : ndarray of float64
        The probability of this class.
    rest : ndarray of float64, shape (items,)
        The probability of each class without a vote on the item.
    """

    item: Codes
    label: Codes
    probability: Floats
    rest: Floats


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """An estimate of true classes from votes alone.

    Attributes
    ----------
    table : VoteTable
        The votes.
    model : {"confusion", "one-coin"}
        Whether each expert has a confusion matrix, or one accuracy for all classes.
    reason : str
        Why this model was used.
    priors : ndarray of shape (classes,)
        The estimated share of each class.
    accuracy, accuracy_low, accuracy_high : ndarray of shape (experts,)
        The expected share of correct votes of each expert and an approximate 95 % interval; NaN without
        votes. The interval assumes that the model holds and that the other experts are known.
    log_likelihood : ndarray of shape (iterations,)
        After each iteration, the log-likelihood of the votes plus the log-density of the prior (up to a
        constant). It never decreases.
    converged : bool
        Whether the last iteration improved it by at most `tolerance` per vote.

    Notes
    -----
    The model assumes that the errors of experts are independent given the true class, and that most of the
    votes are better than chance. It cannot detect experts that copy each other.
    """

    table: VoteTable
    model: Literal["confusion", "one-coin"]
    reason: str
    priors: Floats
    accuracy: Floats
    accuracy_low: Floats
    accuracy_high: Floats
    log_likelihood: Floats
    converged: bool
    _confusion: Floats | None
    _posterior: Floats | PosteriorEntries

    @cached_property
    def probabilities(self) -> Floats:
        """The probability of each class on each item, of shape (items, classes)."""
        found = self._posterior
        if not isinstance(found, PosteriorEntries):
            return found
        shape = self.table.items, len(self.table.classes)
        if shape[0] * shape[1] > MAX_PROBABILITIES:
            raise ValueError(
                f"{shape[0]} items times {shape[1]} classes are too many for one array;"
                " use predictions and confidence"
            )
        full = np.repeat(found.rest, shape[1]).reshape(shape)
        full[found.item, found.label] = found.probability
        return full

    @cached_property
    def confusion(self) -> Floats:
        """The confusion matrices, of shape (experts, classes, classes): P(vote | expert, true class)."""
        if self._confusion is not None:
            return self._confusion
        n, k = len(self.table.experts), len(self.table.classes)
        if n * k * k > MAX_CONFUSION_CELLS:
            raise ValueError(
                f"{n} experts times {k} times {k} classes are too many for one array; use accuracy"
            )
        accuracy = np.where(np.isnan(self.accuracy), 1.0 / max(k, 1), self.accuracy)
        full = np.repeat((1.0 - accuracy) / max(k - 1, 1), k * k).reshape(n, k, k)
        full[:, np.arange(k), np.arange(k)] = accuracy[:, None]
        return full

    @cached_property
    def prediction_codes(self) -> Codes:
        """The most probable class of each item, as a code; the first of equal ones."""
        return self._best[0]

    @property
    def predictions(self) -> NDArray[Any]:
        """The most probable class of each item; None for an item without votes."""
        names = np.array([*self.table.classes, None], dtype=object)
        return names[np.where(self.table.votes_per_item > 0, self.prediction_codes, -1)]

    @property
    def confidence(self) -> Floats:
        """The probability of each prediction."""
        return self._best[1]

    @cached_property
    def _best(self) -> tuple[Codes, Floats]:
        found = self._posterior
        if not isinstance(found, PosteriorEntries):
            codes = found.argmax(axis=1) if found.shape[1] else np.full(len(found), -1)
            return codes, found.max(axis=1, initial=0.0)
        codes = np.zeros(self.table.items, np.int64)
        best = found.rest.copy()
        order = np.lexsort((-found.label, found.probability, found.item))
        last = order[np.flatnonzero(np.diff(found.item[order], append=-1))]
        better = last[found.probability[last] >= best[found.item[last]]]
        codes[found.item[better]] = found.label[better]
        best[found.item[better]] = found.probability[better]
        return codes, best

    @cached_property
    def entropy(self) -> Floats:
        """The entropy of the class of each item, in bits."""
        found = self._posterior
        if not isinstance(found, PosteriorEntries):
            bits: Floats = -xlogy(found, found).sum(axis=1) / math.log(2.0)
            return np.maximum(bits, 0.0)
        own = np.bincount(found.item, xlogy(found.probability, found.probability), minlength=self.table.items)
        others = len(self.table.classes) - np.bincount(found.item, minlength=self.table.items)
        bits = -(own + others * xlogy(found.rest, found.rest)) / math.log(2.0)
        return np.maximum(bits, 0.0)

    def probability_of(self, item: Codes, label: Codes) -> Floats:
        """Return the probabilities of pairs of an item and a class."""
        found = self._posterior
        if not isinstance(found, PosteriorEntries):
            return found[item, label]
        k = len(self.table.classes)
        keys, wanted = found.item * k + found.label, item * k + label
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, found.probability[at], found.rest[item])


def dawid_skene(
    votes: Any,
    *,
    classes: Iterable[Hashable] | None = None,
    max_iterations: int = 100,
    tolerance: float = 1e-5,
    prior: float = 1.0,
    model: str = "auto",
) -> DawidSkene:
    """Estimate the true classes, and the accuracy of each expert, from votes without labels.

    EM for the model P(votes, y) = P(y) prod_j pi_j[y, vote_j] from the shares of the votes on each item.

    Parameters
    ----------
    votes : Triplets, array, data frame, list of dicts, VoteTable or Batch
        The votes, in any form that `vote_table` reads.
    classes : iterable, optional
        The classes. Votes for others are left out. Default: those that occur.
    max_iterations : int, default 100
        The largest number of iterations.
    tolerance : float, default 1e-5
        Stop when an iteration improves the objective by at most this much per vote.
    prior : float, default 1.0
        Pseudo-counts: for each true class, each expert has so many more votes, half of them correct and the
        other half spread evenly over all classes; each class has so many more items. With 0 the likelihood
        itself is maximised, as Dawid and Skene do.
    model : {"auto", "confusion", "one-coin"}
        "confusion" gives each expert a confusion matrix, "one-coin" one accuracy: all classes are equally
        probable, and so are all errors. "auto" uses confusion matrices unless they need too much memory or
        time, or experts have fewer votes than there are classes on average.

    Returns
    -------
    estimate : DawidSkene
        Probabilities, confusion matrices and accuracies.

    References
    ----------
    A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
    algorithm", Applied Statistics 28.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 2, 2000)
    >>> right = rng.random((2000, 5)) < [0.9, 0.8, 0.7, 0.6, 0.8]
    >>> votes = np.where(right, truth[:, None], 1 - truth[:, None])
    >>> estimate = dawid_skene(votes)
    >>> estimate.accuracy.round(2), right.mean(axis=0).round(2)
    (array([0.9 , 0.79, 0.74, 0.61, 0.78]), array([0.9 , 0.79, 0.73, 0.61, 0.78]))
    >>> estimate.converged, round(float((estimate.predictions == truth).mean()), 2)
    (True, 0.93)
    """
    check_integer("dawid_skene", "max_iterations", max_iterations, 1)
    require(is_number(tolerance) and tolerance >= 0, f"dawid_skene requires tolerance >= 0 (got {tolerance})")
    require(is_number(prior) and 0 <= prior < math.inf, f"dawid_skene requires prior >= 0 (got {prior})")
    check_choice("dawid_skene", "model", model, MODELS)
    table = vote_table(votes, classes=classes)
    chosen, reason = _choose(table, model)
    em = _OneCoin(table, prior) if chosen == ONE_COIN else _Confusion(table, prior)
    history: list[float] = []
    converged = not table.votes
    while not converged and len(history) < max_iterations:
        em.maximize()
        history.append(em.expect())
        converged = len(history) > 1 and history[-1] - history[-2] <= tolerance * table.votes
    posterior = em.posterior()
    own = em.own_probabilities()
    accuracy, low, high = _accuracies(table, own)
    return DawidSkene(
        table, chosen, reason, em.priors, accuracy, low, high, np.array(history), converged,
        em.confusion(), posterior,
    )  # fmt: skip


def _choose(table: VoteTable, model: str) -> tuple[Literal["confusion", "one-coin"], str]:
    """Return the model and why it is used."""
    n, k = len(table.experts), len(table.classes)
    if model == ONE_COIN:
        return ONE_COIN, "as asked"
    too_large = n * k * k > MAX_CONFUSION_CELLS or table.items * k > MAX_PROBABILITIES
    if model == CONFUSION:
        require(
            not too_large,
            f"confusion matrices of {n} experts and {k} classes on {table.items} items need too much memory;"
            ' use model="one-coin"',
        )
        return CONFUSION, "as asked"
    if too_large:
        return ONE_COIN, f"confusion matrices of {n:,} experts and {k:,} classes would need too much memory"
    if table.votes * k > MAX_WORK:
        return ONE_COIN, f"confusion matrices of {k:,} classes and {table.votes:,} votes would take too long"
    if table.votes < VOTES_PER_CLASS * n * k:
        each = table.votes / max(n, 1)
        return ONE_COIN, f"{each:.1f} votes per expert are too few for confusion matrices of {k:,} classes"
    return CONFUSION, "each expert has votes enough for a confusion matrix"


class _Confusion:
    """EM with one confusion matrix per expert."""

    def __init__(self, table: VoteTable, prior: float) -> None:
        n, k = len(table.experts), len(table.classes)
        self.table, self.prior = table, prior
        column = table.expert * k + table.label
        ones = np.ones(table.votes)
        self.votes = sparse.csr_array((ones, (table.item, column)), shape=(table.items, n * k))
        self.by_column = self.votes.T.tocsr()
        # pseudo-counts of (vote, true class)
        self.pseudo = prior * (0.5 * np.eye(k) + 0.5 / max(k, 1))
        counts = table.class_counts.toarray()
        voted = table.votes_per_item > 0
        self.voted = voted
        self.priors = _normalize(np.ones(k))
        self.p: Floats = np.divide(counts, counts.sum(axis=1, keepdims=True), where=voted[:, None],
                                   out=np.full((table.items, k), 1.0 / max(k, 1)))  # fmt: skip

    def maximize(self) -> None:
        """Set the shares of the classes and the confusion matrices to their best values."""
        n, k = len(self.table.experts), len(self.table.classes)
        counts = (self.by_column @ self.p).reshape(n, k, k) + self.pseudo  # expert, vote, true class
        total = counts.sum(axis=1, keepdims=True)
        self.pi = np.divide(counts, total, where=total > 0.0, out=np.full(counts.shape, 1.0 / k))
        self.priors = _normalize(self.p[self.voted].sum(axis=0) + self.prior)

    def expect(self) -> float:
        """Set the probabilities of the items; return the objective."""
        k = len(self.table.classes)
        log_pi = np.log(np.maximum(self.pi, TINY))
        log_p = self.votes @ log_pi.reshape(-1, k)
        log_p += np.log(np.maximum(self.priors, TINY))
        top = log_p.max(axis=1, keepdims=True)
        np.subtract(log_p, top, out=log_p)
        np.exp(log_p, out=log_p)
        total = log_p.sum(axis=1, keepdims=True)
        log_likelihood = float((np.log(total) + top)[self.voted].sum())
        self.p = np.divide(log_p, total, out=log_p)
        prior = xlogy(self.pseudo, np.maximum(self.pi, TINY)).sum() + xlogy(self.prior, self.priors).sum()
        return log_likelihood + float(prior)

    def posterior(self) -> Floats:
        return self.p

    def own_probabilities(self) -> Floats:
        return self.p[self.table.item, self.table.label]

    def confusion(self) -> Floats | None:
        return self.pi.transpose(0, 2, 1).copy() if self.table.votes else None


class _OneCoin:
    """EM with one accuracy per expert; only classes that were voted for are held in memory.

    All classes are equally probable a priori: with estimated shares, one class often absorbs all items.
    """

    def __init__(self, table: VoteTable, prior: float) -> None:
        self.table, self.prior = table, prior
        k = max(len(table.classes), 1)
        keys, self.entry, counts = np.unique(
            table.item * k + table.label, return_inverse=True, return_counts=True
        )
        self.item, self.label = np.divmod(keys, k)
        self.voted = table.votes_per_item > 0
        self.others = k - np.bincount(self.item, minlength=table.items)
        self.p: Floats = counts / table.votes_per_item[self.item]
        self.rest = np.where(self.voted, 0.0, 1.0 / k)
        self.correct = 0.5 + 0.5 / k

    def maximize(self) -> None:
        """Set the accuracies to their best values."""
        correct = np.bincount(self.table.expert, self.p[self.entry], minlength=len(self.table.experts))
        size = self.table.votes_per_expert + self.prior
        self.accuracy = (correct + self.prior * self.correct) / np.maximum(size, TINY)

    def expect(self) -> float:
        """Set the probabilities of the items; return the objective."""
        expert, k, items = self.table.expert, len(self.table.classes), self.table.items
        accuracy = self.accuracy
        log_right = np.log(np.maximum(accuracy, TINY))
        log_wrong = np.log(np.maximum((1.0 - accuracy) / max(k - 1, 1), TINY))
        base = np.bincount(self.table.item, log_wrong[expert], minlength=items)
        log_ratio = np.bincount(self.entry, (log_right - log_wrong)[expert], minlength=len(self.item))
        top = np.zeros(items)
        np.maximum.at(top, self.item, log_ratio)
        ratio, rest = np.exp(log_ratio - top[self.item]), np.exp(-top)
        total = np.bincount(self.item, ratio, minlength=items) + rest * self.others
        self.p, self.rest = ratio / total[self.item], rest / total
        log_likelihood = float((np.log(total / k) + top + base)[self.voted].sum())
        prior = xlogy(self.prior * self.correct, accuracy)
        prior += xlogy(self.prior * (1.0 - self.correct), 1.0 - accuracy)
        return log_likelihood + float(prior.sum())

    @property
    def priors(self) -> Floats:
        """The mean probability of each class."""
        shares = np.bincount(self.label, self.p - self.rest[self.item], minlength=len(self.table.classes))
        return _normalize(np.maximum(shares + self.rest[self.voted].sum(), 0.0))

    def posterior(self) -> PosteriorEntries:
        return PosteriorEntries(self.item, self.label, self.p, self.rest)

    def own_probabilities(self) -> Floats:
        return self.p[self.entry]

    def confusion(self) -> None:
        return None


def _normalize(values: Floats) -> Floats:
    total = float(values.sum())
    return values / total if total > 0.0 else values


def _accuracies(table: VoteTable, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the expected accuracy of each expert and the ends of its interval.

    The interval is Wilson's. Its sample size is the number of votes times the share of the information that
    is left if the truth is only known with some probability (Louis's formula).
    """
    n = table.votes_per_expert.astype(np.float64)
    votes = np.maximum(n, 1.0)
    total = np.bincount(table.expert, own, minlength=len(n))
    mean = np.clip(total / votes, 0.0, 1.0)
    square = np.bincount(table.expert, (own - mean[table.expert]) ** 2, minlength=len(n))
    size = votes * np.clip((square + 1.0) / (votes * mean * (1.0 - mean) + 1.0), 0.0, 1.0)
    low, high = wilson_interval(mean, size)
    for values in (mean, low, high):
        values[n == 0.0] = np.nan
    return mean, low, high
