"""`linmax fuse --by` and `linmax predict` over the files of a data set."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from linmax.scale import KeyedModels
from linmax.scale.by_key.store import write_models
from tests.helpers.datasets import rows, write, write_part
from tests.helpers.files import refused, run, values

LEARN = ("--by", "customer", "--time", "when", "--learner", "Winnow(1.2)", "--workers", 1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data", suffix="csv")


def test_fuse_by_key_prints_keys_and_sums_and_predict_uses_the_models(data: Path, tmp_path: Path) -> None:
    store, guesses = tmp_path / "models", tmp_path / "guesses"
    result = run("fuse", data, *LEARN, "--save", store, width=140)
    assert result.exit_code == 0, result.output
    assert "7 keys, 600 items (600 learned now)" in result.stdout
    assert len(KeyedModels(store)) == 7
    predicted = run("predict", store, data, "--by", "customer", "--workers", 1, "--output", guesses)
    assert predicted.exit_code == 0, predicted.output
    assert "600 rows of 3 partitions predicted" in predicted.stderr
    assert pq.read_table(guesses / "part-2.parquet").num_rows == 200
    write_part(data / "part-3.csv", rows(50, 7, seed=7))
    found = values("fuse", data, *LEARN, "--save", store, "--resume")
    assert (found["learned"], found["items"], found["problems"]) == (50, 650, [])


def test_inspect_describes_models_by_key(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learned = values("fuse", data, *LEARN, "--save", store)
    found = values("inspect", store)
    for name in ("keys", "items", "trials", "mistakes", "accuracy"):
        assert found[name] == learned[name]
    models = KeyedModels(store)
    assert found["keys"] == len(models) == 7
    assert found["mistakes"] == sum(models[key].mistakes for key in models)
    assert (found["learner"], found["by"], found["time"]) == ("Winnow(1.2)", ["customer"], "when")
    assert (found["partitions"], found["rows"], found["unfinished"]) == (3, 600, 0)
    assert found["bytes"] == sum(path.stat().st_size for path in store.glob("models-*.parquet"))
    some_file = next(store.glob("models-*.parquet"))
    assert [values("inspect", path) for path in (store / "manifest.json", some_file)] == [found, found]
    output = run("inspect", store, width=140).stdout
    for text in ("7, by customer", "Winnow(1.2)", "3 files with 600 rows, in the order of when", "c3"):
        assert text in output


def test_inspect_tells_what_models_by_key_have_not_learned(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    values("fuse", data, *LEARN, "--buckets", 4, "--save", store)
    manifest = json.loads((store / "manifest.json").read_text())
    removed, kept = [name for name in manifest["files"] if name is not None][:2]
    place = manifest["files"].index(removed)
    manifest["files"][place], manifest["learned"][place] = None, 0  # as after a run that was stopped
    (store / "manifest.json").write_text(json.dumps(manifest))
    (store / "results.parquet").unlink()
    broken = pq.read_table(store / kept).to_pylist()
    broken[0]["error"] = "the score 'x' is not a number"
    write_models(store / kept, broken)
    found = values("inspect", store)
    assert 0 < found["keys"] == len(KeyedModels(store)) < 7
    assert (found["unfinished"], found["buckets"]) == (1, 4)
    assert found["errors"] == {broken[0]["key"]: "the score 'x' is not a number"}
    output = run("inspect", store, width=140).stdout
    assert "1 of 4 buckets of keys have not learned everything; run linmax fuse --by again with" in output
    assert f"{broken[0]['key']}: the score 'x' is not a number" in output


def test_inspect_of_another_folder_is_one_sentence(tmp_path: Path) -> None:
    assert "is a folder without models by key; name a model file, or" in refused("inspect", tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    assert "is not the manifest of models by key" in refused("inspect", tmp_path)


def test_keys_of_several_columns_are_named_with_commas_or_one_by_one(tmp_path: Path) -> None:
    found = rows(100, 2)
    (tmp_path / "data").mkdir()
    write_part(tmp_path / "data" / "part.csv", {**found, "topic": ["a", "b"] * 50})
    store, common = tmp_path / "models", ("--time", "when", "--learner", "Winnow(1.2)", "--workers", 1)
    result = run("fuse", tmp_path / "data", "--by", "customer,topic", *common, "--save", store, width=140)
    assert "4 keys, 100 items" in result.stdout
    assert "c0, a" in result.stdout
    words = ("--workers", 1, "--output", tmp_path / "guesses")
    predicted = run("predict", store, tmp_path / "data", "--by", "customer", "--by", "topic", *words)
    assert "100 rows of 1 partitions predicted" in predicted.stderr
    assert "are by 'customer,topic' (got --by topic); use that" in refused(
        "predict", store, tmp_path / "data", "--by", "topic", *words
    )


def test_a_problem_gives_exit_code_1_and_all_else_is_kept(data: Path, tmp_path: Path) -> None:
    (data / "part-1.csv").write_text("a,b\n1,2\n")
    result = run("fuse", data, *LEARN, "--save", tmp_path / "models", width=140)
    assert result.exit_code == 1
    assert "Problem: part-1.csv has no column 'customer'" in result.stdout
    assert "400 items" in result.stdout
    found = json.loads((tmp_path / "models" / "manifest.json").read_text())
    assert [entry["path"] is None for entry in found["partitions"]] == [False, True, False]


def test_a_key_that_fails_needs_another_start(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    good: dict[str, list[object]] = {"customer": ["a", "b"] * 30, "ann:x": [0.9, 0.2] * 30}
    good |= {"ann:y": [0.1, 0.8] * 30, "truth": ["x", "y"] * 30}
    write_part(tmp_path / "data" / "part-0.csv", good)
    write_part(tmp_path / "data" / "part-1.csv", {**good, "ann:x": ["oops", *good["ann:x"][1:]]})
    words = ("fuse", tmp_path / "data", "--by", "customer", "--learner", "Winnow(1.2)")
    result = run(*words, "--save", tmp_path / "models", "--workers", 1, width=140)
    assert result.exit_code == 1
    assert "Problem: customer 'a': part-1.csv, row 2: the score 'ann:x' is 'oops'" in result.stdout
    assert "fix these, and run again with --relearn: other keys have learned these files." in result.stdout


def test_long_and_strange_keys_take_one_short_line(tmp_path: Path) -> None:
    found = rows(100, 1)
    found["customer"] = ["x" * 500, "two\nlines", "\x1b[31mred"] * 33 + ["x" * 500]
    (tmp_path / "data").mkdir()
    write_part(tmp_path / "data" / "part.parquet", found)
    for words in (
        ("fuse", tmp_path / "data", *LEARN, "--save", tmp_path / "models"),
        ("inspect", tmp_path / "models"),
    ):
        result = run(*words, width=140)
        assert result.exit_code == 0
        assert "two\\nlines" in result.stdout
        assert "\x1b" not in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 140


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--by", "customer"), "--by requires --save FOLDER, for the models"),
        (
            ("--by", "customer", "--save", "m", "--report", "r.html"),
            "--report cannot be combined with --by; leave",
        ),
        (("--resume",), "--resume requires --by COLUMN"),
        (("--workers", 2), "--workers requires --by COLUMN"),
        (("--by", "customer", "--save", "m", "--cluster", "a", "--local-cluster"), "exclude each other"),
        (("--by", "customer", "--save", "m", "--cluster", "a", "--workers", 2), "has no effect on --cluster"),
    ],
)
def test_options_of_fuse_that_do_not_fit_are_refused(
    data: Path, words: tuple[object, ...], message: str
) -> None:
    assert message in refused("fuse", data / "part-0.csv", *words)


def test_options_of_predict_that_do_not_fit_are_refused(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.linmax"
    assert run("fuse", data / "part-0.csv", "--ignore", "customer,when", "--save", model).exit_code == 0
    assert "--resume requires a data set" in refused("predict", model, data, "--resume")
    assert "name it with --output FOLDER" in refused("predict", model, data, "--workers", 1)
    words = ("--output", tmp_path / "out", "--by", "customer")
    assert "has no models by key; learn them with linmax fuse --by customer" in refused(
        "predict", model, data, *words
    )
    run("fuse", data, *LEARN, "--save", tmp_path / "models")
    words = ("--output", tmp_path / "out", "--by", "when")
    assert "are by 'customer' (got --by when)" in refused("predict", tmp_path / "models", data, *words)


@pytest.mark.parametrize("every", [5, 500])
def test_votes_that_are_never_a_label_are_counted_over_all_keys(every: int, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for part in range(2):
        table = rows(300, 4, seed=part)
        table["e0"] = ["REFUSED" if t % every == 0 else vote for t, vote in enumerate(table["e0"])]
        write_part(data / f"part-{part}.csv", table)
    notes = values("fuse", data, *LEARN, "--save", tmp_path / "models")["notes"]
    if every == 5:
        assert notes == [
            "120 votes (5%) are for 'REFUSED', never a label; they count as classes: if they abstain, pass"
            " --missing REFUSED"
        ]
    else:
        assert not notes
    again = values("fuse", data, *LEARN, "--save", tmp_path / "other", "--missing", "REFUSED")
    assert not again["notes"]
