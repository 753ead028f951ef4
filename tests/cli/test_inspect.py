"""`linmax inspect`: what is in a model, whatever learned it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from linmax import Fusion, Perceptron, WeightedMajority, Winnow, recommended
from linmax._jit.compilation import interpreted
from linmax.cli import app
from linmax.cli.models import inspect as inspect_command
from linmax.experts import Attributes, Pairs, Split, Votes
from linmax.spec import Learner
from tests.helpers.files import CLASSES, EXPERTS, panel, refused, run, table, trained, values

MEETINGS = [["mon", "ann"], ["tue", "bob"], ["mon", "bob"], ["mon", "ann"]]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    trained(tmp_path / "m.linmax", panel(tmp_path / "votes.csv"))
    return tmp_path / "m.linmax"


def test_the_facts_are_those_of_the_session(tmp_path: Path) -> None:
    fusion = trained(tmp_path / "m", panel(tmp_path / "votes.csv"))
    found = values("inspect", tmp_path / "m")
    assert found["learner"] == "Averaged(Winnow(1.2))"
    assert (found["trials"], found["mistakes"], found["novel"]) == (
        fusion.trials, fusion.mistakes, fusion.novel,
    )  # fmt: skip
    assert found["accuracy"] == pytest.approx(1 - fusion.mistakes / fusion.trials)
    assert found["experts"] == EXPERTS
    assert sorted(found["classes"]) == CLASSES
    assert found["bytes"] == (tmp_path / "m").stat().st_size
    weights = {one["name"]: one["weight"] for one in found["weights"]}
    assert weights["ann"] == fusion.weights["ann"]
    assert weights["threshold of ham"] == fusion.weights["threshold", "ham"]
    sizes = [abs(one["weight"]) for one in found["weights"]]
    assert sizes == sorted(sizes, reverse=True)


def test_the_page_shows_names_as_they_are(model: Path) -> None:
    output = run("inspect", model).output
    for text in ("Averaged(Winnow(1.2))", "[red]eve[/red]", "threshold of tea, black", "mistakes", "█"):
        assert text in output


def test_a_screen_without_unicode_gets_ascii(model: Path) -> None:
    result = CliRunner(charset="ascii").invoke(app, ["inspect", str(model)])
    assert result.exit_code == 0, result.output
    assert "#" in result.output
    assert result.output.isascii()


def test_names_that_a_screen_cannot_show_are_escaped(tmp_path: Path) -> None:
    trained(tmp_path / "m", table(tmp_path / "v.csv", [["zoë", "truth"], ["hám", "hám"]]))
    result = CliRunner(charset="ascii").invoke(app, ["inspect", str(tmp_path / "m")])
    assert result.exit_code == 0, result.output
    assert "zo\\xeb" in result.output


def test_of_many_only_the_largest_are_shown(tmp_path: Path) -> None:
    names = [f"expert {i}" for i in range(300)]
    votes = table(tmp_path / "v.csv", [[*names, "truth"], *([["a", *["b"] * 299, "a"]] * 5)])
    trained(tmp_path / "m", votes, experts=("expert *",))
    output = run("inspect", tmp_path / "m").output
    assert "300: expert 0, expert 1," in output
    assert "... and 282 smaller ones." in output  # of 300 weights and 2 thresholds
    assert len(output.splitlines()) < 40
    assert len(values("inspect", tmp_path / "m")["weights"]) == 302


def test_weights_beyond_counting_are_not_listed(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspect_command, "MAX_NUMBERS", 3)
    assert "The weights are too many to list" in run("inspect", model).output
    assert values("inspect", model)["weights"] == []


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(),
        Winnow(1.2).on(Votes() + Split()),
        WeightedMajority(),
        WeightedMajority([Perceptron(), Winnow(1.2)]),
        recommended(),
        Perceptron().on(Attributes()),
        Winnow(1.5).on(Pairs()),
    ],
    ids=repr,
)
def test_an_empty_session_of_any_learner_can_be_looked_at(learner: Learner, tmp_path: Path) -> None:
    Fusion(learner).save(tmp_path / "m")
    output = run("inspect", tmp_path / "m").output
    assert "none yet" in output
    assert "0, 0 mistakes" in output
    assert values("inspect", tmp_path / "m")["accuracy"] is None


def test_attributes_and_pairs_have_readable_names(tmp_path: Path) -> None:
    rows = Fusion(Perceptron().on(Attributes()))
    rows.learn(attributes=[{"size": 1.0, "hue": "red"}, {"size": 2.0, "hue": "blue"}], labels=["a", "b"])
    rows.save(tmp_path / "rows")
    assert "hue=red for a" in run("inspect", tmp_path / "rows").output
    pairs = Fusion(Winnow(1.5).on(Pairs()))
    with interpreted():  # a kernel that nothing else needs
        pairs.learn(attributes=MEETINGS, labels=["a", "b", "b", "a"])
    pairs.save(tmp_path / "pairs")
    assert "0=mon & 1=ann" in run("inspect", tmp_path / "pairs").output


def test_one_class_is_enough(tmp_path: Path) -> None:
    trained(tmp_path / "m", table(tmp_path / "v.csv", [["ann", "truth"], ["ham", "ham"]]))
    assert "1: ham" in run("inspect", tmp_path / "m").output


def test_members_of_a_committee_have_their_parts(tmp_path: Path) -> None:
    fusion = trained(tmp_path / "m", panel(tmp_path / "v.csv"), WeightedMajority([Perceptron(), Winnow(1.2)]))
    found = values("inspect", tmp_path / "m")
    assert {one["learner"]: one["part"] for one in found["members"]} == pytest.approx(fusion.members)
    assert "member and its weight" in run("inspect", tmp_path / "m").output


def test_what_is_ready_made_is_called_by_its_name(tmp_path: Path) -> None:
    Fusion().save(tmp_path / "m")
    assert "recommended()" in run("inspect", tmp_path / "m").output


def test_tickets_and_notes_are_told_in_short(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2))
    fusion.predict_one({"ann": "ham"}, ticket=True)
    fusion.notes = {
        "run": {"file": "[i]votes.csv", "rows": 7, "audit": {"big": [0] * 99}},
        "note": "x" * 999,
        "[b]": 1,
    }
    fusion.save(tmp_path / "m")
    output = run("inspect", tmp_path / "m").output
    for text in ("note [b]", "1 waiting", "note run.file", "[i]votes.csv", "run.audit", "1 entry", "xxx..."):
        assert text in output
    assert max(map(len, output.splitlines())) <= 100


def test_hostile_names_stay_on_their_line(tmp_path: Path) -> None:
    fusion = Fusion(Perceptron(), experts=["two\nlines", "\x1b[31mred", "y" * 500])
    fusion.learn(np.array([["a", "b", "b"]]), ["a"])
    fusion.save(tmp_path / "m")
    output = run("inspect", tmp_path / "m").output
    assert "two\\nlines" in output
    assert "\x1b" not in output
    assert "y" * 60 not in output


def test_what_is_no_model_is_one_sentence(tmp_path: Path) -> None:
    votes = panel(tmp_path / "votes.csv")
    assert refused("inspect", votes).endswith("it is too large, damaged or not a linmax file")
    assert refused("inspect", tmp_path / "none").endswith("none'; check the path")
