"""River's models guess and learn one item at a time."""

from __future__ import annotations

from typing import Any

import numpy as np


def model(setting: str) -> Any:
    """The model that a setting describes."""
    from river.linear_model import (  # type: ignore[import-not-found]  # only the peers' environment has it
        LogisticRegression,
        PAClassifier,
        SoftmaxRegression,
    )
    from river.multiclass import OneVsRestClassifier  # type: ignore[import-not-found]
    from river.naive_bayes import ComplementNB  # type: ignore[import-not-found]
    from river.optim import AdaGrad  # type: ignore[import-not-found]

    made = {
        "OneVsRestClassifier(LogisticRegression(AdaGrad(0.1)))": lambda: OneVsRestClassifier(
            LogisticRegression(AdaGrad(0.1))
        ),
        "SoftmaxRegression(AdaGrad(0.1))": lambda: SoftmaxRegression(AdaGrad(0.1)),
        "ComplementNB()": ComplementNB,
        "OneVsRestClassifier(PAClassifier(C=0.01))": lambda: OneVsRestClassifier(PAClassifier(C=0.01)),
    }
    if setting not in made:
        raise ValueError(f"River has no model for {setting!r}; add it to benchmarks/peers/river.py")
    return made[setting]()


def guesses(setting: str, votes: np.ndarray[Any, Any], labels: np.ndarray[Any, Any], k: int) -> list[int]:
    """One pass over the items in the order given; -1 where the model does not guess yet."""
    learner = model(setting)
    said = []
    for row, y in zip(votes.tolist(), labels.tolist(), strict=True):
        item = {f"{expert}={c}": 1 for expert, c in enumerate(row) if c >= 0}
        try:
            guess = learner.predict_one(item)
        except ZeroDivisionError:  # ComplementNB, while all it has seen is an item on which nobody voted
            guess = None
        said.append(-1 if guess is None else int(guess))
        learner.learn_one(item, y)
    return said
