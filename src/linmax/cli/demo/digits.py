"""The panel of `linmax demo`: twelve classifiers that are trained on small parts of scikit-learn's digits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linmax.validation import require_extra

STREAM = 1500
"""Digits that are voted on; the classifiers are trained on the other 297."""

MIN_CONFIDENCE = 0.8
"""The probability from which on the "cautious" classifier votes."""

PIXELS = np.arange(64).reshape(8, 8)
ALL_PIXELS = PIXELS.ravel()


class DigitsPanel(NamedTuple):
    """Votes on digits.

    Attributes
    ----------
    experts : list of str
        The names of the classifiers.
    votes : ndarray of shape (items, experts)
        Their votes; -1 is no vote.
    labels : ndarray of shape (items,)
        The digits.
    images : ndarray of shape (items, 8, 8)
        The ink of each pixel, from 0 to 1.
    """

    experts: list[str]
    votes: NDArray[np.int64]
    labels: NDArray[np.int64]
    images: NDArray[np.float64]


class Member(NamedTuple):
    """A classifier, the pixels it sees, and the number of digits it is trained on."""

    name: str
    model: Any
    pixels: NDArray[np.int64]
    size: int


def members(seed: int) -> list[Member]:
    """Twelve classifiers of very different accuracy."""
    from sklearn.dummy import DummyClassifier
    from sklearn.linear_model import LogisticRegression, RidgeClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.tree import DecisionTreeClassifier

    return [
        Member("logistic", LogisticRegression(max_iter=1000), ALL_PIXELS, 60),
        Member("logistic, right half", LogisticRegression(max_iter=1000), PIXELS[:, 4:].ravel(), 80),
        Member("ridge, bottom half", RidgeClassifier(), PIXELS[4:].ravel(), 80),
        Member("naive Bayes, top half", GaussianNB(var_smoothing=0.01), PIXELS[:4].ravel(), 80),
        Member("naive Bayes, ink or not", BernoulliNB(binarize=0.5), ALL_PIXELS, 60),
        Member("3 neighbours", KNeighborsClassifier(3), ALL_PIXELS, 60),
        Member("1 neighbour, left half", KNeighborsClassifier(1), PIXELS[:, :4].ravel(), 40),
        Member("deep tree", DecisionTreeClassifier(random_state=seed), ALL_PIXELS, 150),
        Member("stump", DecisionTreeClassifier(max_depth=1, random_state=seed), ALL_PIXELS, 100),
        Member("always 3", DummyClassifier(strategy="constant", constant=3), ALL_PIXELS, 297),
        Member("confused", KNeighborsClassifier(1), ALL_PIXELS, 120),
        Member("cautious", LogisticRegression(max_iter=1000), ALL_PIXELS, 100),
    ]


def digits_panel(seed: int = 0) -> DigitsPanel:
    """Train the classifiers and let them vote on the other digits; the seed determines everything random."""
    load_digits = require_extra("sklearn.datasets", "sklearn", "linmax demo").load_digits
    pixels, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    pixels, labels = pixels[order] / 16.0, labels[order].astype(np.int64)
    known = len(labels) - STREAM
    panel = members(seed)
    votes = np.empty((STREAM, len(panel)), np.int64)
    for column, (name, model, part, size) in zip(votes.T, panel, strict=True):
        train = rng.choice(known, size, replace=False)
        model.fit(pixels[train][:, part], labels[train])
        items = pixels[known:, part]
        column[:] = model.predict(items)
        if name == "confused":
            column[:] = derangement(rng)[column]
        if name == "cautious":
            column[model.predict_proba(items).max(axis=1) < MIN_CONFIDENCE] = -1
    return DigitsPanel(
        [member.name for member in panel], votes, labels[known:], pixels[known:].reshape(STREAM, 8, 8)
    )


def derangement(rng: np.random.Generator) -> NDArray[np.int64]:
    """A random permutation of the ten digits that is one cycle, so that no digit stays the same.

    >>> derangement(np.random.default_rng(0)).tolist()
    [9, 8, 6, 7, 1, 3, 4, 2, 0, 5]
    """
    cycle = rng.permutation(10)
    other = np.empty(10, np.int64)
    other[cycle] = np.roll(cycle, 1)
    return other
