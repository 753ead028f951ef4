"""The store of `keyed`: it is not overwritten by mistake, and no file is learned twice into it."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax.scale import KeyedModels, predict
from linmax.scale.by_key import run as keyed_run
from linmax.scale.by_key.run import KeyedRun
from tests.helpers.datasets import rows, write, write_part
from tests.scale.test_keyed import W, learn, plain_loop, states_of, table_of


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data")


def test_models_are_not_overwritten_and_settings_do_not_change(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store)
    with pytest.raises(ValueError, match="has models already; resume to learn what is new, or relearn"):
        learn(data, store)
    with pytest.raises(ValueError, match=r"learned with learner 'Winnow\(1.2\)' \(got 'Perceptron\(\)'\)"):
        learn(data, store, "Perceptron()", resume=True)
    with pytest.raises(ValueError, match="learned with time None"):
        learn(data, store, time="when", resume=True)
    with pytest.raises(ValueError, match=r"learned with label 'truth' \(got 'e1'\)"):
        learn(data, store, label="e1", resume=True)
    learn(data, store, "Perceptron()", relearn=True)
    assert states_of(store) == plain_loop(table_of(data), "Perceptron()")


def test_a_changed_file_is_refused_and_a_touched_one_is_not(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store)
    (data / "part-1.parquet").touch()
    learn(data, store, resume=True)
    write_part(data / "part-1.parquet", rows(200, 7, seed=99))
    with pytest.raises(ValueError, match=r"part-1.parquet has changed since it was learned; restore it, or"):
        learn(data, store, resume=True)


def test_a_file_is_learned_once_whatever_its_path(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    learn("data", Path("models"))
    assert learn(data, Path("models"), resume=True).items == 0, "the same path, from elsewhere"
    data.rename(tmp_path / "moved")
    write_part(tmp_path / "moved" / "part-3.parquet", rows(50, 7, seed=3))
    result = learn("moved", Path("models"), resume=True)
    assert result.items == 50
    assert "part-0.parquet has the content of " in result.notes[0]
    assert learn("moved", Path("models"), resume=True).notes == []
    assert states_of(Path("models")) == plain_loop(table_of(tmp_path / "moved"), W)
    with pytest.raises(ValueError, match=r"part-0.parquet is named 2 times; name each file once"):
        learn(["moved", "moved/part-0.parquet"], Path("others"))


def test_two_runs_do_not_write_to_one_store(data: Path, tmp_path: Path) -> None:
    def inside(what: str, done: int, total: int) -> None:
        with pytest.raises(ValueError, match="another process writes to"):
            learn(data, tmp_path / "models", resume=True)

    learn(data, tmp_path / "models", on_progress=inside)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs the list of open files of Linux")
def test_a_store_is_free_after_a_run_although_a_child_process_began_in_it(data: Path, tmp_path: Path) -> None:
    copies = []

    def inherit(what: str, done: int, total: int) -> None:
        for entry in Path("/proc/self/fd").iterdir():
            if not copies and entry.is_symlink() and os.readlink(entry).endswith("/models/lock"):
                copies.append(os.dup(int(entry.name)))

    learn(data, tmp_path / "models", on_progress=inherit)
    assert copies
    assert learn(data, tmp_path / "models", resume=True).items == 0
    os.close(copies[0])


def test_a_store_is_not_read_as_data(data: Path) -> None:
    learn(data, data / "models")
    assert learn(data, data / "models", resume=True).items == 0
    shutil.rmtree(data / "models")
    with pytest.raises(ValueError, match="has no models by key"):
        KeyedModels(data / "models")


def test_models_stay_if_a_run_that_would_replace_them_is_refused(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store)
    before = states_of(store)
    for options in (
        {"by": "custmer"},
        {"pooled": 600},
        {"learner": "Winow(1.2)"},
        {"cluster": 7},
        {"time": "e1"},
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - other tests have the sentences
            learn(data, store, **{"relearn": True, **options})
        assert states_of(store) == before, options
        assert learn(data, store, resume=True).items == 0, options


def test_a_run_that_begins_again_leaves_no_traces_of_the_one_before(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store, pooled=50, buckets=5)
    learn(data, store, relearn=True, buckets=2)
    assert states_of(store) == plain_loop(table_of(data), W)
    left = {path.name for path in store.iterdir()} - {"lock", "manifest.json", "results.parquet"}
    assert left == set(KeyedModels(store).manifest["files"])


def test_a_run_that_was_stopped_when_it_began_again_does_not_mix_its_rows_with_those_before(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "models"

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(KeyedRun, "learn", stop)  # the rows are split by customer
    with pytest.raises(KeyboardInterrupt):
        learn(data, store)
    monkeypatch.undo()
    monkeypatch.setattr(keyed_run, "write_manifest", stop)  # and by the first expert, until it is stopped
    with pytest.raises(KeyboardInterrupt):
        learn(data, store, by="e0", relearn=True)
    monkeypatch.undo()
    learn(data, store, resume=True)
    assert states_of(store) == plain_loop(table_of(data), W)
    assert not list(store.glob("split*"))


def test_a_full_disk_is_not_taken_for_a_fault_of_a_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keyed_run, "split_partition", full)
    with pytest.raises(ValueError, match=r"^part-0.parquet: there is no space left for what is made of it"):
        learn(data, tmp_path / "models")


def test_folders_have_the_values_that_other_programs_have_written(tmp_path: Path) -> None:
    found = rows(120, 3)
    found["customer"] = (["a/b", "50%", "c d", None] * 30)[:120]
    pq.write_to_dataset(pa.table(found), tmp_path / "data", partition_cols=["customer"])
    assert (tmp_path / "data" / "customer=a%2Fb").is_dir()
    result = learn(tmp_path / "data", tmp_path / "models")
    assert (list(result.models), result.items, result.without_key) == (["50%", "a/b", "c d"], 90, 30)


def test_a_key_that_has_learned_nothing_has_no_model_and_its_row_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    good = {"customer": ["a", "b"] * 30, "ann:x": [0.9, 0.2] * 30, "ann:y": [0.1, 0.8] * 30}
    good["truth"] = ["x", "y"] * 30
    write_part(tmp_path / "data" / "part-0.csv", good)
    write_part(tmp_path / "data" / "part-1.csv", {**good, "ann:x": [*good["ann:x"][:-1], "inf"]})
    result = learn(tmp_path / "data", tmp_path / "models")
    (problem,) = result.problems
    assert (
        problem
        == "customer 'b': part-1.csv, row 61: expert 'ann' gives 'x' the score inf; scores must be finite"
    )
    models = result.models
    assert (list(models), len(models), "b" in models, result.keys) == (["a"], 1, False, 1)
    guesses = predict(models, tmp_path / "data", tmp_path / "guesses", workers=1)
    assert (guesses.rows, guesses.without_model, guesses.labelled, guesses.correct) == (120, 60, 60, 60)


def test_a_later_file_with_percentages_instead_of_probabilities_is_refused(tmp_path: Path) -> None:
    folder, store = tmp_path / "data", tmp_path / "models"
    folder.mkdir()
    for part, factor in enumerate((1, 100)):
        lines = [
            f"{factor * (0.1 + 0.8 * (i % 2)):g},{factor * (0.2 + i % 7 / 10):g},{i % 2},c" for i in range(40)
        ]
        (folder / f"part-{part}.csv").write_text("\n".join(["ann,bob,truth,customer", *lines]))
    result = learn(folder, store)
    assert [problem.partition(": ")[2] for problem in result.problems] == [
        "part-1.csv, row 2: 'ann' is 10, and is read as probabilities of class 1, from 0 to 1; write all of"
        " its numbers in the same way"
    ]
