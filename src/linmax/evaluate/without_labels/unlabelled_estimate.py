"""`estimate`: what the votes of a panel say about its accuracy while there are no labels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from linmax.evaluate.findings.findings import to_json
from linmax.evaluate.without_labels.agreement import Alpha, krippendorff_alpha
from linmax.evaluate.without_labels.dawid_skene_em import ONE_COIN, DawidSkene, dawid_skene
from linmax.evaluate.without_labels.dependence import copied_experts, dispersion
from linmax.evaluate.without_labels.estimate_warnings import (
    DEPENDENT,
    FEWEST_ITEMS,
    FEWEST_VOTES,
    warnings_before,
)
from linmax.evaluate.without_labels.next_items import RANDOM, RANDOM_REASON, NextItem, next_to_label
from linmax.evaluate.without_labels.vote_table import Codes, VoteTable, vote_table
from linmax.validation import DataWarning

ASSUMPTION = (
    "The estimate assumes that the errors of different experts are independent given the true class, and that"
    " most experts are better than chance. The votes alone cannot prove either."
)
TOO_HIGH = (
    "It tends to be too high: on 12 public panels with known labels it put the accuracy of the plurality"
    " between 4 points below and 31 points above the true one, in the median 8 points above."
)


class ExpertEstimate(NamedTuple):
    """The estimated accuracy of an expert.

    Attributes
    ----------
    name : object
        The expert.
    votes : int
        The number of its votes.
    accuracy, low, high : float or None
        The estimated share of its votes that are correct, with an approximate 95 % interval; None if no
        estimate can be given, or there are fewer than 10 votes.
    copy_of : object
        The expert whose votes are nearly identical and that was counted instead; None if there is none.
    """

    name: Any
    votes: int
    accuracy: float | None
    low: float | None
    high: float | None
    copy_of: Any = None


class ClassEstimate(NamedTuple):
    """The estimated share of a class.

    Attributes
    ----------
    name : object
        The class.
    vote_share : float
        Its share of the votes.
    share : float or None
        Its estimated share of the items; None if no estimate can be given.
    """

    name: Any
    vote_share: float
    share: float | None


class ItemToLabel(NamedTuple):
    """An item to label next.

    Attributes
    ----------
    item : int
        Its index, counted from 0.
    id : object
        Its id, None without ids.
    line : int or None
        Its line or row in the file.
    kind : {"uncertain", "random"}
        Whether it was chosen because its class is uncertain, or at random.
    prediction : object
        The estimated class; None if no estimate can be given.
    probability : float or None
        The estimated probability of this class.
    votes : int
        The number of votes on it.
    reason : str
        Why to label it.
    """

    item: int
    id: Any
    line: int | None
    kind: str
    prediction: Any
    probability: float | None
    votes: int
    reason: str


@dataclass(frozen=True)
class UnlabelledEstimate:
    """What votes say without labels. All accuracies and shares of classes in it are estimates.

    Attributes
    ----------
    file : str
        The name of the file, for the reports.
    items, items_with_votes, votes : int
        The number of items, of those with a vote, and of votes.
    experts : tuple of ExpertEstimate
        The experts, the most accurate first; without an estimate, the one with the most votes first.
    classes : tuple of ClassEstimate
        The classes.
    alpha : Alpha
        Krippendorff's alpha.
    plurality : float or None
        The estimated accuracy of the plurality of the votes (ties count 1/m); None if no estimate can be
        given.
    plurality_matches : float or None
        The share of the items on which the plurality is the estimated class.
    upper_limit : bool
        Whether the votes show that errors are not independent. Then estimated accuracies are upper limits.
    dispersion : float or None
        How much the number of correct votes varies between items, relative to independent errors.
    model, model_reason : str
        The model, "confusion" or "one-coin", and why it was used; empty without an estimate.
    converged : bool
        Whether the estimate converged.
    warnings : tuple of DataWarning
        What to know before reading a figure; grave ones first. With a grave one there is no estimate.
    next_items : tuple of ItemToLabel
        The items to label next.
    unit : str
        What their lines count, "line" or "row".
    """

    file: str
    items: int
    items_with_votes: int
    votes: int
    experts: tuple[ExpertEstimate, ...]
    classes: tuple[ClassEstimate, ...]
    alpha: Alpha
    plurality: float | None = None
    plurality_matches: float | None = None
    upper_limit: bool = False
    dispersion: float | None = None
    model: str = ""
    model_reason: str = ""
    converged: bool = False
    warnings: tuple[DataWarning, ...] = ()
    next_items: tuple[ItemToLabel, ...] = field(default=(), repr=False)
    unit: str = field(default="line", repr=False)

    @property
    def available(self) -> bool:
        """Whether classes could be estimated; with few items, accuracies are not."""
        return self.model != ""

    def as_json(self) -> dict[str, Any]:
        """Return all values as a dict that JSON can hold, with the assumption of the estimate.

        Examples
        --------
        >>> found = estimate([["a", "a"], ["a", "b"]]).as_json()
        >>> found["kind"], found["available"], found["plurality"], found["warnings"][0]["code"]
        ('estimate', False, None, 'few-experts')
        """
        values: dict[str, Any] = to_json({name: getattr(self, name) for name in self.__dataclass_fields__})
        values["alpha"]["reading"] = self.alpha.reading
        return {"kind": "estimate", "available": self.available, "assumption": ASSUMPTION, **values}


def estimate(
    panel: Any,
    *,
    ids: Any = None,
    file: str = "",
    unit: str = "line",
    level: str = "nominal",
    classes: Any = None,
    to_label: int = 5,
    seed: int = 0,
) -> UnlabelledEstimate:
    """Say what can be said about a panel without labels.

    Parameters
    ----------
    panel : Chunk, Triplets, array, data frame, list of dicts, VoteTable or Batch
        The votes, in any form that `vote_table` reads, or a chunk of a stream with all items.
    ids : sequence, optional
        The ids of the items. Default: those of the chunk.
    file : str, optional
        The name of the file, for the reports.
    unit : {"line", "row"}
        What the lines of a chunk count, for the reports.
    level : {"nominal", "ordinal", "interval"}
        The level of Krippendorff's alpha.
    classes : iterable, optional
        The classes. Votes for others are left out. Default: those that occur.
    to_label : int, default 5
        How many items to label next, of each kind.
    seed : int, default 0
        Seed of all samples.

    Returns
    -------
    estimate : UnlabelledEstimate
        Agreement, estimated accuracies, and items to label.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 1000)
    >>> wrong = (truth[:, None] + rng.integers(1, 3, (1000, 4))) % 3
    >>> votes = np.where(rng.random((1000, 4)) < [0.9, 0.8, 0.7, 0.6], truth[:, None], wrong)
    >>> found = estimate(votes)
    >>> [(one.name, round(one.accuracy, 2)) for one in found.experts]
    [(0, 0.92), (1, 0.78), (2, 0.71), (3, 0.6)]
    >>> round(found.plurality, 2), round(found.alpha.alpha, 2), found.upper_limit, found.warnings
    (0.91, 0.39, False, ())
    """
    lines = getattr(panel, "lines", None) if hasattr(panel, "vote_dicts") else None
    if lines is not None:
        ids = panel.ids if ids is None else ids
        panel = panel.votes
    table = vote_table(panel, classes=classes)
    alpha = krippendorff_alpha(table, level=level, seed=seed)
    original = copied_experts(table, seed=seed)
    copies = np.flatnonzero(original != np.arange(len(original)))
    counted = table.select(original[table.expert] == table.expert) if len(copies) else table
    warnings = warnings_before(table, counted, alpha, original)
    fit = None if any(one.severity == "grave" for one in warnings) else dawid_skene(counted)
    if fit is not None:
        warnings += _fit_warnings(fit, table)
        if any(one.severity == "grave" for one in warnings):
            fit = None
    enough = alpha.items >= FEWEST_ITEMS
    spread = dispersion(fit, seed=seed) if fit is not None and enough else None
    dependent = spread is not None and spread.dependent
    if dependent:
        warnings.insert(0, DEPENDENT)
    plurality = matches = None
    judged = fit if enough else None  # the estimate on which accuracies may be based
    if judged is not None:
        plurality, matches = _plurality(judged, table)
    warnings.sort(key=lambda one: one.severity != "grave")
    names = [None] * table.items if ids is None else ids
    return UnlabelledEstimate(
        file=file,
        items=table.items,
        items_with_votes=int((table.votes_per_item > 0).sum()),
        votes=table.votes,
        experts=_experts(table, judged, original),
        classes=_classes(table, fit),
        alpha=alpha,
        plurality=plurality,
        plurality_matches=matches,
        upper_limit=dependent,
        dispersion=None if spread is None else spread.ratio,
        model="" if fit is None else fit.model,
        model_reason="" if fit is None else fit.reason,
        converged=fit is not None and fit.converged,
        warnings=tuple(warnings),
        next_items=tuple(
            _item_to_label(one, names[one.item], lines, fit is not None)
            for one in _next_items(table, fit, to_label, seed)
        ),
        unit=unit,
    )


def _fit_warnings(fit: DawidSkene, table: VoteTable) -> list[DataWarning]:
    """Return what stands against an estimate that was made, or limits it."""
    found: list[DataWarning] = []
    _, matches = _plurality(fit, table)
    mean = float(np.nansum(fit.accuracy * fit.table.votes_per_expert)) / fit.table.votes
    if matches < 0.5 or mean <= 1.0 / len(np.unique(fit.table.label)):
        text = (
            f"The estimated class differs from the plurality on {1.0 - matches:.0%} of the items, and only"
            f" {mean:.0%} of the votes would be correct: votes do not fit the model, so no estimate is given;"
            " label some items"
        )
        found.append(DataWarning("contradicts-plurality", "grave", text))
    if fit.model == ONE_COIN:
        text = f"Each expert has one accuracy for all classes (one-coin model), because {fit.reason}"
        found.append(DataWarning("one-coin", "note", text))
    if not fit.converged:
        text = f"The estimate did not converge in {len(fit.log_likelihood)} iterations"
        found.append(DataWarning("not-converged", "note", text))
    return found


def _plurality(fit: DawidSkene, table: VoteTable) -> tuple[float, float]:
    """Return the estimated accuracy of the plurality, and how often it is the estimated class."""
    counts = table.class_counts.tocoo()
    item, label, count = counts.row.astype(np.int64), counts.col.astype(np.int64), counts.data
    most = np.zeros(table.items)
    np.maximum.at(most, item, count)
    wins = count == most[item]
    item, label = item[wins], label[wins]
    share = 1.0 / np.bincount(item, minlength=table.items)[item]
    items = int((table.votes_per_item > 0).sum())
    correct = float((share * fit.probability_of(item, label)).sum()) / items
    return correct, float((share * (fit.prediction_codes[item] == label)).sum()) / items


def _experts(table: VoteTable, fit: DawidSkene | None, original: Codes) -> tuple[ExpertEstimate, ...]:
    votes = table.votes_per_expert
    found = []
    for i, name in enumerate(table.experts):
        j = int(original[i])
        copy_of = None if i == j else table.experts[j]
        one = ExpertEstimate(name, int(votes[i]), None, None, None, copy_of)
        if fit is not None and votes[j] >= FEWEST_VOTES:
            one = one._replace(
                accuracy=float(fit.accuracy[j]),
                low=float(fit.accuracy_low[j]),
                high=float(fit.accuracy_high[j]),
            )
        found.append(one)
    found.sort(key=lambda one: (-(one.accuracy or 0.0), -one.votes))
    return tuple(found)


def _classes(table: VoteTable, fit: DawidSkene | None) -> tuple[ClassEstimate, ...]:
    votes = np.bincount(table.label, minlength=len(table.classes)) / max(table.votes, 1)
    shares = [None] * len(votes) if fit is None else [float(one) for one in fit.priors]
    return tuple(ClassEstimate(*one) for one in zip(table.classes, votes.tolist(), shares, strict=True))


def _next_items(table: VoteTable, fit: DawidSkene | None, number: int, seed: int) -> list[NextItem]:
    """Return items to label; only random ones if there is no estimate."""
    if fit is not None:
        return next_to_label(fit, uncertain=number, random=number, seed=seed)
    voted = np.flatnonzero(table.votes_per_item)
    drawn = np.sort(np.random.default_rng(seed).choice(voted, min(number, len(voted)), replace=False))
    counts = table.votes_per_item
    return [NextItem(int(i), RANDOM, None, math.nan, int(counts[i]), RANDOM_REASON) for i in drawn]


def _item_to_label(one: NextItem, name: Any, lines: Any, estimated: bool) -> ItemToLabel:
    line = None if lines is None else int(lines[one.item])
    prediction, probability = (one.prediction, one.probability) if estimated else (None, None)
    return ItemToLabel(one.item, name, line, one.kind, prediction, probability, one.votes, one.reason)
