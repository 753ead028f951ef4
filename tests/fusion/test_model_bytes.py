"""Sessions as bytes, and fingerprints of what they have learned."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from linmax import Averaged, Fusion, Winnow, load
from linmax.fusion.model_file import fingerprint, from_bytes, to_bytes

LEARNER = Averaged(Winnow(1.2))
TRIALS = [({"ann": "abc"[i % 3], "bob": "abc"[i * i % 3]}, "abc"[i * 7 // 2 % 3]) for i in range(30)]


def taught(trials: int = 30) -> Fusion:
    fusion = Fusion(LEARNER)
    for votes, label in TRIALS[:trials]:
        fusion.learn_one(votes, label)
    return fusion


def test_bytes_are_the_content_of_a_file(tmp_path: Path) -> None:
    fusion = taught()
    fusion.save(tmp_path / "panel.linmax")
    assert fingerprint(from_bytes((tmp_path / "panel.linmax").read_bytes())) == fingerprint(fusion)
    (tmp_path / "other.linmax").write_bytes(to_bytes(fusion))
    assert fingerprint(load(tmp_path / "other.linmax")) == fingerprint(fusion)


def test_a_session_goes_on_from_its_bytes_at_every_cut() -> None:
    for cut in range(0, 30, 5):
        again = from_bytes(to_bytes(taught(cut)))
        for votes, label in TRIALS[cut:]:
            again.learn_one(votes, label)
        assert fingerprint(again) == fingerprint(taught())


def test_a_fingerprint_is_of_what_was_learned() -> None:
    fusion = taught()
    before = fingerprint(fusion)
    assert fingerprint(taught()) == before
    fusion.predict_one({"ann": "a", "eve": "z"})
    fusion.notes["who"] = "ann"
    fusion.predict_one({"ann": "a"}, ticket=True)
    assert fingerprint(fusion) == before
    assert fingerprint(taught(29)) != before
    fusion.add_classes(["new"])
    assert fingerprint(fusion) != before


def test_damaged_bytes_are_refused_with_one_sentence() -> None:
    content = to_bytes(taught())
    chance = random.Random(0)
    damaged = [b"", b"x", content[:7], content[:100], content[:-1], content + b"x", b"\xff" * 100, bytes(100)]
    for _ in range(40):
        at = chance.randrange(len(content))
        damaged.append(content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :])
    refused = 0
    for one in damaged:
        try:
            again = from_bytes(one, "the snapshot")
        except ValueError as error:
            assert str(error).startswith("the snapshot cannot be loaded: ")  # noqa: PT017
            refused += 1
        else:
            assert fingerprint(again) == fingerprint(taught())
    assert refused >= len(damaged) - 5


def test_the_error_names_what_was_loaded() -> None:
    with pytest.raises(ValueError, match="the model cannot be loaded: it is damaged or not a linmax file"):
        from_bytes(b"nonsense")
