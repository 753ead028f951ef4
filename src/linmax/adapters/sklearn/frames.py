"""Frames of polars and Arrow, through narwhals: scikit-learn itself reads all of them since 1.9 only."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import _check_n_features, check_array, validate_data

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
