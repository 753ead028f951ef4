"""What the scikit-learn classifiers share: predictions from a session, and validation of rows and labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    assert_all_finite,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from linmax.fusion import Fusion
from linmax.fusion.prediction import Scores
from linmax.inputs.names import Label, to_label
from linmax.spec import short

Array = NDArray[Any]

# scikit-learn reads the frames of polars and Arrow, with their column names, since 1.9
READS_ALL_FRAMES = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
DISCRETE_KINDS = "biuU"  # dtypes that are always labels: bools, integers and texts
NUMBER_KINDS = "biuf"


class SessionPredictorMixin:
    """Predictions, scores and probabilities of the session `fusion_`.

    A subclass says with `_scores` how X becomes scores. `classes_` is always sorted, as everywhere in
    scikit-learn: when `partial_fit` meets a new class, the columns of `decision_function` and `predict_proba`
    shift to make room for it.
    """

    fusion_: Fusion
    classes_: Array

    accepts_new_classes = True  # `partial_fit` takes classes that were not in `classes`

    def _scores(self, X: Any) -> Scores:
        """Return a score per row and class of the session."""
        raise NotImplementedError

    def _key(self, label: Any) -> Label | None:
        """Return the name of a class in the session."""
        return to_label(label, "labels")

    def _scores_by_class(self, X: Any) -> Scores:
        """Return the scores with columns in the order of `classes_`."""
        check_is_fitted(self, "fusion_")
        column_of = {name: column for column, name in enumerate(self.fusion_.classes)}
        columns = [column_of[self._key(label)] for label in self.classes_]
        scores: Scores = self._scores(X)[:, columns]
        return scores

    def predict(self, X: Any) -> Array:
        """Predict the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class with the highest score; the first of `classes_` in a tie.
        """
        scores = self._scores_by_class(X)  # raises NotFittedError before classes_ is read
        predictions: Array = self.classes_[scores.argmax(axis=1)]
        return predictions

    def decision_function(self, X: Any) -> Scores:
        """Return the scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_classes) or (n_samples,)
            The scores, columns as in `classes_`; for two classes the second's minus the first's.
        """
        scores = self._scores_by_class(X)
        margin: Scores = scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores
        return margin

    def predict_proba(self, X: Any) -> Scores:
        """Return calibrated probabilities, as `Fusion.predict_proba` does.

        They are calibrated by the labels that were learned, each predicted before it was seen. With several
        `passes` that is too confident, because items were seen before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            The probabilities, columns as in `classes_`.
        """
        scores = self._scores_by_class(X)
        probabilities: Scores = self.fusion_.decisions.probabilities(scores)
        return probabilities

    @contextmanager
    def _fresh_fit(self) -> Iterator[None]:
        """Drop what was fitted, and on an error leave nothing partly fitted."""
        for name in ("fusion_", "classes_"):
            self.__dict__.pop(name, None)
        try:
            yield
        except BaseException:
            self.__dict__.pop("fusion_", None)
            raise

    def _add_classes(self, labels: Iterable[Any], *, to_session: bool = True) -> None:
        """Merge labels into `classes_` and, unless the session learns them itself, into the session."""
        self.classes_ = merge_classes(labels, *([self.classes_] if hasattr(self, "classes_") else []))
        if to_session:
            self.fusion_.add_classes(self._key(label) for label in self.classes_)


def learn_votes(
    fusion: Fusion, votes: Array, labels: Array, *, passes: Any, shuffle: bool, random_state: Any
) -> None:
    """Learn votes in several passes; if they are shuffled, each pass takes the rows in another order."""
    if not isinstance(passes, int | np.integer) or isinstance(passes, bool) or passes < 1:
        raise ValueError(f"passes must be an integer >= 1 (got {passes!r}); 1 is typical")
    if not shuffle:
        fusion.learn(votes, labels, passes=int(passes))
        return
    random = check_random_state(random_state)
    for _ in range(passes):
        order = random.permutation(len(labels))
        fusion.learn(votes[order], labels[order])


def validate_rows(model: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """Apply scikit-learn's `validate_data`, with column names also for frames that it cannot read."""
    frame = None if READS_ALL_FRAMES else non_pandas_frame(X)
    if frame is None:
        return validate_data(model, X, reset=reset, **options)
    rows = check_array(frame.to_numpy(), estimator=model, **options)
    fitted_names = getattr(model, "feature_names_in_", None)
    if reset:
        model.feature_names_in_ = np.array(frame.columns, object)
    elif fitted_names is not None and fitted_names.tolist() != frame.columns:
        raise ValueError(
            "The feature names should match those that were passed during fit"
            f" (got {frame.columns}); they were {fitted_names.tolist()}"
        )
    _check_n_features(model, rows, reset=reset)
    return rows


def to_sklearn_input(X: Any) -> Any:
    """Return X in a form that the estimators of this version of scikit-learn read."""
    frame = None if READS_ALL_FRAMES else non_pandas_frame(X)
    return X if frame is None else frame.to_numpy()


def non_pandas_columns(X: Any) -> Array | None:
    """Return the column names of a frame that is not pandas', or None."""
    frame = non_pandas_frame(X)
    return None if frame is None else np.array(frame.columns, object)


def non_pandas_frame(X: Any) -> Any:
    """Return a frame that is not pandas' as a narwhals frame, or None."""
    if isinstance(X, np.ndarray | list) or hasattr(X, "tocsr"):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas() else None


def validate_labels(y: Any) -> Array:
    """Return labels as a 1-D array, or raise the errors of scikit-learn."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in DISCRETE_KINDS:
        return y  # scikit-learn accepts all of these, and takes half a millisecond to check
    flat: Array = column_or_1d(y, warn=True)
    if flat.dtype.kind == "f":
        assert_all_finite(flat, input_name="y")
    try:
        check_classification_targets(flat)
    except TypeError:  # numpy could not sort them
        raise ValueError(
            f"labels must be of one kind, and none may be missing (got {short(flat[:3])}...)"
        ) from None
    return flat


def merge_classes(*groups: Any) -> Array:
    """Return the distinct labels of several arrays, sorted.

    >>> merge_classes(np.array([2, 1]), [3, 2])
    array([1, 2, 3])
    >>> merge_classes(["ham"], [3])
    Traceback (most recent call last):
    ValueError: classes mix text ('ham') and numbers (3): use one kind
    """
    arrays = [array for array in map(np.asarray, groups) if len(array)] or [np.asarray(groups[0])]
    first_by_kind = {array.dtype.kind in NUMBER_KINDS: array[:1].tolist() for array in arrays}
    if len(first_by_kind) == 2:
        text, number = first_by_kind[False][0], first_by_kind[True][0]
        raise ValueError(f"classes mix text ({text!r}) and numbers ({number!r}): use one kind")
    return np.unique(np.concatenate(arrays))
