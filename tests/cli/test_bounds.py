"""`linmax bounds`: the calculator, and bounds on a panel beside the mistakes made there."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from linmax import Fusion, Perceptron, Winnow
from linmax.bounds import Case, bound
from linmax.bounds.certificate import POSITIVE
from linmax.bounds.check_certificate import check
from linmax.cli import app
from linmax.cli.bounds import panel as bounds_panel
from linmax.cli.bounds.panel import bounded_rules, panel_bounds, read_votes
from linmax.problems import majority
from linmax.streams import open_stream
from linmax.svm import instances
from tests.helpers.examples import EVERYTHING

MARGINS = 100 if EVERYTHING else 25


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
    for rule in bounded_rules(10_000, 0.3333):
        assert type(rule).__name__ in output
    assert "165.8" in output
    assert "false" in output
    assert "Winnow, 1999" not in call("--noise", "1").output  # it was printed for no noise


@pytest.mark.parametrize(("words", "sentence"), [
    (["Winnow(3.0)", "--margin", "0.3333"], "Winnow(3.0) has no bound here: alpha = 3 is too large for"),
    (["Winow(3.0)"], "there is no 'Winow'; did you mean 'Winnow'?"),
    *((["--margin", margin],
       f"--margin must be in 0.000001 <= margin <= 1, because sum |u| = 1 and |z_i| <= 1 (got {margin})")
      for margin in ("0", "-1", "nan", "inf", "2", "1e-300")),
    (["Winnow(1.2)", "--margin", "2"], "--margin must be in 0.000001 <= margin <= 1"),
    *((["--noise", noise], "--noise must be in 0 <= noise <= 1e+12") for noise in ("1e308", "nan", "-1")),
    (["--panel", "/nowhere.csv"], "there is no file '/nowhere.csv'; check the path"),
    (["Winnow(1.2,3)"], "Winnow takes only alpha by position (got 2"),
    (["Combine()"], "Combine requires members; write Combine(members, ...)"),
    (["Votes()"], "Votes() is not a rule; write one like Winnow(1.2)"),
    (["--panel", "p.csv", "--n", "9"], "--n 9 cannot be combined with --panel"),
    (["--panel", "p.csv", "--margin", "0.2"], "--margin 0.2 cannot be combined with --panel"),
    (["--panel", "p.csv", "--noise", "0"], "--noise 0.0 cannot be combined with --panel"),
    (["--first", "9"], "--first 9 requires --panel FILE"),
    (["Winnow(1.2)", "p.csv"], "a file is read with --panel p.csv or --certify RULE p.csv"),
    (["--certify", "Winnow(1.2)", "p.csv", "--n", "9"], "--n 9 cannot be combined with --certify"),
    (["Winnow(1.2)", "p.csv", "--panel", "q.csv"], "--panel takes one file and no -o"),
    (["--certify", "Winnow(1.2)", "p.csv", "-o", "c.json", "--C", "1e300"], "--C must be in 0 < C <= 1e+06"),
    (["-o", "c.json"], "--output c.json requires --certify"),
    (["--certify", "Winnow(1.2)"], "write: linmax bounds --certify 'Winnow(1.2)' votes.csv -o certificate"),
    (["--certify", "Logistic()", "p.csv", "-o", "c.json"], "Logistic() has no certificate: no bound"),
    (["--certify", "Winnow(1.2)", "p.csv", "-o", "p.csv"], "the certificate would replace the data in p.csv"),
    (["Averaged(Winnow(1.3))", "--panel", "p.csv"],
     "--panel requires a rule, and Averaged(Winnow(1.3)) is a technique; pass a rule"),
])  # fmt: skip
def test_an_error_is_one_sentence(words: list[str], sentence: str) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"linmax: {sentence}")
    assert result.stderr.count("\n") == 1


def test_on_a_panel_without_noise_everyone_stays_below_the_bound(tmp_path: Path) -> None:
    votes = read_votes(open_stream(written(tmp_path / "votes.csv", 120, 0.0), label="truth"))
    lines = panel_bounds(votes, C=100.0)
    assert len(lines) == len(bounded_rules(9, 0.1))
    for line in lines:
        assert line.case is not None
        assert line.bound is not None, line.reason
        assert line.mistakes <= line.bound
        assert line.comparator == POSITIVE or not isinstance(line.rule, Winnow)
    made = Fusion(Perceptron(), classes=votes.classes).learn(votes.rows, votes.labels).mistakes
    assert lines[0].mistakes == made


def test_with_noise_the_table_has_hinge_bounds_and_reasons(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 100, 0.05, names=True)
    result = call("--panel", str(path), "--label", "truth")
    assert result.exit_code == 0, result.output
    assert "votes.csv: 100 trials, 3 classes" in result.output
    assert "the proof for ROMMA assumes no noise" in result.output
    assert "known only in hindsight" in result.output
    fewer = call("Perceptron()", "--panel", str(path), "--label", "truth", "--first", "50")
    assert "50 trials" in fewer.output


def test_an_empty_cell_and_minus_one_abstain(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("ann,bob,label\n1,,1\n0,-1,0\n,1,\n", encoding="utf-8")
    votes = read_votes(open_stream(tmp_path / "votes.csv", label="label"))
    assert votes.rows == [{"ann": "1"}, {"ann": "0"}, {"bob": "1"}]
    assert votes.labels == ["1", "0", None]
    assert votes.classes == ["1", "0"]
    (tmp_path / "signs.csv").write_text("ann,label\n1,1\n-1,-1\n", encoding="utf-8")
    assert read_votes(open_stream(tmp_path / "signs.csv", label="label")).rows == [
        {"ann": "1"},
        {"ann": "-1"},
    ]
    pa.parquet.write_table(pa.table({"ann": [1, -1] * 20, "truth": [1, -1] * 20}), tmp_path / "signs.parquet")
    path = str(tmp_path / "signs.parquet")
    assert "signs.parquet: 40 trials, 2 classes" in call("Perceptron()", "--panel", path).output


def test_a_panel_may_be_of_any_format_and_shape(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    path.write_text(
        '{"ann": {"a": 0.9, "b": 0.1}, "label": "a"}\n{"ann": {"a": 0.2, "b": 0.8}, "label": "b"}\n' * 20,
        encoding="utf-8",
    )
    assert read_votes(open_stream(path, label="label")).classes == ["a", "b"]
    assert "votes.jsonl: 40 trials, 2 classes" in call("Perceptron()", "--panel", str(path)).output
    table = pa.table({"ann": [0, 1] * 20, "label": [0, 1] * 20})
    pa.parquet.write_table(table, tmp_path / "votes.parquet")
    stream = open_stream(tmp_path / "votes.parquet", label="label")
    assert read_votes(stream, 10).rows == [{"ann": 0}, {"ann": 1}] * 5


@pytest.mark.parametrize(("text", "sentence"), [
    ("", "votes.csv is empty; it needs a header"),
    ("ann,label\n", "has no items"),
    ("ann,what\na,a\n", "has no column of labels; name it with --label"),
    ("label\na\nb\n", "has no column with votes .*; add one per expert"),
    ("ann,label\n1,1.0\n0,0.0\n", "no vote in .* is equal to a label: votes are like '1', labels like '1.0'"),
    ("ann,label\n1,\n0,\n", "no item of .* has a label in 'label'"),
    ("ann,label\n,a\n,b\n", "no expert votes in"),
    ("ann,label\na,a\n", "has only the class 'a'; a bound requires two"),
    ("ann,label\na\n", "line 2: 1 cell where the header has 2"),
])  # fmt: skip
def test_a_file_that_is_no_panel_says_why(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "votes.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=sentence):
        read_votes(open_stream(tmp_path / "votes.csv", label="label" if "label" in text else ""))


def test_the_margin_shown_has_a_bound_as_small_as_any(tmp_path: Path) -> None:
    lines = ["ann,bob,label"]
    for item in range(250):  # ann alone is worth a weight, and wrong on every tenth
        truth = "ab"[item % 2]
        lines.append(f"{'ba'[item % 2] if item % 10 == 0 else truth},{'ab'[item // 2 % 2]},{truth}")
    (tmp_path / "votes.csv").write_text("\n".join(lines), encoding="utf-8")
    votes = read_votes(open_stream(tmp_path / "votes.csv", label="label"))
    z = instances(Fusion(Perceptron(), classes=votes.classes), votes.rows, votes.labels)
    shown = panel_bounds(votes)
    for at, line in enumerate(shown):
        assert line.case is not None
        margins = [float(one) for one in np.linspace(0.01, line.case.comparator_norm(1), MARGINS)]
        cases = [(bounded_rules(line.n, one)[at], Case.of(line.case.u, z, margin=one)) for one in margins]
        values = [value for rule, case in cases if (value := bound(rule, case)) is not None]
        if line.bound is None:
            assert not values
        else:
            assert line.bound <= min(values) * (1 + 1e-9), line.rule
    assert shown[2].bound is not None
    assert shown[2].bound < 140  # at margin 1 it would be 526


def test_a_rule_is_shown_alone_and_as_it_was_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 100, 0.05)
    output = call("Winnow(1.2)", "--panel", str(path), "--label", "truth").output
    assert "Winnow(1.2)" in output
    assert "Perceptron" not in output
    votes = read_votes(open_stream(path, label="truth"))
    (line,) = panel_bounds(votes, only=Winnow(1.2))
    made = Fusion(Winnow(1.2), classes=votes.classes).learn(votes.rows, votes.labels).mistakes
    assert (line.rule, line.mistakes) == (Winnow(1.2), made)


def test_a_hinge_is_the_same_in_the_table_and_in_a_reason(tmp_path: Path) -> None:
    for line in panel_bounds(
        read_votes(open_stream(written(tmp_path / "votes.csv", 100, 0.05), label="truth"))
    ):
        assert line.case is not None
        assert line.case.comparator_norm(1) == pytest.approx(1)
        if line.bound is None:
            assert f"(got a hinge of {line.case.hinge:g})" in line.reason


def test_a_c_that_finds_nothing_is_named_as_the_option_it_is(tmp_path: Path) -> None:
    votes = read_votes(open_stream(written(tmp_path / "votes.csv", 50, 0.05), label="truth"))
    (line,) = panel_bounds(votes, 1e-5, Winnow(1.2))
    assert line.bound is None
    assert line.reason.endswith("raise --C, or use fewer items with --first")
    for C in (0.0, -1.0, float("nan"), float("inf"), 1e300):
        with pytest.raises(ValueError, match="--C must be in 0 < C"):
            panel_bounds(votes, C)


def test_what_was_left_out_and_n_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "votes.csv", 60, 0.05)
    with path.open("a", encoding="utf-8") as file:
        file.write("0,0,0,0,0,0,\n" * 3)
    output = call("Perceptron()", "--panel", str(path), "--label", "truth").output
    assert "60 trials" in output
    assert "3 of 63 items have no label and do not count." in output
    assert "sub-experts from 6 experts, including thresholds." in output
    monkeypatch.setattr(bounds_panel, "MAX_ITEMS", 40)
    assert (
        "the first 40 of 63 items are used; --first uses more"
        in call("Perceptron()", "--panel", str(path), "--label", "truth").output
    )
    assert (
        "the first 50 of 63 items are used."
        in call("Perceptron()", "--panel", str(path), "--label", "truth", "--first", "50").output
    )


def test_a_panel_is_read_with_the_options_of_all_commands(tmp_path: Path) -> None:
    panel = written(tmp_path / "votes.csv", 60, 0.05, names=True)
    lines = panel.read_text().splitlines()
    odd = [f"who,{lines[0].replace('truth', 'gold answer')}", *(f"m,{one.upper()}" for one in lines[1:])]
    odd[1] = odd[1].lower()
    (tmp_path / "odd.csv").write_text("\n".join(odd) + "\n")
    columns = ",".join(f"expert {i}" for i in range(6))
    words = (
        "--label",
        "gold answer",
        "--experts",
        columns,
        "--shape",
        "wide",
        "--ignore-case",
        "--id",
        "who",
    )
    plain = call("Perceptron()", "--panel", str(panel)).stdout
    told = call("Perceptron()", "--panel", str(tmp_path / "odd.csv"), *words).stdout
    assert told.replace("odd.csv", "votes.csv").split() == plain.split()
    for option in ("--label", "--id", "--attributes", "--experts", "--shape"):
        assert call(option, "x").stderr == f"linmax: {option} x requires --panel FILE\n"
    assert call("--ignore-case").stderr == "linmax: --ignore-case requires --panel FILE\n"


def certified(path: Path, rule: str = "Winnow(1.1)") -> Result:
    return call("--certify", rule, str(path), "--label", "truth", "-o", str(path.parent / "certificate.json"))


def test_a_certificate_is_written_and_stands_the_check(tmp_path: Path) -> None:
    path = written(tmp_path / "votes.csv", 200, 0.05, names=True)
    result = certified(path)
    assert result.exit_code == 0, result.output
    content = json.loads((tmp_path / "certificate.json").read_text(encoding="utf-8"))
    assert f"made {len(content['mistakes'])} mistakes in 200 trials" in result.output
    assert f"its bound is {content['bound']:.1f}" in result.output
    assert check(content, str(path))
    made = Fusion(Winnow(1.1), classes=content["classes"]).learn(
        *(read_votes(open_stream(path, label="truth")))[1:3]
    )
    assert made.mistakes == len(content["mistakes"])


def test_a_trivial_bound_is_called_so(tmp_path: Path) -> None:
    result = certified(written(tmp_path / "votes.csv", 30, 0.2, names=True), "Winnow(1.01)")
    assert "This bound is trivial, because there are 30 trials." in result.output


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (",", ";", "not have 1 cells|not a table with a column per expert in plain CSV"),
        ("\na,", "\nNA,", ""),  # abstains in both readings
        (",a\n", ", a\n", "item 1 of votes.csv has ' a' in 'truth', which linmax reads as 'a'"),
    ],
)
def test_a_file_that_a_plain_reader_reads_otherwise_has_no_certificate(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    lines = ["ann,bob,truth", *(f"{x},{y},{x}" for x, y in ("ab", "ba", "aa", "bb") * 20)]
    (tmp_path / "votes.csv").write_text("\n".join(lines).replace(old, new) + "\n", encoding="utf-8")
    result = certified(tmp_path / "votes.csv")
    assert (result.exit_code == 0) == (not sentence), result.output
    assert re.search(sentence, result.output)
