"""What a run says about decisions: answers within an error limit, sets of classes, costs and drift."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.decisions.answers import AnswerThreshold, answers_of, doubts_of
from linmax.decisions.conformal import LEVELS, MISSES, SETS, SIZES
from linmax.decisions.drift import DriftAlarm
from linmax.decisions.trials import WATCHED
from linmax.runtime.predictor import Predictions

if TYPE_CHECKING:
    from linmax.evaluate.audit.sample import SampleRows
    from linmax.fusion import Fusion
    from linmax.inputs import Batch

ERROR_LIMITS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Allowed shares of wrong answers for which the findings say how many items are answered."""
CONFIDENCE = 0.95
MIN_CHANGE_ITEMS = 20
"""Votes of an expert before and after a change that are compared at least."""
SIGNIFICANT = 0.05
"""The level at which the accuracy of some expert has changed, for all experts together."""


class AnswerPoint(NamedTuple):
    """How many items are answered if at most a share of the answers may be wrong.

    Attributes
    ----------
    max_error : float
        The allowed share.
    answered : float
        The share of the latest labelled items that would have been answered.
    error : float
        The share of wrong answers among these.
    probability : float or None
        The least probability of an answer; None if nothing is answered.
    """

    max_error: float
    answered: float
    error: float
    probability: float | None


class SetPoint(NamedTuple):
    """How often sets of classes had the label.

    Attributes
    ----------
    coverage : float
        The share of sets that should have it.
    observed : float
        The share of sets that had it, each made before its label was seen.
    size : float or None
        The mean number of classes in a set; None if it was not asked for.
    """

    coverage: float
    observed: float
    size: float | None


class AnsweredItems(NamedTuple):
    """How many items of the run were answered under an error limit, each before its label was seen.

    Attributes
    ----------
    max_error : float
        The allowed share of wrong answers, at a confidence of 95 %.
    items, answered, wrong : int
        Labelled items, those answered, and those answered wrong.
    """

    max_error: float
    items: int
    answered: int
    wrong: int


class ExpertChange(NamedTuple):
    """An expert whose accuracy changed significantly: its name, and the accuracy before and after."""

    name: Any
    before: float
    after: float


class DriftSummary(NamedTuple):
    """An alarm of drift.

    Attributes
    ----------
    trial, since : int
        Labelled items after which it was raised, and after which the change is estimated to have begun.
    error_before, error_after : float
        The share of mistakes before the change, and from there to the alarm.
    experts : list of ExpertChange
        The experts whose accuracy changed, the largest changes first.
    """

    trial: int
    since: int
    error_before: float
    error_after: float
    experts: list[ExpertChange]


class DecisionSummary(NamedTuple):
    """What a run says about decisions.

    Attributes
    ----------
    answers : list of AnswerPoint
        Items answered by the allowed error.
    sets : list of SetPoint
        Coverage of sets by the level asked for.
    limit : AnsweredItems or None
        The answers of the run under a limit; None if none was given.
    asked : SetPoint or None
        The sets of the level that was asked for; None if none was.
    cost : float or None
        What the mistakes cost; None if all cost the same.
    trials : int
        The labelled items that the model has learned, to which `sets`, `asked` and `cost` refer: more than
        those of the run if it has continued a model.
    drift : list of DriftSummary
        The alarms of drift.
    """

    answers: list[AnswerPoint]
    sets: list[SetPoint]
    limit: AnsweredItems | None
    asked: SetPoint | None
    cost: float | None
    trials: int
    drift: list[DriftSummary]


class AnswerCounts:
    """Counts the answers of a run under an error limit.

    The threshold is renewed at fixed numbers of items, and after an alarm nothing is answered until then, so
    that the counts do not depend on how a stream is cut into chunks.

    Parameters
    ----------
    max_error : float
        The allowed share of wrong answers.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> from linmax.problems import majority
    >>> votes, labels = majority(2000, noise=0)
    >>> fusion, counts = Fusion(Winnow(1.2), classes=range(5), calibrate="all"), AnswerCounts(0.1)
    >>> for begin in range(0, 2000, 500):
    ...     counts.renew(fusion)
    ...     batch = fusion.read(votes[begin : begin + 500], labels[begin : begin + 500])
    ...     seen = fusion.decisions.seen
    ...     found = fusion.learn_batch(batch, probabilities=True)
    ...     answered = counts.add(batch, found, seen, fusion.alarms)
    >>> counts.result()
    AnsweredItems(max_error=0.1, items=2000, answered=1227, wrong=70)
    """

    def __init__(self, max_error: float) -> None:
        self.max_error = max_error
        self.items = self.answered = self.wrong = 0
        self.probability = math.inf

    def renew(self, fusion: Fusion) -> None:
        """Take the threshold of the session as it is now."""
        self.probability = fusion.answer_threshold(self.max_error, CONFIDENCE).probability

    def add(
        self, batch: Batch, found: Predictions, seen: int, alarms: Sequence[DriftAlarm]
    ) -> NDArray[np.bool_]:
        """Count learned items, and return which of all items are answered.

        Parameters
        ----------
        batch : Batch
            The items.
        found : Predictions
            Their predictions and probabilities.
        seen : int
            The number of labelled items before.
        alarms : sequence of DriftAlarm
            The alarms so far.
        """
        counted = (batch.labels >= 0) & (batch.labels < batch.known)
        rows = np.flatnonzero(counted)
        first = min((alarm.trial - seen for alarm in alarms if alarm.trial > seen), default=len(rows))
        doubts = doubts_of(found.probabilities, found.codes)
        given = answers_of(doubts, AnswerThreshold(self.probability, 0, 0, 0.0, 0.0))
        if first < len(rows):
            given[rows[first] :] = False
            self.probability = math.inf
        self.items += len(rows)
        self.answered += int(np.count_nonzero(given & counted))
        self.wrong += int(np.count_nonzero(given & counted & (found.codes != batch.labels)))
        return given

    def result(self) -> AnsweredItems:
        """Return the counts."""
        return AnsweredItems(self.max_error, self.items, self.answered, self.wrong)

    def state(self) -> list[Any]:
        """Return the counts as values that JSON has, which `from_state` takes."""
        probability = None if self.probability == math.inf else self.probability
        return [self.max_error, self.items, self.answered, self.wrong, probability]

    @classmethod
    def from_state(cls, state: Any) -> AnswerCounts:
        """Restore counts.

        Parameters
        ----------
        state : list
            What `state` has returned.
        """
        max_error, items, answered, wrong, probability = state
        counts = cls(float(max_error))
        counts.items, counts.answered, counts.wrong = int(items), int(answered), int(wrong)
        counts.probability = math.inf if probability is None else float(probability)
        return counts


