"""Model files: whole or not at all, resumed to the bit, and safe to open."""

import copy
import json
import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as bytes_of

from linmax import Averaged, Fusion, Perceptron, QuasiAdditive, Recycled, Winnow, load, spec
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Pairs, Split, Thresholds, Votes
from linmax.fusion.model_file import digest
from linmax.problems import majority
from tests.helpers.examples import examples, rarely_compiled
from tests.helpers.sessions import same, unpack

VOTES, LABELS = majority(300, noise=0.1)
MEETINGS = [["mon", "ann"], ["tue", "bob"], ["mon", "bob"], ["mon", "ann"]] * 10
ROOMS = ["a", "b", "b", "a"] * 10


def sessions() -> dict[str, Fusion]:
    plain = Fusion(Winnow(1.2), classes=range(5))
    plain.learn(VOTES, LABELS)
    kept = Fusion(Averaged(Recycled(Winnow(1.2), size=20)), classes=range(5))
    kept.learn(VOTES, LABELS)
    pairs = Fusion(Recycled(Winnow(1.5), size=7).on(Pairs() + Thresholds()))
    rows = Fusion(Recycled(Perceptron(), size=5).on(Attributes()))
    with interpreted():  # kernels that nothing else needs
        pairs.learn(attributes=MEETINGS, labels=ROOMS)
        rows.learn(attributes=np.eye(4)[[0, 1, 2, 3] * 5], labels=["w", "x", "y", "z"] * 5)
    return {"plain": plain, "kept": kept, "pairs": pairs, "rows": rows}


@pytest.mark.parametrize("name", ["plain", "kept", "pairs", "rows"])
def test_a_loaded_session_has_the_same_state(name: str, tmp_path: Path) -> None:
    fusion = sessions()[name]
    fusion.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert same(fusion, again)
    assert again.learner == fusion.learner
    assert (again.classes, again.experts, again.trials, again.mistakes) == (
        fusion.classes, fusion.experts, fusion.trials, fusion.mistakes,
    )  # fmt: skip
    again.save(tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_pairs_go_on_from_a_file_as_if_nothing_had_happened(tmp_path: Path) -> None:
    learner = Recycled(Winnow(1.5), size=7).on(Pairs() + Thresholds())
    with rarely_compiled():
        whole = Fusion(learner)
        whole.learn(attributes=MEETINGS, labels=ROOMS)
        part = Fusion(learner)
        part.learn(attributes=MEETINGS[:13], labels=ROOMS[:13])
        part.save(tmp_path / "m")
        part = load(tmp_path / "m")
        part.learn(attributes=MEETINGS[13:], labels=ROOMS[13:])
    assert same(whole, part)


def test_tickets_and_options_survive(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2), classes=["a", "b"], on_new_class="ignore", abstain="?", seed=7)
    ticket = fusion.predict_one({"x": "a", ("y", 1): {"a": 0.5}}, ticket=True)
    fusion.tickets.limit = 5
    fusion.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert (again.on_new_class, again.abstain, again.seed, again.tickets.limit) == ("ignore", "?", 7, 5)
    again.learn_one(ticket, "b")
    assert again.trials == 1
    assert again.experts == ["x", ("y", 1)]


def test_names_that_are_tuples_or_numbers_come_back_as_they_were(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2))
    fusion.learn([{("a", 1): 3, 7: 4, "z": 3}], [4])
    fusion.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.experts == [("a", 1), 7, "z"]
    assert again.weights == fusion.weights


@pytest.mark.parametrize("name", [float("inf"), b"x", ("a", float("inf")), frozenset(), 2j], ids=repr)
def test_a_name_that_cannot_be_saved_is_named(name: Any, tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2), experts=["ann", name])
    with pytest.raises(
        ValueError, match=f"^the expert {re.escape(repr(name))} cannot be saved; a name is text"
    ):
        fusion.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_note_or_ticket_that_cannot_be_saved_is_named(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2))
    fusion.notes["panel"] = {1, 2}
    with pytest.raises(ValueError, match=r"^the note 'panel' is \{1, 2\}, which JSON cannot hold; change or"):
        fusion.save(tmp_path / "m")
    fusion.notes.clear()
    fusion.predict_one({b"x": "a"}, ticket=True)
    with pytest.raises(ValueError, match=r"^ticket 0 waits with votes or attributes that JSON cannot hold"):
        fusion.save(tmp_path / "m")


