"""scikit-learn, fitted in batch to the first half of a pass, predicts the second half."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks.peers.feed import Feed, Ints

STACKING, FITTED = "scikit-learn stacking", "scikit-learn in batch"
BATCH = {"votes": STACKING, "numbers": FITTED, "words": FITTED}  # its name for each kind of items
CALLED = {
    STACKING: "LogisticRegression(max_iter=1000) on one-hot votes, fitted to the first half: "
    "the final estimator of StackingClassifier(cv='prefit')",
    FITTED: "LogisticRegression(max_iter=1000), fitted to the first half",
}


def predictions(feed: Feed) -> dict[str, Ints]:
    """Return the predictions of a logistic regression on the second half."""
    from sklearn.linear_model import LogisticRegression

    name = BATCH[feed.form]
    rows = one_hot(feed) if feed.form == "votes" else feed.attributes
    half = len(feed.labels) // 2
    known = feed.labels[:half]
    if len(np.unique(known)) == 1:  # there is nothing to fit yet
        return {name: np.full(len(feed.labels) - half, known[0])}
    model = LogisticRegression(max_iter=1000).fit(rows[:half], known)
    return {name: np.asarray(model.predict(rows[half:]), dtype=np.int64)}


def one_hot(feed: Feed) -> sparse.csr_matrix:
    """Return votes as a sparse matrix with a column for each expert and class."""
    items, experts = feed.votes.shape
    at, who = np.nonzero(feed.votes >= 0)
    columns = who * feed.k + feed.votes[at, who]
    return sparse.csr_matrix((np.ones(len(at)), (at, columns)), shape=(items, experts * feed.k))
