"""FusionClassifier, StackingClassifier and VotingClassifier: accuracy, and CPU time of fit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from linmax.adapters.sklearn import FusionClassifier
from linmax.problems import disjoint, drifting, majority, shared

Split = tuple[Any, Any, Any, Any]

LEARNER: str | None = None  # the default
LOGISTIC = "Logistic(0.1, start='equal')"  # also updates on correct predictions


class Says(ClassifierMixin, BaseEstimator):
    """An estimator that predicts a column of X with probability 1."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Any, y: Any) -> Says:
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the column."""
        return X[:, self.column]

    def predict_proba(self, X: Any) -> Any:
        """Return probability 1 for the class in the column."""
        return (X[:, [self.column]] == self.classes_).astype(float)


def estimators() -> list[tuple[str, Any]]:
    """Return five different estimators: two good, two average, and a stump."""
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, tol=1e-3))),
        ("neighbours", make_pipeline(StandardScaler(), KNeighborsClassifier())),
        ("bayes", GaussianNB()),
        ("tree", DecisionTreeClassifier(max_depth=6, random_state=0)),
        ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
    ]


def ensembles(panel: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the ensembles to compare."""
    return {
        "linmax, labels": FusionClassifier(panel, LEARNER, random_state=0),
        "linmax, probabilities": FusionClassifier(panel, LEARNER, votes="predict_proba", random_state=0),
        "linmax, one Logistic, 5 passes": FusionClassifier(
            panel, LOGISTIC, votes="predict_proba", passes=5, random_state=0
        ),
        "StackingClassifier": StackingClassifier(panel, LogisticRegression(max_iter=1000)),
        "VotingClassifier, hard": VotingClassifier(panel),
        "VotingClassifier, soft": VotingClassifier(panel, voting="soft"),
    }


def sets() -> dict[str, Callable[[], tuple[list[tuple[str, Any]], Iterator[Split]]]]:
    """Return the data sets: estimators, and splits into training and test rows."""

    def bundled(load: Any) -> Callable[[], Any]:
        return lambda: (estimators(), folds(*load(return_X_y=True)))

    def halves(make: Any, panel: Any) -> Callable[[], Any]:
        return lambda: (panel(), (half(*make(seed)) for seed in range(2)))

    def columns() -> list[tuple[str, Any]]:
        return [(f"expert {at}", Says(at)) for at in range(20)]

    def table(make: Any) -> Callable[[int], Any]:
        return lambda seed: (lambda found: (np.asarray(found.attributes), found.labels))(
            make(2000, seed=seed)
        )

    def votes(make: Any, **options: Any) -> Callable[[int], Any]:
        return lambda seed: tuple(make(4000, seed=seed, **options))

    return {
        "digits": bundled(load_digits),
        "wine": bundled(load_wine),
        "breast cancer": bundled(load_breast_cancer),
        "shared (2006)": halves(table(shared), estimators),
        "disjoint (2006)": halves(table(disjoint), estimators),
        "majority": halves(votes(majority, noise=0.1), columns),
    }


def folds(X: Any, y: Any) -> Iterator[Split]:
    """Yield five folds of shuffled rows."""
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        order = np.random.default_rng(0).permutation(train)
        yield X[order], y[order], X[test], y[test]


def half(X: Any, y: Any) -> Split:
    """Return the first half of a stream for training and the second for testing."""
    middle = len(y) // 2
    return X[:middle], y[:middle], X[middle:], y[middle:]


def in_pieces(trials: int = 4000, piece: int = 200) -> dict[str, dict[str, float]]:
    """Compare on a drifting stream: linmax uses `partial_fit`, the others fit all rows again."""
    votes, labels = drifting(trials, relevant=3, every=500)
    panel = [(f"expert {at}", Says(at)) for at in range(votes.shape[1])]
    found = {}
    for name, model in ensembles(panel).items():
        right, before = 0, time.process_time()
        for begin in range(0, trials, piece):
            now = slice(begin, begin + piece)
            if begin:
                right += int((model.predict(votes[now]) == labels[now]).sum())
            if hasattr(model, "partial_fit") and begin:
                model.partial_fit(votes[now], labels[now])
            else:
                model.fit(votes[: begin + piece], labels[: begin + piece])
        found[name] = {
            "accuracy": right / (trials - piece),
            "fit seconds": time.process_time() - before,
        }
    said = [float((votes[piece:, at] == labels[piece:]).mean()) for at in range(votes.shape[1])]
    return {"best estimator": {"accuracy": max(said)}, **found}


def compare(panel: list[tuple[str, Any]], splits: Iterator[Split]) -> dict[str, dict[str, float]]:
    """Return mean accuracy with its standard error, and median CPU seconds of fit."""
    right: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    for X, y, X_test, y_test in splits:
        singles = [float((clone(one).fit(X, y).predict(X_test) == y_test).mean()) for _, one in panel]
        right.setdefault("best estimator", []).append(max(singles))
        for name, model in ensembles(panel).items():
            before = time.process_time()
            model.fit(X, y)
            seconds.setdefault(name, []).append(time.process_time() - before)
            right.setdefault(name, []).append(float((model.predict(X_test) == y_test).mean()))
    return {
        name: {
            "accuracy": statistics.fmean(many),
            "error": statistics.stdev(many) / len(many) ** 0.5 if len(many) > 1 else 0.0,
            **({"fit seconds": statistics.median(seconds[name])} if name in seconds else {}),
        }
        for name, many in right.items()
    }
