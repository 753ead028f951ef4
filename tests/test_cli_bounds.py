"""`linmax bounds`: the calculator, and bounds on a panel beside the mistakes made there."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from linmax import Fusion, Perceptron, Winnow
from linmax.bounds import Case, bound
from linmax.cli import app
from linmax.cli.panel import POSITIVE, promised, read, rules
from linmax.problems import majority


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["bounds", *words], env={"COLUMNS": "160"})


def written(path: Path, trials: int, noise: float, *, names: bool = False) -> Path:
    votes, labels = majority(trials, relevant=3, experts=6, classes=3, noise=noise)
    word = (lambda one: "abc"[one]) if names else str
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*(f"expert {i}" for i in range(6)), "truth"])
        for row, label in zip(votes.tolist(), labels.tolist(), strict=True):
            table.writerow([*map(word, row), word(label)])
    return path


def test_the_calculator_tells_what_the_library_does() -> None:
    result = call("Winnow(1.2)", "--n", "100", "--margin", "0.2", "--noise", "3")
    assert result.exit_code == 0
    value = bound(Winnow(1.2), Case(n=100, delta=0.2, hinge=3.0))
    assert f"Winnow(1.2) makes at most {value:.1f} mistakes." in result.output
    assert "Schapire" in result.output


def test_without_a_rule_all_that_have_a_bound_are_listed_and_the_false_ones_marked() -> None:
    output = call("--n", "10000", "--margin", "0.3333").output
    for rule in rules(10_000, 0.3333):
        assert type(rule).__name__ in output
    assert "165.8" in output
    assert "false" in output
    assert "Winnow, 1999" not in call("--noise", "1").output  # it was printed for no noise


@pytest.mark.parametrize(("words", "sentence"), [
    (["Winnow(3.0)", "--margin", "0.3333"], "Winnow(3.0) has no bound here: alpha = 3 is too large for"),
    (["Winow(3.0)"], "there is no 'Winow'; did you mean 'Winnow'?"),
    (["--margin", "-1"], "Case needs delta > 0 (got -1.0)"),
    (["--margin", "2"], "a margin is at most 1"),
    (["--panel", "/nowhere.csv"], "cannot read /nowhere.csv: No such file or directory"),
])  # fmt: skip
def test_an_error_is_one_sentence(words: list[str], sentence: str) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"linmax: {sentence}")
    assert result.stderr.count("\n") == 1


def test_on_a_panel_without_noise_everyone_stays_below_the_bound(tmp_path: Path) -> None:
    votes = read(written(tmp_path / "votes.csv", 300, 0.0), "truth")
    lines = promised(votes, C=100.0)
    assert len(lines) == len(rules(9, 0.1))
    for line in lines:
        assert line.case is not None
        assert line.bound is not None, line.reason
        assert line.mistakes <= line.bound
        assert line.comparator == POSITIVE or not isinstance(line.rule, Winnow)
    made = Fusion(Perceptron(), classes=votes.classes).learn(votes.rows, votes.labels).mistakes
    assert lines[0].mistakes == made


def test_with_noise_the_table_has_hinge_bounds_and_reasons(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 200, 0.05, names=True)
    result = call("--panel", str(path), "--label", "truth")
    assert result.exit_code == 0, result.output
    assert "votes.csv: 200 trials, 3 classes" in result.output
    assert "ROMMA's proof has no room for noise" in result.output
    assert "known only in hindsight" in result.output
    fewer = call("--panel", str(path), "--label", "truth", "--first", "50")
    assert "50 trials" in fewer.output


def test_an_empty_cell_and_minus_one_abstain(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("ann,bob,label\n1,,1\n0,-1,0\n,1,\n", encoding="utf-8")
    votes = read(tmp_path / "votes.csv", "label")
    assert votes.rows == [{"ann": 1}, {"ann": 0}, {"bob": 1}]
    assert votes.labels == [1, 0, None]
    assert votes.classes == [1, 0]


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "has no items"),
    ("ann,label\n", "has no items"),
    ("ann,truth\na,a\n", "has no column 'label'; name one of ann, truth with --label"),
    ("ann,label\na\n", "line 2 has not as many values as there are names"),
])  # fmt: skip
def test_a_file_that_is_no_panel_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        read(tmp_path / "votes.csv", "label")