@pytest.mark.parametrize("notes", [{1: "a"}, {"a": {None: 1}}, {"a": [{}, {"b": ({2.5: 1},)}]}])
def test_a_key_of_notes_that_is_no_text_is_refused(notes: dict[Any, Any], tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2))
    fusion.notes = notes
    with pytest.raises(ValueError, match=r"^the notes have the key \S+, which would be loaded as"):
        fusion.save(tmp_path / "m")
    fusion.notes = {"a": [{"b": 1}, [2, ["c"]]]}
    fusion.save(tmp_path / "m")
    assert load(tmp_path / "m").notes == fusion.notes


@interpreted()  # nothing else compiles this source
def test_a_learner_with_a_long_text_is_saved(tmp_path: Path) -> None:
    classes = tuple(f"class {i}" for i in range(3000))
    fusion = Fusion(Perceptron().on(Votes() + Split(classes=classes)))
    fusion.learn_one({"ann": "class 5", "bob": "class 6"}, "class 6")
    assert len(repr(fusion.learner)) > 30_000
    fusion.save(tmp_path / "m")
    assert same(load(tmp_path / "m"), fusion)


def test_the_module_of_a_rule_that_is_not_registered_is_named(tmp_path: Path) -> None:
    before = spec.registered()

    Rule = type("RuleForFiles", (Perceptron,), {"__module__": __name__})
    spec.register("RuleForFiles")(Rule)
    try:
        Fusion(Rule()).save(tmp_path / "m")
    finally:
        spec.restore_registry(before)
    message = f"there is no 'RuleForFiles' in this program; import {__name__} before loading"
    with pytest.raises(ValueError, match=re.escape(message)):
        load(tmp_path / "m")


def test_an_unregistered_link_is_refused_with_the_cure(tmp_path: Path) -> None:
    fusion = Fusion(QuasiAdditive(lambda theta: theta))
    with pytest.raises(ValueError, match=r"cannot be saved; give what it uses a name with @linmax.register"):
        fusion.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_saving_never_leaves_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fusion = sessions()["plain"]
    fusion.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    fusion.learn(VOTES, LABELS)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        fusion.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_session_gone_wrong_is_not_saved_over_a_good_one(tmp_path: Path) -> None:
    fusion = sessions()["plain"]
    fusion.save(tmp_path / "m")
    fusion.runner.rule_runs[0].columns["theta"][0] = float("nan")
    with pytest.raises(ValueError, match="cannot be saved, because theta has numbers that are not finite"):
        fusion.save(tmp_path / "m")
    assert load(tmp_path / "m").trials == 300


def test_saving_through_a_link_writes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    sessions()["plain"].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "target").trials == 300


@pytest.mark.parametrize("name", ["", ".", 5, None, "a\0b"])
def test_what_is_no_file_is_one_sentence(name: Any) -> None:
    with pytest.raises(ValueError, match=r"cannot|load needs"):
        sessions()["plain"].save(name)
    with pytest.raises(ValueError, match=r"cannot|load needs"):
        load(name)


def test_copies_learn_for_themselves_and_can_be_saved(tmp_path: Path) -> None:
    fusion = sessions()["plain"]
    fusion.predict_one({0: 1})
    for copied in (copy.copy(fusion), copy.deepcopy(fusion), pickle.loads(pickle.dumps(fusion))):
        before = fusion.state()
        copied.learn_one({0: 1, 1: 2}, 2)
        assert copied.trials == fusion.trials + 1
        assert all(np.array_equal(before[x], fusion.state()[x]) for x in before)
        copied.save(tmp_path / "m")
        assert same(load(tmp_path / "m"), copied)


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot write"):
        sessions()["plain"].save(tmp_path / "nowhere" / "m")
    with pytest.raises(ValueError, match="cannot be read"):
        load(tmp_path / "m")


