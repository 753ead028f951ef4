"""Replay consultations on recorded votes: what they cost, how accurate they are, and what else costs less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.fusion import Fusion
from linmax.fusion.consult.paths import consultation_paths
from linmax.fusion.consult.record import Consultations, Way
from linmax.inputs.names import to_label
from linmax.kernels.forms import Hard, Sparse
from linmax.streams import Chunk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RISKS = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1)
"""The risks of a cost-accuracy curve."""


class Strategy(NamedTuple):
    """A way to ask experts, and how it did on some items.

    Attributes
    ----------
    name : str
        Such as "consult, risk 0.01".
    asked : float
        The mean number of experts asked per item.
    cost : float
        The mean price per item.
    accuracy : float
        The share of items with a label that were predicted right; NaN without labels.
    changed : float
        The share of predictions that differ from those of the full panel; NaN if it is no consultation.
    """

    name: str
    asked: float
    cost: float
    accuracy: float
    changed: float = float("nan")


class Replay(NamedTuple):
    """The consultations of some items, and other strategies on the same items.

    Attributes
    ----------
    items, labelled : int
        The number of items, and of those with a label.
    exact : bool
        Whether risk 0 saves anything.
    everybody : Strategy
        The full panel.
    consultations : list of Strategy
        Risk 0 and others, in ascending order, on the items that were not asked in full.
    in_full : int
        How many items were drawn to be asked in full.
    fallback : list of str
        For each of them, why it behaved as with risk 0 in the end; empty if it did not.
    others : list of Strategy
        The best single expert, the cascade and, by the number of experts, the plurality of the cheapest.
    subsets : list of Strategy
        The best fixed subsets of each size, found step by step in hindsight; empty if they were not searched.
    """

    items: int
    labelled: int
    exact: bool
    everybody: Strategy
    consultations: list[Strategy]
    in_full: int
    fallback: list[str]
    others: list[Strategy]
    subsets: list[Strategy]


def replay_consultations(
    fusion: Fusion,
    votes: Ints,
    labels: Ints,
    *,
    available: NDArray[np.bool_] | None = None,
    prices: Floats | None = None,
    risks: Sequence[float] = RISKS,
    confidence: float = 0.95,
    batch: int = 1,
    subsets: bool = False,
) -> Replay:
    """Replay consultations of items with recorded votes; the session does not learn.

    Items are drawn to be asked in full as `Fusion.consult` draws them, and calibrate the risk. The strategies
    are compared on the other items.

    Parameters
    ----------
    fusion : Fusion
        The session.
    votes : ndarray of int, shape (n_items, n_experts)
        The code of the class that each expert of the session votes for; -1 abstains.
    labels : ndarray of int, shape (n_items,)
        The codes of the labels; -1 if there is none.
    available : ndarray of bool, shape (n_items, n_experts), optional
        Which experts can be asked; all, unless it is given.
    prices : ndarray of shape (n_experts,), optional
        What it costs to ask each expert; 1, unless it is given.
    risks : sequence of float
        The largest share of predictions that may differ from those of the full panel.
    confidence : float
        The probability with which that holds.
    batch : int
        How many experts are asked at a time.
    subsets : bool
        Whether fixed subsets are searched, too, which takes long for many experts.

    Returns
    -------
    replay : Replay

    Examples
    --------
    >>> from linmax import Averaged, Fusion, Perceptron
    >>> from linmax.problems import majority
    >>> votes, labels = majority(4000, relevant=3, experts=9, classes=3)
    >>> fusion = Fusion(Averaged(Perceptron(start="equal")), experts=range(9), classes=range(3))
    >>> run = fusion.learn(votes[:2000], labels[:2000])
    >>> found = replay_consultations(fusion, votes[2000:], labels[2000:], risks=[0.0])
    >>> for one in (found.everybody, *found.consultations, *found.others[:2]):
    ...     print(f"{one.name}: {one.asked:.1f} asked, {one.accuracy:.3f} right")
    everybody: 9.0 asked, 1.000 right
    consult, risk 0: 2.6 asked, 1.000 right
    best single expert (2): 1.0 asked, 0.645 right
    cascade: 2.9 asked, 0.845 right
    """
    n = votes.shape[1]
    prices = np.ones(n) if prices is None else np.asarray(prices, dtype=np.float64)
    available = np.ones(votes.shape, dtype=bool) if available is None else available
    paths = consultation_paths(fusion, votes, available, prices, batch)
    if paths is None:
        raise ValueError(
            f"consultations of {fusion.learner} cannot be replayed; take a learner that reads votes alone"
        )
    drawn, critical, costs = _drawn(fusion, len(votes)), paths.critical(), paths.costs(prices)
    kept = ~drawn if not drawn.all() else np.ones(len(votes), dtype=bool)
    known = kept & (labels >= 0)

    def strategy(name: str, asked: Any, cost: Any, guesses: Ints, changed: bool = True) -> Strategy:
        right = float((guesses[known] == labels[known]).mean()) if known.any() else float("nan")
        share = float((guesses[kept] != paths.final[kept]).mean()) if changed else float("nan")
        return Strategy(name, float(asked[kept].mean()), float(cost[kept].mean()), right, share)

    rows = np.arange(len(votes))
    found, fallback = [], []
    for risk in sorted(set(risks)):
        way = Way(risk, confidence)
        thresholds, note = _thresholds(fusion, drawn, critical, way, prices, batch)
        stops = paths.stops(thresholds)
        fallback.append(note)
        found.append(strategy(f"consult, risk {risk:g}", stops, costs[rows, stops], paths.predictions(stops)))
    whole = strategy("everybody", paths.available, costs[:, -1], paths.final)
    exact = bool((paths.settled < paths.available).any())
    others = [
        strategy(name, asked, cost, guesses, False)
        for name, asked, cost, guesses in _others(fusion, votes, available, prices, labels, known)
    ]
    return Replay(
        int(kept.sum()), int(known.sum()), exact, whole, found, int(drawn.sum()), fallback, others,
        _subsets(fusion, votes, available, prices, strategy, labels, known) if subsets else [],
    )  # fmt: skip


def recorded_votes(fusion: Fusion, chunk: Chunk) -> tuple[Ints, NDArray[np.bool_], Ints]:
    """Return the votes of a chunk by the experts of a session, which of them can be asked, and the labels.

    In a table with a column per expert, an empty cell is an abstention; in a list of votes, experts without a
    vote cannot be asked.

    Parameters
    ----------
    fusion : Fusion
        The session.
    chunk : Chunk
        The items.
    """
    batch = fusion.read(chunk.votes, new_experts="ignore")
    n, k = len(fusion.experts), len(fusion.classes)
    votes = np.full((chunk.items, n), -1, dtype=np.int64)
    if isinstance(batch.votes, Hard):
        votes[:, : batch.votes.codes.shape[1]] = batch.votes.codes[:, :n]
    elif isinstance(batch.votes, Sparse) and bool((batch.votes.value == 1.0).all()):
        item = np.repeat(np.arange(chunk.items), np.diff(batch.votes.indptr))
        votes[item, batch.votes.expert] = batch.votes.label
    else:
        raise ValueError("consultations are replayed with labels, and these are scores")
    votes[votes >= k] = -1  # classes that the session does not know
    available = votes >= 0
    if hasattr(chunk.votes, "column_names"):  # an Arrow table
        available[:] = [name in set(chunk.votes.column_names) for name in fusion.experts]
    labels = np.full(chunk.items, -1, dtype=np.int64)
    if chunk.labels is not None:
        labels[:] = [
            -1 if label is None else fusion.names.classes.get(to_label(label, "labels"))
            for label in chunk.labels.tolist()
        ]
    return votes, available, labels


def _drawn(fusion: Fusion, items: int) -> NDArray[np.bool_]:
    """Return which items are asked in full."""
    record = Consultations()
    record.count, record.exploration = fusion.consultations.count, fusion.exploration
    return record.draw_many(fusion.seed, items)


def _thresholds(
    fusion: Fusion, drawn: NDArray[np.bool_], critical: Floats, way: Way, prices: Floats, batch: int
) -> tuple[Floats, str]:
    """Return the threshold of each item, which changes with the items asked in full; infinite: settled."""
    thresholds = np.full(len(drawn), np.inf)
    if way.risk == 0.0:
        return thresholds, ""
    record, before = Consultations(), fusion.consultations
    rows = [row for row in before.rows if row is not None]
    refreshed = fusion._critical_distances(prices, batch, rows) if rows else None
    for value in [] if refreshed is None else refreshed.tolist():
        record.record(value)
    full = np.flatnonzero(drawn)
    note = ""
    for begin, end in zip([0, *(full + 1)], [*full, len(drawn)], strict=True):
        limit, note = record.threshold(way)
        thresholds[begin : end + 1] = np.inf if limit is None else limit
        if end < len(drawn):
            record.record(float(critical[end]))
    return thresholds, note


def _others(
    fusion: Fusion,
    votes: Ints,
    available: NDArray[np.bool_],
    prices: Floats,
    labels: Ints,
    known: NDArray[np.bool_],
) -> list[tuple[str, Any, Any, Ints]]:
    """Return the name, the experts asked, the cost and the predictions of strategies without weights."""
    items, n = votes.shape
    names, k = fusion.experts, max(1, len(fusion.classes))
    voted = np.where(available, votes, -1)
    right = ((voted == labels[:, None]) & known[:, None]).sum(axis=0)
    best = int(right.argmax())
    found = [
        (
            f"best single expert ({names[best]})",
            available[:, best],
            available[:, best] * prices[best],
            voted[:, best],
        )
    ]
    order, rows = np.argsort(prices, kind="stable"), np.arange(items)
    counts, first = np.zeros((items, k)), np.full((items, k), n)
    asked, cost, open_items = np.zeros(items), np.zeros(items), np.ones(items, dtype=bool)
    agreed = np.full(items, -1)
    plurality, number, spent = [], np.zeros(items), np.zeros(items)
    for m, i in enumerate(order.tolist()):
        number += available[:, i]
        spent += available[:, i] * prices[i]
        asked[open_items] = number[open_items]
        cost[open_items] = spent[open_items]
        votes_now = voted[:, i] >= 0
        at = rows[votes_now], voted[votes_now, i]
        counts[at] += 1
        first[at] = np.minimum(first[at], m)
        leader = (counts - first / (n + 1)).argmax(axis=1)  # ties go to the class that was named first
        plurality.append(
            (
                f"plurality of the cheapest {m + 1}",
                number.copy(),
                spent.copy(),
                np.where(counts.any(axis=1), leader, -1),
            )
        )
        agree = open_items & (counts.max(axis=1) >= 2)
        agreed[agree] = leader[agree]
        open_items = open_items & ~agree
    agreed[open_items] = plurality[-1][3][open_items]
    return [*found, ("cascade", asked, cost, agreed), *plurality]


def _subsets(
    fusion: Fusion,
    votes: Ints,
    available: NDArray[np.bool_],
    prices: Floats,
    strategy: Any,
    labels: Ints,
    known: NDArray[np.bool_],
) -> list[Strategy]:
    """Return fixed subsets of every size, found by adding the expert that makes most predictions right."""
    n = votes.shape[1]
    chosen: list[int] = []
    found = []
    while len(chosen) < n:
        tried = []
        for i in range(n):
            if i not in chosen:
                guesses = _predict_subset(fusion, votes, [*chosen, i])
                tried.append((int((guesses[known] == labels[known]).sum()), -i, guesses))
        _, i, guesses = max(tried, key=lambda one: one[:2])
        chosen.append(-i)
        there = available[:, chosen]
        name = f"best fixed {len(chosen)} in hindsight"
        found.append(strategy(name, there.sum(axis=1), there @ prices[chosen], guesses))
    return found


def _predict_subset(fusion: Fusion, votes: Ints, chosen: list[int]) -> Ints:
    """Return what the session predicts from the votes of some experts."""
    given = np.full(votes.shape, -1)
    given[:, chosen] = votes[:, chosen]
    labels = np.array([*fusion.classes, None], dtype=object)
    codes = fusion.predict_batch(fusion.read(labels[given])).codes
    return codes.astype(np.int64)


__all__ = ["RISKS", "Replay", "Strategy", "recorded_votes", "replay_consultations"]
