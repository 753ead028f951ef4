"""Estimators as a panel: what each of them votes, and out-of-fold votes that none of them could look up."""

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

from linmax.inputs.names import plain

Array = NDArray[Any]
Split = tuple[Array, Array]

WAYS = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class Ask:
    """How estimators are asked: for labels, or for scores of classes."""

    way: str
    places: dict[Any, int]  # the column of each class, by its plain name

    def one(self, name: str, estimator: Any, X: Any) -> Array:
        """An estimator's votes: a label per row, or a score per row and class."""
        if not hasattr(estimator, self.way):
            raise ValueError(
                f"estimator {name!r} has no {self.way}, which votes={self.way!r} asks for; drop it"
            )
        said = np.asarray(getattr(estimator, self.way)(X))
        rows = _num_samples(X)
        if said.ndim not in (1, 2) or len(said) != rows or (self.way == "predict" and said.size != rows):
            raise ValueError(
                f"estimator {name!r} gives votes of shape {said.shape} for {rows} rows; {self.way} must give"
                " one for each row"
            )
        if self.way == "predict":
            return said.ravel()
        if said.ndim == 1:
            said = np.column_stack((-said, said))
        if said.shape[1] != len(estimator.classes_):
            raise ValueError(
                f"estimator {name!r} gives {said.shape[1]} scores for {len(estimator.classes_)} classes;"
                ' one for each is needed (for SVC: decision_function_shape="ovr")'
            )
        return self._spread(said, estimator.classes_)

    def _spread(self, said: Array, classes: Array) -> Array:
        """Scores of some classes among all: those it never saw have probability 0, or its lowest score."""
        rest = 0.0 if self.way == "predict_proba" else said.min(axis=1, keepdims=True)
        board = np.full((len(said), len(self.places)), rest)
        board[:, [self.places[plain(label, "classes")] for label in classes]] = said
        return board


def side_by_side(votes: Sequence[Array | None], rows: int) -> Array:
    """Votes of a panel as a session takes them; where nobody has any (None) all abstain."""
    there = [vote for vote in votes if vote is not None]
    return np.stack(there, axis=1) if there else np.full((rows, len(votes)), None)


def fitted(estimator: Any, X: Any, y: Array, params: dict[str, Any]) -> Any:
    """A fresh copy that has learned all rows."""
    return clone(estimator).fit(X, y, **params)


def _fold(
    ask: Ask, name: str, estimator: Any, X: Any, y: Array, split: Split, params: Any
) -> tuple[Array, Any]:
    train, test = split
    copy = clone(estimator)
    rows, labels = _safe_split(copy, X, y, train)
    copy.fit(rows, labels, **_check_method_params(X, params, indices=train))
    unseen, _ = _safe_split(copy, X, None, test, train)
    return ask.one(name, copy, unseen), copy


def out_of_fold(
    ask: Ask,
    panel: Iterable[tuple[str, Any, dict[str, Any]]],
    X: Any,
    y: Array,
    splits: list[Split],
    n_jobs: int | None,
) -> tuple[list[Array], Array, list[Any]]:
    """Votes on rows that who votes has not learned, the rows in their order, and the copies of the last fold.

    Every test row of every split is voted on once: a cv may repeat rows, or leave some out.
    """
    members = list(panel)
    found = Parallel(n_jobs=n_jobs)(
        delayed(_fold)(ask, name, estimator, X, y, split, params)
        for name, estimator, params in members
        for split in splits
    )
    tests = np.concatenate([test for _, test in splits])
    order = np.argsort(tests, kind="stable")
    votes, last = [], []
    for at in range(0, len(found), len(splits)):
        mine = found[at : at + len(splits)]
        votes.append(np.concatenate([said for said, _ in mine])[order])
        last.append(mine[-1][1])
    return votes, tests[order], last


def begin(estimator: Any, X: Any, y: Array, classes: Array, params: dict[str, Any]) -> Any:
    """A fresh copy that has learned its first rows; one that cannot learn more is fitted to them."""
    copy = clone(estimator)
    if not hasattr(copy, "partial_fit"):
        return copy.fit(X, y, **params)
    told = {"classes": classes} if "classes" in inspect.signature(copy.partial_fit).parameters else {}
    return copy.partial_fit(X, y, **told, **params)


def teach(estimator: Any, X: Any, y: Array, params: dict[str, Any]) -> None:
    """Let an estimator learn more rows; those of classes that it cannot take in are kept from it."""
    if not getattr(estimator, "grows", False):
        there = np.flatnonzero(np.isin(y, estimator.classes_))
        if not len(there):
            return
        if len(there) < len(y):
            params = _check_method_params(X, params, indices=there)
            X, y = _safe_indexing(X, there), y[there]
    estimator.partial_fit(X, y, **params)
