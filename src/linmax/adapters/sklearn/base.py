"""Frames of polars and Arrow, through narwhals: scikit-learn itself reads all of them since 1.9 only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_n_features,
    assert_all_finite,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from linmax.adapters.common import Scores, announce, softmax
from linmax.fusion import Fusion
from linmax.inputs.names import Label, plain
from linmax.spec import short

Array = NDArray[Any]

OLD = tuple(map(int, sklearn.__version__.split(".")[:2])) < (1, 9)


def validated(model: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """scikit-learn's `validate_data`, which now also knows the names of every frame."""
    frame = foreign(X) if OLD else None
    if frame is None:
        return validate_data(model, X, reset=reset, **options)
    rows = check_array(frame.to_numpy(), estimator=model, **options)
    known = getattr(model, "feature_names_in_", None)
    if reset:
        model.feature_names_in_ = np.array(frame.columns, object)
    elif known is not None and known.tolist() != frame.columns:
        raise ValueError(
            "The feature names should match those that were passed during fit"
            f" (got {frame.columns}); they were {known.tolist()}"
        )
    _check_n_features(model, rows, reset=reset)
    return rows


def readable(X: Any) -> Any:
    """X as estimators of this scikit-learn can read it."""
    frame = foreign(X) if OLD else None
    return X if frame is None else frame.to_numpy()


def names_of(X: Any) -> Array | None:
    """The names of the columns of a frame that is not pandas'."""
    frame = foreign(X)
    return None if frame is None else np.array(frame.columns, object)


def foreign(X: Any) -> Any:
    """A frame that is not pandas', or None."""
    if isinstance(X, np.ndarray | list) or hasattr(X, "tocsr"):
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas() else None


PLAIN = "biuU"  # whole numbers, truth values and texts: always labels


class Decides:
    """Guesses, scores and probabilities from the session `fusion_`; a subclass says how X becomes scores.

    `classes_` is always sorted, as everywhere in scikit-learn: when `partial_fit` meets a class that is new,
    the columns of `decision_function` and `predict_proba` move apart for it.
    """

    fusion_: Fusion
    classes_: Array

    grows = True  # `partial_fit` takes classes that were never announced

    def _scores(self, X: Any) -> Scores:
        """A score per row and class of the session."""
        raise NotImplementedError

    def _key(self, label: Any) -> Label | None:
        """What the session calls a class."""
        return plain(label, "labels")

    def _board(self, X: Any) -> Scores:
        check_is_fitted(self, "fusion_")
        seats = [self.fusion_.names.classes.codes[self._key(label)] for label in self.classes_]
        board: Scores = self._scores(X)[:, seats]
        return board

    def predict(self, X: Any) -> Array:
        """The class with the highest score, row by row; the first of `classes_` where they tie."""
        board = self._board(X)
        guesses: Array = self.classes_[board.argmax(axis=1)]
        return guesses

    def decision_function(self, X: Any) -> Scores:
        """The scores, columns as in `classes_`; of two classes the second's less the first's."""
        board = self._board(X)
        margin: Scores = board[:, 1] - board[:, 0] if board.shape[1] == 2 else board
        return margin

    def predict_proba(self, X: Any) -> Scores:
        """The soft-max of the scores.

        Scores of the default learner, of `Logistic` and of `Tempered(...)` are log-probabilities, so this is
        what they have learned to be sure of. Those of other rules have no scale, and their soft-max is no
        more than an order: put `Tempered(...)` around them.
        """
        return softmax(self._board(X))

    @contextmanager
    def _anew(self) -> Iterator[None]:
        """Forget all, and on an error leave nothing half-learned."""
        for name in ("fusion_", "classes_"):
            self.__dict__.pop(name, None)
        try:
            yield
        except BaseException:
            self.__dict__.pop("fusion_", None)
            raise

    def _meet(self, labels: Iterable[Any], *, say: bool = True) -> None:
        """Add classes; those of `classes=` and of estimators are announced, labels come as they come."""
        self.classes_ = one_kind(labels, *([self.classes_] if hasattr(self, "classes_") else []))
        if say:
            announce(self.fusion_, [self._key(label) for label in self.classes_])


def labels_of(y: Any) -> Array:
    """Labels as a flat array, refused where scikit-learn refuses them."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype.kind in PLAIN:
        return y  # scikit-learn has nothing to say of these, and takes half a millisecond for it
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


def one_kind(*groups: Any) -> Array:
    """All labels of some arrays, sorted, each once.

    >>> one_kind(np.array([2, 1]), [3, 2])
    array([1, 2, 3])
    >>> one_kind(["ham"], [3])
    Traceback (most recent call last):
    ValueError: classes mix text ('ham') and numbers (3): use one kind
    """
    arrays = [array for array in map(np.asarray, groups) if len(array)] or [np.asarray(groups[0])]
    firsts = {array.dtype.kind in "biuf": array[:1].tolist() for array in arrays}
    if len(firsts) == 2:
        raise ValueError(
            f"classes mix text ({firsts[False][0]!r}) and numbers ({firsts[True][0]!r}): use one kind"
        )
    return np.unique(np.concatenate(arrays))
