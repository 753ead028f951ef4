"""The learners of linmax on a problem, and baselines without learning."""

from __future__ import annotations

from typing import Any

import numpy as np

import linmax
from benchmarks.peers.feed import Feed, Ints
from benchmarks.quality.problem import AS_FILED, Problem
from linmax import Averaged, Fusion, Logistic, Mixture, Perceptron, Tempered, Winnow, recommended
from linmax.experts import Attributes, Gaussian, Kernel, Shared, Thresholds
from linmax.spec import Learner

LINMAX = "linmax"  # the default, which the peers are compared with
BANK = "linmax vr_combine"
MIXTURE = "linmax mixture"
HEAVY = 300_000  # items times experts above which the bank runs in two orders only
TWO = (AS_FILED, "0")


def learners(feed: Feed) -> dict[str, Learner]:
    """Return the learners of linmax; the first is the default."""
    return on_votes() if feed.form == "votes" else on_attributes(feed)


def on_votes() -> dict[str, Learner]:
    """Return the default, single learners, and the bank of 2008 if it exists."""
    made: dict[str, Learner] = {
        LINMAX: recommended(),
        "linmax averaged Perceptron": Averaged(Perceptron()),
        "linmax averaged Winnow": Averaged(Winnow(1.2)),
    }
    bank = getattr(linmax, "vr_combine", None)
    return made if bank is None else made | {BANK: bank()}


def on_attributes(feed: Feed) -> dict[str, Learner]:
    """Return the default, an averaged Perceptron, three other kinds, and a mixture of these four."""
    linear = Attributes() + Thresholds()
    made: dict[str, Learner] = {
        "linmax averaged Perceptron": Averaged(Perceptron().on(linear)),
        "linmax logistic": Logistic(0.3, decay="adagrad").on(linear),
    }
    if feed.form == "words":
        made["linmax hybrid"] = Averaged(Perceptron().on(Shared("ternary") + linear))
    else:
        made["linmax hybrid"] = Averaged(Perceptron().on(Shared("product") + linear))
        near = Gaussian(feed.attributes.shape[1] / 4)
        made["linmax kernel"] = Averaged(Perceptron().on(Kernel(near)))
    calm = tuple(one if isinstance(one, Logistic) else Tempered(one) for one in made.values())
    return {LINMAX: recommended(votes=False, attributes=True), **made, MIXTURE: Mixture(calm)}


def learn_problem(job: tuple[Problem, str]) -> dict[str, Ints]:
    """Return the predictions of each learner on a problem in an order: a task of `linmax.scale`."""
    problem, order = job
    return predictions(problem.feed(order), order)


def predictions(feed: Feed, order: str) -> dict[str, Ints]:
    """Return the predictions of each learner in one pass."""
    said = {}
    for name, learner in learners(feed).items():
        if name == BANK and feed.votes.size > HEAVY and order not in TWO:
            continue
        fusion = Fusion(learner, classes=range(feed.k))
        arguments = learn_arguments(feed)
        if name == LINMAX and feed.raw is not None:
            arguments["attributes"] = feed.raw
        said[name] = np.asarray(fusion.learn(**arguments).guesses)
    return said | baselines(feed)


def learn_arguments(feed: Feed) -> dict[str, Any]:
    """Return the arguments of `learn`."""
    if feed.form == "votes":
        return {"votes": feed.votes, "labels": feed.labels}
    return {"attributes": feed.attributes, "labels": feed.labels}


def baselines(feed: Feed) -> dict[str, Ints]:
    """Return the predictions of baselines that learn nothing."""
    if feed.form == "votes":
        best = (feed.votes == feed.labels[:, None]).mean(axis=0).argmax()
        return {"plurality": plurality(feed.votes, feed.k), "best expert": feed.votes[:, best]}
    last = np.concatenate([[0], feed.labels[:-1]])
    return {"commonest so far": most_frequent(feed.labels, feed.k), "last label": last}


def plurality(votes: Ints, k: int) -> Ints:
    """Return the class with most votes, the first in a tie."""
    counts = np.stack([(votes == c).sum(axis=1) for c in range(k)], axis=1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)


def most_frequent(labels: Ints, k: int) -> Ints:
    """Return the most frequent label before each item."""
    counts = np.cumsum(np.eye(k, dtype=np.int64)[labels], axis=0)
    return np.concatenate([[0], counts[:-1].argmax(axis=1)])
