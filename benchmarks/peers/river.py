"""River's models guess and learn one item at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.feed import Feed


def models() -> dict[str, Callable[[], Any]]:
    """Every model that a setting may name."""
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
    """The model that a setting describes."""
    made = models()
    if setting not in made:
        raise ValueError(f"River has no model for {setting!r}; add it to benchmarks/peers/river.py")
    return made[setting]()


def guesses(setting: str, feed: Feed) -> list[int]:
    """One pass over the items in the order given; -1 where the model does not guess yet."""
    learner = model(setting)
    said = []
    for item, y in zip(feed.described(), feed.labels.tolist(), strict=True):
        try:
            guess = learner.predict_one(item)
        except ZeroDivisionError:  # ComplementNB, while all it has seen is an item on which nobody voted
            guess = None
        said.append(-1 if guess is None else int(guess))
        learner.learn_one(item, y)
    return said
