"""Votes as codes: what many items give at once is what a slow loop gives."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from linmax.fusion import Fusion
from linmax.fusion.model_file import fingerprint
from linmax.inputs import Batch
from linmax.service.event_log.vote_codes import KnownNames

EXPERTS = ["ann", "bob", "eve", "joe"]
CLASSES: dict[str, list[Any]] = {"text": ["x", "y", "z"], "numbers": [3, 1, 2], "truth": [True, False]}


def draw(classes: list[Any], seed: int, trials: int = 60) -> tuple[list[dict[str, Any]], list[Any]]:
    chance = np.random.default_rng(seed)
    votes = [
        {
            name: None if chance.random() < 0.1 else classes[chance.integers(len(classes))]
            for name in chance.permutation(EXPERTS)[: chance.integers(seed % 2 * 4, 5)].tolist()
        }
        for _ in range(trials)
    ]
    return votes, [classes[chance.integers(len(classes))] for _ in range(trials)]


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("seed", [0, 1])
def test_codes_are_those_of_a_loop(kind: str, seed: int) -> None:
    fusion = Fusion("Winnow(1.2)", classes=CLASSES[kind], experts=EXPERTS)
    votes, labels = draw(CLASSES[kind], seed)
    names = KnownNames(fusion)
    table, codes = names.encode_votes(votes), names.encode_labels(labels)
    assert table is not None
    assert codes is not None
    for row, given in zip(table.tolist(), votes, strict=True):
        for name, code in zip(EXPERTS, row, strict=True):
            vote = given.get(name)
            assert code == (-1 if vote is None else fusion.classes.index(vote))
    assert codes.tolist() == [fusion.classes.index(label) for label in labels]
    batch, read = Batch.of_codes(fusion.names, table, codes), fusion.read(votes, labels)
    for one in fields(Batch):
        if one.name != "votes":  # which are sparse, read from dicts
            assert repr(getattr(batch, one.name)) == repr(getattr(read, one.name))
    fusion.learn_batch(batch)
    alone = Fusion("Winnow(1.2)", classes=CLASSES[kind], experts=EXPERTS)
    for given, label in zip(votes, labels, strict=True):
        assert names.have(given, label)
        alone.learn_one(given, label)
    assert fingerprint(fusion) == fingerprint(alone)


@pytest.mark.parametrize(
    "bad", [{"new": "x"}, {"ann": "new"}, {"ann": {"x": 1.0}}, {"ann": True}, {"ann": 1}], ids=repr
)
def test_what_is_not_known_is_not_encoded(bad: dict[str, Any]) -> None:
    names = KnownNames(Fusion(classes=["x", "y"], experts=EXPERTS))
    good = {"ann": "x", "bob": "y"}
    assert names.encode_votes([good] * 3) is not None
    assert names.encode_votes([good, good, bad]) is None
    assert names.have(good, "x")
    assert not names.have(bad, "x")
    assert not names.have(good, "new")
    assert names.encode_labels(["x", None]) is None


def test_numbers_and_truth_values_are_not_the_same() -> None:
    names = KnownNames(Fusion(classes=[0, 1], experts=EXPERTS))
    assert names.encode_votes([{"ann": 1, "bob": 0}, {"ann": True, "bob": 0}]) is None
    assert names.encode_labels([1, False]) is None


def test_without_names_nothing_is_encoded() -> None:
    for names in (KnownNames(Fusion()), KnownNames(Fusion(classes=["x", "y"]))):
        assert names.encode_votes([{}, {}]) is None
    assert KnownNames(Fusion(classes=["x"], experts=["ann"])).encode_votes([]) is not None
