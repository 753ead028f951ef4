"""Feature dicts in: the papers' linear machine as a River classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linmax.adapters.river.deciding import Decides, plain
from linmax.adapters.sessions import over
from linmax.experts import Attributes, Thresholds
from linmax.fusion import Explanation, Fusion
from linmax.learner import Learner

if TYPE_CHECKING:
    import pandas as pd

FAST = frozenset({float, int, str})  # what a session reads without a second look


class LinearMaxClassifier(Decides):
    """A linear machine with any rule and technique, on feature dicts; new features and classes are welcome.

    `learner` is a learner or its text, over `Attributes() + Thresholds()` unless it is set on a source of its
    own. Numbers count as they are, each value of a text is a feature of its own.

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from linmax.adapters.river import LinearMaxClassifier
    >>> model = preprocessing.StandardScaler() | LinearMaxClassifier()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89...%
    """

    def __init__(self, learner: Learner | str | None = "Averaged(Perceptron())") -> None:
        self.learner = learner
        self.fusion = Fusion(over(Attributes() + Thresholds(), learner)[0])

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Guess, hear the label, move the weights."""
        self.fusion.learn_one(None, plain(y), attributes=_read(x))

    def predict_one(self, x: dict[Any, Any], **options: Any) -> Any:
        """The class with the highest score; None before any class is known."""
        return self.fusion.predict_one(attributes=_read(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn row after row: the same, bit for bit, as `learn_one` on each."""
        if len(X):
            items = [_read(x) for x in X.to_dict("records")]
            self.fusion.learn(attributes=items, labels=[plain(label) for label in y])

    def explain_one(self, x: dict[Any, Any]) -> Explanation:
        """What each feature adds to each class."""
        return self.fusion.explain_one(attributes=_read(x))

    def _asked(self, items: list[dict[Any, Any]]) -> dict[str, list[dict[Any, Any]]]:
        return {"attributes": [_read(x) for x in items]}


def _read(x: dict[Any, Any]) -> dict[Any, Any]:
    """Features as a session reads them in microseconds: truth values as 0 and 1, numbers without numpy."""
    if FAST.issuperset(map(type, x.values())):
        return x
    return {name: int(value) if isinstance(value, bool) else plain(value) for name, value in x.items()}
