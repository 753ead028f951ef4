"""`linmax fuse --max-error`, `--coverage` and `--mistake-costs`, and its alarms of drift."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from linmax import load
from linmax.cli.commands import app
from linmax.cli.cost_files import read_mistake_costs
from linmax.report.charts import consultation as consultation_chart
from tests.helpers.figures import draw_nothing

LEARNER = ["--learner", "Averaged(Winnow(1.3))", "--in-order"]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three experts, the best of which names the next class after 1500 of 2500 items."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 2500)
    sure = rng.random((2500, 3)) < [0.97, 0.7, 0.6]
    votes = np.where(sure, truth[:, None], rng.integers(0, 3, (2500, 3)))
    votes[1500:, 0] = (votes[1500:, 0] + 1) % 3
    path = tmp_path_factory.mktemp("drift") / "votes.csv"
    names = np.array(["ham", "spam", "eggs"])
    rows = [",".join([*names[row], names[y]]) for row, y in zip(votes, truth, strict=True)]
    path.write_text("\n".join(["ann,bob,eve,truth", *rows]) + "\n")
    return path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(one) for one in arguments])


def found(*arguments: Any) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    values: dict[str, Any] = json.loads(result.output)
    return values


@pytest.fixture(scope="module")
def decisions(file: Path) -> dict[str, Any]:
    values: dict[str, Any] = found("fuse", file, *LEARNER, "--max-error", 0.1, "--coverage", 0.9)["decisions"]
    return values


@pytest.fixture(scope="module")
def plain(file: Path) -> dict[str, Any]:
    return found("fuse", file, *LEARNER)


def test_answers_stay_below_the_limit_before_the_drift_and_are_counted(decisions: dict[str, Any]) -> None:
    limit = decisions["limit"]
    assert (limit["max_error"], limit["items"]) == (0.1, pytest.approx(2500, abs=3))
    assert 1000 < limit["answered"] < 2000
    assert limit["wrong"] < 200


def test_the_sets_asked_for_have_their_coverage_and_size(decisions: dict[str, Any]) -> None:
    asked = decisions["asked"]
    assert asked["coverage"] == 0.9
    assert asked["observed"] >= 0.9 - 51 / 2500
    assert 1.0 <= asked["size"] <= 3.0
    assert [one["coverage"] for one in decisions["sets"]][-1] == 0.999


def test_the_alarm_says_when_and_whose_accuracy_changed(decisions: dict[str, Any], file: Path) -> None:
    (alarm, *_) = decisions["drift"]
    assert 1400 <= alarm["since"] <= 1500 < alarm["trial"] < 1600
    assert alarm["error_before"] < 0.1 < 0.3 < alarm["error_after"]
    assert [one["name"] for one in alarm["experts"]] == ["ann"]
    text = run("fuse", file, *LEARNER).output
    assert "Drift: after about 1,4" in text
    assert "accuracy of ann 9" in text


def test_without_the_options_nothing_is_said_about_answers_and_sets(plain: dict[str, Any]) -> None:
    values = plain["decisions"]
    assert (values["limit"], values["asked"], values["cost"]) == (None, None, None)
    assert len(values["answers"]) == 10


def test_a_run_in_parts_has_the_decisions_of_one_run(
    file: Path, tmp_path: Path, decisions: dict[str, Any]
) -> None:
    options = ["--max-error", 0.1, "--coverage", 0.9]
    part, model = tmp_path / "votes.csv", tmp_path / "model"
    part.write_text("".join(file.read_text().splitlines(keepends=True)[:1201]))
    from linmax.cli.fuse import fuse as command

    saved = command.save_model

    def stopped(one: Any, *, finished: bool) -> None:
        saved(one, finished=False)

    with pytest.MonkeyPatch.context() as patch:  # as if it had been stopped
        patch.setattr(command, "save_model", stopped)
        assert run("fuse", part, *LEARNER, *options, "--save", model).exit_code == 0
    part.write_text(file.read_text())
    again = found("fuse", part, "--from", model, "--in-order", *options)["decisions"]
    assert again == decisions


def test_costs_are_read_from_a_file_and_stored_in_the_model(
    file: Path, plain: dict[str, Any], tmp_path: Path
) -> None:
    costs, model = tmp_path / "costs.csv", tmp_path / "model"
    costs.write_text("truth,guess,cost\nham,spam,9\nham,eggs,9\n")
    values = found("fuse", file, *LEARNER, "--mistake-costs", costs, "--save", model)
    assert values["decisions"]["cost"] > 0
    assert any("least expected cost" in note for note in values["notes"])
    ham = values["confusion"]["classes"].index("ham")

    def spent(found: dict[str, Any]) -> int:
        table = np.array(found["confusion"]["table"])
        costs = 1 - np.eye(3, dtype=int)
        costs[ham] *= 9
        return int((table * costs).sum())

    assert values["decisions"]["cost"] == spent(values) < spent(plain)
    assert load(model).mistake_cost == spent(values)
    assert "--mistake-costs is stored in the model" in run(
        "fuse", file, "--from", model, "--mistake-costs", costs
    ).output.replace("\n", " ")


def test_costs_scale_the_margins_of_updates_if_asked_to(file: Path, tmp_path: Path) -> None:
    costs, model = tmp_path / "costs.csv", tmp_path / "model"
    costs.write_text("truth,guess,cost\nham,spam,9\n")
    learner = ("--learner", "Perceptron(slack=1)")
    found("fuse", file, *learner, "--mistake-costs", costs, "--cost-margins", "--save", model)
    assert load(model).cost_margins
    for options, message in (
        ((*learner, "--cost-margins"), "--cost-margins requires --mistake-costs FILE"),
        (("--from", model, "--cost-margins"), "--cost-margins is stored in the model of"),
        (("--from", model, "--seed", "0"), "--seed is stored in the model of"),
        (("--mistake-costs", costs, "--cost-margins"), "cost_margins"),
    ):
        shown = run("fuse", file, *options)
        assert shown.exit_code == 2
        assert message in shown.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "must have the columns truth, guess and cost"),
        ("truth,guess,cost,cost\na,b,1,2\n", "has two columns 'cost'; remove one of them"),
        ("truth,guess,cost\n", "must have the columns truth, guess and cost, and a row"),
        ("truth,guess,cost\nham,soup,3\n", "line 2 of .* names the class 'soup', which the data do not have"),
        ("truth,guess,cost\nham,spam,much\n", "line 2 of .* has the cost 'much': write a number"),
        ("truth;guess;cost\n\nham;spam;-1\n", "line 3 of .* has the cost '-1': write a number from 0"),
        ("truth,guess,cost\nham,spam\n", "line 2 of .* has the cost '': write a number"),
        ("truth,guess,cost\nham,spam,1\nham,spam,2\n", "line 3 of .* repeats the truth 'ham'"),
    ],
)
def test_a_file_of_costs_that_cannot_be_used_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "costs.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_mistake_costs(path, ["ham", "spam"])
    with pytest.raises(ValueError, match="cannot be read"):
        read_mistake_costs(tmp_path / "missing.csv", ["ham"])


def test_classes_that_are_numbers_are_found_by_their_text(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    for comma in ",;":
        path.write_text("truth,guess,cost\n1,2,3.5\n".replace(",", comma))
        assert read_mistake_costs(path, [1, 2]) == {(1, 2): 3.5}


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [("--max-error", 0, "max_error must be at least"), ("--coverage", 1, "coverage must be above 0")],
)
def test_limits_out_of_range_are_refused_before_anything_is_read(
    file: Path, option: str, value: float, message: str
) -> None:
    result = run("fuse", file, option, value)
    assert result.exit_code != 0
    assert message in result.output


@pytest.fixture(scope="module")
def model(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learned the first 1000 rows, before the drift."""
    folder = tmp_path_factory.mktemp("model")
    lines = file.read_text().splitlines(keepends=True)
    (folder / "first.csv").write_text("".join(lines[:1001]))
    options = (*LEARNER, "--max-error", 0.1, "--save", folder / "m.linmax")
    assert run("fuse", folder / "first.csv", *options).exit_code == 0
    return folder / "m.linmax"