@pytest.fixture(scope="module")
def good() -> dict[str, bytes]:
    import tempfile

    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, fusion in sessions().items():
            fusion.save(Path(folder) / name)
            files[name] = (Path(folder) / name).read_bytes()
    return files


def opens_or_says_why(path: Path, content: bytes) -> None:
    """Any content either loads to a session that can predict, or is a ValueError of one sentence."""
    path.write_bytes(content)
    try:
        fusion = load(path)
    except ValueError as error:
        sentence = str(error)
        if str(path) not in sentence or "\n" in sentence:
            raise
        return
    if "votes" in fusion.needs:
        fusion.predict_one({0: 1, 1: 2})


@given(st.data())
@examples(15)
def test_a_damaged_file_is_one_clear_error(
    good: dict[str, bytes], tmp_path_factory: Any, data: st.DataObject
) -> None:
    content = bytearray(good[data.draw(st.sampled_from(sorted(good)))])
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    opens_or_says_why(
        tmp_path_factory.mktemp("x") / "m", bytes(content[:cut] if data.draw(st.booleans()) else content)
    )


@given(st.data())
@examples(40)
def test_hostile_numbers_are_refused_before_a_kernel_sees_them(
    good: dict[str, bytes], tmp_path_factory: Any, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(sorted(good)))
    facts, arrays = unpack(good[name])
    victim = data.draw(st.sampled_from(sorted(x for x in arrays if arrays[x].size)))
    array = arrays[victim].copy()
    value: Any = data.draw(st.sampled_from([-1, -7, 2**31 - 1, 10**6]))
    if np.issubdtype(array.dtype, np.floating):
        value = data.draw(st.sampled_from([float("nan"), float("inf"), -1.0]))
    array.flat[data.draw(st.integers(0, array.size - 1))] = np.array(value).astype(array.dtype)
    arrays[victim] = data.draw(st.sampled_from([array, array[:-1], np.repeat(array, 2, axis=0)]))
    facts["digest"] = digest(arrays, facts)
    opens_or_says_why(
        tmp_path_factory.mktemp("x") / "m", bytes_of(arrays, metadata={"linmax": json.dumps(facts)})
    )


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("learner", "__import__('os').system('true')", "does not belong in a learner"),
        ("learner", "Winnow(" * 3000, "cannot be loaded"),
        ("learner", "Recycled(Winnow(1.2), size=10**12)", "does not belong in a learner"),
        ("learner", "Recycled(Winnow(1.2), size=1000000000000)", "size"),
        ("learner", "MyRule(1.2)", "there is no 'MyRule' in this program; update linmax"),
        ("classes", list(range(10**5)), "wrong shape"),
        ("classes", ["a", 1], "one kind"),
        ("classes", None, "cannot be loaded"),
        ("experts", ["a", "a"], "named twice"),
        ("version", 99, "version 99"),
        ("format", "other", "not a linmax file"),
        ("tickets", {}, "is missing"),
        ("tickets", None, "facts"),
        ("ignored", -5, "not a count"),
        ("seed", None, "seed"),
        ("abstain", {"a": 1}, "is missing"),
        ("digest", "0", "not those that were saved"),
    ],
)
def test_hostile_facts_are_refused(
    good: dict[str, bytes], tmp_path: Path, field: str, value: Any, why: str | None
) -> None:
    facts, arrays = unpack(good["plain"])
    facts[field] = value
    if field != "digest":
        facts["digest"] = digest(arrays, facts)
    (tmp_path / "m").write_bytes(bytes_of(arrays, metadata={"linmax": json.dumps(facts)}))
    with pytest.raises(ValueError, match=why) as caught:
        load(tmp_path / "m")
    assert "\n" not in str(caught.value)


def test_votes_only_learners_need_no_attributes_in_a_file() -> None:
    fusion = Fusion(Winnow(1.2).on(Votes()), classes=range(5))
    assert {x for x in fusion.state() if x.startswith("kept")} == {"kept.labels"}