def summarize_decisions(
    fusion: Fusion, rows: SampleRows | None, counts: AnswerCounts | None
) -> DecisionSummary | None:
    """Return what a run says about decisions; None if nothing was learned about them.

    Parameters
    ----------
    fusion : Fusion
        The session.
    rows : SampleRows or None
        An even sample of the labelled rows.
    counts : AnswerCounts or None
        The answers under a limit, if one was given.
    """
    decisions = fusion.decisions
    if not decisions.learns or not decisions.used:
        return None
    answers = []
    for limit in ERROR_LIMITS:
        found = fusion.answer_threshold(limit, CONFIDENCE)
        silent = found.probability == math.inf
        answers.append(AnswerPoint(limit, found.answered, found.error, None if silent else found.probability))
    sets = _sets(fusion)
    watched = int(decisions.arrays.settings[WATCHED])
    return DecisionSummary(
        answers=answers,
        sets=sets,
        limit=None if counts is None else counts.result(),
        asked=sets[watched] if watched >= 0 and sets else None,
        cost=fusion.mistake_cost if decisions.decides else None,
        trials=fusion.trials,
        drift=[_drift(fusion, alarm, rows) for alarm in fusion.alarms],
    )


def _sets(fusion: Fusion) -> list[SetPoint]:
    levels, used = fusion.decisions.arrays.levels, fusion.decisions.used
    found = []
    for j, level in enumerate(LEVELS):
        size = float(levels[SIZES, j] / levels[SETS, j]) if levels[SETS, j] else None
        found.append(SetPoint(level, 1.0 - float(levels[MISSES, j]) / used, size))
    return found


def _drift(fusion: Fusion, alarm: DriftAlarm, rows: SampleRows | None) -> DriftSummary:
    return DriftSummary(*alarm, [] if rows is None else _changed_experts(fusion, alarm, rows))


def _changed_experts(fusion: Fusion, alarm: DriftAlarm, rows: SampleRows) -> list[ExpertChange]:
    """Return the experts whose accuracy on the sampled rows differs before and after a change.

    The rows after the change reach to the next alarm, those before to the one before. Accuracies are compared
    by the test of two proportions, at a level that is divided by the number of experts.
    """
    others = [other.since for other in fusion.alarms]
    trials = _trial_numbers(fusion, rows)
    begin = max((other for other in others if other < alarm.since), default=0)
    end = min((other for other in others if other > alarm.since), default=np.inf)
    before = (trials >= begin) & (trials < alarm.since)
    after = (trials >= alarm.since) & (trials < end)
    limit = -NormalDist().inv_cdf(SIGNIFICANT / 2 / max(1, len(fusion.experts)))
    found = []
    for i, name in enumerate(fusion.experts[: rows.votes.shape[1]]):
        own = rows.votes[:, i]
        parts = [own[part & (own >= 0)] == rows.truth[part & (own >= 0)] for part in (before, after)]
        n, m = (len(part) for part in parts)
        if min(n, m) < MIN_CHANGE_ITEMS:
            continue
        p, q = (float(part.mean()) for part in parts)
        mean = (n * p + m * q) / (n + m)
        error = math.sqrt(mean * (1.0 - mean) * (1 / n + 1 / m))
        if abs(p - q) > limit * error:
            found.append(ExpertChange(name, p, q))
    return sorted(found, key=lambda one: -abs(one.after - one.before))


def _trial_numbers(fusion: Fusion, rows: SampleRows) -> NDArray[np.float64]:
    """Return the number of labelled items before each sampled row, about: rows without a label are even."""
    if not len(rows.row):
        return np.zeros(0)
    last = float(rows.row[-1]) + 1.0
    return np.asarray(rows.row, np.float64) * (fusion.decisions.seen / last)
