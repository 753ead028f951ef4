"""Sample weights, where a rule can honour them.

A weight c asks that a row counts c times in the loss, so that its gradient is c times as long. A rule whose
theta moves by exactly z does so when its row is c times as long: z is then c z, and no guess changes, for
scores that are all multiplied by c > 0 keep their order. This needs a rule that moves on mistakes only, one
rival or all violators, and a source that is linear in the row. Every other rule can leave a row out.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from linmax.adapters.common import Scores, leaves, over
from linmax.adapters.sklearn.base import Array, Decides, labels_of, validated
from linmax.experts import Attributes
from linmax.fusion import Fusion
from linmax.rules import Rule
from linmax.spec import Learner
from linmax.techniques import Averaged, Recycled, layers


def weighed(learner: Learner, X: Any, y: Array, weights: Any) -> tuple[Any, Array]:
    """The rows to learn: those of weight 0 left out, the others as long as they weigh."""
    if weights is None:
        return X, y
    weights = _check_sample_weight(weights, X, dtype=np.float64, ensure_non_negative=True)
    there = np.flatnonzero(weights)
    if not len(there):
        raise ValueError("sample_weight is 0 for every row; at least one must count")
    X, y, weights = X[there], y[there], weights[there]
    if (weights == 1.0).all():
        return X, y
    for leaf in leaves(learner):
        if not _moves_by_z(leaf):
            raise ValueError(
                f"{leaf!r} cannot honour a sample weight of {weights[weights != 1.0][0]:g};"
                " take weights of 0 and 1, or a rule that moves by exactly z, such as Perceptron()"
            )
    if sparse.issparse(X):
        return sparse.diags_array(weights, format="csr") @ X, y
    return X * weights[:, None], y


def _moves_by_z(rule: Any) -> bool:
    return (
        "theta adds z" in getattr(rule, "claims", ())
        and rule.slack == 0
        and rule.rivals in ("top", "violators")
        and rule.experts == Attributes()
    )


class LinearMaxClassifier(Decides, ClassifierMixin, BaseEstimator):
    """A linear machine with any rule and technique; `partial_fit` takes classes nobody has announced.

    A drop-in for `Perceptron` and `SGDClassifier`. `learner` is a learner or its text, over `Attributes()`
    unless it is set on a source of its own (`Shared`, `Kernel`, `Pairs`). `fit` goes over the rows `max_iter`
    times, each time in another order if `shuffle`, and stops when a pass has moved nothing; `partial_fit` is
    one pass in the order given, which is what the bounds on mistakes are about. Sample weights of 0 and 1 are
    for all rules, others for those that move by exactly z (Perceptron, both Winnows, p-norm): they then move
    by the weight times z.

    >>> from sklearn.datasets import load_iris
    >>> from linmax.adapters.sklearn import LinearMaxClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearMaxClassifier(random_state=0).fit(X, y).score(X, y)
    0.97...
    >>> model = LinearMaxClassifier().partial_fit([[0.0, 1.0]], ["rain"])
    >>> model.partial_fit([[1.0, 0.0], [1.0, 0.1]], ["sun", "sun"]).predict([[0.9, 0.0]])
    array(['sun'], dtype='<U4')
    """

    def __init__(
        self,
        learner: Learner | str | None = "Averaged(Perceptron())",
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
        """Begin anew and go over the rows up to `max_iter` times."""
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be 1 or more (got {self.max_iter!r}); 10 is usual")
        with self._anew():
            X, y = self._read(X, y, reset=True)
            learner = self._begin()
            X, y = weighed(learner, self._widened(X), y, sample_weight)
            self._meet(y)
            random = check_random_state(self.random_state)
            for turn in range(1, self.max_iter + 1):
                self.n_iter_ = turn
                order = random.permutation(len(y)) if self.shuffle else slice(None)
                if self.fusion_.learn(attributes=X[order], labels=y[order]).moves == 0:
                    break
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows in one pass; `classes` may announce some, others may come unannounced."""
        if hasattr(self, "fusion_"):
            return self._learn(X, y, classes, sample_weight, first=False)
        with self._anew():
            return self._learn(X, y, classes, sample_weight, first=True)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, *, first: bool) -> Self:
        X, y = self._read(X, y, reset=first)
        learner = self._begin() if first else self.fusion_.learner
        X, y = weighed(learner, self._widened(X), y, sample_weight)
        if classes is not None:
            self._meet(labels_of(classes))
        self.fusion_.learn(attributes=X, labels=y)
        self._meet(y, say=False)
        self.n_iter_ = 1
        return self

    @property
    def coef_(self) -> Scores:
        """The weights of attributes, a row per class; of two the second's less the first's."""
        table = self._table()
        return table[:, :-1] if self._padded else table

    @property
    def intercept_(self) -> Scores:
        """The weight of each class alone."""
        table = self._table()
        alone: Scores = table[:, -1] if self._padded else np.zeros(len(table))
        return alone

    def _begin(self) -> Learner:
        """A session over attributes; where the source is ours the intercept is an attribute, always 1."""
        learner, bare = over(Attributes(), self.learner)
        self.fusion_ = Fusion(learner)
        self._padded = bool(self.fit_intercept and bare)
        return learner

    def _read(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Array]:
        labels = labels_of(y)
        rows = validated(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
        check_consistent_length(rows, labels)
        return rows, labels

    def _scores(self, X: Any) -> Scores:
        rows = validated(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return self.fusion_.scores(attributes=self._widened(rows))

    def _widened(self, X: Any) -> Any:
        if not self._padded:
            return X
        ones = np.ones((X.shape[0], 1))
        if sparse.issparse(X):
            return sparse.hstack((X, ones), format="csr")
        return np.concatenate((X, ones), axis=1)

    def _table(self) -> Scores:
        check_is_fitted(self, "fusion_")
        learner, weights = self.fusion_.learner, self.fusion_.weights
        if not all(isinstance(layer, Averaged | Recycled | Rule) for layer in layers(learner)) or not (
            learner.rule.experts == Attributes()
        ):
            raise AttributeError(f"{learner} is not one weight per attribute and class; see fusion_.weights")
        attributes = range(self.n_features_in_ + self._padded)
        table = np.array(
            [[weights["attribute", a, self._key(label)] for a in attributes] for label in self.classes_]
        )
        return table[1:] - table[:1] if len(table) == 2 else table

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
