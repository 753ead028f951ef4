"""Decisions of a session: answers within an error limit, sets of classes, and alarms of drift."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from linmax import inputs
from linmax.decisions.answers import (
    AnswerThreshold,
    NoAnswerWarning,
    answers_of,
    check_limits,
    doubts_of,
    why_no_answers,
)
from linmax.decisions.conformal import add_unknown, level_of, named_sets, sets_of
from linmax.decisions.drift import DriftAlarm
from linmax.decisions.observer import Decisions
from linmax.fusion.prediction import PredictionMethods
from linmax.inputs import Batch
from linmax.runtime.predictor import Predictions
from linmax.validation import require


class DecisionMethods(PredictionMethods):
    """What a session decides beside the best class; a base class of `Fusion`."""

    decisions: Decisions

    @property
    def mistakes(self) -> int:
        """The number of wrong predictions among the labelled items that were learned."""
        return self.decisions.mistakes if self.decisions.decides else super().mistakes

    @property
    def mistake_cost(self) -> float:
        """What all mistakes have cost by `mistake_costs`; their number if none are given."""
        return float(self.decisions.arrays.spent[0]) if self.decisions.decides else float(self.mistakes)

    @property
    def alarms(self) -> list[DriftAlarm]:
        """The latest 64 alarms of drift, oldest first: when the share of mistakes rose, and by how much.

        Examples
        --------
        >>> import numpy as np
        >>> from linmax import Fusion, Winnow
        >>> rng = np.random.default_rng(0)
        >>> votes = rng.integers(0, 2, (4000, 5))
        >>> labels = np.where(np.arange(4000) < 3000, votes[:, 0], rng.integers(0, 2, 4000))
        >>> fusion = Fusion(Winnow(1.2), classes=[0, 1])
        >>> run = fusion.learn(votes, labels)
        >>> [(alarm.trial, alarm.since) for alarm in fusion.alarms]
        [(3040, 2976)]
        """
        with self._lock, self._lock.state:
            return self.decisions.alarms

    def answer_threshold(self, max_error: float, confidence: float = 0.95) -> AnswerThreshold:
        """Return from which probability on `predict(..., max_error=...)` answers.

        Parameters
        ----------
        max_error, confidence
            As for `predict`.

        Returns
        -------
        AnswerThreshold
        """
        check_limits(max_error, confidence)
        self._require_calibration("max_error")
        with self._lock, self._lock.state:
            return self.decisions.threshold(max_error, confidence)

    def predict_set(
        self,
        votes: Any = None,
        *,
        coverage: float = 0.95,
        attributes: Any = None,
        new_experts: str = "ignore",
    ) -> list[list[Any]]:
        """Return a set of classes per item, which has the label in this share of all items in the long run.

        A set has the most probable classes, up to a threshold on the sum of their probabilities that is
        raised after every miss and lowered after every hit (adaptive conformal inference). For any stream
        whose items are predicted and learned one after the other, whether or not it drifts, the share of
        misses among T items is at most 1 - coverage + 51/T. That is proved for ``Fusion(calibrate="all")``;
        with "sample" it is proved for the items in the sample. Nothing is promised for a single item, nor
        for items that are predicted and never learned.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict`.
        coverage
            The share of sets that have the label, at most 0.999. The next higher of the levels in
            `linmax.decisions.conformal.LEVELS` is used, which has all usual ones.

        Returns
        -------
        list of list
            The classes of each item, the most probable first; at least one if a class is known. A prediction
            that is a class which only the votes on the item name comes first.

        References
        ----------
        Gibbs & Candès, Adaptive conformal inference under distribution shift, 2021.

        Examples
        --------
        >>> from linmax import Fusion, Winnow
        >>> from linmax.problems import majority
        >>> votes, labels = majority(3000, noise=0.1)
        >>> fusion = Fusion(Winnow(1.2), classes=range(5))
        >>> run = fusion.learn(votes[:2000], labels[:2000])
        >>> sets = fusion.predict_set(votes[2000:], coverage=0.9)
        >>> sum(label in found for label, found in zip(labels[2000:], sets)) / 1000
        0.92
        """
        level_of(coverage)
        self._require_calibration("predict_set")
        with self._lock, self._lock.state:
            batch = self.read(votes, attributes=attributes, new_experts=new_experts)
            return self.named_sets(batch, self.runner.run(batch, learn=False, scores=True), coverage)

    def predict_set_one(
        self,
        votes: Any = None,
        *,
        coverage: float = 0.95,
        attributes: Any = None,
        new_experts: str = "ignore",
    ) -> list[Any]:
        """Return the set of classes for one item, as from `predict_set`.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict_one`.
        coverage
            As for `predict_set`.

        Returns
        -------
        list
        """
        level_of(coverage)
        self._require_calibration("predict_set")
        with self._lock, self._lock.state:
            batch = self._read_one(votes, attributes, new_experts)
            require(batch.trials == 1, "predict_set_one needs an item: pass its votes or attributes")
            return self.named_sets(batch, self.runner.run(batch, learn=False, scores=True), coverage)[0]

    def named_sets(self, batch: Batch, found: Predictions, coverage: float) -> list[list[Any]]:
        """Return the sets of items that `predict_batch` has just predicted, as from `predict_set`.

        Parameters
        ----------
        batch
            The encoded items.
        found
            Their predictions and scores.
        coverage
            As for `predict_set`.

        Returns
        -------
        list of list
        """
        self._require_calibration("predict_set")
        with self._lock, self._lock.state:
            names = self.names.classes
            p = self.decisions.probabilities(found.scores[:, : len(names)])
            sets = named_sets(p, sets_of(p, self.decisions.theta(coverage)), names.names)
            unknown = found.codes >= len(names)
            if not unknown.any():
                return sets
            return add_unknown(
                sets, inputs.decode_classes(found.codes, names, batch.unknown_classes).tolist(), unknown
            )

    def _require_calibration(self, what: str) -> None:
        require(
            self.decisions.learns,
            f'{what} learns from labelled items: make the session with calibrate="sample" or "all"'
            f" (got {self.decisions.calibrate!r})",
        )

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        return self.decisions.probabilities(scores)

    def _answers(self, batch: Batch, max_error: float, confidence: float) -> np.ndarray:
        """Return the predictions, with None where the probability is too low."""
        threshold = self.answer_threshold(max_error, confidence)
        if threshold.probability == math.inf:
            warnings.warn(
                f"max_error={max_error:g} at confidence {confidence:g} answers nothing:"
                f" {why_no_answers(threshold)}",
                NoAnswerWarning,
                stacklevel=3,
            )
        found = self.runner.run(batch, learn=False, scores=True, probabilities=True)
        answers = inputs.decode_classes(found.codes, self.names.classes, batch.unknown_classes)
        answers = answers.astype(object)
        answers[~answers_of(doubts_of(found.probabilities, found.codes), threshold)] = None
        return answers