def test_answers_and_sets_are_columns_of_the_output_of_fuse(
    file: Path, decisions: dict[str, Any], tmp_path: Path
) -> None:
    limits = ("--max-error", 0.1, "--coverage", 0.9)
    for name in ("out.csv", "out.jsonl"):
        assert run("fuse", file, *LEARNER, *limits, "--output", tmp_path / name).exit_code == 0
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert list(rows[0]) == ["row", "guess", "margin", "truth", "answer", "set"]
    answered = [row for row in rows if row["answer"]]
    assert len(answered) == decisions["limit"]["answered"] > 0
    assert all(row["answer"] == row["guess"] for row in answered)
    assert sum(row["answer"] != row["truth"] for row in answered) == decisions["limit"]["wrong"]
    sets = [row["set"].split(";") for row in rows]
    hits = [row["truth"] in found for row, found in zip(rows, sets, strict=True)]
    # the first rows have classes that were not known before, which are not counted
    assert np.mean(hits[10:]) == pytest.approx(decisions["asked"]["observed"], abs=1e-3)
    assert np.mean(list(map(len, sets[10:]))) == pytest.approx(decisions["asked"]["size"], abs=5e-3)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["answer"] or "" for line in lines] == [row["answer"] for row in rows]
    assert [";".join(line["set"]) for line in lines] == [row["set"] for row in rows]


