"""Votes of fitted estimators, and out-of-fold votes on rows that the voting estimator was not fitted on."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, _num_samples

from linmax.inputs.names import to_label

Array = NDArray[Any]
Split = tuple[Array, Array]
Member = tuple[str, Any, dict[str, Any]]  # name, estimator, parameters of its fit

VOTE_METHODS = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class VoteCollector:
    """Call one method of every estimator, and return labels, or scores in the columns of a session.

    Parameters
    ----------
    method : str
        One of `VOTE_METHODS`.
    classes : sequence
        The classes of the session, in the order of its columns.
    """

    method: str
    classes: Sequence[Any]

    def votes_of(self, name: str, estimator: Any, X: Any) -> Array:
        """Return an estimator's votes: a label per row, or a score per row and class."""
        if not hasattr(estimator, self.method):
            raise ValueError(
                f"estimator {name!r} has no {self.method}, which votes={self.method!r} requires;"
                " drop the estimator or change votes"
            )
        votes = np.asarray(getattr(estimator, self.method)(X))
        rows = _num_samples(X)
        labels = self.method == "predict"
        if votes.ndim not in (1, 2) or len(votes) != rows or (labels and votes.size != rows):
            raise ValueError(
                f"estimator {name!r} returns votes of shape {votes.shape} for {rows} rows;"
                f" {self.method} must return one for each row"
            )
        if labels:
            return votes.ravel()
        if votes.ndim == 1:
            votes = np.column_stack((-votes, votes))
        if votes.shape[1] != len(estimator.classes_):
            raise ValueError(
                f"estimator {name!r} returns {votes.shape[1]} scores for {len(estimator.classes_)} classes;"
                ' one for each is required (for SVC: decision_function_shape="ovr")'
            )
        return self._align(votes, estimator.classes_)

    def _align(self, scores: Array, classes: Array) -> Array:
        """Spread scores over all classes; one new to the estimator gets probability 0 or its lowest score."""
        column_of = {name: column for column, name in enumerate(self.classes)}
        fill = 0.0 if self.method == "predict_proba" else scores.min(axis=1, keepdims=True)
        aligned = np.full((len(scores), len(self.classes)), fill)
        aligned[:, [column_of[to_label(label, "classes")] for label in classes]] = scores
        return aligned


def stack_votes(votes: Sequence[Array | None], rows: int) -> Array:
    """Stack the votes of all estimators; if they have none yet (None), all abstain on `rows` rows."""
    present = [vote for vote in votes if vote is not None]
    return np.stack(present, axis=1) if present else np.full((rows, len(votes)), None)


def fit_clone(estimator: Any, X: Any, y: Array, params: dict[str, Any]) -> Any:
    """Fit a clone on all rows."""
    return clone(estimator).fit(X, y, **params)


def out_of_fold(
    collector: VoteCollector,
    members: Iterable[Member],
    X: Any,
    y: Array,
    splits: list[Split],
    n_jobs: int | None,
) -> tuple[list[Array], Array, list[Any]]:
    """Return votes of clones on rows they were not fitted on, the rows in order, and the last fold's clones.

    Every test row of every split is voted on once: a cv may repeat rows, or leave some out.
    """
    fitted = Parallel(n_jobs=n_jobs)(
        delayed(_fit_fold)(collector, member, X, y, split) for member in list(members) for split in splits
    )
    tests = np.concatenate([test for _, test in splits])
    order = np.argsort(tests, kind="stable")
    votes, last_clones = [], []
    for begin in range(0, len(fitted), len(splits)):
        folds = fitted[begin : begin + len(splits)]
        votes.append(np.concatenate([fold_votes for fold_votes, _ in folds])[order])
        last_clones.append(folds[-1][1])
    return votes, tests[order], last_clones


def _fit_fold(collector: VoteCollector, member: Member, X: Any, y: Array, split: Split) -> tuple[Array, Any]:
    name, estimator, params = member
    train, test = split
    copy = clone(estimator)
    rows, labels = _safe_split(copy, X, y, train)
    copy.fit(rows, labels, **_check_method_params(X, params, indices=train))
    unseen, _ = _safe_split(copy, X, None, test, train)
    return collector.votes_of(name, copy, unseen), copy


def first_partial_fit(estimator: Any, X: Any, y: Array, classes: Array, params: dict[str, Any]) -> Any:
    """Return a clone that has learned its first rows, with `fit` if it has no `partial_fit`."""
    copy = clone(estimator)
    if not hasattr(copy, "partial_fit"):
        return copy.fit(X, y, **params)
    takes_classes = "classes" in inspect.signature(copy.partial_fit).parameters
    return copy.partial_fit(X, y, **({"classes": classes} if takes_classes else {}), **params)


def further_partial_fit(estimator: Any, X: Any, y: Array, params: dict[str, Any]) -> None:
    """Let an estimator learn more rows, without those of classes that it cannot add."""
    if not getattr(estimator, "accepts_new_classes", False):
        usable = np.flatnonzero(np.isin(y, estimator.classes_))
        if not len(usable):
            return
        if len(usable) < len(y):
            params = _check_method_params(X, params, indices=usable)
            X, y = _safe_indexing(X, usable), y[usable]
    estimator.partial_fit(X, y, **params)
