"""Measures of single experts: how much each contributes to the truth, and what is lost without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax import inputs
from linmax.evaluate.audit.sample import SampleRows
from linmax.evaluate.progressive import voted_classes
from linmax.evaluate.significance import Gain, gain
from linmax.experts.base import split_key
from linmax.fusion import Fusion
from linmax.inputs import Batch, Dense, Hard, Sparse
from linmax.runtime.predictor import Predictor

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

WEIGHT_CELLS = 1 << 25
"""The largest number of entries in a table of vote weights."""
ABLATION_TRIALS = 40_000
"""The number of trials of all ablation runs together."""
MIN_ABLATION_ITEMS = 50
"""With fewer items, ablation runs say nothing and are skipped."""


class Trust(NamedTuple):
    """What a session makes of an expert, measured on labelled items.

    Attributes
    ----------
    expert : object
        The name of the expert.
    accuracy : float
        The fraction of its votes that are correct.
    vote_rate : float
        The fraction of the items on which it votes.
    contribution : float
        How far its votes raise the score of the truth above the mean score of all classes, per item.
    mapping : dict
        For each class that it votes for, the class that such a vote supports most.
    """

    expert: Any
    accuracy: float
    vote_rate: float
    contribution: float
    mapping: dict[Any, Any]


def trust(fusion: Fusion, votes: Any, labels: Any) -> list[Trust]:
    """Measure with the present weights how much each expert contributes to the truth.

    Parameters
    ----------
    fusion : Fusion
        The session; it learns nothing.
    votes, labels
        Items as for `Fusion.learn`; those without a label are ignored.

    Returns
    -------
    experts : list of Trust
        All experts, the largest contribution first.

    Examples
    --------
    >>> from linmax import Fusion, Perceptron
    >>> from linmax.experts import PerClass, Votes
    >>> from linmax.evaluate import trust
    >>> votes = [["yes", "no"], ["no", "no"], ["yes", "no"], ["no", "no"]]  # ann votes for the opposite
    >>> labels = ["no", "yes", "no", "yes"]
    >>> fusion = Fusion(Perceptron().on(Votes() + PerClass()), experts=["ann", "bob"])
    >>> run = fusion.learn(votes, labels, passes=3)
    >>> first, second = trust(fusion, votes, labels)
    >>> first.expert, first.accuracy, first.mapping
    ('ann', 0.0, {'yes': 'no', 'no': 'yes'})
    >>> second.expert, second.contribution
    ('bob', 0.0)
    """
    batch = inputs.read(
        votes, labels, None, fusion.names,
        needs=frozenset({"votes"}), on_new_class="ignore", abstain=fusion.abstain,
    )  # fmt: skip
    labelled = batch.labels >= 0
    return trust_of_codes(fusion, voted_classes(batch)[labelled], batch.labels[labelled])


def trust_of_codes(fusion: Fusion, votes: Codes, truth: Codes) -> list[Trust]:
    """Measure trust on votes and labels that are class codes.

    Parameters
    ----------
    fusion : Fusion
        The session.
    votes : ndarray of shape (n_items, n_experts)
        The class that each expert votes for; -1 is an abstention.
    truth : ndarray of shape (n_items,)
        The labels.

    Returns
    -------
    experts : list of Trust
        All experts, the largest contribution first.
    """
    found = []
    weights, classes = vote_weights(fusion), fusion.classes
    own = np.zeros(0) if len(weights) else own_weights(fusion)
    for i, expert in enumerate(fusion.experts[: votes.shape[1]]):
        voted = votes[:, i] >= 0
        choices, labels = votes[voted, i], truth[voted]
        contribution, mapping = 0.0, {}
        if len(weights):
            contribution = _contribution(weights[i], choices, labels, len(votes))
            mapping = {classes[a]: classes[int(weights[i][a].argmax())] for a in np.unique(choices)}
        elif len(own):
            lead = own[i] * ((choices == labels) - 1.0 / len(classes))
            contribution = float(lead.sum()) / max(len(votes), 1)
            mapping = {classes[a]: classes[a] for a in np.unique(choices)}
        found.append(
            Trust(
                expert,
                float((choices == labels).mean()) if len(choices) else 0.0,
                float(voted.mean()) if len(voted) else 0.0,
                contribution,
                mapping,
            )
        )
    return sorted(found, key=lambda one: -one.contribution)


def agreement_table(votes: Codes, most: int) -> tuple[list[int], list[list[float | None]]]:
    """Return the experts with the most votes, and how often each two of them vote for the same class.

    Parameters
    ----------
    votes : ndarray of shape (n_items, n_experts)
        The class that each expert votes for; -1 is an abstention.
    most : int
        The number of experts.

    Returns
    -------
    experts : list of int
        Their columns in `votes`.
    table : list of list
        The share of the items with votes of both; None if there are none.

    Examples
    --------
    >>> agreement_table(np.array([[0, 0, -1], [1, 0, -1]], np.int32), 2)
    ([0, 1], [[1.0, 0.5], [0.5, 1.0]])
    """
    voted = np.count_nonzero(votes >= 0, axis=0)
    shown = np.sort(np.argsort(-voted, kind="stable")[:most])
    chosen = np.ascontiguousarray(votes[:, shown].T)
    present = chosen >= 0
    table: list[list[float | None]] = []
    for own, own_present in zip(chosen, present, strict=True):
        same = np.count_nonzero((own == chosen) & own_present, axis=1)
        together = np.count_nonzero(own_present & present, axis=1)
        table.append([float(s / t) if t else None for s, t in zip(same, together, strict=True)])
    return shown.tolist(), table


def expert_contributions(weights: Floats, votes: Codes, truth: Codes) -> list[float]:
    """Return how far each expert raises the score of the truth above the mean score of all classes, per item.

    Parameters
    ----------
    weights : ndarray of shape (n_experts, n_classes, n_classes)
        What `vote_weights` has returned.
    votes : ndarray of shape (n_items, n_experts)
        The class that each expert votes for; -1 is an abstention.
    truth : ndarray of shape (n_items,)
        The labels.
    """
    found = []
    for i, table in enumerate(weights[: votes.shape[1]]):
        voted = votes[:, i] >= 0
        found.append(_contribution(table, votes[voted, i], truth[voted], len(votes)))
    return found


def _contribution(weights: Floats, choices: Codes, truth: Codes, items: int) -> float:
    lead = weights[choices, truth] - weights.mean(axis=1)[choices]
    return float(lead.sum()) / max(items, 1)


def vote_weights(fusion: Fusion) -> Floats:
    """Return what a vote of expert i for class a adds to the score of class c, at index [i, a, c].

    The entries are sums of the expert's own weight and its weights per class. Where an ensemble adds up the
    scores of its members, their weights are added up in the same shares.

    Parameters
    ----------
    fusion : Fusion
        The session.

    Returns
    -------
    weights : ndarray of shape (n_experts, n_classes, n_classes)
        The weights; without experts if there are so many classes that the table would not fit into memory.
    """
    experts = {expert: i for i, expert in enumerate(fusion.experts)}
    codes = {label: c for c, label in enumerate(fusion.classes)}
    k = len(codes)
    if len(experts) * k * k > WEIGHT_CELLS:
        return np.zeros((0, k, k))
    table = np.zeros((len(experts), k, k))
    for key, weight in _shared_weights(fusion):
        match key:
            case (expert,) if expert in experts:
                table[experts[expert]] += weight * np.eye(k)
            case (expert, vote) if expert in experts and vote in codes:
                table[experts[expert], codes[vote], codes[vote]] += weight
            case (expert, vote, label) if expert in experts and vote in codes and label in codes:
                table[experts[expert], codes[vote], codes[label]] += weight
    return table


def own_weights(fusion: Fusion) -> Floats:
    """Return the weight of each expert, where a vote adds it to the class that is voted for and to no other.

    Parameters
    ----------
    fusion : Fusion
        The session.

    Returns
    -------
    weights : ndarray of shape (n_experts,)
        The weights; empty if the learner has weights per class.
    """
    experts = {expert: i for i, expert in enumerate(fusion.experts)}
    found = np.zeros(len(experts))
    for key, weight in _shared_weights(fusion):
        match key:
            case (expert,) if expert in experts:
                found[experts[expert]] += weight
            case (expert, *_) if expert in experts:
                return np.zeros(0)
    return found


def _shared_weights(fusion: Fusion) -> Iterator[tuple[tuple[Any, ...] | None, float]]:
    """Yield the keys of all weights, as `split_key` returns them, and the weights times their shares."""
    shares: dict[Predictor, float] = {}
    _add_shares(fusion.runner.predictor, 1.0, shares)
    for predictor, share in shares.items():
        for key, weight in predictor.weights().items():
            yield split_key(key), share * weight


def _add_shares(predictor: Predictor, share: float, shares: dict[Predictor, float]) -> None:
    """Collect the predictors whose scores are added up, with the share of each."""
    if predictor.combines_scores:
        for member, part in predictor.shares():
            _add_shares(member, share * part, shares)
    else:
        shares[predictor] = shares.get(predictor, 0.0) + share


class Ablation(NamedTuple):
    """The accuracy of linmax without one expert.

    Attributes
    ----------
    expert : object
        The name of the expert.
    accuracy : float
        The accuracy without it.
    accuracy_drop : float
        The accuracy with all experts minus `accuracy`; negative if linmax is better without the expert.
    loss : Gain
        The same difference with its interval, paired by item.
    """

    expert: Any
    accuracy: float
    accuracy_drop: float
    loss: Gain


def ablate_each(
    fusion: Fusion,
    rows: SampleRows,
    *,
    trials: int = ABLATION_TRIALS,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[int, list[Ablation]]:
    """Measure the accuracy that is lost without each expert.

    A new session of the same learner learns the first rows with all experts, and then once without each of
    them.

    Parameters
    ----------
    fusion : Fusion
        The session whose learner, classes and experts are used; it learns nothing.
    rows : SampleRows
        Labelled rows.
    trials : int
        The number of trials of all runs together: with many experts, each run has fewer rows.
    on_progress : callable
        Called before each run with the number of runs done and of all runs.

    Returns
    -------
    items : int
        The number of rows of each run; 0 if there are too few rows or experts.
    ablations : list of Ablation
        All experts, the largest drop of the accuracy first.

    Examples
    --------
    >>> import io
    >>> from linmax import Winnow
    >>> from linmax.evaluate.audit.audit import Audit
    >>> from linmax.streams import open_stream
    >>> text = b"ann,bob,eve,truth\\n" + b"a,b,a,b\\nb,a,b,a\\na,a,b,a\\nb,b,a,b\\n" * 30
    >>> fusion, audit = Fusion(Winnow(1.5)), Audit()
    >>> for chunk in open_stream(io.BytesIO(text), label="truth"):
    ...     learned = audit.learn(fusion, chunk)
    >>> items, ablations = ablate_each(fusion, audit.sample.rows())
    >>> items, ablations[0].expert, ablations[0].accuracy_drop > 0.3
    (120, 'bob', True)
    """
    experts = fusion.experts
    items = min(len(rows.row), trials // (len(experts) + 1))
    if items < MIN_ABLATION_ITEMS or len(experts) < 2:
        return 0, []
    chunk, labels = rows.chunk.slice(0, items), decode_labels(fusion, rows.truth[:items])
    session = _fresh_session(fusion)
    batch = session.read(chunk.votes, labels, attributes=chunk.attributes)
    if batch.votes is None:
        return 0, []
    correct = _learn(session, replace(batch))  # a batch is learned once: it adds its names
    found = []
    for i, expert in enumerate(experts):
        on_progress(i, len(experts))
        without = _learn(_fresh_session(fusion), replace(batch, votes=drop_expert(batch.votes, i)))
        loss = gain(items, int((correct & ~without).sum()), int((without & ~correct).sum()))
        found.append(Ablation(expert, float(without.mean()), float(correct.mean() - without.mean()), loss))
    return items, sorted(found, key=lambda one: -one.accuracy_drop)


def _fresh_session(fusion: Fusion) -> Fusion:
    """Return a new session that knows all classes and experts from the start."""
    return Fusion(
        fusion.learner,
        classes=fusion.classes,
        experts=fusion.experts,
        abstain=fusion.abstain,
        seed=fusion.seed,
    )


def _learn(fusion: Fusion, batch: Batch) -> NDArray[np.bool_]:
    """Learn a batch, and return which predictions were correct."""
    correct: NDArray[np.bool_] = fusion.learn_batch(batch).codes == batch.labels
    return correct


def drop_expert(votes: Hard | Dense | Sparse, i: int) -> Hard | Dense | Sparse:
    """Return a copy of the votes in which expert i abstains.

    Parameters
    ----------
    votes : Hard, Dense or Sparse
        The votes.
    i : int
        The index of the expert.

    Examples
    --------
    >>> drop_expert(Hard(np.array([[0, 1], [1, 1]], np.int32)), 1).codes.tolist()
    [[0, -1], [1, -1]]
    """
    if isinstance(votes, Hard):
        codes = votes.codes.copy()
        codes[:, i : i + 1] = -1
        return Hard(codes)
    if isinstance(votes, Dense):
        values = votes.values.copy()
        values[:, i : i + 1] = 0.0
        return Dense(values)
    others = votes.expert != i
    trial = np.repeat(np.arange(len(votes.indptr) - 1), np.diff(votes.indptr))[others]
    starts = np.searchsorted(trial, np.arange(len(votes.indptr)))
    return Sparse(starts, votes.expert[others], votes.label[others], votes.value[others])


def decode_labels(fusion: Fusion, codes: Codes) -> NDArray[Any]:
    """Return the labels of class codes; -1 becomes None.

    Parameters
    ----------
    fusion : Fusion
        The session that knows the classes.
    codes : ndarray of shape (n_items,)
        The class codes.
    """
    return np.array([*fusion.classes, None], object)[codes]
