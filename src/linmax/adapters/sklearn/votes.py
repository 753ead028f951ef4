"""`VoteClassifier`: learn the weights of experts from a matrix of votes, with a column per expert."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from linmax.adapters.common import resolve_learner
from linmax.adapters.sklearn.base import (
    NUMBER_KINDS,
    Array,
    SessionPredictorMixin,
    learn_votes,
    validate_labels,
    validate_rows,
)
from linmax.fusion import Explanation, Fusion
from linmax.fusion.prediction import Scores
from linmax.inputs import DEFAULT
from linmax.inputs.names import Label, to_label
from linmax.spec import Learner


class VoteClassifier(SessionPredictorMixin, ClassifierMixin, BaseEstimator):
    """Learn which experts to trust from a matrix of votes: a row per item, a column per expert.

    A vote is a label; None and NaN abstain. If votes are numbers and labels are texts, or the other way
    round, both are compared as texts. A vote for something that is not a label still counts as an input, but
    only labels are predicted.

    Parameters
    ----------
    learner : Learner, str or None, default=None
        The learner of the session, or its `repr`; None is `recommended()`.
    abstain : Any, default="auto"
        The vote that means an abstention, beside None and NaN. "auto" is -1 and the empty text, unless they
        are labels.
    passes : int, default=1
        The number of passes of `fit` over the rows.
    shuffle : bool, default=True
        Whether each pass of `fit` takes the rows in another order. Learning is on-line: with False, `fit`
        learns the rows in their order, which should then not be sorted by label.
    random_state : int, RandomState or None, default=None
        The seed of the shuffles.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    fusion_ : Fusion
        The session that learns.
    weights_ : dict
        The weight of each expert.
    n_features_in_ : int
        The number of experts.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the experts, if X had names.

    Examples
    --------
    >>> from linmax.adapters.sklearn import VoteClassifier
    >>> votes = [["ham", "spam", None], ["spam", "ham", "ham"], ["ham", "spam", "spam"]] * 10
    >>> labels = ["spam", "ham", "spam"] * 10
    >>> model = VoteClassifier("Averaged(Perceptron())", random_state=0).fit(votes, labels)
    >>> model.predict([["ham", "spam", "ham"]])
    array(['spam'], dtype='<U4')
    >>> model.weights_
    {0: -0.9..., 1: 0.9..., 2: 0.9...}
    """

    def __init__(
        self,
        learner: Learner | str | None = None,
        *,
        abstain: Any = "auto",
        passes: int = 1,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.abstain = abstain
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the rows; earlier fits are forgotten.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_experts)
            The votes.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        self : VoteClassifier
            The fitted classifier.
        """
        with self._fresh_fit():
            votes, labels = self._validate(X, y, reset=True)
            self._start_session(votes, labels, labels)
            learn_votes(
                self.fusion_, self._convert_votes(votes), self._convert_labels(labels),
                passes=self.passes, shuffle=self.shuffle, random_state=self.random_state,
            )  # fmt: skip
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Learn more rows in one pass, in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_experts)
            The votes.
        y : array-like of shape (n_samples,)
            The labels; new classes are allowed.
        classes : array-like, default=None
            Classes to add before the rows are learned.

        Returns
        -------
        self : VoteClassifier
            The fitted classifier.
        """
        if hasattr(self, "fusion_"):
            return self._learn(X, y, classes, first=False)
        with self._fresh_fit():
            return self._learn(X, y, classes, first=True)

    def _learn(self, X: Any, y: Any, classes: Any, *, first: bool) -> Self:
        votes, labels = self._validate(X, y, reset=first)
        added = labels[:0] if classes is None else validate_labels(classes)
        if first:
            self._start_session(votes, labels, added)
        self._add_classes(added)
        self.fusion_.learn(self._convert_votes(votes), self._convert_labels(labels))
        self._add_classes(labels, to_session=False)
        return self

    @property
    def weights_(self) -> dict[Any, float]:
        """The weight of each expert; `fusion_.weights` has all weights of the learner."""
        check_is_fitted(self, "fusion_")
        weights = self.fusion_.weights
        return {expert: weights[expert] for expert in self.fusion_.experts if expert in weights}

    def explain(self, X: Any) -> Explanation:
        """Explain the prediction for one row.

        Parameters
        ----------
        X : array-like of shape (1, n_experts)
            The votes of the row.

        Returns
        -------
        explanation : Explanation
            What each expert adds to the score of each class.
        """
        check_is_fitted(self, "fusion_")
        votes = self._convert_votes(self._validate_votes(X))
        if len(votes) != 1:
            raise ValueError(f"explain takes one row (got {len(votes)}); pass X[i : i + 1]")
        return self.fusion_.explain_one(dict(zip(self.fusion_.experts, votes[0].tolist(), strict=True)))

    def _start_session(self, votes: Array, labels: Array, added: Array) -> None:
        self._compare_as_text = (votes.dtype.kind in NUMBER_KINDS) != (labels.dtype.kind in NUMBER_KINDS)
        if "O" in votes.dtype.kind + labels.dtype.kind:
            samples = (*_first_present(votes), *_first_present(labels))
            self._compare_as_text = len({isinstance(sample, str) for sample in samples}) > 1
        experts = getattr(self, "feature_names_in_", None)
        keys = {self._key(label) for label in (*labels, *added)}
        auto = isinstance(self.abstain, str) and self.abstain == "auto"
        abstain = (None if keys & {-1, ""} else DEFAULT) if auto else self.abstain
        self.fusion_ = Fusion(
            resolve_learner(self.learner),
            experts=range(votes.shape[1]) if experts is None else experts,
            abstain=abstain,
        )
        self._add_classes(added)

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Array, Array]:
        labels = validate_labels(y)
        votes = self._validate_votes(X, reset=reset)
        check_consistent_length(votes, labels)
        return votes, labels

    def _validate_votes(self, X: Any, *, reset: bool = False) -> Array:
        votes: Array = validate_rows(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        return votes

    def _scores(self, X: Any) -> Scores:
        return self.fusion_.scores(self._convert_votes(self._validate_votes(X)))

    def _convert_votes(self, votes: Array) -> Array:
        """Return votes as the session compares them: bools are 0 and 1, as in Python."""
        if self._compare_as_text:
            cells = [[_to_text(vote) for vote in row] for row in votes.tolist()]
            return np.array(cells, object).reshape(votes.shape)
        return votes.astype(np.int8) if votes.dtype.kind == "b" else votes

    def _convert_labels(self, labels: Array) -> Array:
        if self._compare_as_text:
            return np.array([_to_text(label) for label in labels.tolist()], object)
        return labels.astype(np.int8) if labels.dtype.kind == "b" else labels

    def _key(self, label: Any) -> Label | None:
        if self._compare_as_text:
            return _to_text(label)
        return int(label) if isinstance(label, bool | np.bool_) else to_label(label, "labels")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True  # the features in scikit-learn's checks are not votes
        return tags


def _first_present(cells: Array) -> list[Any]:
    """Return the first cell that is not missing, among the first 1000; its type tells texts from numbers."""
    return [cell for cell in cells.ravel()[:1000].tolist() if to_label(cell, "votes") is not None][:1]


def _to_text(cell: Any) -> str | None:
    label = to_label(cell, "votes")
    return None if label is None else str(int(label)) if isinstance(label, bool) else str(label)
