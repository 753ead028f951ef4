"""What both classifiers share: a session that decides, and mini-batches that are the same as one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from river import base, compose, linear_model, naive_bayes

from linmax.adapters.common import over, settled, softmax
from linmax.experts import Attributes, Thresholds
from linmax.fusion import Explanation, Fusion
from linmax.inputs.names import is_na
from linmax.inputs.numbers import SMALLEST
from linmax.spec import Learner

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


# a score below is 0 to a session, which would read it slowly


if TYPE_CHECKING:
    import pandas as pd

WAYS = {"predict": "predict_one", "predict_proba": "predict_proba_one"}


class FusionClassifier(base.Ensemble[base.Classifier], Decides):
    """River models as experts: each votes on an item before it learns it, and linmax learns whom to trust.

    `learner` is a learner, its text, or None: `recommended()`. `votes` is "predict" (labels) or
    "predict_proba" (probabilities). A model that says None, or has no probabilities yet, abstains. The
    experts are called as River prints the models, with a number after equal ones.

    >>> from river import datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing
    >>> from linmax.adapters.river import FusionClassifier
    >>> panel = [linear_model.LogisticRegression(), naive_bayes.GaussianNB(), linear_model.PAClassifier()]
    >>> fusion = FusionClassifier(panel, "Averaged(Perceptron(start='equal'))")
    >>> model = preprocessing.StandardScaler() | fusion
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 8...%
    >>> fusion.weights
    {'LogisticRegression': ..., 'GaussianNB': ..., 'PAClassifier': ...}
    """

    def __init__(
        self,
        models: Sequence[base.Classifier],
        learner: Learner | str | None = None,
        *,
        votes: str = "predict",
    ) -> None:
        super().__init__(iter([_demanded(model) for model in models]))
        if votes not in WAYS:
            raise ValueError(
                f"votes must be 'predict' or 'predict_proba' (got {votes!r}); labels are 'predict'"
            )
        self.learner = learner
        self.votes = votes
        self.names = _told_apart([str(model) for model in self.models])
        known = None if self._multiclass else [False, True]  # as River's models for two classes have it
        self.fusion = Fusion(settled(learner), experts=self.names, classes=known, abstain=None)

    @property
    def _min_number_of_models(self) -> int:
        return 1

    @property
    def _multiclass(self) -> bool:
        return all(model._multiclass for model in self)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each model; what else the learner weighs is in `fusion.weights`."""
        weights = self.fusion.weights
        return {name: weights[name] for name in self.names if name in weights}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """The models vote, the session learns from the votes, and then the models learn; nobody without y."""
        if y is None or is_na(y) or y != y:  # a frame has NaN where nothing is known
            return
        label = _label(y, self._kind() or type(plain(y)))
        self.fusion.learn_one(self._voted(x, type(label)), label)
        for model in self.models:
            model.learn_one(x, y)

    def predict_one(self, x: dict[Any, Any], **options: Any) -> Any:
        """The class with the highest score; None while every model says None."""
        return self.fusion.predict_one(self._voted(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn row after row: every model votes on a row before it learns it, also within a batch."""
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows but y has {len(y)} labels; give one for each row")
        for x, label in zip(X.to_dict("records"), y, strict=True):
            self.learn_one(x, label)

    def explain_one(self, x: dict[Any, Any]) -> Explanation:
        """What each model adds to each class."""
        return self.fusion.explain_one(self._voted(x))

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A fresh one: River would copy what the models have learned along with the list they are in."""
        fresh = {} if include_attributes else {"models": [model.clone() for model in self.models]}
        made: Self = super().clone({**fresh, **(new_params or {})}, include_attributes)
        return made

    def _asked(self, items: list[dict[Any, Any]]) -> dict[str, list[dict[Any, Any]]]:
        return {"votes": [self._voted(x) for x in items]}

    def _kind(self) -> type | None:
        """What the labels are, once there are any."""
        names = self.fusion.names.classes.names
        return type(names[0]) if names else None

    def _voted(self, x: dict[Any, Any], kind: type | None = None) -> dict[Any, Any]:
        """What the models say, in the kind of the labels: to River True is 1, to a session it is not."""
        ask = WAYS[self.votes]
        said = [getattr(model, ask)(x) for model in self.models]
        kind = kind or self._kind() or _kind(said)
        if self.votes == "predict":
            labels = [vote if type(vote) is kind else _label(vote, kind) for vote in said]
            return dict(zip(self.names, labels, strict=True))
        scores = [
            {_label(name, kind): float(p) for name, p in vote.items() if p >= SMALLEST} for vote in said
        ]
        return dict(zip(self.names, scores, strict=True))

    @classmethod
    def _unit_test_params(cls) -> Any:
        models = [linear_model.LogisticRegression(), linear_model.Perceptron(), naive_bayes.GaussianNB()]  # type: ignore[no-untyped-call]
        yield {"models": models, "learner": "Averaged(Perceptron(start='equal'))"}


def _demanded(model: Any) -> base.Classifier:
    """A model that says a class; pipelines that end in one are such, too."""
    if not isinstance(model, base.Classifier | compose.Pipeline) or not hasattr(model, "predict_one"):
        raise ValueError(
            f"models must be classifiers of River (got {model!s:.60}); scalers go before the panel"
        )
    return model  # type: ignore[return-value]


def _kind(said: list[Any]) -> type:
    """The kind of the first label that is said."""
    for vote in said:
        for name in vote if isinstance(vote, dict) else [vote]:
            if name is not None:
                return type(plain(name))
    return type(None)


def _label(vote: Any, kind: type) -> Any:
    """A label in the kind of the others: 0 and 1 are false and true, and no other number is."""
    label = plain(vote)
    if {type(label), kind} != {bool, int}:
        return label
    if label not in (0, 1):
        raise ValueError(
            f"label {label!r} is neither true nor false, and this panel has met these or has a model for two"
            " classes only; wrap such models in multiclass.OneVsRestClassifier"
        )
    return kind(label)


def _told_apart(names: list[str]) -> list[str]:
    """Names that are all different.

    >>> _told_apart(["bayes", "tree", "bayes"])
    ['bayes', 'tree', 'bayes 2']
    """
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return told


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
