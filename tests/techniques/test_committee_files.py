"""Committees in files and copies: resumed to the bit, and safe to open."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as bytes_of

from linmax import Fusion, WeightedMajority, load
from linmax.fusion.model_file import digest
from tests.helpers.committees import COMMITTEES, STREAM, each, learned
from tests.helpers.compare_committees import at_once
from tests.helpers.examples import EVERYTHING
from tests.helpers.sessions import different, same, unpack


@each
def test_saved_and_resumed_at_every_cut(name: str, tmp_path: Path) -> None:
    stream = STREAM[20:50]
    whole = learned(name, stream)
    for cut in range(0, len(stream) + 1, 1 if EVERYTHING and name == "vr" else 3 if name == "vr" else 10):
        fusion = Fusion(COMMITTEES[name], seed=5)
        if cut:
            at_once(fusion, stream[:cut])
        fusion.save(tmp_path / "m")
        fusion = load(tmp_path / "m")
        assert fusion.learner == COMMITTEES[name]
        if stream[cut:]:
            at_once(fusion, stream[cut:])
        assert same(whole, fusion), f"cut at {cut}: {different(whole, fusion)}"


@each
def test_tickets_survive_in_a_file(name: str, tmp_path: Path) -> None:
    fusion = learned(name)
    ticket = fusion.predict_one({"e0": "a", "e1": "b"}, ticket=True)
    fusion.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert fusion.learn_one(ticket, "b") == again.learn_one(ticket, "b") == ticket.guess
    assert same(fusion, again)


@each
def test_copies_go_their_own_way(name: str) -> None:
    fusion = learned(name)
    for copier in (copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))):
        copied, before = copier(fusion), fusion.state()
        at_once(copied, STREAM[:20])
        copied.learn_one({"e0": "b", "new": "a"}, "a")
        assert copied.trials > fusion.trials
        assert all(before[x].tobytes() == fusion.state()[x].tobytes() for x in before)
        at_once(fusion, STREAM[:20])
        fusion.learn_one({"e0": "b", "new": "a"}, "a")
        assert same(fusion, copied)


@pytest.fixture(scope="module")
def good(tmp_path_factory: Any) -> dict[str, bytes]:
    files, path = {}, tmp_path_factory.mktemp("good") / "m"
    for name in COMMITTEES:
        learned(name).save(path)
        files[name] = path.read_bytes()
    return files


@each
def test_hostile_numbers_are_refused_before_a_kernel_sees_them(
    name: str, good: dict[str, bytes], tmp_path: Path
) -> None:
    rng, refused = random.Random(name), 0
    damaged = 40 if EVERYTHING else 16
    for _ in range(damaged):
        facts, arrays = unpack(good[name])
        victim = rng.choice([x for x in sorted(arrays) if arrays[x].size and not x.startswith("kept")])
        array = arrays[victim].copy()
        values = (
            [-1, -7, 0, 2**31 - 1, 10**6, 2**62] if array.dtype.kind != "f" else [np.nan, np.inf, -1.0, 1e300]
        )
        array.flat[rng.randrange(array.size)] = np.array(rng.choice(values)).astype(array.dtype)
        arrays[victim] = rng.choice(
            [array, array, array, array[:-1], np.repeat(array, 2, axis=0), array != 0]
        )
        facts["digest"] = digest(arrays, facts)
        (tmp_path / "m").write_bytes(bytes_of(arrays, metadata={"linmax": json.dumps(facts)}))
        if says_why(tmp_path / "m"):
            refused += 1
        else:  # what is let in can be learned with, and explained
            fusion = load(tmp_path / "m")
            at_once(fusion, STREAM[:15])
            fusion.explain_one(STREAM[0][0]["votes"])
    assert refused > damaged // 4


def says_why(path: Path) -> bool:
    """Is a file refused? Then in one sentence that names it."""
    try:
        load(path)
    except ValueError as error:
        sentence = str(error)
        if str(path) not in sentence or "\n" in sentence:
            raise
        return True
    return False


@pytest.mark.parametrize(
    ("array", "value", "why"),
    [
        ("head.0.saved", np.zeros((3, 2)), "saved has the wrong shape"),
        ("head.0.origin", np.full(4, 9), "origin has values out of range"),
        ("head.0.figure", np.full(4, np.nan), "figure has numbers that are not finite"),
        ("head.0.numbers", np.array([0, 1, 9, 0, 0, 0, 0]), "numbers are out of range"),
        ("head.0.numbers", np.array([0, 1, 1, 9, 0, 0, 0]), "more hypotheses than there are slots"),
        ("head.0.mistakes", np.full(4, -1), "mistakes has values out of range"),
        ("head.0.since", np.zeros(3, dtype=np.int64), "since has the wrong shape"),
        ("run.1.theta", np.zeros(1), "theta has the wrong shape"),
        ("run.0.counts", None, "'counts' is missing"),
    ],
)
def test_a_hostile_voter_is_one_sentence(
    good: dict[str, bytes], tmp_path: Path, array: str, value: Any, why: str
) -> None:
    facts, arrays = unpack(good["vr"])
    if value is None:
        del arrays[array]
    else:
        arrays[array] = value
    facts["digest"] = digest(arrays, facts)
    (tmp_path / "m").write_bytes(bytes_of(arrays, metadata={"linmax": json.dumps(facts)}))
    with pytest.raises(ValueError, match=why) as caught:
        load(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_a_flipped_letter_of_a_name_is_found(tmp_path: Path) -> None:
    fusion = learned("vr")
    fusion.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    name, other = b'\\"e0\\"', b'\\"e9\\"'
    assert content.count(name) == 1
    (tmp_path / "m").write_bytes(content.replace(name, other))
    with pytest.raises(ValueError, match="names are not those that were saved"):
        load(tmp_path / "m")


def test_numbers_of_numpy_are_saved_as_numbers(tmp_path: Path) -> None:
    Fusion(WeightedMajority(multiplier=np.float64(1.5))).save(tmp_path / "m")
    assert load(tmp_path / "m").learner == WeightedMajority(multiplier=1.5)
