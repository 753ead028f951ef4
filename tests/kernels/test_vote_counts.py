"""The counts of Naive Bayes: the short way of votes for one class each is the long way of scores."""

import numpy as np
import pytest

from linmax import Fusion, NaiveBayes
from linmax._jit.compilation import interpreted
from linmax.runtime import tables


@pytest.mark.parametrize("dense", [0, 1 << 24])
@pytest.mark.parametrize(("classes", "experts"), [(1, 4), (2, 4), (2, 70), (8, 70), (9, 4), (9, 30), (20, 4)])
@pytest.mark.parametrize("of", ["tables", "accuracies"])
def test_what_a_vote_says_at_most_is_what_it_says_among_scores(
    of: str, classes: int, experts: int, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "DENSE", dense)
    rng = np.random.default_rng(classes)
    votes, labels = rng.integers(classes, size=(60, experts)), rng.integers(classes, size=60)
    scored = [{i: {a: 1.0, (a + 1) % classes: 1e-300} if classes > 1 else {a: 1.0} for i, a in enumerate(row)}
              for row in votes[:5].tolist()]  # fmt: skip
    with interpreted():
        fusion = Fusion(NaiveBayes(of), classes=range(classes), experts=range(experts))
        fusion.learn(votes, labels)
        found = fusion.scores(votes[:5])
        np.testing.assert_allclose(found, fusion.scores(scored), rtol=1e-12, atol=1e-12)
        explained = [fusion.explain_one(dict(enumerate(row))) for row in votes[:5].tolist()]
    for row, one in zip(found.tolist(), explained, strict=True):
        assert row == pytest.approx(list(one.scores.values()))
