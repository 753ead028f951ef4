"""The base class of the River classifiers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from linmax.fusion import Fusion

if TYPE_CHECKING:
    import pandas as pd


class SessionClassifier(base.MiniBatchClassifier):
    """Base class: predictions and probabilities of the session `fusion`.

    A subclass says with `_session_input` what the session is given.
    """

    fusion: Fusion

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of what the session has learned; River would also walk through compiled code."""
        names = self.fusion.names
        named = [*names.classes.names, *names.experts.names, *names.attributes.names]
        arrays: int = sum(array.nbytes for array in self.fusion.state().values())
        models: int = sum(model._raw_memory_usage for model in getattr(self, "models", ()))
        return arrays + sum(map(sys.getsizeof, named)) + models

    def _session_input(self, items: list[dict[Any, Any]]) -> dict[str, Any]:
        """Return the keyword arguments of `Fusion.scores` for these items."""
        raise NotImplementedError

    def predict_proba_one(self, x: dict[Any, Any], **options: Any) -> dict[Any, float]:
        """Return the calibrated probabilities of one item, as `Fusion.predict_proba` does.

        Parameters
        ----------
        x : dict
            The features of the item.
        **options : Any
            Ignored; part of River's interface.

        Returns
        -------
        probabilities : dict
            The probability of each known class.
        """
        return self._probabilities([x])[0]

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the calibrated probabilities of every row.

        Parameters
        ----------
        X : pandas.DataFrame
            One item per row.

        Returns
        -------
        probabilities : pandas.DataFrame
            One column per known class, with the index of `X`.
        """
        import pandas as pd

        return pd.DataFrame(self._probabilities(X.to_dict("records")), index=X.index)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Predict the class of every row.

        Parameters
        ----------
        X : pandas.DataFrame
            One item per row.

        Returns
        -------
        classes : pandas.Series
            The prediction of `predict_one` for every row, with the index of `X`.
        """
        import pandas as pd

        items = X.to_dict("records")
        return pd.Series([self.predict_one(x) for x in items], index=X.index, dtype=None if items else object)

    def _probabilities(self, items: list[dict[Any, Any]]) -> list[dict[Any, float]]:
        p, classes = self.fusion.predict_proba(**self._session_input(items)), self.fusion.classes
        if not classes:
            return [{} for _ in items]
        return [dict(zip(classes, row, strict=True)) for row in p.tolist()]


def to_python(value: Any) -> Any:
    """Return a numpy scalar as a Python scalar, and anything else as it is."""
    return value.item() if isinstance(value, np.generic) else value
