"""FusionClassifier and River's ensembles on River's streams, with the same models."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from river import (
    datasets,
    ensemble,
    linear_model,
    multiclass,
    naive_bayes,
    preprocessing,
    tree,
)
from river.datasets import synth

from linmax.adapters.river import FusionClassifier


def models() -> list[Any]:
    """Return five different models for any number of classes."""
    return [
        preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.PAClassifier(C=0.01)),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(),
    ]


def ensembles() -> dict[str, Callable[[], Any]]:
    """Return the ensembles to compare; the meta-model is River's softmax, with and without features."""

    def stacking(features: bool) -> Callable[[], Any]:
        return lambda: ensemble.StackingClassifier(
            models(), linear_model.SoftmaxRegression(), include_features=features
        )

    return {
        "linmax, labels": lambda: FusionClassifier(models()),
        "linmax, probabilities": lambda: FusionClassifier(models(), votes="predict_proba"),
        "StackingClassifier, softmax": stacking(False),
        "StackingClassifier, softmax, features": stacking(True),
        "VotingClassifier, hard": lambda: ensemble.VotingClassifier(models(), use_probabilities=False),
        "VotingClassifier, soft": lambda: ensemble.VotingClassifier(models()),
        **{f"alone: {model}": (lambda at=at: models()[at]) for at, model in enumerate(models())},
    }


def streams() -> dict[str, Callable[[], Any]]:
    """Return data sets and generators of River."""
    return {
        "Phishing": datasets.Phishing,
        "Bananas": datasets.Bananas,
        "ImageSegments": datasets.ImageSegments,
        "LED with noise": lambda: synth.LED(seed=0, noise_percentage=0.1).take(4000),
        "SEA that drifts": lambda: synth.ConceptDriftStream(
            synth.SEA(seed=0, variant=0), synth.SEA(seed=0, variant=3), seed=0, position=2000, width=50
        ).take(4000),
    }


def progressive(make: Callable[[], Any], stream: Any) -> dict[str, float]:
    """Predict and learn item by item, and return accuracy and microseconds of CPU per item."""
    model = make()
    right = items = 0
    before = time.process_time()
    for x, y in stream:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
        items += 1
    return {"accuracy": right / items, "us": 1e6 * (time.process_time() - before) / items, "items": items}


def compare(stream: Callable[[], Any]) -> dict[str, dict[str, float]]:
    """Run all ensembles on one stream."""
    return {name: progressive(make, iter(stream())) for name, make in ensembles().items()}
