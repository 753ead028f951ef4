"""River's models, which predict and learn one item at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.feed import Feed


def models() -> dict[str, Callable[[], Any]]:
    """Return all models by setting."""
    from river.linear_model import (  # type: ignore[import-not-found]  # only the peers' environment has it
        LogisticRegression,
        PAClassifier,
        SoftmaxRegression,
    )
    from river.multiclass import OneVsRestClassifier  # type: ignore[import-not-found]
    from river.naive_bayes import ComplementNB, GaussianNB, MultinomialNB  # type: ignore[import-not-found]
    from river.optim import AdaGrad  # type: ignore[import-not-found]

    return {
        "OneVsRestClassifier(LogisticRegression(AdaGrad(0.1)))": lambda: OneVsRestClassifier(
            LogisticRegression(AdaGrad(0.1))
        ),
        "OneVsRestClassifier(LogisticRegression(AdaGrad(0.3)))": lambda: OneVsRestClassifier(
            LogisticRegression(AdaGrad(0.3))
        ),
        "SoftmaxRegression(AdaGrad(0.1))": lambda: SoftmaxRegression(AdaGrad(0.1)),
        "SoftmaxRegression(AdaGrad(0.3))": lambda: SoftmaxRegression(AdaGrad(0.3)),
        "ComplementNB()": ComplementNB,
        "GaussianNB()": GaussianNB,
        "MultinomialNB()": MultinomialNB,
        "OneVsRestClassifier(PAClassifier(C=0.01))": lambda: OneVsRestClassifier(PAClassifier(C=0.01)),
        "OneVsRestClassifier(PAClassifier(C=0.1))": lambda: OneVsRestClassifier(PAClassifier(C=0.1)),
    }


def model(setting: str) -> Any:
    """Return a new model of a setting."""
    made = models()
    if setting not in made:
        raise ValueError(f"River has no model for {setting!r}; add it to benchmarks/peers/river.py")
    return made[setting]()


def predictions(setting: str, feed: Feed) -> list[int]:
    """Return the predictions of one pass; -1 where the model predicts None."""
    learner = model(setting)
    found = []
    for item, y in zip(feed.as_dicts(), feed.labels.tolist(), strict=True):
        try:
            prediction = learner.predict_one(item)
        except ZeroDivisionError:  # ComplementNB, if it has seen only items without votes
            prediction = None
        found.append(-1 if prediction is None else int(prediction))
        learner.learn_one(item, y)
    return found
