"""River classifiers: `FusionClassifier` on the votes of models, `LinearMaxClassifier` on feature dicts."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from river import base, compose, linear_model, naive_bayes

from linmax.adapters.common import learner_on_attributes, resolve_learner
from linmax.adapters.river.base import SessionClassifier, to_python
from linmax.experts import Attributes, Thresholds
from linmax.fusion import Explanation, Fusion
from linmax.inputs.names import is_pandas_na
from linmax.spec import Learner
from linmax.validation import SMALLEST_NUMBER

if TYPE_CHECKING:
    import pandas as pd

METHODS = {"predict": "predict_one", "predict_proba": "predict_proba_one"}
FAST_TYPES = frozenset({float, int, str})  # a session reads these values without conversion


class FusionClassifier(base.Ensemble[base.Classifier], SessionClassifier):
    """Fuse the votes of River models with weights that are learned on-line.

    Every model votes on an item before it learns the item. A model that predicts None, or has no
    probabilities yet, abstains.

    Parameters
    ----------
    models : list of river.base.Classifier
        The experts: classifiers, or pipelines that end in one.
    learner : Learner, str or None, default=None
        The learner of the session, or its `repr`; None is `recommended()`.
    votes : {"predict", "predict_proba"}, default="predict"
        Whether a model votes with the class it predicts or with its probabilities.

    Attributes
    ----------
    fusion : Fusion
        The session that combines the votes.
    names : list of str
        The names of the experts: the models as River prints them, numbered where several print the same.
    weights : dict
        The weight of each model.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, naive_bayes, preprocessing
    >>> from linmax.adapters.river import FusionClassifier
    >>> models = [linear_model.LogisticRegression(), naive_bayes.GaussianNB(), linear_model.PAClassifier()]
    >>> fusion = FusionClassifier(models, "Averaged(Perceptron(start='equal'))")
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
        super().__init__(iter([_validate_model(model) for model in models]))
        if votes not in METHODS:
            raise ValueError(f"votes must be 'predict' or 'predict_proba' (got {votes!r})")
        self.learner = learner
        self.votes = votes
        self.names = _unique_names([str(model) for model in self.models])
        # River's binary models have the classes False and True
        classes = None if self._multiclass else [False, True]
        self.fusion = Fusion(resolve_learner(learner), experts=self.names, classes=classes, abstain=None)

    @property
    def _min_number_of_models(self) -> int:
        return 1

    @property
    def _multiclass(self) -> bool:
        return all(model._multiclass for model in self)

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each model; `fusion.weights` has all weights of the learner."""
        weights = self.fusion.weights
        return {name: weights[name] for name in self.names if name in weights}

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one item: first the session from the votes of the models, then the models.

        Parameters
        ----------
        x : dict
            The features of the item.
        y : Any
            Its class; with None or NaN nothing is learned.
        """
        if y is None or is_pandas_na(y) or y != y:  # a data frame has NaN where a label is missing
            return
        label = _convert_label(y, self._label_type() or type(to_python(y)))
        self.fusion.learn_one(self._collect_votes(x, type(label)), label)
        for model in self.models:
            model.learn_one(x, y)

    def predict_one(self, x: dict[Any, Any], **options: Any) -> Any:
        """Predict the class of one item.

        Parameters
        ----------
        x : dict
            The features of the item.
        **options : Any
            Ignored; part of River's interface.

        Returns
        -------
        class : Any
            The class with the highest score, or None while every model predicts None.
        """
        return self.fusion.predict_one(self._collect_votes(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn row by row: every model votes on a row before it learns it, also within a batch.

        Parameters
        ----------
        X : pandas.DataFrame
            One item per row.
        y : pandas.Series
            The class of each row.
        """
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} rows but y has {len(y)} labels; pass one label per row")
        for x, label in zip(X.to_dict("records"), y, strict=True):
            self.learn_one(x, label)

    def explain_one(self, x: dict[Any, Any]) -> Explanation:
        """Explain the prediction for one item.

        Parameters
        ----------
        x : dict
            The features of the item.

        Returns
        -------
        explanation : Explanation
            What each model adds to the score of each class.
        """
        return self.fusion.explain_one(self._collect_votes(x))

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """Return a copy with the same parameters that has learned nothing.

        Parameters
        ----------
        new_params : dict, optional
            Parameters to change.
        include_attributes : bool, default=False
            Whether to copy what has been learned, too.

        Returns
        -------
        copy : FusionClassifier
            The copy.
        """
        # River clones the list of models together with what they have learned
        fresh = {} if include_attributes else {"models": [model.clone() for model in self.models]}
        copy: Self = super().clone({**fresh, **(new_params or {})}, include_attributes)
        return copy

    def _session_input(self, items: list[dict[Any, Any]]) -> dict[str, Any]:
        return {"votes": [self._collect_votes(x) for x in items]}

    def _label_type(self) -> type | None:
        """Return the type of the classes, or None while no class is known."""
        classes = self.fusion.classes
        return type(classes[0]) if classes else None

    def _collect_votes(self, x: dict[Any, Any], label_type: type | None = None) -> dict[Any, Any]:
        """Return the votes, with labels of one type: River equates True and 1, a session does not."""
        method = METHODS[self.votes]
        votes = [getattr(model, method)(x) for model in self.models]
        kind = label_type or self._label_type() or _type_of_first_label(votes)
        if self.votes == "predict":
            labels = [vote if type(vote) is kind else _convert_label(vote, kind) for vote in votes]
            return dict(zip(self.names, labels, strict=True))
        # a session reads scores below SMALLEST_NUMBER as 0, and slowly
        scores = [
            {_convert_label(name, kind): float(p) for name, p in vote.items() if p >= SMALLEST_NUMBER}
            for vote in votes
        ]
        return dict(zip(self.names, scores, strict=True))

    @classmethod
    def _unit_test_params(cls) -> Any:
        models = [linear_model.LogisticRegression(), linear_model.Perceptron(), naive_bayes.GaussianNB()]  # type: ignore[no-untyped-call]
        yield {"models": models, "learner": "Averaged(Perceptron(start='equal'))"}


class LinearMaxClassifier(SessionClassifier):
    """Learn a linear function of the features for each class, with any rule and technique.

    New features and new classes may appear at any time. Each value of a text feature is a feature of its own.
    The default is the committee `recommended(votes=False, attributes=True)`, which standardises numbers by
    itself; other learners take them as they are.

    Parameters
    ----------
    learner : Learner, str or None, default=None
        The learner of the session, or its `repr`; None is the default. It learns on `Attributes() +
        Thresholds()` unless it has a source of its own.

    Attributes
    ----------
    fusion : Fusion
        The session that learns.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from linmax.adapters.river import LinearMaxClassifier
    >>> evaluate.progressive_val_score(datasets.Phishing(), LinearMaxClassifier(), metrics.Accuracy())
    Accuracy: 89...%
    """

    def __init__(self, learner: Learner | str | None = None) -> None:
        self.learner = learner
        self.fusion = Fusion(learner_on_attributes(learner, Attributes() + Thresholds())[0])

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn one item.

        Parameters
        ----------
        x : dict
            The features of the item.
        y : Any
            Its class.
        """
        self.fusion.learn_one(None, to_python(y), attributes=_convert_features(x))

    def predict_one(self, x: dict[Any, Any], **options: Any) -> Any:
        """Predict the class of one item.

        Parameters
        ----------
        x : dict
            The features of the item.
        **options : Any
            Ignored; part of River's interface.

        Returns
        -------
        class : Any
            The class with the highest score, or None before any class is known.
        """
        return self.fusion.predict_one(attributes=_convert_features(x), new_experts="vote")

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn row by row, with the same result, bit for bit, as `learn_one` on each.

        Parameters
        ----------
        X : pandas.DataFrame
            One item per row.
        y : pandas.Series
            The class of each row.
        """
        if len(X):
            items = [_convert_features(x) for x in X.to_dict("records")]
            self.fusion.learn(attributes=items, labels=[to_python(label) for label in y])

    def explain_one(self, x: dict[Any, Any]) -> Explanation:
        """Explain the prediction for one item.

        Parameters
        ----------
        x : dict
            The features of the item.

        Returns
        -------
        explanation : Explanation
            What each feature adds to the score of each class.
        """
        return self.fusion.explain_one(attributes=_convert_features(x), new_experts="vote")

    def _session_input(self, items: list[dict[Any, Any]]) -> dict[str, Any]:
        return {"attributes": [_convert_features(x) for x in items], "new_experts": "vote"}


def _validate_model(model: Any) -> base.Classifier:
    """Return the model if it is a classifier or a pipeline that ends in one."""
    if not isinstance(model, base.Classifier | compose.Pipeline) or not hasattr(model, "predict_one"):
        raise ValueError(
            f"models must be classifiers of River (got {model!s:.60});"
            " put transformers before the FusionClassifier"
        )
    return model  # type: ignore[return-value]


def _type_of_first_label(votes: list[Any]) -> type:
    for vote in votes:
        for name in vote if isinstance(vote, dict) else [vote]:
            if name is not None:
                return type(to_python(name))
    return type(None)


def _convert_label(vote: Any, kind: type) -> Any:
    """Return a label in the type of the others: 0 is False, 1 is True, and no other number is a bool."""
    label = to_python(vote)
    if {type(label), kind} != {bool, int}:
        return label
    if label not in (0, 1):
        raise ValueError(
            f"label {label!r} is neither true nor false, but the other labels are, or a model is binary;"
            " wrap binary models in multiclass.OneVsRestClassifier"
        )
    return kind(label)


def _unique_names(names: list[str]) -> list[str]:
    """Number the second and later occurrences of a name.

    >>> _unique_names(["bayes", "tree", "bayes"])
    ['bayes', 'tree', 'bayes 2']
    """
    counts: Counter[str] = Counter()
    unique = []
    for name in names:
        counts[name] += 1
        unique.append(name if counts[name] == 1 else f"{name} {counts[name]}")
    return unique


def _convert_features(x: dict[Any, Any]) -> dict[Any, Any]:
    """Return features in one order and in types that a session reads fast: bools as 0 and 1, no numpy types.

    In River the order of features means nothing, and sums in another order differ in their last bits.
    """
    with contextlib.suppress(TypeError):  # names of several types have no order
        x = {name: x[name] for name in sorted(x)}
    if FAST_TYPES.issuperset(map(type, x.values())):
        return x
    return {name: int(value) if isinstance(value, bool) else to_python(value) for name, value in x.items()}
