"""`linmax consult`: what asking experts one by one would save."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from linmax import Averaged, Fusion, Perceptron, load
from linmax.problems import majority
from tests.helpers.examples import EVERYTHING, rarely_compiled
from tests.helpers.files import EXPERTS, panel, refused, run, table, trained, values

LEARNER = Averaged(Perceptron(start="equal"))
ITEMS = 400 if EVERYTHING else 80  # of replays that are interpreted
ROWS = 600 if EVERYTHING else 300
Shelf = tuple[Path, Path]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """A model and its file, which no test changes."""
    folder = tmp_path_factory.mktemp("shelf")
    votes = panel(folder / "votes.csv", rows=ROWS)
    trained(folder / "m.linmax", votes, LEARNER)
    return folder / "m.linmax", votes


def prices(path: Path, numbers: list[Any], header: bool = True) -> Path:
    rows = list(zip(EXPERTS, numbers, strict=False))
    return table(path, [("expert", "price"), *rows] if header else rows)


def test_risk_0_saves_and_changes_nothing(shelf: Shelf) -> None:
    found = values("consult", *shelf)
    exact, everybody = found["consultations"][0], found["everybody"]
    assert found["exact"] is True
    assert exact["changed"] == 0.0
    assert exact["accuracy"] == everybody["accuracy"]
    assert exact["asked"] < everybody["asked"] == 4.0
    assert [one["name"] for one in found["others"][:2]] == [found["others"][0]["name"], "cascade"]
    assert found["others"][0]["name"].startswith("best single expert")
    assert [one["name"] for one in found["others"][2:]] == [
        f"plurality of the cheapest {m}" for m in range(1, 5)
    ]
    assert found["items"] + found["in_full"] == ROWS


def test_the_replay_is_that_of_the_library(shelf: Shelf, tmp_path: Path) -> None:
    file = prices(tmp_path / "prices.csv", [1, 2, 3, 4])
    found = values("consult", *shelf, "--prices", file)
    fusion = load(shelf[0])
    lines = [line.split(",", 5) for line in shelf[1].read_text(encoding="utf-8").splitlines()[1:]]
    assert len(lines) == ROWS
    assert fusion.experts == EXPERTS
    fusion.consultations.count = 0
    named = dict(zip(EXPERTS, [1.0, 2.0, 3.0, 4.0], strict=True))
    costs = []
    for votes in _answers(shelf[1]):
        one = fusion.consult(votes.get, prices=named)
        if not one.in_full:
            costs.append(one.cost)
    assert len(costs) == found["items"]
    assert abs(sum(costs) / len(costs) - found["consultations"][0]["cost"]) < 1e-9


def _answers(path: Path) -> list[dict[str, Any]]:
    from linmax.streams import open_stream

    return [
        {name: votes.get(name) for name in EXPERTS}
        for chunk in open_stream(path, label="truth", id="id")
        for votes in chunk.vote_dicts()
    ]


def test_the_table_names_the_strategies_and_what_is_saved(shelf: Shelf, tmp_path: Path) -> None:
    result = run(
        "consult",
        *shelf,
        "--risk",
        0.1,
        "--subsets",
        "--prices",
        prices(tmp_path / "p.csv", [1, 1, 1, 0], False),
    )
    assert result.exit_code == 0, result.output
    for name in (
        "everybody",
        "consult, risk 0.1",
        "cascade",
        "plurality of the cheapest 3",
        "best fixed 2 in hindsight",
    ):
        assert name in result.stdout
    assert "Risk 0.1 saves" in result.stdout
    assert "were drawn to be asked in full" in result.stdout


def test_the_default_learner_is_told_apart(tmp_path: Path) -> None:
    votes = panel(tmp_path / "votes.csv", rows=300)
    trained(tmp_path / "m.linmax", votes, "Mixture([Logistic(0.1), WeightedMajority([Perceptron()])])")
    result = run("consult", tmp_path / "m.linmax", votes)
    assert result.exit_code == 0, result.output
    assert "Risk 0 asks everybody" in result.stdout
    found = values("consult", tmp_path / "m.linmax", votes)
    assert found["consultations"][0]["asked"] == 4.0
    assert found["consultations"][-1]["asked"] <= 4.0


def test_the_reason_is_told_where_nothing_is_saved(shelf: Shelf, tmp_path: Path) -> None:
    advice = "For exact savings, learn with"
    found = values("consult", *shelf, "--batch", 4)
    assert found["exact"] is True
    assert found["limit"] == ""
    shown = run("consult", *shelf, "--batch", 4).stdout
    assert "Risk 0 asks everybody: on these items, no prediction was settled before" in shown
    assert advice not in shown
    fusion = Fusion(LEARNER, classes=["ham", "spam"], mistake_costs={("ham", "spam"): 2})
    fusion.learn([{"ann": "ham", "bob": "spam", "cy": "ham", "dee": "ham"}] * 9, ["ham"] * 9)
    fusion.save(tmp_path / "costs.linmax")
    shown = run("consult", tmp_path / "costs.linmax", shelf[1]).stdout
    assert "Risk 0 asks everybody: with mistake_costs the prediction is not" in shown
    assert advice not in shown
    one = table(tmp_path / "one.csv", [["ann", "label"], *[["ham", "ham"], ["spam", "spam"]] * 30])
    trained(tmp_path / "one.linmax", one, LEARNER)
    shown = run("consult", tmp_path / "one.linmax", one).stdout
    assert "Risk 0 asks everybody: there is one expert to ask." in shown
    assert advice not in shown


def test_the_picture_is_drawn(shelf: Shelf, tmp_path: Path) -> None:
    for name, start in (("curve.png", b"\x89PNG"), ("curve.svg", b"<?xml")):
        result = run("consult", *shelf, "--picture", tmp_path / name)
        assert result.exit_code == 0, result.output
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([["ann", 1]], "has no price of 'bob'"),
        ([["ann", 1], ["bob", -1]], "has an expert and a price, 0 or more (got 'bob,-1')"),
        ([["ann", 1, 2]], "has an expert and a price"),
        ([["ann", "1o"], ["bob", 1]], "has an expert and a price, 0 or more (got 'ann,1o')"),
        ([["ann", ""], ["bob", 1]], "has an expert and a price, 0 or more (got 'ann,')"),
        ([["ann", 1], ["bob", 2], ["ann", 3]], "line 3 of"),
    ],
)
def test_prices_that_cannot_be_used_are_refused(
    shelf: Shelf, tmp_path: Path, lines: Any, message: str
) -> None:
    assert message in refused("consult", *shelf, "--prices", table(tmp_path / "p.csv", lines))


def test_files_that_cannot_be_used_are_refused(shelf: Shelf, tmp_path: Path) -> None:
    assert "cannot be read" in refused("consult", *shelf, "--prices", tmp_path / "none.csv")
    assert "there is no folder" in refused("consult", *shelf, "--picture", tmp_path / "no" / "c.png")
    Fusion("SquaredHinge()").save(tmp_path / "a.linmax")
    assert "no experts to ask" in refused("consult", tmp_path / "a.linmax", shelf[1])


def test_experts_that_the_model_does_not_know_have_no_price(shelf: Shelf, tmp_path: Path) -> None:
    file = prices(tmp_path / "p.csv", [1, 1, 1, 1])
    file.write_text(file.read_text(encoding="utf-8") + "zoe,3\n", encoding="utf-8")
    assert "does not have 1 expert (zoe)" in run("consult", *shelf, "--prices", file).stderr


@pytest.mark.parametrize("by_command", [False, True])
def test_votes_for_classes_that_the_model_does_not_know_are_counted_in_a_message(
    shelf: Shelf, tmp_path: Path, by_command: bool
) -> None:
    model = shelf[0]
    if by_command:  # it knows how its file was read
        model = tmp_path / "m.linmax"
        run("fuse", shelf[1], "--learner", LEARNER, "--save", model)
    rows = list(csv.reader(shelf[1].read_text(encoding="utf-8").splitlines()))
    name = next(row[-1] for row in rows[1:] if row[-1])
    votes, labels = sum(row[1:-1].count(name) for row in rows), sum(row[-1] == name for row in rows)
    other = table(tmp_path / "v.csv", [["eggs" if cell == name else cell for cell in row] for row in rows])
    message = run("consult", model, other).stderr
    assert f"{votes:,} votes" in message
    assert f"{labels:,} labels" in message
    assert f"name no class that {model} knows" in message
    assert "name no class" not in run("consult", model, shelf[1]).stderr


def test_a_short_file_is_compared_although_all_of_it_would_be_asked_in_full(
    shelf: Shelf, tmp_path: Path
) -> None:
    short = tmp_path / "short.csv"
    lines = shelf[1].read_text(encoding="utf-8").splitlines(keepends=True)
    short.write_text("".join(line for line in lines[:51]), encoding="utf-8")
    found = values("consult", shelf[0], short)
    assert (found["items"], found["in_full"], found["left_out"]) == (50, 50, 0)
    assert "on 50 items; a new session would have asked all of them in full" in run(
        "consult", shelf[0], short, width=200
    ).stdout.replace("\n", " ")


def test_experts_that_a_file_lacks_are_in_no_plurality(shelf: Shelf, tmp_path: Path) -> None:
    rows = list(csv.reader(shelf[1].read_text(encoding="utf-8").splitlines()))
    few = table(tmp_path / "few.csv", [[row[1], row[2], row[-1]] for row in rows])
    found = values("consult", shelf[0], few, "--experts", "ann,bob", "--label", "truth")
    assert [one["name"] for one in found["others"][2:]] == [
        "plurality of the cheapest 1",
        "plurality of the cheapest 2",
    ]
    assert found["everybody"]["asked"] == 2.0


@rarely_compiled()
def test_models_with_attributes_are_replayed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    votes, labels = majority(ITEMS, relevant=3, experts=4, classes=3, noise=0.1)
    numbers = rng.normal(size=(ITEMS, 2)) + labels[:, None]
    header = [*"abcd", "x", "y", "truth"]
    lines = [[*v, *x, t] for v, x, t in zip(votes.tolist(), numbers.tolist(), labels.tolist(), strict=True)]
    file = table(tmp_path / "v.csv", [header, *lines])
    learner = "Averaged(Perceptron(start='equal').on(Votes() + Attributes()))"
    model = tmp_path / "m.linmax"
    read = ["--experts", "a,b,c,d", "--attributes", "x,y", "--label", "truth"]
    assert run("fuse", file, *read, "--learner", learner, "--save", model).exit_code == 0
    found = values("consult", model, file, "--subsets")
    exact, everybody = found["consultations"][0], found["everybody"]
    assert (exact["changed"], exact["accuracy"]) == (0.0, everybody["accuracy"])
    assert exact["asked"] < everybody["asked"] == 4.0
    assert found["subsets"][-1]["accuracy"] == everybody["accuracy"]


@rarely_compiled()
def test_files_of_scores_are_replayed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, ITEMS)
    scores = rng.random((ITEMS, 4, 3)) * 0.6 + np.eye(3)[labels][:, None] * [[0.6], [0.4], [0.2], [0.1]]
    scores /= scores.sum(axis=2, keepdims=True)
    names = ["ham", "spam", "eggs"]
    header = [*(f"{expert}:{name}" for expert in "abcd" for name in names), "truth"]
    rows = [[*row.ravel(), names[label]] for row, label in zip(scores, labels, strict=True)]
    file, model = table(tmp_path / "s.csv", [header, *rows]), tmp_path / "m.linmax"
    learner = "Averaged(Perceptron(start='equal').on(Votes()))"
    assert run("fuse", file, "--learner", learner, "--save", model).exit_code == 0
    result = run("consult", model, file, "--subsets", "--json")
    found = json.loads(result.stdout)
    exact, everybody = found["consultations"][0], found["everybody"]
    assert (exact["changed"], exact["accuracy"]) == (0.0, everybody["accuracy"])
    assert exact["asked"] < everybody["asked"] == 4.0
    assert found["subsets"][-1]["accuracy"] == everybody["accuracy"]
    assert "experts answer with scores, whose range is that of the file: 0 to" in result.stderr
