"""`FusionClassifier`: a meta-estimator that learns on-line how to weight the votes of its estimators."""

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

from linmax.adapters.common import resolve_learner
from linmax.adapters.sklearn.base import (
    Array,
    SessionPredictorMixin,
    learn_votes,
    merge_classes,
    non_pandas_columns,
    to_sklearn_input,
    validate_labels,
)
from linmax.adapters.sklearn.cross_fit import (
    VOTE_METHODS,
    Member,
    VoteCollector,
    first_partial_fit,
    fit_clone,
    further_partial_fit,
    out_of_fold,
    stack_votes,
)
from linmax.fusion import Explanation, Fusion
from linmax.fusion.prediction import Scores
from linmax.spec import Learner


class FusionClassifier(SessionPredictorMixin, ClassifierMixin, TransformerMixin, _BaseHeterogeneousEnsemble):
    """Fuse the votes of estimators with weights that are learned on-line.

    `fit` computes out-of-fold votes with `cv`, so that no estimator votes on a row it was fitted on. The
    session `fusion_` learns these votes in a random order. Then every estimator is fitted on all rows.
    `partial_fit` continues: the estimators vote on the new rows, the session learns from the votes in the
    order of the rows, and the estimators that have `partial_fit` learn the rows.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The estimators, as in `sklearn.ensemble.StackingClassifier`; an estimator "drop" is left out.
    learner : Learner, str or None, default=None
        The learner of the session, or its `repr`; None is `recommended()`.
    prefit : bool, default=False
        If True, the estimators are used as they are and never fitted. X should then hold rows they were not
        fitted on.
    votes : {"predict", "predict_proba", "decision_function"}, default="predict"
        The method of the estimators whose output is the vote.
    cv : int, cross-validation generator or iterable, default=None
        The splits of the out-of-fold votes; None is 5-fold.
    refit : bool, default=True
        If False, the estimators of the last fold are used instead of fitting on all rows. With a `cv` of one
        split this is blending.
    passes : int, default=1
        How many times the session learns the votes of `fit`.
    shuffle : bool, default=True
        Whether each of these passes takes the rows in another order; `cv` and the estimators are not
        affected. Pass False for rows in the order of time.
    random_state : int, RandomState or None, default=None
        The seed of the shuffles.
    n_jobs : int or None, default=None
        The number of jobs that fit estimators in parallel.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted.
    estimators_ : list of estimator
        The fitted estimators.
    named_estimators_ : Bunch
        The fitted estimators by name.
    fusion_ : Fusion
        The session that combines the votes.
    weights_ : dict
        The weight of each estimator.
    n_features_in_ : int
        The number of features of the first estimator.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from linmax.adapters.sklearn import FusionClassifier
    >>> X, X_test, y, y_test = train_test_split(*load_wine(return_X_y=True), random_state=0)
    >>> estimators = [("bayes", GaussianNB()), ("stump", DecisionTreeClassifier(max_depth=1, random_state=0))]
    >>> model = FusionClassifier(estimators, "Averaged(Perceptron(start='equal'))", random_state=0).fit(X, y)
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
        shuffle: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.learner = learner
        self.prefit = prefit
        self.votes = votes
        self.cv = cv
        self.refit = refit
        self.passes = passes
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the estimators and learn the weights of their votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        **params : Any
            Passed to the estimators' `fit`: by metadata routing, or `sample_weight` to all of them.

        Returns
        -------
        self : FusionClassifier
            The fitted classifier.
        """
        self.__dict__.pop("fusion_", None)
        columns, estimators = non_pandas_columns(X), self._validated_estimators()
        X, labels = _validate_input(X, y)
        check_consistent_length(labels, params.get("sample_weight"))
        fusion = self._new_session(estimators, labels)
        collector = VoteCollector(self.votes, fusion.classes)
        routed = self._route_params("fit", params)
        if self.prefit:
            self.estimators_ = list(estimators.values())
            votes = [collector.votes_of(name, one, X) for name, one in estimators.items()]
            rows = np.arange(len(labels))
        else:
            members = [(name, one, routed[name]["fit"]) for name, one in estimators.items()]
            splits = self._splits(X, labels, routed)
            votes, rows, last_clones = out_of_fold(collector, members, X, labels, splits, self.n_jobs)
            self.estimators_ = self._fit_on_all(members, X, labels) if self.refit else last_clones
        learn_votes(
            fusion, stack_votes(votes, len(rows)), labels[rows],
            passes=self.passes, shuffle=self.shuffle, random_state=self.random_state,
        )  # fmt: skip
        self._set_fitted(fusion, estimators, columns)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, **params: Any) -> Self:
        """Learn from the estimators' votes on new rows, then let the estimators learn the rows.

        Without a `fit` before, all estimators abstain on the first rows and learn them; those without
        `partial_fit` then stay as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The new rows.
        y : array-like of shape (n_samples,)
            Their labels. New classes are allowed; an estimator that cannot add them does not get their rows.
        classes : array-like, default=None
            Classes to add before the rows are learned.
        **params : Any
            Passed to the estimators' `partial_fit`, as in `fit`.

        Returns
        -------
        self : FusionClassifier
            The fitted classifier.
        """
        columns, (X, labels) = non_pandas_columns(X), _validate_input(X, y)
        check_consistent_length(labels, params.get("sample_weight"))
        added = labels[:0] if classes is None else validate_labels(classes)
        if not hasattr(self, "fusion_"):
            return self._first_partial_fit(X, labels, added, params, columns)
        self._add_classes(added)
        votes = self._votes(X)
        routed = self._route_params("partial_fit", params)
        self.fusion_.learn(stack_votes(votes, len(labels)), labels)
        self._add_classes(labels, to_session=False)
        for name, one in zip(self.fusion_.experts, self.estimators_, strict=True):
            if hasattr(one, "partial_fit") and not self.prefit:
                further_partial_fit(one, X, labels, routed[name]["partial_fit"])
        return self

    def transform(self, X: Any) -> Array:
        """Return the votes of the estimators.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        votes : ndarray of shape (n_samples, n_votes)
            A column per estimator, or per estimator and class if votes are scores.
        """
        check_is_fitted(self, "fusion_")
        votes = stack_votes(self._votes(X), 0)
        return votes.reshape(len(votes), -1)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of `transform`.

        Parameters
        ----------
        input_features : Any, default=None
            Ignored; part of scikit-learn's interface.

        Returns
        -------
        names : ndarray of str
            For example `fusionclassifier_bayes`, followed by the class if votes are scores.
        """
        check_is_fitted(self, "fusion_")
        ends = [""] if self.votes == "predict" else [f"_{name}" for name in self.fusion_.classes]
        names = [f"fusionclassifier_{name}{end}" for name in self.fusion_.experts for end in ends]
        return np.array(names, dtype=object)

    @property
    def weights_(self) -> dict[str, float]:
        """The weight of each estimator; `fusion_.weights` has all weights of the learner."""
        check_is_fitted(self, "fusion_")
        weights = self.fusion_.weights
        return {name: weights[name] for name in self.fusion_.experts if name in weights}

    def explain(self, X: Any) -> Explanation:
        """Explain the prediction for one row.

        Parameters
        ----------
        X : array-like of shape (1, n_features)
            The row.

        Returns
        -------
        explanation : Explanation
            What each estimator adds to the score of each class.
        """
        check_is_fitted(self, "fusion_")
        votes = stack_votes(self._votes(X), 0)
        if len(votes) != 1:
            raise ValueError(f"explain takes one row (got {len(votes)}); pass X[i : i + 1]")
        row = votes[0].tolist()
        if self.votes != "predict":
            row = [dict(zip(self.fusion_.classes, scores, strict=False)) for scores in row]
        return self.fusion_.explain_one(dict(zip(self.fusion_.experts, row, strict=True)))

    @property
    def n_features_in_(self) -> int:
        """The number of features of the first estimator."""
        if not hasattr(self, "estimators_"):
            raise AttributeError(f"{type(self).__name__} object has no attribute n_features_in_")
        width: int = self.estimators_[0].n_features_in_
        return width

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata to the estimators and to the splitter.

        Returns
        -------
        router : MetadataRouter
            `fit` and `partial_fit` are routed to the same methods of the estimators, `fit` also to the
            `split` of `cv`.
        """
        router = MetadataRouter(owner=self)
        for name, estimator in self.estimators:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(
                **{name: estimator}, method_mapping=mapping.add(caller="partial_fit", callee="partial_fit")
            )
        if hasattr(self.cv, "split"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def _first_partial_fit(
        self, X: Any, labels: Array, added: Array, params: dict[str, Any], columns: Array | None
    ) -> Self:
        """Learn the first rows without a `fit` before: estimators that are not fitted yet abstain."""
        estimators = self._validated_estimators()
        fusion = self._new_session(estimators, added)
        collector = VoteCollector(self.votes, fusion.classes)
        votes: list[Array | None] = [None] * len(estimators)
        routed = self._route_params("partial_fit", params)
        if self.prefit:
            self.estimators_ = list(estimators.values())
            votes = [collector.votes_of(name, one, X) for name, one in estimators.items()]
        else:
            classes = merge_classes(added, labels)
            self.estimators_ = [
                first_partial_fit(one, X, labels, classes, routed[name]["partial_fit"])
                for name, one in estimators.items()
            ]
        fusion.learn(stack_votes(votes, len(labels)), labels)
        self._set_fitted(fusion, estimators, columns)
        self._add_classes(labels, to_session=False)
        return self

    def _validated_estimators(self) -> dict[str, Any]:
        """Check the parameters, and return the estimators that were not dropped."""
        if self.votes not in VOTE_METHODS:
            methods = ", ".join(map(repr, VOTE_METHODS))
            raise ValueError(f"votes must be one of {methods} (got {self.votes!r})")
        names, estimators = self._validate_estimators()
        used = {name: one for name, one in zip(names, estimators, strict=True) if one != "drop"}
        if self.prefit:
            for one in used.values():
                check_is_fitted(one)
        return used

    def _new_session(self, estimators: dict[str, Any], labels: Array) -> Fusion:
        """Return a session that knows the labels, and the classes of estimators that are prefit."""
        fitted = [getattr(one, "classes_", labels[:0]) for one in estimators.values()] if self.prefit else []
        self.classes_ = merge_classes(labels, *fitted)
        classes = [self._key(label) for label in self.classes_]
        return Fusion(resolve_learner(self.learner), classes=classes, experts=estimators, abstain=None)

    def _set_fitted(self, fusion: Fusion, estimators: dict[str, Any], columns: Array | None) -> None:
        """Set the fitted attributes last, so that an error before leaves nothing partly fitted."""
        self.named_estimators_ = Bunch(**dict(zip(estimators, self.estimators_, strict=True)))
        self.__dict__.pop("feature_names_in_", None)
        names = [one.feature_names_in_ for one in self.estimators_ if hasattr(one, "feature_names_in_")]
        if names or columns is not None:
            self.feature_names_in_ = names[0] if names else columns
        self.fusion_ = fusion

    def _splits(self, X: Any, labels: Array, routed: Any) -> list[tuple[Array, Array]]:
        if len(labels) < 2:
            raise ValueError(
                f"out-of-fold votes require at least two rows (got n_samples={len(labels)});"
                " pass more, or use partial_fit"
            )
        cv = check_cv(self.cv, labels, classifier=True)
        return list(cv.split(X, labels, **routed.get("splitter", {}).get("split", {})))

    def _fit_on_all(self, members: list[Member], X: Any, labels: Array) -> list[Any]:
        fits = (delayed(fit_clone)(one, X, labels, params) for _, one, params in members)
        return list(Parallel(n_jobs=self.n_jobs)(fits))

    def _route_params(self, method: str, params: dict[str, Any]) -> Any:
        """Return the parameters for each estimator; the session weights all rows equally."""
        if self.prefit and params:
            raise TypeError(
                f"{method} got {', '.join(sorted(params))}, but prefit estimators are not fitted; omit it"
            )
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params)
        if unknown := set(params) - {"sample_weight"}:
            raise TypeError(
                f"{method} got {', '.join(sorted(unknown))}, which requires metadata routing:"
                " sklearn.set_config(enable_metadata_routing=True)"
            )
        return {name: Bunch(**{method: params}) for name, _ in self.estimators}

    def _votes(self, X: Any) -> list[Array]:
        X, collector = to_sklearn_input(X), VoteCollector(self.votes, self.fusion_.classes)
        named = zip(self.fusion_.experts, self.estimators_, strict=True)
        return [collector.votes_of(name, one, X) for name, one in named]

    def _scores(self, X: Any) -> Scores:
        return self.fusion_.scores(stack_votes(self._votes(X), 0))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _validate_input(X: Any, y: Any) -> tuple[Any, Array]:
    """Return X in a form whose rows can be indexed, and the labels."""
    X, labels = indexable(to_sklearn_input(X), validate_labels(y))
    return X, labels
