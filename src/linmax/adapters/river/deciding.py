"""What both classifiers share: a session that decides, and mini-batches that are the same as one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from river import base

from linmax.adapters.sessions import softmax
from linmax.fusion import Fusion

if TYPE_CHECKING:
    import pandas as pd


class Decides(base.MiniBatchClassifier):
    """Guesses and probabilities from the session `fusion`; a subclass says what it is asked with."""

    fusion: Fusion

    @property
    def _multiclass(self) -> bool:
        return True

    def _asked(self, items: list[dict[Any, Any]]) -> dict[str, list[dict[Any, Any]]]:
        """Items as `Fusion.predict` and `Fusion.scores` take them."""
        raise NotImplementedError

    def predict_proba_one(self, x: dict[Any, Any], **options: Any) -> dict[Any, float]:
        """The soft-max of the scores: probabilities for the default learner and for `Tempered(...)`."""
        return self._shares([x])[0]

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The same for the rows of a data frame."""
        import pandas as pd

        return pd.DataFrame(self._shares(X.to_dict("records")), index=X.index)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """What `predict_one` says of every row."""
        import pandas as pd

        items = X.to_dict("records")
        return pd.Series([self.predict_one(x) for x in items], index=X.index, dtype=None if items else object)

    def _shares(self, items: list[dict[Any, Any]]) -> list[dict[Any, float]]:
        scores, classes = self.fusion.scores(**self._asked(items)), self.fusion.classes
        if not classes:
            return [{} for _ in items]
        return [dict(zip(classes, row, strict=True)) for row in softmax(scores).tolist()]


def plain(label: Any) -> Any:
    """A label or number without numpy."""
    return label.item() if isinstance(label, np.generic) else label
