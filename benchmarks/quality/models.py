"""Panels of models: scikit-learn's, fitted to the first part of a real stream, vote on what comes after."""

from __future__ import annotations

import numpy as np

from benchmarks.quality.problem import Panel, Stream

FITTED, VOTES = 1000, 2000  # items
VOTED = ("penbased", "satimage", "letter")  # streams of which panels are made


def voted(streams: list[Stream]) -> list[Panel]:
    """Panels of scikit-learn's models, fitted to the first items of a stream, that vote on those after."""
    return [fitted(one) for one in streams if one.name in VOTED]


def fitted(stream: Stream) -> Panel:
    """Seven models that differ, and what they say about the items after those they were fitted to."""
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
