"""Which items to label next."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

import numpy as np

from linmax.evaluate.without_labels.dawid_skene_em import DawidSkene, dawid_skene
from linmax.validation import check_integer

UNCERTAIN: Final = "uncertain"
RANDOM: Final = "random"
RANDOM_REASON = "random: to measure accuracies"
LEAST_ENTROPY = 0.01
"""Items with less, in bits, are not uncertain unless experts differ."""


class NextItem(NamedTuple):
    """An item to label.

    Attributes
    ----------
    item : int
        Its index, counted from 0.
    kind : {"uncertain", "random"}
        Whether it was chosen because its class is uncertain, or at random.
    prediction : object
        The estimated class.
    probability : float
        The estimated probability of this class.
    votes : int
        The number of votes on it.
    reason : str
        Why to label it, in a few words.
    """

    item: int
    kind: Literal["uncertain", "random"]
    prediction: Any
    probability: float
    votes: int
    reason: str


def next_to_label(votes: Any, *, uncertain: int = 10, random: int = 10, seed: int = 0) -> list[NextItem]:
    """Choose items to label next.

    Labels of uncertain items, those with the largest entropy of the estimated class, improve a learner the
    most; of equally uncertain ones (to 0.01 bits) those on which more experts differ from the estimated
    class, then those with more votes, whose label says something about more experts. An accuracy must not be
    measured on them: for that there are random items.

    Parameters
    ----------
    votes : DawidSkene, Triplets, array, data frame, list of dicts, VoteTable or Batch
        An estimate, or votes from which it is made.
    uncertain, random : int, default 10
        How many items of each kind; random ones are chosen among all items with votes.
    seed : int, default 0
        Seed of the random choice.

    Returns
    -------
    items : list of NextItem
        The uncertain items, the most uncertain first, then the random ones. No item is in it twice.

    Examples
    --------
    >>> votes = [["a", "a", "a"], ["a", "b", None], ["b", "b", "b"], ["b", "b", "a"]] * 5
    >>> first, *others = next_to_label(votes, uncertain=1, random=2)
    >>> first.item, first.kind, first.votes, first.reason
    (1, 'uncertain', 2, 'uncertain: 1 of 2 votes agree, 0.98 bits')
    >>> [one.kind for one in others]
    ['random', 'random']
    """
    check_integer("next_to_label", "uncertain", uncertain, 0)
    check_integer("next_to_label", "random", random, 0)
    fit = votes if isinstance(votes, DawidSkene) else dawid_skene(votes)
    counts, entropy = fit.table.votes_per_item, fit.entropy
    voted = np.flatnonzero(counts)
    # drawn among all items, and before the others, so that it is a fair sample
    drawn = np.random.default_rng(seed).choice(voted, min(random, len(voted)), replace=False)
    rest = np.setdiff1d(voted, drawn)
    agree = np.bincount(
        fit.table.item, fit.table.label == fit.prediction_codes[fit.table.item], minlength=fit.table.items
    ).astype(np.int64)
    rest = rest[(entropy[rest] >= LEAST_ENTROPY) | (agree[rest] < counts[rest])]
    split = agree[rest] / counts[rest]
    order = rest[np.lexsort((rest, -counts[rest], split, -entropy[rest].round(2)))][:uncertain]
    predictions, confidence = fit.predictions, fit.confidence

    def chosen(i: int, kind: Literal["uncertain", "random"], reason: str) -> NextItem:
        return NextItem(i, kind, predictions[i], float(confidence[i]), int(counts[i]), reason)

    def word(i: int) -> str:
        return "uncertain" if entropy[i] >= LEAST_ENTROPY else "divided"

    found = [
        chosen(i, UNCERTAIN, f"{word(i)}: {agree[i]} of {counts[i]} votes agree, {entropy[i]:.2f} bits")
        for i in order.tolist()
    ]
    return found + [chosen(i, RANDOM, RANDOM_REASON) for i in np.sort(drawn).tolist()]
