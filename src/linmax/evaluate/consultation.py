"""Replay consultations on recorded votes: what they cost, how accurate they are, and what else costs less."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.evaluate.recorded_votes import recorded_votes
from linmax.fusion import Fusion
from linmax.fusion.consult.arguments import check_risk
from linmax.fusion.consult.paths import consultation_paths, critical_distances, hard_votes, predict_codes
from linmax.fusion.consult.record import Consultations, Way
from linmax.kernels.forms import Dense

if TYPE_CHECKING:  # reading files needs pyarrow
    from linmax.streams import Chunk

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RISKS = (0.0, 0.002, 0.01, 0.02, 0.05, 0.1)
"""The risks of a cost-accuracy curve."""
MIN_SAMPLE, MAX_SAMPLE, SAMPLE_CELLS = 200, 5000, 5_000_000
"""Items of `replay_sample`: the fewest, the most, and in between so many by the square of the experts."""
MAX_EXPERTS = 300
"""With more experts, `replay_sample` would take too long."""


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
    priced : bool
        Whether experts have prices; else each costs 1.
    exact : bool
        Whether predictions can be proved to be settled before all experts are asked.
    limit : str
        Why not; empty if they can.
    everybody : Strategy
        The full panel.
    consultations : list of Strategy
        Risk 0 and others, in ascending order, on the items that were not asked in full.
    in_full, left_out : int
        How many items were drawn to be asked in full, and how many of them are not compared: all, unless
        there are no others.
    fallback : list of str
        For each of them, why it behaved as with risk 0 in the end; empty if it did not.
    others : list of Strategy
        The best single expert, the cascade and, by the number of experts, the plurality of the cheapest.
    subsets : list of Strategy
        The best fixed subsets of each size, found step by step in hindsight; empty if they were not searched.
    """

    items: int
    labelled: int
    priced: bool
    exact: bool
    limit: str
    everybody: Strategy
    consultations: list[Strategy]
    in_full: int
    left_out: int
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
    scores: Floats | None = None,
    attributes: Any = None,
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
    scores : ndarray of shape (n_items, n_experts, n_classes), optional
        The scores that experts answer with, in a range that is that of all of them; `votes` are then used by
        strategies that count votes.
    attributes : optional
        The attributes of all items, as for `Fusion.predict`.

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
    n, priced = votes.shape[1], prices is not None
    prices = np.ones(n) if prices is None else np.asarray(prices, dtype=np.float64)
    available = np.ones(votes.shape, dtype=bool) if available is None else available
    for risk in risks:
        check_risk(risk, confidence)
    paths = consultation_paths(fusion, votes, available, prices, batch, attributes=attributes, scores=scores)
    if paths is None:
        raise ValueError(
            f"consultations of {fusion.learner} cannot be replayed: nothing is known on what votes add"
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
    others = [
        strategy(name, asked, cost, guesses, False)
        for name, asked, cost, guesses in _others(fusion, votes, available, prices, labels, known)
    ]

    def predict(chosen: list[int]) -> Ints:
        some = np.isin(np.arange(n), chosen)
        given = hard_votes(np.where(some, votes, -1)) if scores is None else Dense(scores * some[:, None])
        return predict_codes(fusion, given, attributes).astype(np.int64)

    return Replay(
        int(kept.sum()), int(known.sum()), priced, not paths.limit, paths.limit, whole, found,
        int(drawn.sum()), int((~kept).sum()), fallback, others,
        _subsets(predict, available, prices, strategy, labels, known) if subsets else [],
    )  # fmt: skip


def replay_sample(fusion: Fusion, chunk: Chunk, prices: Mapping[Any, float]) -> Replay | None:
    """Replay consultations on the last items of a chunk, in the present state.

    Parameters
    ----------
    fusion : Fusion
        The session.
    chunk : Chunk
        The items.
    prices : mapping
        What it costs to ask experts, by name; without a price of each of them, all cost 1.

    Returns
    -------
    replay : Replay or None
        None if there are no experts to ask, or too many.
    """
    n = len(fusion.experts)
    if "votes" not in fusion.needs or not 1 < n <= MAX_EXPERTS or not fusion.classes:
        return None
    rows = int(np.clip(SAMPLE_CELLS // (n * n), MIN_SAMPLE, MAX_SAMPLE))
    items = recorded_votes(fusion, chunk.slice(max(0, chunk.items - rows), chunk.items))
    found = [prices.get(name, prices.get(str(name))) for name in fusion.experts]
    listed = None if None in found else np.array(found, dtype=np.float64)
    try:
        return replay_consultations(
            fusion, items.votes, items.labels, available=items.available, prices=listed, scores=items.scores,
            attributes=items.attributes,
        )  # fmt: skip
    except ValueError:  # nothing is known on what votes add
        return None


def _drawn(fusion: Fusion, items: int) -> NDArray[np.bool_]:
    """Return which items are asked in full."""
    before, record = fusion.consultations, Consultations()
    record.count, record.since, record.exploration = before.count, before.since, fusion.exploration
    return record.draw_many(fusion.seed, items)


def _thresholds(
    fusion: Fusion, drawn: NDArray[np.bool_], critical: Floats, way: Way, prices: Floats, batch: int
) -> tuple[Floats, str]:
    """Return the threshold of each item, which changes with the items asked in full; infinite: settled."""
    thresholds = np.full(len(drawn), np.inf)
    if way.risk == 0.0:
        return thresholds, ""
    record, before = Consultations(), fusion.consultations
    later = max(0, before.first - (before.in_full - len(before.rows)))  # than the last alarm of drift
    rows = [row for row in before.rows[later:] if row is not None]
    refreshed = critical_distances(fusion, prices, batch, rows) if rows else None
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
    order = order[available[:, order].any(axis=0)] if available.any() else order[:1]
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
    predict: Callable[[list[int]], Ints],
    available: NDArray[np.bool_],
    prices: Floats,
    strategy: Any,
    labels: Ints,
    known: NDArray[np.bool_],
) -> list[Strategy]:
    """Return fixed subsets of every size, found by adding the expert that makes most predictions right."""
    chosen: list[int] = []
    found = []
    while len(chosen) < len(prices):
        tried = []
        for i in range(len(prices)):
            if i not in chosen:
                guesses = predict([*chosen, i])
                tried.append((int((guesses[known] == labels[known]).sum()), -i, guesses))
        _, i, guesses = max(tried, key=lambda one: one[:2])
        chosen.append(-i)
        there = available[:, chosen]
        name = f"best fixed {len(chosen)} in hindsight"
        found.append(strategy(name, there.sum(axis=1), there @ prices[chosen], guesses))
    return found