def test_answers_and_sets_are_columns_of_the_output_of_predict(
    file: Path, model: Path, tmp_path: Path
) -> None:
    fusion, output = load(model), tmp_path / "out.csv"
    result = run("predict", model, file, "--max-error", 0.01, "--coverage", 0.9, "--output", output)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(output.read_text().splitlines()))
    lines = file.read_text().splitlines()
    items = [dict(zip(("ann", "bob", "eve"), line.split(",")[:3], strict=True)) for line in lines[1:]]
    assert [row["answer"] or None for row in rows] == fusion.predict(items, max_error=0.01).tolist()
    assert [row["set"].split(";") for row in rows] == fusion.predict_set(items, coverage=0.9)
    answered = sum(bool(row["answer"]) for row in rows)
    assert 0 < answered < len(rows)
    assert f"{answered:,} answered" in result.output


def test_predict_says_why_nothing_is_answered(file: Path, model: Path, tmp_path: Path) -> None:
    result = run("predict", model, file, "--max-error", 0.0001, "--output", tmp_path / "o.csv")
    assert "--max-error 0.0001 answers nothing:" in result.output
    assert "labelled items were counted, and at least" in result.output
    for option, value, message in (
        ("--max-error", 2, "max_error must be"),
        ("--coverage", 1, "coverage must"),
    ):
        assert message in run("predict", model, file, option, value).output


def test_the_report_says_why_asking_in_turn_saves_nothing(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_nothing(monkeypatch)
    costs, report = tmp_path / "costs.csv", tmp_path / "report.html"
    costs.write_text("truth,guess,cost\nham,spam,9\n")
    assert run("fuse", file, *LEARNER, "--mistake-costs", costs, "--report", report).exit_code == 0
    assert "Risk 0 asks everybody: with mistake_costs the prediction is not" in report.read_text()


def test_the_report_has_the_cost_accuracy_curve(
    file: Path, plain: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_nothing(monkeypatch, but=consultation_chart)
    prices, report = tmp_path / "prices.csv", tmp_path / "report.html"
    prices.write_text("expert,price\nann,3\nbob,1\neve,1\n")
    values = found("fuse", file, *LEARNER, "--prices", prices, "--report", report)
    replay = values["consultations"]
    assert replay["priced"] is True
    assert replay["everybody"]["cost"] == 5.0
    assert replay["consultations"][0]["changed"] == 0.0
    assert replay["consultations"][0]["accuracy"] == replay["everybody"]["accuracy"]
    page = report.read_text()
    assert "Whom to ask" in page
    assert "Curve of accuracy by the cost per item" in page
    assert "plurality of the cheapest 3" in page
    assert [one["price"] for one in values["experts"] if one["name"] == "ann"] == [3.0]
    assert plain["consultations"] is None
    assert "has no price of 'eve'" in run(
        "fuse", file, "--prices", _lines(tmp_path / "few.csv", "ann,3", "bob,1")
    ).output.replace("\n", " ")
    assert "does not have 1 expert (zoe)" in run(
        "fuse", file, *LEARNER, "--prices", _lines(tmp_path / "more.csv", "ann,3", "bob,1", "eve,1", "zoe,1")
    ).output.replace("\n", " ")


def _lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path
