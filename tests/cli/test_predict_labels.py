"""`linmax predict` and `linmax explain` read votes alike, whether the file has labels or not."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.files import run, table, trained

CLASSES = ("billing", "bug", "feature")
EXPERTS = ("gpt", "claude", "llama")
LEARNER = "Averaged(Winnow(1.2))"


def rows_with(classes: tuple[str, ...], rows: int, seed: int) -> list[list[str]]:
    """An id, the votes of three experts, and the label."""
    rng = np.random.default_rng(seed)
    found = [["id", *EXPERTS, "truth"]]
    for i in range(rows):
        truth = classes[rng.integers(len(classes))]
        votes = [truth if rng.random() < 0.8 else classes[rng.integers(len(classes))] for _ in EXPERTS]
        found.append([f"t{i}", *votes, truth])
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    file = table(folder / "clean.csv", rows_with(CLASSES, 200, 1))
    result = run("fuse", file, "--learner", LEARNER, "--save", folder / "c.linmax")
    assert result.exit_code == 0, result.output
    return folder / "c.linmax"


def predicted(model: Path, file: Path, *options: object) -> tuple[list[str], list[str]]:
    """The guesses, and what is said beside them."""
    result = run("predict", model, file, *options)
    assert result.exit_code == 0, result.output
    return [row["guess"] for row in csv.DictReader(result.stdout.splitlines())], result.stderr.splitlines()


@pytest.mark.parametrize("classes", [(*CLASSES, "refund"), ("0", "1")])
@pytest.mark.parametrize(
    "options", [(), ("--experts", "gpt,claude"), ("--ignore", "gpt"), ("--shape", "wide")]
)
def test_labels_of_unknown_classes_do_not_change_predictions(
    model: Path, tmp_path: Path, classes: tuple[str, ...], options: tuple[str, ...]
) -> None:
    rows = rows_with(classes, 100, 2)
    guesses, said = predicted(model, table(tmp_path / "n.csv", rows), *options)
    without, said_without = predicted(model, table(tmp_path / "n.csv", [row[:-1] for row in rows]), *options)
    assert guesses == without
    assert set(guesses) <= set(CLASSES)
    used = [i for i, name in enumerate(rows[0]) if name in EXPERTS]
    used = [i for i in used if rows[0][i] != {"--ignore": "gpt", "--experts": "llama"}.get((*options, "")[0])]
    votes = sum(row[i] not in CLASSES for row in rows[1:] for i in used)
    names = ", ".join(map(repr, dict.fromkeys(row[-1] for row in rows[1:] if row[-1] not in CLASSES)))
    message = f"linmax: {votes} votes of n.csv name no class that {model} knows ("
    assert sum(line.startswith(message) and line.endswith(": they abstain") for line in said) == 1
    assert [line for line in said_without if "votes" in line] == [line for line in said if "votes" in line]
    labels = sum(row[-1] not in CLASSES for row in rows[1:])
    unknown = f"{labels} labels of n.csv name no class that {model} knows ({names})"
    assert f"linmax: {unknown}: these rows count as wrong" in said
    right = sum(guess == row[-1] for guess, row in zip(guesses, rows[1:], strict=True))
    assert said[-1].startswith(f"linmax: 100 rows predicted, {right} of 100 labelled rows correct")


def test_a_model_that_does_not_say_how_its_file_was_read_predicts_alike_with_labels(tmp_path: Path) -> None:
    trained(tmp_path / "m.linmax", table(tmp_path / "clean.csv", rows_with(CLASSES, 200, 1)))
    rows = rows_with((*CLASSES, "refund"), 100, 2)
    guesses, said = predicted(tmp_path / "m.linmax", table(tmp_path / "n.csv", rows))
    without, _ = predicted(tmp_path / "m.linmax", table(tmp_path / "n.csv", [row[:-1] for row in rows]))
    assert guesses == without
    assert "refund" in guesses
    assert any("knows ('refund'): each is a class of its own" in line for line in said)
    right = sum(guess == row[-1] for guess, row in zip(guesses, rows[1:], strict=True))
    assert said[-1].startswith(f"linmax: 100 rows predicted, {right} of 100 labelled rows correct")


def test_a_class_named_by_an_option_is_known(model: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "n.csv", rows_with((*CLASSES, "refund"), 100, 2))
    guesses, said = predicted(model, file, "--classes", "refund")
    assert "refund" in guesses
    assert not any("no class" in line for line in said)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_labels_in_words_beside_classes_that_are_integers_are_wrong(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, 200)
    votes = np.where(rng.random((200, 3)) < 0.8, labels[:, None], rng.integers(0, 3, (200, 3)))
    np.savez(tmp_path / "n.npz", votes=votes, labels=labels)
    learned = run("fuse", tmp_path / "n.npz", "--learner", LEARNER, "--save", tmp_path / "m.linmax")
    assert learned.exit_code == 0, learned.output
    words = [str(label) if label else "none" for label in labels.tolist()]
    rows = [[*row, word] for row, word in zip(votes.tolist(), words, strict=True)]
    file = table(tmp_path / "n.csv", [["0", "1", "2", "labels"], *rows])
    result = run("predict", tmp_path / "m.linmax", file, "--output", tmp_path / f"g{suffix}")
    assert result.exit_code == 0, result.output
    said = result.stderr.splitlines()
    assert any(f"{words.count('none')} labels of n.csv name no class" in line for line in said)
    counts = said[-1].partition("predicted, ")[2].split()
    assert 100 < int(counts[0]) <= 200 - words.count("none")
    assert counts[2] == "200"


def test_an_explanation_says_that_votes_and_the_label_name_unknown_classes(
    model: Path, tmp_path: Path
) -> None:
    rows = [["id", *EXPERTS, "truth"], ["n1", "refund", "refund", "bug", "refund"]]
    result = run("explain", model, table(tmp_path / "n.csv", rows), "--row", 1)
    assert result.exit_code == 0, result.output
    assert "predicts bug; the truth is refund." in result.stdout
    assert f"2 votes of n.csv name no class that {model} knows ('refund'): they abstain" in result.stderr
    assert f"the label of the item, 'refund', is no class that {model} knows" in result.stderr
    without = run("explain", model, table(tmp_path / "n.csv", [row[:-1] for row in rows]), "--row", 1)
    assert without.stdout == result.stdout.replace("the truth is refund", "the truth is unknown")


def test_predict_prints_the_warnings_on_its_file(model: Path, tmp_path: Path) -> None:
    rows = rows_with(CLASSES, 120, 2)
    for row in rows[1:]:
        row[1] = row[1].upper()
        row[4] = {"bug": "billing", "billing": "feature", "feature": "bug"}[row[4]]
    _, said = predicted(model, table(tmp_path / "new.csv", rows))
    assert any("warning: the votes of gpt, claude, llama are the label on fewer items" in one for one in said)
    assert any("note: 120 votes are spelled unlike the labels" in one for one in said)
    _, said = predicted(model, table(tmp_path / "new.csv", [row[:-1] for row in rows]))
    assert not any("warning:" in one or "no label" in one for one in said)
    assert any("note: 120 votes are spelled unlike the labels" in one for one in said)
