"""The CPU time of calls of the adapters and of the same calls of a session, measured in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from linmax import Fusion, parse
from linmax.adapters.sklearn import FusionClassifier, LinearMaxClassifier, VoteClassifier
from linmax.experts import Attributes, Thresholds
from linmax.problems import majority

ROWS, EXPERTS, CLASSES, ATTRIBUTES = 1000, 20, 10, 20
AVERAGED = "Averaged(Perceptron(start='equal'))"
LEARNERS = {"averaged Perceptron": AVERAGED, "the default": None}


class Column(ClassifierMixin, BaseEstimator):
    """An estimator that predicts a column of X at almost no cost."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Any, y: Any) -> Column:
        """Store the classes."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        """Return the column."""
        return X[:, self.column]


def in_turns(
    one: Callable[[], Any], other: Callable[[], Any], rounds: int, calls: int
) -> tuple[float, float]:
    """Return the median microseconds of CPU per call of both functions, measured in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for work, kept in zip((one, other), times, strict=True):
            before = time.process_time()
            for _ in range(calls):
                work()
            kept.append(1e6 * (time.process_time() - before) / calls)
    return statistics.median(times[0]), statistics.median(times[1])


def row(what: str, learner: str, limit: float, us: tuple[float, float]) -> dict[str, Any]:
    """Return a row of the table."""
    return {
        "call": what,
        "learner": learner,
        "us": us[0],
        "core us": us[1],
        "ratio": us[0] / us[1],
        "limit": limit,
    }


def batches(rounds: int, rows: int = ROWS) -> list[dict[str, Any]]:
    """Measure `partial_fit` of the scikit-learn adapters and `Fusion.learn` on the same rows."""
    votes, labels = majority(rows, experts=EXPERTS, classes=CLASSES, noise=0.1)
    found = []
    for name, learner in LEARNERS.items():
        voter, fusion = VoteClassifier(learner).partial_fit(votes, labels), Fusion(learner)
        fusion.learn(votes, labels)
        panel = FusionClassifier([(str(at), Column(at)) for at in range(EXPERTS)], learner, random_state=0)
        panel.fit(votes, labels)

        def core(fusion: Fusion = fusion) -> None:
            fusion.learn(votes, labels)

        for what, model in (("VoteClassifier", voter), ("FusionClassifier", panel)):

            def adapted(model: Any = model) -> None:
                model.partial_fit(votes, labels)

            found.append(row(f"{what}.partial_fit", name, 2.0, in_turns(adapted, core, rounds, 3)))
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(rows, ATTRIBUTES))
    truth, wide = instances[:, :CLASSES].argmax(axis=1), np.column_stack((instances, np.ones(rows)))
    linear = LinearMaxClassifier(AVERAGED).partial_fit(instances, truth)
    machine = Fusion(parse(AVERAGED).on(Attributes()))
    machine.learn(attributes=wide, labels=truth)
    us = in_turns(
        lambda: linear.partial_fit(instances, truth),
        lambda: machine.learn(attributes=wide, labels=truth),
        rounds,
        3,
    )
    return [*found, row("LinearMaxClassifier.partial_fit", "averaged Perceptron", 2.0, us)]


def singles(rounds: int, items: int = 300) -> list[dict[str, Any]]:
    """Measure `learn_one` of the River adapters, without the time of the models, and of a session."""
    from river import base

    from linmax.adapters import river

    class Said(base.Classifier):  # type: ignore[misc]  # River has no types for those who subclass
        """A model that predicts a feature at almost no cost."""

        def __init__(self, feature: int) -> None:
            self.feature = feature

        @property
        def _multiclass(self) -> bool:
            return True

        def predict_one(self, x: dict[int, Any], **options: Any) -> Any:
            return x[self.feature]

        def learn_one(self, x: dict[int, Any], y: Any) -> None:
            pass

    votes, labels = majority(items, experts=EXPERTS, classes=CLASSES, noise=0.1)
    stream = list(zip((dict(enumerate(item)) for item in votes.tolist()), labels.tolist(), strict=True))
    found = []
    for name, learner in LEARNERS.items():
        model = river.FusionClassifier([Said(at) for at in range(EXPERTS)], learner)
        fusion = Fusion(learner)

        def bare(model: Any = model) -> None:
            for x, y in stream:
                for one in model.models:
                    one.predict_one(x)
                for one in model.models:
                    one.learn_one(x, y)

        pair = (_over(model.learn_one, stream), _over(fusion.learn_one, stream))
        us = in_turns(*pair, rounds, 1)
        alone, _ = in_turns(bare, lambda: None, rounds, 1)
        line = row("river FusionClassifier.learn_one", name, 3.0, ((us[0] - alone) / items, us[1] / items))
        found.append({**line, "models us": alone / items})
    rng = np.random.default_rng(0)
    instances = rng.normal(size=(items, ATTRIBUTES))
    truth = instances[:, :CLASSES].argmax(axis=1).tolist()
    stream = list(zip((dict(enumerate(item)) for item in instances.tolist()), truth, strict=True))
    machine = Fusion(parse(AVERAGED).on(Attributes() + Thresholds()))
    linear = river.LinearMaxClassifier(AVERAGED)
    us = in_turns(
        _over(linear.learn_one, stream),
        _over(lambda x, y: machine.learn_one(None, y, attributes=x), stream),
        rounds,
        1,
    )
    return [
        *found,
        row(
            "river LinearMaxClassifier.learn_one", "averaged Perceptron", 3.0, (us[0] / items, us[1] / items)
        ),
    ]


def _over(learn: Callable[[Any, Any], Any], stream: list[tuple[Any, Any]]) -> Callable[[], None]:
    def work() -> None:
        for x, y in stream:
            learn(x, y)

    work()  # compiles, and adds every name
    return work
