"""linmax on a problem, and what needs no learning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import linmax
from benchmarks.peers.feed import Feed, Ints
from benchmarks.quality.problem import AS_FILED
from linmax import Averaged, Fusion, Logistic, Mixture, Perceptron, Tempered, Winnow, recommended
from linmax.experts import Attributes, Gaussian, Kernel, Shared, Thresholds
from linmax.spec import Learner

LINMAX = "linmax"  # the default, which is what the peers are compared with
BANK = "linmax vr_combine"
MIXTURE = "linmax mixture"
HEAVY = 300_000  # items times experts above which the bank runs in two orders only
TWO = (AS_FILED, "0")


def learners(feed: Feed) -> dict[str, Learner]:
    """linmax's columns; the first is the default."""
    return on_votes() if feed.form == "votes" else on_attributes(feed)


def on_votes() -> dict[str, Learner]:
    """The default, a single learner, and the bank of 2008 where there is one."""
    made: dict[str, Learner] = {
        LINMAX: recommended(),
        "linmax averaged Perceptron": Averaged(Perceptron()),
        "linmax averaged Winnow": Averaged(Winnow(1.2)),
    }
    bank = getattr(linmax, "vr_combine", None)
    return made if bank is None else made | {BANK: bank()}


def on_attributes(feed: Feed) -> dict[str, Learner]:
    """The default of the adapters' LinearMaxClassifier, and three of other kinds; then all four mixed."""
    linear = Attributes() + Thresholds()
    made: dict[str, Learner] = {
        LINMAX: Averaged(Perceptron().on(linear)),
        "linmax logistic": Logistic(0.3, decay="adagrad").on(linear),
    }
    if feed.form == "words":
        made["linmax hybrid"] = Averaged(Perceptron().on(Shared("ternary") + linear))
    else:
        made["linmax hybrid"] = Averaged(Perceptron().on(Shared("product") + linear))
        near = Gaussian(feed.attributes.shape[1] / 4)
        made["linmax kernel"] = Averaged(Perceptron().on(Kernel(near)))
    calm = tuple(one if isinstance(one, Logistic) else Tempered(one) for one in made.values())
    return made | {MIXTURE: Mixture(calm)}


def guesses(feed: Feed, order: str, each: Callable[[str], None] = lambda name: None) -> dict[str, Ints]:
    """What each of linmax's learners guesses in one pass; `each` is told who is next."""
    said = {}
    for name, learner in learners(feed).items():
        if name == BANK and feed.votes.size > HEAVY and order not in TWO:
            continue
        each(name)
        fusion = Fusion(learner, classes=range(feed.k))
        said[name] = np.asarray(fusion.learn(**given(feed)).guesses)
    return said | untaught(feed)


def given(feed: Feed) -> dict[str, Any]:
    """The arguments of `learn`."""
    if feed.form == "votes":
        return {"votes": feed.votes, "labels": feed.labels}
    return {"attributes": feed.attributes, "labels": feed.labels}


def untaught(feed: Feed) -> dict[str, Ints]:
    """What needs no learning."""
    if feed.form == "votes":
        best = (feed.votes == feed.labels[:, None]).mean(axis=0).argmax()
        return {"plurality": plurality(feed.votes, feed.k), "best expert": feed.votes[:, best]}
    last = np.concatenate([[0], feed.labels[:-1]])
    return {"commonest so far": commonest(feed.labels, feed.k), "last label": last}


def plurality(votes: Ints, k: int) -> Ints:
    """The class with most votes; a tie goes to the first."""
    counts = np.stack([(votes == c).sum(axis=1) for c in range(k)], axis=1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)


def commonest(labels: Ints, k: int) -> Ints:
    """The label seen most often before each item."""
    counts = np.cumsum(np.eye(k, dtype=np.int64)[labels], axis=0)
    return np.concatenate([[0], counts[:-1].argmax(axis=1)])
