"""A panel of classifiers that know little, each about something else: digits, read in scraps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

STREAM = 1500  # digits to vote on; the other 297 are what scraps are torn from
SURE = 0.8  # how sure the cautious one must be to speak

PIXELS = np.arange(64).reshape(8, 8)
WHOLE = PIXELS.ravel()


class Digits(NamedTuple):
    """The panel as data."""

    experts: list[str]
    votes: NDArray[np.int64]  # (items, experts), -1 abstains
    labels: NDArray[np.int64]
    images: NDArray[np.float64]  # (items, 8, 8) from 0, paper, to 1, ink


class Member(NamedTuple):
    """A classifier and the scrap it learns from: some pixels of so many digits."""

    name: str
    model: Any
    pixels: NDArray[np.int64]
    scrap: int


def members(seed: int) -> list[Member]:
    """Twelve of very different worth."""
    return [
        Member("logistic", LogisticRegression(max_iter=1000), WHOLE, 60),
        Member("logistic, right half", LogisticRegression(max_iter=1000), PIXELS[:, 4:].ravel(), 80),
        Member("ridge, bottom half", RidgeClassifier(), PIXELS[4:].ravel(), 80),
        Member("naive Bayes, top half", GaussianNB(var_smoothing=0.01), PIXELS[:4].ravel(), 80),
        Member("naive Bayes, ink or not", BernoulliNB(binarize=0.5), WHOLE, 60),
        Member("3 neighbours", KNeighborsClassifier(3), WHOLE, 60),
        Member("1 neighbour, left half", KNeighborsClassifier(1), PIXELS[:, :4].ravel(), 40),
        Member("deep tree", DecisionTreeClassifier(random_state=seed), WHOLE, 150),
        Member("stump", DecisionTreeClassifier(max_depth=1, random_state=seed), WHOLE, 100),
        Member("always 3", DummyClassifier(strategy="constant", constant=3), WHOLE, 297),
        Member("confused", KNeighborsClassifier(1), WHOLE, 120),
        Member("cautious", LogisticRegression(max_iter=1000), WHOLE, 100),
    ]


def digits(seed: int = 0) -> Digits:
    """Train the members on their scraps and let them vote on the rest; the seed decides all chance."""
    pixels, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    pixels, labels = pixels[order] / 16.0, labels[order].astype(np.int64)
    known = len(labels) - STREAM
    panel = members(seed)
    votes = np.empty((STREAM, len(panel)), np.int64)
    for column, (name, model, part, size) in zip(votes.T, panel, strict=True):
        scrap = rng.choice(known, size, replace=False)
        model.fit(pixels[scrap][:, part], labels[scrap])
        items = pixels[known:, part]
        column[:] = model.predict(items)
        if name == "confused":
            column[:] = derangement(rng)[column]
        if name == "cautious":
            column[model.predict_proba(items).max(axis=1) < SURE] = -1
    return Digits(
        [member.name for member in panel], votes, labels[known:], pixels[known:].reshape(STREAM, 8, 8)
    )


def derangement(rng: np.random.Generator) -> NDArray[np.int64]:
    """Another name for each of the ten digits: they move one place on along a random circle.

    >>> derangement(np.random.default_rng(0)).tolist()
    [9, 8, 6, 7, 1, 3, 4, 2, 0, 5]
    """
    circle = rng.permutation(10)
    other = np.empty(10, np.int64)
    other[circle] = np.roll(circle, 1)
    return other
