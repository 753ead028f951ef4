"""`linmax fuse` with costs of mistakes: what is judged, what is bounded, and to which items figures refer."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from linmax import Fusion, Winnow, load
from linmax.evaluate.margins import margins
from tests.helpers.files import refused, run, table, values

CLASSES = ("ham", "spam", "news")
LEARNER = ("--learner", "Averaged(Winnow(1.2))")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Votes of four experts on 400 items, and costs: ham that is called spam costs 500."""
    folder, chance = tmp_path_factory.mktemp("costs"), np.random.default_rng(0)
    truth = chance.integers(3, size=400)
    right = chance.random((400, 4)) < [0.8, 0.7, 0.6, 0.5]
    votes = np.where(right, truth[:, None], chance.integers(3, size=(400, 4)))
    rows = [[CLASSES[code] for code in (*row, label)] for row, label in zip(votes, truth, strict=True)]
    costs = table(folder / "costs.csv", [["truth", "guess", "cost"], ["ham", "spam", 500]])
    return table(folder / "votes.csv", [["ann", "bob", "eve", "zoe", "truth"], *rows]), costs


def test_errors_are_no_verdict_on_predictions_of_least_cost(files: tuple[Path, Path]) -> None:
    votes, costs = files
    found = values("fuse", votes, *LEARNER, "--mistake-costs", costs)
    assert found["verdict"] == "not judged"
    assert "compared by errors" in found["decision"]
    assert found["bound"].endswith("no bound holds for predictions of least expected cost")
    assert {one["accuracy_drop"] for one in found["experts"]} == {None}
    assert any("No expert was left out" in note for note in found["notes"])


def test_a_margin_is_that_of_the_prediction(files: tuple[Path, Path], tmp_path: Path) -> None:
    votes, costs = files
    model, output = tmp_path / "m.linmax", tmp_path / "out.csv"
    assert run("fuse", votes, *LEARNER, "--mistake-costs", costs, "--save", model).exit_code == 0
    assert run("predict", model, votes, "--output", output).exit_code == 0
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    fusion = load(model)
    with votes.open(newline="") as file:
        items = [{name: row[name] for name in ("ann", "bob", "eve", "zoe")} for row in csv.DictReader(file)]
    overruled = 0
    for row, scores in zip(rows, fusion.scores(items), strict=True):
        own = scores[fusion.classes.index(row["guess"])]
        others = [score for name, score in zip(fusion.classes, scores, strict=True) if name != row["guess"]]
        assert float(row["margin"]) == pytest.approx((own - max(others)) / np.abs(scores).max(), abs=1e-6)
        overruled += own < max(others)
    assert 0 < overruled < 400
    first = next(i for i, row in enumerate(rows) if float(row["margin"]) < 0)
    shown = run("explain", model, votes, "--row", first + 1).stdout
    assert "the costs of mistakes decide" in shown


def test_margins_of_the_best_class_are_as_without_predictions() -> None:
    chance = np.random.default_rng(1)
    for scores in (chance.normal(size=(50, 4)), np.log(chance.dirichlet(np.ones(4), 50))):
        best, known = scores.argmax(1).astype(np.int32), np.full(50, 4, np.int32)
        second = np.sort(scores, 1)[:, -2:]
        logs = (scores <= 0).all()
        lead = np.exp(second[:, 1]) - np.exp(second[:, 0]) if logs else (second[:, 1] - second[:, 0])
        expected = lead if logs else lead / np.abs(scores).max(1)
        assert margins(scores, known, best) == pytest.approx(expected)
        other = scores.argmin(1).astype(np.int32)
        assert (margins(scores, known, other) < 0).all()
        assert margins(scores, known, known).tolist() == margins(scores, known, best).tolist()


def test_costs_and_sets_of_a_continued_model_say_to_which_items_they_refer(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    votes, costs = files
    lines = votes.read_text().splitlines(keepends=True)
    (tmp_path / "first.csv").write_text("".join(lines[:251]))
    model = tmp_path / "m.linmax"
    assert (
        run("fuse", tmp_path / "first.csv", *LEARNER, "--mistake-costs", costs, "--save", model).exit_code
        == 0
    )
    (tmp_path / "rest.csv").write_text(lines[0] + "".join(lines[251:]))
    shown = run("fuse", tmp_path / "rest.csv", "--from", model, "--coverage", 0.9)
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    assert "per labelled item (of all 400 that the model has learned)" in text
    assert "had the label (of all 400 that the model has learned), with" in text
    found = values("fuse", tmp_path / "rest.csv", "--from", model)
    whole = Fusion("Averaged(Winnow(1.2))", mistake_costs={("ham", "spam"): 500})
    rows = [line.strip().split(",") for line in lines[1:]]
    names = ("ann", "bob", "eve", "zoe")
    items = [dict(zip(names, row, strict=False)) for row in rows]
    whole.learn(items, [row[-1] for row in rows])
    assert (found["trials"], found["decisions"]["trials"]) == (150, 400)
    assert found["decisions"]["cost"] == whole.mistake_cost


def test_a_continued_model_answers_from_the_first_item_on(tmp_path: Path) -> None:
    rows = [["x", "x", "x"], ["y", "y", "y"]] * 300
    first = table(tmp_path / "first.csv", [["a", "b", "truth"], *rows])
    rest = table(tmp_path / "rest.csv", [["a", "b", "truth"], *rows[:40]])
    model, output = tmp_path / "m.linmax", tmp_path / "out.csv"
    options = ("--in-order", "--max-error", 0.1)
    assert run("fuse", first, *LEARNER, *options, "--save", model).exit_code == 0
    assert run("fuse", rest, "--from", model, *options, "--output", output).exit_code == 0
    with output.open(newline="") as file:
        assert [row["answer"] for row in csv.DictReader(file)] == [row[-1] for row in rows[:40]]


def test_a_model_that_learns_no_sets_has_none(tmp_path: Path) -> None:
    fusion = Fusion(Winnow(1.2), calibrate="none")
    fusion.learn([{"a": "x", "b": "y"}] * 3, ["x", "y", "x"])
    fusion.save(tmp_path / "m.linmax")
    file = table(tmp_path / "votes.csv", [["a", "b"], ["x", "y"]])
    assert "calibrate=" in refused("predict", tmp_path / "m.linmax", file, "--coverage", 0.9)
