"""Progressive validation compared with loops that count the same things in the obvious way."""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, Recycled, Triplets, Winnow
from linmax.evaluate import Progress, plurality, progressive
from linmax.evaluate.audit.counts import MistakeCounts
from linmax.experts import Attributes
from linmax.problems import majority


def slow_plurality(row: list[int], classes: int) -> int:
    support = Counter(vote for vote in row if vote >= 0)
    return max(range(classes), key=lambda c: (support[c], -c))


def panel(trials: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    votes, labels = majority(trials, relevant=3, experts=7, classes=4, noise=0.1, speak=0.6, seed=seed)
    return votes, labels


def fresh(**options: Any) -> Fusion:
    return Fusion(Winnow(1.3), classes=range(4), **options)


def same(one: Progress, other: Progress) -> bool:
    return one.experts == other.experts and all(
        np.array_equal(getattr(one, field), getattr(other, field))
        for field in ("linmax", "plurality", "each", "voted")
    )


def test_plurality_is_the_oracle_with_silence_and_ties() -> None:
    votes = np.random.default_rng(0).integers(-1, 4, size=(2000, 5), dtype=np.int32)
    assert plurality(votes, 4).tolist() == [slow_plurality(row, 4) for row in votes.tolist()]


def test_plurality_in_blocks_is_plurality_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    votes = np.random.default_rng(0).integers(-1, 9, size=(500, 5), dtype=np.int32)
    whole = plurality(votes, 9)
    monkeypatch.setattr(sys.modules["linmax.inputs.batch"], "BLOCK_CELLS", 30)
    assert np.array_equal(plurality(votes, 9), whole)


def test_progress_is_what_a_loop_over_trials_counts() -> None:
    votes, labels = panel()
    progress = progressive(fresh(), votes, labels)
    run = fresh().learn(votes, labels)
    mistakes = [0] * 7
    for t, (row, y) in enumerate(zip(votes.tolist(), labels.tolist(), strict=True)):
        assert progress.linmax[t] == (run.guesses[t] == y)
        assert progress.plurality[t] == (slow_plurality(row, 4) == y)
        assert progress.each[t].tolist() == [vote == y for vote in row]
        assert progress.voted[t].tolist() == [vote >= 0 for vote in row]
        before = min(mistakes)
        mistakes = [m + (vote != y) for m, vote in zip(mistakes, row, strict=True)]
        assert progress.expert_curves[t].tolist() == mistakes
        assert progress.curves["best expert"][t] == min(mistakes)
        assert progress.best[t] == (min(mistakes) == before)
    assert progress.best_expert == mistakes.index(min(mistakes))
    assert progress.mistakes == {
        "linmax": run.mistakes,
        "plurality": int((~progress.plurality).sum()),
        "best expert": min(mistakes),
    }


@pytest.mark.parametrize("learner", [Winnow(1.3), Averaged(Recycled(Perceptron(), size=20))])
def test_the_progress_of_parts_adds_up_to_that_of_the_whole(learner: Any) -> None:
    votes, labels = panel()
    whole = progressive(Fusion(learner, classes=range(4)), votes, labels)
    fusion = Fusion(learner, classes=range(4))
    chunks = progressive(fusion, votes[:1], labels[:1])
    for start, stop in [(1, 2), (2, 64), (64, 64), (64, 300)]:
        chunks = chunks + progressive(fusion, votes[start:stop], labels[start:stop])
    assert same(chunks, whole)


def test_every_shape_of_votes_gives_the_same_progress() -> None:
    votes, labels = panel()
    hard = progressive(fresh(experts=range(7)), votes, labels)
    onehot = (votes[:, :, None] == np.arange(4)).astype(float)
    item, expert = np.nonzero(votes >= 0)
    shapes = {
        "scores": onehot,
        "triplets": Triplets(item, expert, votes[item, expert], items=len(votes)),
        "dicts": [{i: vote for i, vote in enumerate(row) if vote >= 0} for row in votes.tolist()],
        "dicts of scores": [
            {i: {vote: 1.0, (vote + 1) % 4: 0.5} for i, vote in enumerate(row) if vote >= 0}
            for row in votes.tolist()
        ],
    }
    for name, shape in shapes.items():
        progress = progressive(fresh(experts=range(7)), shape, labels)
        for field in ("plurality", "each", "voted"):
            assert np.array_equal(getattr(progress, field), getattr(hard, field)), (name, field)


def test_an_expert_votes_for_the_first_of_the_classes_with_its_highest_score() -> None:
    scores = np.array([[[0.0, 2.0, 2.0], [0.0, -3.0, -1.0], [0.0, 0.0, 0.0]]])
    progress = progressive(Fusion(Winnow(1.3)), scores, [1])
    assert progress.each.tolist() == [[True, False, False]]
    assert progress.voted.tolist() == [[True, True, False]]
    dicts = [{"ann": {"b": 2.0, "c": 2.0}, "bob": {"b": -3.0, "c": -1.0}}]
    progress = progressive(Fusion(Winnow(1.3), classes=["a", "b", "c"]), dicts, ["b"])
    assert progress.each.tolist() == [[True, False]]


def test_items_without_a_known_label_are_no_trials() -> None:
    votes = [["a", "b"], ["a", "b"], ["a", "a"]]
    progress = progressive(Fusion(Winnow(1.3)), votes, ["c", None, "a"])
    assert progress.trials == 1
    assert progress.each.tolist() == [[True, True]]


def test_an_expert_that_comes_late_was_not_correct_before() -> None:
    fusion = Fusion(Winnow(1.3))
    early = progressive(fusion, [{"ann": "a", "bob": "b"}], ["a"])
    late = progressive(fusion, [{"eve": "a", "bob": "b"}], ["b"])
    both = early + late
    assert both.experts == ("ann", "bob", "eve")
    assert both.each.tolist() == [[True, False, False], [False, True, False]]
    assert both.voted.tolist() == [[True, True, False], [False, True, True]]


def test_an_empty_stream_has_no_mistakes() -> None:
    progress = progressive(fresh(), np.empty((0, 3), np.int32), np.empty(0, np.int64))
    assert progress.mistakes == {"linmax": 0, "plurality": 0, "best expert": 0}
    assert progress.trials == 0


def test_progress_of_another_panel_is_refused() -> None:
    one = progressive(Fusion(Winnow(1.3)), [{"ann": "a", "bob": "b"}], ["a"])
    other = progressive(Fusion(Winnow(1.3)), [{"eve": "a", "bob": "b"}], ["b"])
    with pytest.raises(ValueError, match="only the progress of consecutive parts"):
        one + other


def test_progressive_validation_requires_votes() -> None:
    fusion = Fusion(Perceptron().on(Attributes()))
    with pytest.raises(ValueError, match="requires votes"):
        progressive(fusion, None, [0, 1], attributes=np.eye(2))


@pytest.mark.parametrize("classes", [3, 40])
def test_counts_of_several_models_are_what_a_loop_over_trials_counts(classes: int) -> None:
    rng = np.random.default_rng(classes)
    votes = rng.integers(-1, classes, (400, 5)).astype(np.int32)
    truth = rng.integers(-1, classes, 400).astype(np.int32)
    predictions = np.where(rng.random((3, 400)) < 0.5, truth, 0).astype(np.int32)
    known = np.full(400, classes - 1, np.int32)
    counts = MistakeCounts(models=3)
    flags = counts.add_with_flags(votes, truth, known, predictions, classes)
    expected = []
    for t, (row, y) in enumerate(zip(votes.tolist(), truth.tolist(), strict=True)):
        if 0 <= y < classes - 1:
            guesses = [*predictions[:, t].tolist(), slow_plurality(row, classes), *row]
            expected.append([guess == y for guess in guesses])
    assert flags.tolist() == expected
    assert counts.trials == len(expected)
    assert counts.correct.tolist() == flags.sum(axis=0).tolist()
    assert counts.both_correct.tolist() == (flags & flags[:, :1]).sum(axis=0).tolist()
    assert counts.best_expert == 4 + flags[:, 4:].sum(axis=0).argmax()
