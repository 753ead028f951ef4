"""`Findings`: the results of a run over a stream as plain values, for tables, pages and JSON."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linmax.evaluate.audit.audit import Milestone
from linmax.evaluate.audit.sample import ItemRecord
from linmax.evaluate.calibration import Calibration
from linmax.evaluate.consultation import Replay
from linmax.evaluate.findings.decisions import DecisionSummary
from linmax.evaluate.findings.verdict import Baseline
from linmax.evaluate.metrics import Metrics
from linmax.evaluate.significance import Gain
from linmax.validation import DataWarning

NO_METRICS = Metrics(None)


class ModelResult(NamedTuple):
    """The result of one predictor over a stream.

    Attributes
    ----------
    name : str
        "linmax", "plurality", "best expert", "most frequent class", "last label" or "best fixed weights".
    detail : str
        The learner, the name of the expert, or what the predictor is.
    trials : int
        The counted items: those on which an expert votes, or fewer than all where only a sample was used.
    mistakes : float
        Wrong predictions on them; a tie of m classes of the plurality counts as 1 - 1/m.
    accuracy : float
        The fraction of correct predictions.
    accuracy_last_half : float or None
        The accuracy since the middle of the stream.
    """

    name: str
    detail: str
    trials: int
    mistakes: float
    accuracy: float
    accuracy_last_half: float | None


class BaselineComparison(NamedTuple):
    """linmax compared with a baseline on a part of the stream.

    Attributes
    ----------
    baseline : str
        "plurality", "best expert", "most frequent class" or "last label".
    detail : str
        The name of the expert; otherwise empty.
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
        "ignored", or "not measured" (it never votes, or there are too many weights).
    square_loss, log_loss : float or None
        The mean losses of an expert that votes with probabilities.
    ablated_accuracy : float or None
        The accuracy of linmax without the expert.
    accuracy_drop : float or None
        The accuracy that is lost without the expert; negative if linmax is better without it.
    loss : Gain or None
        `accuracy_drop` with its interval, paired by item.
    can_be_dropped : bool
        Whether the upper end of this interval is below 1 percentage point.
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
    loss: Gain | None
    can_be_dropped: bool
    price: float | None


class Curves(NamedTuple):
    """Mistakes after so many items.

    Attributes
    ----------
    items, trials : list of int
        Items and counted items at each point.
    linmax : list of int
        Mistakes at each point.
    plurality : list of float
        Mistakes of the plurality, with ties shared.
    best : list of int
        Mistakes of the best expert of the whole stream where it votes, as in the table of results.
    experts : list of list of int
        Mistakes of each expert where it votes, in the order of `Findings.experts`.
    """

    items: list[int]
    trials: list[int]
    linmax: list[int]
    plurality: list[float]
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


class CalibrationSummary(NamedTuple):
    """The calibration of linmax beside that of the shares of the votes.

    Attributes
    ----------
    linmax : Calibration
        Of the probabilities of linmax.
    plurality : Calibration or None
        Of the shares of the votes; None without experts.
    """

    linmax: Calibration
    plurality: Calibration | None


@dataclass(frozen=True)
class Findings:
    """The results of a run over a stream.

    Attributes
    ----------
    verdict : {"better", "no significant difference", "worse", "not judged"}
        The comparison of linmax with all baselines; "not judged" while a grave warning stands.
    decision : str
        What to do, in a sentence.
    warnings : list of DataWarning
        What is wrong or noteworthy about the data, the grave ones first.
    accuracy : float or None
        The accuracy of linmax.
    baselines : list of Baseline
        The plurality, the best expert, the most frequent class and the last label.
    metrics : Metrics
        Further metrics of linmax.
    calibration : CalibrationSummary or None
        How far its probabilities can be believed; None without counted items.
    decisions : DecisionSummary or None
        Answers within an error limit, sets of classes, costs and drift; None if nothing was learned of them.
    consultations : Replay or None
        What it costs to ask experts one by one, on the latest sampled items; None if it was not measured.
    schema : dict
        The roles of the columns, as the caller gives them.
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
        linmax, the baselines and the best fixed weights in hindsight.
    comparisons : list of BaselineComparison
        linmax compared with the baselines.
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
    notes: list[str] = field(default_factory=list)
    verdict: str = "not judged"
    decision: str = ""
    warnings: list[DataWarning] = field(default_factory=list)
    accuracy: float | None = None
    baselines: list[Baseline] = field(default_factory=list)
    metrics: Metrics = NO_METRICS
    calibration: CalibrationSummary | None = None
    decisions: DecisionSummary | None = None
    consultations: Replay | None = None
    schema: dict[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What the numbers of items in the file count, "line" or "row"; tables such as Parquet have rows."""
        return str(self.schema.get("unit", "line"))

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
