"""Panels of scikit-learn models that are fitted to some items of a stream and vote on others."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.problem import Panel, Stream

FITTED, VOTES = 1000, 2000  # items
VOTED = ("penbased", "satimage", "letter")  # streams for panels of models


def model_panels(streams: list[Stream]) -> list[Panel]:
    """Return a panel of models for each of the chosen streams."""
    return [model_panel(one) for one in streams if one.name in VOTED]


def model_panel(stream: Stream) -> Panel:
    """Return the votes of seven different models on items they were not fitted to."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    order = np.random.default_rng(0).permutation(len(stream.labels))
    before, after = order[:FITTED], np.sort(order[FITTED:])[:VOTES]
    models = [
        DecisionTreeClassifier(max_depth=1, random_state=0),
        DecisionTreeClassifier(max_depth=4, random_state=0),
        DecisionTreeClassifier(random_state=0),
        GaussianNB(),
        NearestCentroid(),
        KNeighborsClassifier(1),
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    ]
    said = []
    for model in models:
        model.fit(stream.attributes[before], stream.labels[before])
        said.append(model.predict(stream.attributes[after]))
    votes = np.stack(said, axis=1).astype(np.int64)
    return Panel(f"{stream.name}, 7 models", votes, stream.labels[after], stream.k, "models")
