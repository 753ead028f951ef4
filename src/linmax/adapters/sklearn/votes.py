"""Votes in: a matrix with a column per expert."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from linmax.adapters.common import Scores, settled
from linmax.adapters.sklearn.base import Array, Decides, labels_of, validated
from linmax.fusion import Explanation, Fusion
from linmax.inputs import DEFAULT
from linmax.inputs.names import Label, plain
from linmax.spec import Learner

NUMBERS = "biuf"


class VoteClassifier(Decides, ClassifierMixin, BaseEstimator):
    """Learn whom to trust from a matrix of votes: X has a row per item and a column per expert.

    A vote is a label; None and NaN abstain, and so do -1 and the empty text unless they are labels
    (`abstain="auto"`), or the one value that is given. Where votes are numbers and labels are texts, or the
    other way round, both are compared as texts. A vote for what is no label is heard, for it may mean
    something, but only labels are guessed. `fit` is `passes` passes over the rows in their order,
    `partial_fit` one.

    >>> from linmax.adapters.sklearn import VoteClassifier
    >>> votes = [["ham", "spam", None], ["spam", "ham", "ham"], ["ham", "spam", "spam"]] * 10
    >>> truth = ["spam", "ham", "spam"] * 10
    >>> model = VoteClassifier("Averaged(Perceptron())").fit(votes, truth)
    >>> model.predict([["ham", "spam", "ham"]])
    array(['spam'], dtype='<U4')
    >>> model.weights_
    {0: -0.9..., 1: 0.9..., 2: -0.0...}
    """

    def __init__(
        self, learner: Learner | str | None = None, *, abstain: Any = "auto", passes: int = 1
    ) -> None:
        self.learner = learner
        self.abstain = abstain
        self.passes = passes

    def fit(self, X: Any, y: Any) -> Self:
        """Begin anew: guess each row, hear its label, learn."""
        with self._anew():
            votes, labels = self._read(X, y, reset=True)
            self._begin(votes, labels, labels)
            self.fusion_.learn(self._cast(votes), self._told(labels), passes=self.passes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows; `classes` may announce some, others may come unannounced."""
        if hasattr(self, "fusion_"):
            return self._learn(X, y, classes, first=False)
        with self._anew():
            return self._learn(X, y, classes, first=True)

    def _learn(self, X: Any, y: Any, classes: Any, *, first: bool) -> Self:
        votes, labels = self._read(X, y, reset=first)
        announced = labels[:0] if classes is None else labels_of(classes)
        if first:
            self._begin(votes, labels, announced)
        self._meet(announced)
        self.fusion_.learn(self._cast(votes), self._told(labels))
        self._meet(labels, say=False)
        return self

    @property
    def weights_(self) -> dict[Any, float]:
        """The weight of each expert; what else a learner weighs is in `fusion_.weights`."""
        check_is_fitted(self, "fusion_")
        weights = self.fusion_.weights
        return {expert: weights[expert] for expert in self.fusion_.experts if expert in weights}

    def explain(self, X: Any) -> Explanation:
        """What each expert adds to each class, for one row."""
        check_is_fitted(self, "fusion_")
        votes = self._cast(self._seen(X))
        if len(votes) != 1:
            raise ValueError(f"explain takes one row (got {len(votes)}); pass X[i : i + 1]")
        return self.fusion_.explain_one(dict(zip(self.fusion_.experts, votes[0].tolist(), strict=True)))

    def _begin(self, votes: Array, labels: Array, announced: Array) -> None:
        self._mixed = (votes.dtype.kind in NUMBERS) != (labels.dtype.kind in NUMBERS)
        if "O" in votes.dtype.kind + labels.dtype.kind:
            self._mixed = len({isinstance(one, str) for one in (*_said(votes), *_said(labels))}) > 1
        experts = getattr(self, "feature_names_in_", None)
        keys = {self._key(label) for label in (*labels, *announced)}
        auto = isinstance(self.abstain, str) and self.abstain == "auto"
        abstain = (None if keys & {-1, ""} else DEFAULT) if auto else self.abstain
        self.fusion_ = Fusion(
            settled(self.learner),
            experts=range(votes.shape[1]) if experts is None else experts,
            abstain=abstain,
        )
        self._meet(announced)

    def _read(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        labels = labels_of(y)
        votes = self._seen(X, reset=reset)
        check_consistent_length(votes, labels)
        return votes, labels

    def _seen(self, X: Any, *, reset: bool = False) -> Array:
        votes: Array = validated(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return votes

    def _scores(self, X: Any) -> Scores:
        return self.fusion_.scores(self._cast(self._seen(X)))

    def _cast(self, votes: Array) -> Array:
        """Votes as the session takes them: true and false count as 1 and 0, as they do in Python."""
        if self._mixed:
            cells = [[_text(vote) for vote in row] for row in votes.tolist()]
            return np.array(cells, object).reshape(votes.shape)
        return votes.astype(np.int8) if votes.dtype.kind == "b" else votes

    def _told(self, labels: Array) -> Array:
        if self._mixed:
            return np.array([_text(label) for label in labels.tolist()], object)
        return labels.astype(np.int8) if labels.dtype.kind == "b" else labels

    def _key(self, label: Any) -> Label | None:
        if self._mixed:
            return _text(label)
        return int(label) if isinstance(label, bool | np.bool_) else plain(label, "labels")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = (
            True  # the checks' features are no votes: nobody means a class by them
        )
        return tags


def _said(cells: Array) -> list[Any]:
    """Some cells that are not missing: enough to see whether they are texts."""
    return [cell for cell in cells.ravel()[:1000].tolist() if plain(cell, "votes") is not None][:1]


def _text(cell: Any) -> str | None:
    name = plain(cell, "votes")
    return None if name is None else str(int(name)) if isinstance(name, bool) else str(name)
