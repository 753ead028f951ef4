"""Predictions of a data set: a file per partition, the same rows as `linmax predict` writes for each file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from linmax import Fusion
from linmax.scale import KeyedModels, predict
from tests.helpers.datasets import EXPERTS, rows, write, write_part
from tests.helpers.files import run
from tests.scale.test_keyed import learn, table_of


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data", suffix="csv")


def fuse(data: Path, model: Path) -> Path:
    assert run("fuse", data / "part-0.csv", "--ignore", "customer,when", "--save", model).exit_code == 0
    return model


def test_each_partition_has_the_predictions_of_one_file(data: Path, tmp_path: Path) -> None:
    model = fuse(data, tmp_path / "m.linmax")
    result = predict(model, data, tmp_path / "guesses", format="csv", workers=1, max_error=0.1, coverage=0.9)
    assert result.rows == 600
    assert result.problems == []
    assert [Path(one).name for one in result.files] == ["part-0.csv", "part-1.csv", "part-2.csv"]
    for part in range(3):
        alone = tmp_path / f"alone-{part}.csv"
        options = ("--max-error", 0.1, "--coverage", 0.9, "--output", alone)
        assert run("predict", model, data / f"part-{part}.csv", *options).exit_code == 0
        assert (tmp_path / "guesses" / f"part-{part}.csv").read_text() == alone.read_text()


@pytest.mark.parametrize("learned", ["file", "session"])
def test_votes_labels_and_experts_that_a_model_does_not_know_are_counted(
    learned: str, tmp_path: Path
) -> None:
    known = tmp_path / "known.csv"
    known.write_text("ann,bob,cyd,truth\n" + "a,a,b,a\nb,b,a,b\nb,b,b,b\n" * 40)
    model, data = tmp_path / "m.linmax", tmp_path / "data"
    data.mkdir()
    (data / "one.csv").write_text("ann,bob,cyd,truth\na,c,b,a\nb,b,b,b\n")
    (data / "two.csv").write_text("ann,bob,truth\na,a,c\nc,c,c\nb,b,d\n")
    if learned == "file":
        assert run("fuse", known, "--save", model).exit_code == 0
    else:
        fusion = Fusion("Perceptron()")
        fusion.learn([{"ann": "a", "bob": "a", "cyd": "b"}, {"ann": "b", "bob": "b", "cyd": "b"}], ["a", "b"])
        fusion.save(model)
    found = predict(model, data, tmp_path / "guesses", workers=1)
    assert (found.rows, found.labelled, found.closed) == (5, 5, learned == "file")
    assert found.unknown_votes == {"c": 3}
    assert found.unknown_labels == {"c": 2, "d": 1}
    assert found.absent == ["cyd"]
    shown = run("predict", model, data, "--workers", 1, "--output", tmp_path / "again").stderr
    effect = "they abstain" if found.closed else "each is a class of its own"
    assert f"3 votes of the first rows of the partitions of {data} name no class" in shown
    assert f"knows ('c'): {effect}" in shown
    assert "3 labels of" in shown
    assert "lack 1 expert (cyd) of" in shown


def test_each_row_has_the_prediction_of_its_key(tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    models = learn(data, tmp_path / "models").models
    result = predict(models, data, tmp_path / "guesses", workers=1)
    guesses = [row["guess"] for file in result.files for row in pq.read_table(file).to_pylist()]
    loaded = {key: models[key] for key in models}
    expected = [
        loaded[row["customer"]].predict_one({name: row[name] for name in EXPERTS}) for row in table_of(data)
    ]
    assert guesses == expected
    assert result.without_model == 0


def test_a_key_without_a_model_has_no_prediction_or_that_of_the_prior(tmp_path: Path) -> None:
    data = write(tmp_path / "data")
    other = tmp_path / "other"
    other.mkdir()
    found = rows(40, 2, seed=5)
    del found["truth"]
    found["customer"] = ["c1"] * 20 + ["new"] * 20
    write_part(other / "part.parquet", found)
    learn(data, tmp_path / "models")
    result = predict(tmp_path / "models", other, tmp_path / "a", workers=1)
    assert (result.rows, result.without_model, result.labelled) == (40, 20, 0)
    guesses = [row["guess"] for row in pq.read_table(result.files[0]).to_pylist()]
    assert None not in guesses[:20]
    assert guesses[20:] == [None] * 20
    learn(data, tmp_path / "pooled", pooled=50)
    result = predict(tmp_path / "pooled", other, tmp_path / "b", workers=1)
    assert result.without_model == 0
    prior: Any = KeyedModels(tmp_path / "pooled").prior
    votes = [
        dict(zip(EXPERTS, row, strict=True)) for row in zip(*(found[name] for name in EXPERTS), strict=True)
    ]
    guesses = [row["guess"] for row in pq.read_table(result.files[0]).to_pylist()]
    assert guesses[20:] == prior.predict(votes[20:]).tolist()


def test_a_corrupt_partition_is_named_and_the_others_are_written(data: Path, tmp_path: Path) -> None:
    model = fuse(data, tmp_path / "m.linmax")
    (data / "part-1.csv").write_bytes(b"\0\1\2")
    result = predict(model, data, tmp_path / "guesses", workers=1)
    (problem,) = result.problems
    assert "part-1.csv" in problem
    assert [Path(one).name for one in result.files] == ["part-0.parquet", "part-2.parquet"]
    write_part(data / "part-1.csv", rows(200, 7, seed=1))
    again = predict(model, data, tmp_path / "guesses", workers=1, resume=True)
    assert (again.rows, again.skipped, again.problems) == (200, 2, [])


def test_predictions_that_are_older_than_their_partition_or_model_are_made_again(
    data: Path, tmp_path: Path
) -> None:
    learn(data, tmp_path / "models")

    def again() -> int:
        return predict(tmp_path / "models", data, tmp_path / "guesses", workers=1, resume=True).skipped

    assert (again(), again()) == (0, 3)
    write_part(data / "part-1.csv", rows(200, 7, seed=5))
    assert (again(), again()) == (2, 3)
    (tmp_path / "models" / "manifest.json").touch()
    assert (again(), again()) == (0, 3)


def test_wrong_arguments_are_refused_in_one_sentence(data: Path, tmp_path: Path) -> None:
    fusion = Fusion("Winnow(1.2)")
    with pytest.raises(ValueError, match="format is parquet, csv, tsv or jsonl"):
        predict(fusion, data, tmp_path / "guesses", format="xlsx")
    models = learn(data, tmp_path / "models").models
    with pytest.raises(ValueError, match="max_error and coverage need one model"):
        predict(models, data, tmp_path / "guesses", coverage=0.9)
    with pytest.raises(ValueError, match="read the columns that they have learned; leave out label"):
        predict(models, data, tmp_path / "guesses", label="e1")
    with pytest.raises(ValueError, match=r"all files of the data set are in .*, the folder for results"):
        predict(models, data, data, format="csv")
    write_part(data / "part-0.parquet", rows(10, 2))
    with pytest.raises(ValueError, match="would have the same file of predictions"):
        predict(fusion, data, tmp_path / "guesses")
