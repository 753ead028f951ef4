"""`Findings`: the results of a run over a stream as plain values, for tables, pages and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linmax.evaluate.audit import Milestone
from linmax.evaluate.sample import ItemRecord
from linmax.evaluate.significance import Gain


class ModelResult(NamedTuple):
    """The result of one predictor over a stream.

    Attributes
    ----------
    name : str
        "linmax", "plurality", "best expert" or "best in hindsight".
    detail : str
        The learner, the name of the expert, or what the predictor is.
    trials : int
        The counted items; fewer than all where only a sample was used.
    mistakes : int
        Wrong predictions on them.
    accuracy : float
        The fraction of correct predictions.
    accuracy_last_half : float or None
        The accuracy since the middle of the stream.
    """

    name: str
    detail: str
    trials: int
    mistakes: int
    accuracy: float
    accuracy_last_half: float | None


class BaselineComparison(NamedTuple):
    """linmax compared with a baseline on a part of the stream.

    Attributes
    ----------
    baseline : str
        "plurality" or "best expert".
    detail : str
        The name of the expert; empty for the plurality.
    part : str
        "all" or "last half".
    gain : Gain
        The difference of the accuracies.
    """

    baseline: str
    detail: str
    part: str
    gain: Gain


class ExpertSummary(NamedTuple):
    """Everything about one expert.

    Attributes
    ----------
    name : object
        The name of the expert.
    accuracy : float or None
        The fraction of its votes that are correct; None if it never votes.
    vote_rate : float
        The fraction of the trials on which it votes.
    accuracy_all : float
        The fraction of all trials on which its vote is correct; an abstention is not.
    trust : float
        Its share of the contributions of all experts to the truth.
    reading : str
        How linmax reads its votes: "as voted", "remapped" (a vote for one class supports another class most)
        or "ignored".
    square_loss, log_loss : float or None
        The mean losses of an expert that votes with probabilities.
    ablated_accuracy : float or None
        The accuracy of linmax without the expert.
    accuracy_drop : float or None
        The accuracy that is lost without the expert; negative if linmax is better without it.
    price : float or None
        What it costs to ask the expert, as given by the user.
    """

    name: Any
    accuracy: float | None
    vote_rate: float
    accuracy_all: float
    trust: float
    reading: str
    square_loss: float | None
    log_loss: float | None
    ablated_accuracy: float | None
    accuracy_drop: float | None
    price: float | None


class Curves(NamedTuple):
    """Mistakes after so many items.

    Attributes
    ----------
    items, trials : list of int
        Items and counted items at each point.
    linmax, plurality : list of int
        Mistakes at each point.
    best : list of int
        Mistakes of the expert with the fewest by then.
    experts : list of list of int
        Mistakes of each expert, in the order of `Findings.experts`.
    """

    items: list[int]
    trials: list[int]
    linmax: list[int]
    plurality: list[int]
    best: list[int]
    experts: list[list[int]]


class TrustHistory(NamedTuple):
    """The trust in each expert over the stream.

    Attributes
    ----------
    items : list of int
        Items at each point.
    experts : list of list of float
        The share of each expert at each point, in the order of `Findings.experts`. Shares add up to 1.
    """

    items: list[int]
    experts: list[list[float]]


class Confusion(NamedTuple):
    """Numbers of trials by truth and prediction.

    Attributes
    ----------
    classes : list
        The classes with the most items, in the order of the session.
    table : list of list of int
        The trials of each truth (rows) and prediction (columns).
    omitted : int
        Trials of classes that are not in the table.
    """

    classes: list[Any]
    table: list[list[int]]
    omitted: int


class Agreement(NamedTuple):
    """How often two experts vote for the same class when both vote.

    Attributes
    ----------
    experts : list
        The names of the experts.
    table : list of list of (float or None)
        The fraction for each pair; None if the two never vote on the same item.
    """

    experts: list[Any]
    table: list[list[float | None]]


class CoveragePoint(NamedTuple):
    """The accuracy if linmax answers only where its margin is large enough.

    Attributes
    ----------
    answered : float
        The fraction of the items that are answered.
    accuracy : float
        The accuracy on them.
    margin : float
        The smallest margin among them.
    """

    answered: float
    accuracy: float
    margin: float


@dataclass(frozen=True)
class Findings:
    """The results of a run over a stream.

    Attributes
    ----------
    file : str
        The name of the file.
    learner : str
        The learner.
    source : str
        What was read, in a sentence.
    items, trials : int
        All items, and those whose label was a known class.
    unlabelled, novel : int
        Items without a label, and items whose label was not a known class.
    repeated : bool
        Whether the session had learned these items before.
    sampled : int
        The trials in the sample on which trust, agreement and coverage are measured.
    classes : list
        The classes.
    results : list of ModelResult
        linmax, the plurality, the best expert and the best fixed weights in hindsight.
    comparisons : list of BaselineComparison
        linmax compared with the plurality and the best expert.
    experts : list of ExpertSummary
        The experts, the most trusted first.
    curves : Curves
        Mistakes over the stream.
    trust_history : TrustHistory
        Trust over the stream.
    confusion : Confusion
        Trials by truth and prediction.
    agreement : Agreement
        How often experts agree.
    coverage : list of CoveragePoint
        Accuracy by the fraction of the items answered.
    hardest, next_labels : list of ItemRecord
        Mistakes with the largest margins, and unlabelled items with the smallest.
    milestones : list of Milestone
        Mistakes after 1, 2, 4, 8, ... items.
    bound : str
        The mistakes and their bound, in a sentence.
    members : dict
        The share of each member of an ensemble.
    data_warnings : list of str
        What looks suspicious in the file.
    notes : list of str
        How the figures were measured.
    """

    file: str
    learner: str
    source: str
    items: int
    trials: int
    unlabelled: int
    novel: int
    repeated: bool
    sampled: int
    classes: list[Any]
    results: list[ModelResult]
    comparisons: list[BaselineComparison]
    experts: list[ExpertSummary]
    curves: Curves
    trust_history: TrustHistory
    confusion: Confusion
    agreement: Agreement
    coverage: list[CoveragePoint]
    hardest: list[ItemRecord]
    next_labels: list[ItemRecord]
    milestones: list[Milestone]
    bound: str
    members: dict[str, float]
    data_warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the findings as values that JSON has; numbers that are not finite become None."""
        values: dict[str, Any] = to_json(vars(self))
        return values


def to_json(value: Any) -> Any:
    """Convert a value to one that JSON has.

    Parameters
    ----------
    value : object
        Named tuples and dicts become dicts, other sequences lists, numbers that are not finite None, and
        objects that JSON does not know their text.

    Examples
    --------
    >>> to_json({"a": float("nan"), 1: (True, b"x")})
    {'a': None, '1': [True, "b'x'"]}
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_json(one) for name, one in value._asdict().items()}
    if isinstance(value, dict):
        return {str(name): to_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return str(value)
