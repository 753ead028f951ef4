"""Votes in int8, as they are given or in a copy, are learned as those in int32 are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, Recycled, Winnow
from linmax.evaluate import progressive
from linmax.fusion.model_file import fingerprint
from linmax.inputs import encode
from linmax.inputs.encode import gather
from linmax.kernels.forms import votes as forms
from linmax.runtime import chunks

RNG = np.random.default_rng(4)
LABELS = RNG.integers(3, size=300)
VOTES = np.where(RNG.random((300, 7)) < 0.5, LABELS[:, None], RNG.integers(-1, 3, (300, 7))).astype(np.int8)
NARROW, WIDE = VOTES, VOTES.astype(np.int32)


def test_int8_is_not_copied() -> None:
    fusion = Fusion(Perceptron(), classes=range(3), experts=range(7))
    assert np.may_share_memory(fusion.read(NARROW, LABELS).votes.codes, NARROW)
    before = NARROW.copy()
    fusion.learn(NARROW, LABELS)
    assert (before == NARROW).all()


@pytest.mark.parametrize(
    "learner",
    [Perceptron(), Averaged(Recycled(Winnow(1.2), size=20)), None],
    ids=["rule", "recycled", "default"],
)
@pytest.mark.parametrize("most", [1, 1 << 22])  # votes at once: chunks of 64 trials, or one
def test_int8_is_learned_as_int32(learner: Any, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MAX_CONVERTED", most)
    found = []
    for votes in (NARROW, WIDE):
        fusion = Fusion(learner, classes=range(3))
        run = fusion.learn(votes[:200], LABELS[:200])
        rest = progressive(fusion, votes[200:], LABELS[200:])
        found.append(
            (run.guesses.tolist(), rest.each.tolist(), fusion.predict(votes).tolist(), fingerprint(fusion))
        )
    assert found[0] == found[1]


def test_classes_that_appear_are_numbered_as_in_int32() -> None:
    unlabelled = LABELS.astype(float)
    unlabelled[::3] = np.nan  # new classes are known by their votes only
    found = []
    for votes in (NARROW, WIDE):
        fusion = Fusion(Perceptron(), classes=[0])
        fusion.learn(votes, unlabelled)
        found.append((fusion.classes, fingerprint(fusion)))
    assert found[0] == found[1]


@pytest.mark.parametrize("classes", [5, 127])
@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
def test_classes_in_any_order_are_learned_as_in_int32(
    classes: int, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = np.random.default_rng(classes)
    labels = chance.permutation(np.arange(400) % classes)
    guesses = chance.integers(-1, classes, (400, 7))
    votes = np.where(chance.random((400, 7)) < 0.5, labels[:, None], guesses).astype(kind)
    found = []
    for expected in (np.int8, np.int32):
        fusion = Fusion(Perceptron())
        runs = [fusion.learn(votes[rows], labels[rows]) for rows in (slice(0, 90), slice(90, 300))]
        assert fusion.read(votes[300:], labels[300:]).votes.codes.dtype == expected
        predictions = [run.guesses.tolist() for run in runs] + [fusion.predict(votes[300:]).tolist()]
        found.append((fusion.classes, predictions, fingerprint(fusion)))
        monkeypatch.setattr(encode, "_translate", lambda coded, table: gather(coded, table, np.int32))
    assert found[0] == found[1]


def test_codes_that_no_int8_has_are_int32() -> None:
    codes = Fusion(Perceptron(), classes=[*range(200, 330), 0, 1, 2]).read(NARROW, LABELS).votes.codes
    assert (codes.dtype, codes.max(), codes.min()) == (np.int32, 132, -1)


@pytest.mark.parametrize(
    "learner",
    [Perceptron(), pytest.param(Averaged(Recycled(Winnow(1.2), size=20)), marks=pytest.mark.slow)],
    ids=str,
)
def test_votes_grow_from_bytes_to_int32(learner: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte has no code for the 129th class, which appears between two tables, or between two items."""
    chance = np.random.default_rng(7)
    labels = np.concatenate((chance.integers(100, size=200), np.arange(150)))
    guesses = np.minimum(chance.integers(-1, 150, (350, 5)), labels[:, None])
    votes = np.where(chance.random((350, 5)) < 0.6, labels[:, None], guesses)
    found = []
    for most in (forms.BYTE_CLASSES, 0):
        monkeypatch.setattr(forms, "BYTE_CLASSES", most)
        for first in (300, 200):
            fusion = Fusion(learner)
            predictions = fusion.learn(votes[:first], labels[:first]).guesses.tolist()
            for vote, label in zip(votes[first:].tolist(), labels[first:].tolist(), strict=True):
                predictions.append(fusion.learn_one(dict(enumerate(vote)), label))
            found.append((predictions, fusion.predict(votes).tolist(), fingerprint(fusion)))
    assert found[:2] == found[2:]
    assert found[0][1:] == found[1][1:]
