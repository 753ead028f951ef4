"""Estimators in: a meta-estimator that learns on-line which of them to trust."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.base import ClassifierMixin, TransformerMixin
from sklearn.ensemble._base import _BaseHeterogeneousEnsemble
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_consistent_length, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from linmax.adapters.common import Scores, settled
from linmax.adapters.sklearn.base import Array, Decides, labels_of, names_of, one_kind, readable
from linmax.adapters.sklearn.cross_fit import WAYS, Ask, begin, fitted, out_of_fold, side_by_side, teach
from linmax.fusion import Explanation, Fusion
from linmax.spec import Learner


class FusionClassifier(Decides, ClassifierMixin, TransformerMixin, _BaseHeterogeneousEnsemble):
    """Fuse the votes of estimators with weights that are learned on-line.

    `estimators` and its nested parameters are those of `StackingClassifier`. `fit` makes out-of-fold votes
    with `cv`, so that nobody votes on a row it has learned, lets the session `fusion_` learn them in the
    order of the rows, and fits every estimator once more on all of them. With `refit=False` those of the last
    fold stay instead (with a cv of one split this is blending); with `prefit=True` the estimators are taken
    as they are and never changed, and X should be rows that are new to them. `partial_fit` goes on:
    estimators vote on new rows, the session learns from these votes, and then those that can learn the rows.

    `votes` is what estimators are asked for. `learner` is a learner, its text, or None: `recommended()`.
    Learning is on-line: shuffle rows that are sorted by class.

    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from linmax.adapters.sklearn import FusionClassifier
    >>> X, X_test, y, y_test = train_test_split(*load_wine(return_X_y=True), random_state=0)
    >>> panel = [("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1, random_state=0))]
    >>> model = FusionClassifier(panel, "Averaged(Perceptron(start='equal'))").fit(X, y)
    >>> round(model.score(X_test, y_test), 2)
    0.9...
    >>> model.weights_["bayes"] > model.weights_["stump"]
    True
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]],
        learner: Learner | str | None = None,
        *,
        prefit: bool = False,
        votes: str = "predict",
        cv: Any = None,
        refit: bool = True,
        passes: int = 1,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.learner = learner
        self.prefit = prefit
        self.votes = votes
        self.cv = cv
        self.refit = refit
        self.passes = passes
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Begin anew; `params` go to the estimators: by metadata routing or, `sample_weight`, to all."""
        self.__dict__.pop("fusion_", None)
        known, panel = names_of(X), self._panel()
        X, labels = _rows(X, y)
        check_consistent_length(labels, params.get("sample_weight"))
        fusion = self._begin(panel, labels)
        ask = Ask(self.votes, fusion.names.classes.codes)
        if self.prefit:
            self._routed("fit", params)
            self.estimators_ = list(panel.values())
            votes, rows = [ask.one(name, one, X) for name, one in panel.items()], np.arange(len(labels))
        else:
            routed = self._routed("fit", params)
            members = [(name, one, routed[name]["fit"]) for name, one in panel.items()]
            splits = self._splits(X, labels, routed)
            votes, rows, last = out_of_fold(ask, members, X, labels, splits, self.n_jobs)
            self.estimators_ = self._refitted(members, X, labels) if self.refit else last
        fusion.learn(side_by_side(votes, len(rows)), labels[rows], passes=self.passes)
        self._end(fusion, panel, known)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> Self:
        """Vote on new rows, learn from the votes, then let the estimators that can learn the rows.

        `classes` may announce classes, others may come unannounced: rows of a class that an estimator cannot
        take in are kept from it. Without `fit` before, all estimators abstain from the first rows and learn
        them; those that cannot learn more then stay as they are.
        """
        known, (X, labels) = names_of(X), _rows(X, y)
        check_consistent_length(labels, params.get("sample_weight"))
        announced = labels[:0] if classes is None else labels_of(classes)
        if not hasattr(self, "fusion_"):
            return self._first(X, labels, announced, params, known)
        self._meet(announced)
        votes = self._votes(X)
        routed = self._routed("partial_fit", params)
        self.fusion_.learn(side_by_side(votes, len(labels)), labels)
        self._meet(labels, say=False)
        for name, one in zip(self.fusion_.experts, self.estimators_, strict=True):
            if hasattr(one, "partial_fit") and not self.prefit:
                teach(one, X, labels, routed[name]["partial_fit"])
        return self

    def transform(self, X: Any) -> Array:
        """The votes: a column per estimator, or per estimator and class where they are scores."""
        check_is_fitted(self, "fusion_")
        votes = side_by_side(self._votes(X), 0)
        return votes.reshape(len(votes), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the votes: `fusionclassifier_bayes`, then the class where votes are scores."""
        check_is_fitted(self, "fusion_")
        ends = [""] if self.votes == "predict" else [f"_{name}" for name in self.fusion_.classes]
        names = [f"fusionclassifier_{name}{end}" for name in self.fusion_.experts for end in ends]
        return np.array(names, dtype=object)

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each estimator; what else the learner weighs is in `fusion_.weights`."""
        check_is_fitted(self, "fusion_")
        weights = self.fusion_.weights
        return {name: weights[name] for name in self.fusion_.experts if name in weights}

    def explain(self, X: Any) -> Explanation:
        """What each estimator adds to each class, for one row."""
        check_is_fitted(self, "fusion_")
        votes = side_by_side(self._votes(X), 0)
        if len(votes) != 1:
            raise ValueError(f"explain takes one row (got {len(votes)}); pass X[i : i + 1]")
        said = votes[0].tolist()
        if self.votes != "predict":
            said = [dict(zip(self.fusion_.classes, scores, strict=False)) for scores in said]
        return self.fusion_.explain_one(dict(zip(self.fusion_.experts, said, strict=True)))

    @property
    def n_features_in_(self) -> int:
        """The number of features that the first estimator has met."""
        if not hasattr(self, "estimators_"):
            raise AttributeError(f"{type(self).__name__} object has no attribute n_features_in_")
        width: int = self.estimators_[0].n_features_in_
        return width

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of `fit` and `partial_fit` go to the estimators' own, and of `fit` to the splitter."""
        router = MetadataRouter(owner=self)
        for name, estimator in self.estimators:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(
                **{name: estimator}, method_mapping=mapping.add(caller="partial_fit", callee="partial_fit")
            )
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _first(
        self, X: Any, labels: Array, announced: Array, params: dict[str, Any], known: Array | None
    ) -> Self:
        """The first rows without a `fit`: nobody has anything to vote with yet, unless they are fitted."""
        panel = self._panel()
        fusion = self._begin(panel, announced)
        ask = Ask(self.votes, fusion.names.classes.codes)
        votes: list[Array | None] = [None] * len(panel)
        routed = self._routed("partial_fit", params)
        if self.prefit:
            self.estimators_ = list(panel.values())
            votes = [ask.one(name, one, X) for name, one in panel.items()]
        else:
            classes = one_kind(announced, labels)
            self.estimators_ = [
                begin(one, X, labels, classes, routed[name]["partial_fit"]) for name, one in panel.items()
            ]
        fusion.learn(side_by_side(votes, len(labels)), labels)
        self._end(fusion, panel, known)
        self._meet(labels, say=False)
        return self

    def _panel(self) -> dict[str, Any]:
        """The estimators that were not dropped, and options that can be."""
        if self.votes not in WAYS:
            ways = ", ".join(map(repr, WAYS))
            raise ValueError(f"votes must be one of {ways} (got {self.votes!r}); labels are 'predict'")
        names, estimators = self._validate_estimators()
        panel = {name: one for name, one in zip(names, estimators, strict=True) if one != "drop"}
        if self.prefit:
            for one in panel.values():
                check_is_fitted(one)
        return panel

    def _begin(self, panel: dict[str, Any], labels: Array) -> Fusion:
        """A session for these estimators that knows the labels, and the classes of those already fitted."""
        known = [getattr(one, "classes_", labels[:0]) for one in panel.values()] if self.prefit else []
        self.classes_ = one_kind(labels, *known)
        classes = [self._key(label) for label in self.classes_]
        return Fusion(settled(self.learner), classes=classes, experts=panel, abstain=None)

    def _end(self, fusion: Fusion, panel: dict[str, Any], known: Array | None) -> None:
        """Only now there is something to predict with: an error before leaves nothing half-learned."""
        self.named_estimators_ = Bunch(**dict(zip(panel, self.estimators_, strict=True)))
        self.__dict__.pop("feature_names_in_", None)
        names = [one.feature_names_in_ for one in self.estimators_ if hasattr(one, "feature_names_in_")]
        if names or known is not None:
            self.feature_names_in_ = names[0] if names else known
        self.fusion_ = fusion

    def _splits(self, X: Any, labels: Array, routed: Any) -> list[tuple[Array, Array]]:
        if len(labels) < 2:
            raise ValueError(
                f"out-of-fold votes need two rows or more (got n_samples={len(labels)});"
                " pass more, or use partial_fit"
            )
        cv = check_cv(self.cv, labels, classifier=True)
        return list(cv.split(X, labels, **routed.get("splitter", {}).get("split", {})))

    def _refitted(self, members: list[tuple[str, Any, dict[str, Any]]], X: Any, labels: Array) -> list[Any]:
        fits = (delayed(fitted)(one, X, labels, params) for _, one, params in members)
        return list(Parallel(n_jobs=self.n_jobs)(fits))

    def _routed(self, method: str, params: dict[str, Any]) -> Any:
        """What each estimator is given beside X and y; the session hears every row alike."""
        if self.prefit and params:
            raise TypeError(
                f"{method} got {', '.join(sorted(params))}, but estimators that are prefit learn nothing;"
                " leave it out"
            )
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params)
        if strange := set(params) - {"sample_weight"}:
            raise TypeError(
                f"{method} got {', '.join(sorted(strange))}, which only metadata routing can pass on;"
                " sklearn.set_config(enable_metadata_routing=True)"
            )
        return {name: Bunch(**{method: params}) for name, _ in self.estimators}

    def _votes(self, X: Any) -> list[Array]:
        X, ask = readable(X), Ask(self.votes, self.fusion_.names.classes.codes)
        return [
            ask.one(name, one, X) for name, one in zip(self.fusion_.experts, self.estimators_, strict=True)
        ]

    def _scores(self, X: Any) -> Scores:
        return self.fusion_.scores(side_by_side(self._votes(X), 0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _rows(X: Any, y: Any) -> tuple[Any, Array]:
    """X as it is, or in a form that has rows to choose from; and its labels."""
    X, labels = indexable(readable(X), labels_of(y))
    return X, labels
