"""`LinearMaxClassifier`: a linear function of the attributes for each class, with any rule and technique."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from linmax.adapters.common import base_learners, learner_on_attributes
from linmax.adapters.sklearn.base import Array, SessionPredictorMixin, validate_labels, validate_rows
from linmax.experts import Attributes
from linmax.fusion import Fusion
from linmax.fusion.prediction import Scores
from linmax.rules import Rule
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled, layers

MAX_REPEATS = 100  # of a row, on average


class LinearMaxClassifier(SessionPredictorMixin, ClassifierMixin, BaseEstimator):
    """Learn a linear function of the attributes for each class, with any rule and technique.

    It replaces `sklearn.linear_model.Perceptron` and `SGDClassifier`. `fit` makes several passes over the
    rows; `partial_fit` makes one pass in the given order, which is what the mistake bounds apply to, and
    accepts classes that were not in `classes`.

    The default is the committee `recommended(votes=False, attributes=True)`, which standardises attributes by
    itself. Other learners take them as they are.

    Sample weights of 0 and 1 work with every learner. With other weights the default, like every ensemble,
    learns each row as often as its weight says: a weight of 2 twice, weights of 0.5 every second row. A rule
    that moves by exactly z (Perceptron, both Winnows, p-norm) moves by the weight times z. Other rules refuse
    such weights.

    Parameters
    ----------
    learner : Learner, str or None, default=None
        The learner of the session, or its `repr`; None is the default. It learns on `Attributes()` unless it
        has a source of its own (`ScaledAttributes`, `Shared`, `Kernel`, `Pairs`).
    fit_intercept : bool, default=True
        Whether to add an attribute that is always 1; only without a source of the learner's own.
    max_iter : int, default=10
        The largest number of passes of `fit`, which stops earlier after a pass without an update.
    shuffle : bool, default=True
        Whether each pass of `fit` takes the rows in another order.
    random_state : int, RandomState or None, default=None
        The seed of the shuffles.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    coef_ : ndarray of shape (n_classes, n_features) or (1, n_features)
        The weights; for two classes the second's minus the first's. Only for learners that are one weight
        per attribute and class, such as ``Averaged(Perceptron())``; the default is not.
    intercept_ : ndarray of shape (n_classes,) or (1,)
        The intercepts.
    fusion_ : Fusion
        The session that learns.
    n_iter_ : int
        The number of passes made.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linmax.adapters.sklearn import LinearMaxClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearMaxClassifier(random_state=0).fit(X, y).score(X, y)
    0.9...
    >>> model = LinearMaxClassifier("Averaged(Perceptron())").partial_fit([[0.0, 1.0]], ["rain"])
    >>> model.partial_fit([[1.0, 0.0], [1.0, 0.1]], ["sun", "sun"]).predict([[0.9, 0.0]])
    array(['sun'], dtype='<U4')
    """

    _scaled = False  # whether rows were multiplied by their weights

    def __init__(
        self,
        learner: Learner | str | None = None,
        *,
        fit_intercept: bool = True,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the rows in up to `max_iter` passes; earlier fits are forgotten.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        self : LinearMaxClassifier
            The fitted classifier.
        """
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be an integer >= 1 (got {self.max_iter!r}); 10 is typical")
        with self._fresh_fit():
            X, y = self._validate(X, y, reset=True)
            learner = self._start_session()
            X, y, self._scaled = apply_sample_weights(learner, self._with_intercept(X), y, sample_weight)
            self._add_classes(y)
            random = check_random_state(self.random_state)
            for iteration in range(1, self.max_iter + 1):
                self.n_iter_ = iteration
                order = random.permutation(len(y)) if self.shuffle else slice(None)
                if self.fusion_.learn(attributes=X[order], labels=y[order]).moves == 0:
                    break
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows in one pass.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; new classes are allowed.
        classes : array-like, default=None
            Classes to add before the rows are learned.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        self : LinearMaxClassifier
            The fitted classifier.
        """
        if hasattr(self, "fusion_"):
            return self._learn(X, y, classes, sample_weight, first=False)
        with self._fresh_fit():
            return self._learn(X, y, classes, sample_weight, first=True)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, first: bool) -> Self:
        X, y = self._validate(X, y, reset=first)
        learner = self._start_session() if first else self.fusion_.learner
        X, y, scaled = apply_sample_weights(learner, self._with_intercept(X), y, sample_weight)
        self._scaled = scaled or (not first and self._scaled)
        if classes is not None:
            self._add_classes(validate_labels(classes))
        self.fusion_.learn(attributes=X, labels=y)
        self._add_classes(y, to_session=False)
        self.n_iter_ = 1
        return self

    def predict_proba(self, X: Any) -> Scores:
        """Return calibrated probabilities, as `Fusion.predict_proba` does.

        They are calibrated by the labels that were learned, each predicted before it was seen. With several
        passes that is too confident, because rows were seen before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probabilities, columns as in `classes_`.

        Raises
        ------
        ValueError
            If a rule has learned rows with sample weights other than 0 and 1, which scale its scores.
        """
        check_is_fitted(self)
        if self._scaled:
            raise ValueError(
                "sample weights other than 0 and 1 scale the scores that probabilities are calibrated with;"
                " wrap the classifier in CalibratedClassifierCV, or use the default learner"
            )
        return super().predict_proba(X)

    @property
    def coef_(self) -> Scores:
        """The weights of the attributes, a row per class; for two classes the second's minus the first's."""
        table = self._weight_table()
        return table[:, :-1] if self._has_intercept else table

    @property
    def intercept_(self) -> Scores:
        """The intercept of each class; for two classes the second's minus the first's."""
        table = self._weight_table()
        intercepts: Scores = table[:, -1] if self._has_intercept else np.zeros(len(table))
        return intercepts

    def _start_session(self) -> Learner:
        learner, default_source = learner_on_attributes(self.learner, Attributes())
        self.fusion_ = Fusion(learner)
        self._has_intercept = bool(self.fit_intercept and default_source)
        return learner

    def _validate(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        labels = validate_labels(y)
        rows = validate_rows(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        check_consistent_length(rows, labels)
        return rows, labels

    def _scores(self, X: Any) -> Scores:
        rows = validate_rows(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return self.fusion_.scores(attributes=self._with_intercept(rows))

    def _with_intercept(self, X: Any) -> Any:
        """Append a column of ones if the model has an intercept."""
        if not self._has_intercept:
            return X
        ones = np.ones((X.shape[0], 1))
        if sparse.issparse(X):
            return sparse.hstack((X, ones), format="csr")
        return np.concatenate((X, ones), axis=1)

    def _weight_table(self) -> Scores:
        check_is_fitted(self, "fusion_")
        learner, weights = self.fusion_.learner, self.fusion_.weights
        if not all(isinstance(layer, Averaged | Recycled | Rule) for layer in layers(learner)) or not (
            learner.rule.experts == Attributes()
        ):
            raise AttributeError(f"{learner} is not one weight per attribute and class; see fusion_.weights")
        attributes = range(self.n_features_in_ + self._has_intercept)
        table = np.array(
            [[weights["attribute", a, self._key(label)] for a in attributes] for label in self.classes_]
        )
        return table[1:] - table[:1] if len(table) == 2 else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def apply_sample_weights(learner: Learner, X: Any, y: Array, weights: Any) -> tuple[Any, Array, bool]:
    """Return the rows to learn, multiplied by their weights or repeated, and whether they are multiplied.

    Those of weight 0 are left out.

    A weight c means that a row counts c times in the loss, so its gradient is c times as long. A rule whose
    theta moves by exactly z does this when the row is multiplied by c: z becomes c z, and no prediction
    changes, since all scores are multiplied by c > 0. This requires a rule that moves on mistakes only, with
    one rival or all violators, and a source that is linear in the row. Ensembles learn the row c times; where
    c is no whole number, the sum of all weights up to a row decides.
    """
    if weights is None:
        return X, y, False
    weights = _check_sample_weight(weights, X, dtype=np.float64, ensure_non_negative=True)
    used = np.flatnonzero(weights)
    if not len(used):
        raise ValueError("sample_weight is 0 for every row; at least one weight must be positive")
    X, y, weights = X[used], y[used], weights[used]
    if (weights == 1.0).all():
        return X, y, False
    refusing = [base for base in base_learners(learner) if not _scales_with_rows(base)]
    if refusing and learner.ensemble:
        rows = _repeated_rows(weights)
        return X[rows], y[rows], False
    if refusing:
        raise ValueError(
            f"{refusing[0]!r} cannot use a sample weight of {weights[weights != 1.0][0]:g};"
            " pass weights of 0 and 1, or use a rule that moves by exactly z, such as Perceptron()"
        )
    if sparse.issparse(X):
        return sparse.diags_array(weights, format="csr") @ X, y, True
    return X * weights[:, None], y, True


def _repeated_rows(weights: Scores) -> NDArray[np.int64]:
    """Return the index of each row as often as its weight says.

    >>> _repeated_rows(np.array([2.0, 0.5, 0.5, 1.0])).tolist()
    [0, 0, 1, 3]
    """
    total = float(weights.sum())
    if not 0.5 <= total <= MAX_REPEATS * len(weights):
        raise ValueError(
            f"sample_weight adds up to {total:g} for {len(weights)} rows, which are learned as often as their"
            f" weights say; scale the weights to a mean of about 1, and at most {MAX_REPEATS}"
        )
    ends = np.floor(np.cumsum(weights) + 0.5)
    return np.repeat(np.arange(len(weights)), np.diff(ends, prepend=0.0).astype(np.int64))


def _scales_with_rows(rule: Any) -> bool:
    return (
        "theta adds z" in getattr(rule, "claims", ())
        and rule.slack == 0
        and rule.rivals in ("top", "violators")
        and rule.experts == Attributes()
    )
