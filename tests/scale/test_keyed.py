"""`keyed`: every key learns its own rows, in their order, as a plain loop would; a later run goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax import Fusion, NaiveBayes, Perceptron, Stacked, Winnow, parse, recommended
from linmax.fusion.model_file import fingerprint
from linmax.scale import KeyedModels, keyed
from linmax.scale import split as split_module
from tests.helpers.committees import COMMITTEES
from tests.helpers.datasets import EXPERTS, rows, write, write_part

W = "Winnow(1.2)"


def table_of(folder: Path) -> list[dict[str, Any]]:
    """All rows, in the order of files: 2 before 10."""
    paths = sorted(folder.glob("*.parquet"), key=lambda path: (len(path.name), path.name))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def plain_loop(
    found: list[dict[str, Any]], learner: Any, *, time: bool = False, by: str = "customer"
) -> dict[str, str]:
    """The oracle: a session per key, fed with the rows of this key one after the other."""
    if time:
        found = sorted(found, key=lambda row: row["when"])
    states = {}
    for key in {row[by] for row in found}:
        own = [row for row in found if row[by] == key]
        fusion = Fusion(learner)
        fusion.learn([{name: row[name] for name in EXPERTS} for row in own], [row["truth"] for row in own])
        states[key] = fingerprint(fusion)
    return states


def states_of(store: Path) -> dict[str, str]:
    models = KeyedModels(store)
    return {key: fingerprint(models[key]) for key in models}


def learn(dataset: Any, store: Path, learner: Any = W, **options: Any) -> Any:
    return keyed(
        dataset,
        **{"by": "customer", "store": store, "learner": learner, "workers": 1, "label": "truth"} | options,
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path / "data")


KINDS = {
    "rule": Perceptron(),
    "bayes": NaiveBayes(),
    "default": recommended(),
    **{name: COMMITTEES[name] for name in ("vr", "mixture", "experts", "random")},
}
SLOW_KINDS = {
    **{f"rule {text}": parse(text) for text in ("Romma()", "Alma()", "PassiveAggressive()", "Logistic(0.1)")},
    "stacked": Stacked([Perceptron(), Winnow(1.2)]),
    **{name: learner for name, learner in COMMITTEES.items() if name not in KINDS},
}


@pytest.mark.parametrize(
    "name", [*KINDS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_KINDS)]
)
def test_each_key_has_the_state_of_a_plain_loop(data: Path, tmp_path: Path, name: str) -> None:
    learner = (KINDS | SLOW_KINDS)[name]
    result = learn(data, tmp_path / "models", learner, time="when", buckets=3)
    assert (result.keys, result.items, result.problems) == (7, 600, [])
    assert states_of(tmp_path / "models") == plain_loop(table_of(data), learner, time=True)


@pytest.mark.parametrize("batch", [7, 10_000])
@pytest.mark.parametrize("buckets", [1, 5])
def test_the_order_is_that_of_files_and_rows_whatever_the_batches_and_buckets(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, buckets: int
) -> None:
    monkeypatch.setattr("linmax.scale.dataset.BATCH_ROWS", batch)
    monkeypatch.setattr(split_module.RowReader.tables, "__defaults__", (batch,))
    learn(data, tmp_path / "models", buckets=buckets)
    assert states_of(tmp_path / "models") == plain_loop(table_of(data), W)


def test_the_table_counts_what_a_loop_counts(data: Path, tmp_path: Path) -> None:
    result = learn(data, tmp_path / "models")
    all_rows = table_of(data)
    for row in result.models.table().to_pylist():
        own = [one for one in all_rows if one["customer"] == row["key"]]
        fusion = Fusion(W)
        run = fusion.learn(
            [{name: one[name] for name in EXPERTS} for one in own], [one["truth"] for one in own]
        )
        labelled = [one for one in own if one["truth"] is not None]
        assert (row["items"], row["trials"], row["novel"], row["mistakes"]) == (
            len(own), run.trials - run.novel, run.novel, run.mistakes,
        )  # fmt: skip
        assert row["accuracy"] == pytest.approx(run.right / row["trials"])
        assert row["accuracy_low"] < row["accuracy"] < row["accuracy_high"]
        assert row["most_frequent_share"] == pytest.approx(
            sum(one["truth"] == row["most_frequent_class"] for one in labelled) / len(labelled)
        )
        assert row["best_expert"] == "e3"


def test_a_second_run_learns_only_what_is_new(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store)
    write_part(data / "part-3.parquet", rows(150, 9, seed=9))
    result = learn(data, store, resume=True)
    assert (result.items, result.keys) == (150, 9)
    assert states_of(store) == plain_loop(table_of(data), W)
    again = learn(data, store, resume=True)
    assert (again.items, again.keys) == (0, 9)
    assert states_of(store) == plain_loop(table_of(data), W)
    assert sum(row["items"] for row in again.models.table().to_pylist()) == 750


def test_models_are_not_overwritten_and_settings_do_not_change(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    learn(data, store)
    with pytest.raises(ValueError, match="has models already; resume to learn what is new, or relearn"):
        learn(data, store)
    with pytest.raises(ValueError, match=r"learned with learner 'Winnow\(1.2\)' \(got 'Perceptron\(\)'\)"):
        learn(data, store, "Perceptron()", resume=True)
    with pytest.raises(ValueError, match="learned with time None"):
        learn(data, store, time="when", resume=True)
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


def test_a_corrupt_partition_is_named_and_learned_later(data: Path, tmp_path: Path) -> None:
    store, part = tmp_path / "models", data / "part-1.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    result = learn(data, store)
    (problem,) = result.problems
    assert "part-1.parquet is not a valid Parquet file" in problem
    assert result.items == 400
    part.write_bytes(whole)
    again = learn(data, store, resume=True)
    assert (again.items, again.problems) == (200, [])
    order = [data / f"part-{i}.parquet" for i in (0, 2, 1)]
    expected = [row for path in order for row in pq.read_table(path).to_pylist()]
    assert states_of(store) == plain_loop(expected, W)


def test_a_key_that_fails_is_named_and_all_others_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    good = {"customer": ["a", "b"] * 30, "ann:x": [0.9, 0.2] * 30, "ann:y": [0.1, 0.8] * 30}
    good["truth"] = ["x", "y"] * 30
    write_part(folder / "part-0.csv", good)
    bad = {**good, "ann:x": ["0.9", "oops", *good["ann:x"][2:]]}
    write_part(folder / "part-1.csv", bad)
    result = learn(folder, tmp_path / "models")
    (problem,) = result.problems
    assert problem.startswith("customer 'b': part-1.csv, row 3: ")
    assert "'oops'" in problem
    assert result.models["a"].trials == 60
    table = {row["key"]: row for row in result.models.table().to_pylist()}
    assert table["a"]["error"] is None
    assert "'oops'" in table["b"]["error"]
    # part-1 cannot be repaired in place, as other keys have learned it: another run tries this key again
    again = learn(folder, tmp_path / "models", resume=True)
    assert again.problems == result.problems
    assert again.models["a"].trials == 60


def test_a_stopped_run_goes_on_and_ends_with_the_same_states(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "models"

    def stop(what: str, done: int, total: int) -> None:
        if what == "learn" and done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(data, store, buckets=4, on_progress=stop)
    finished = json.loads((store / "manifest.json").read_text())["learned"]
    assert sorted(finished) == [0, 0, 3, 3]
    tasks: list[tuple[str, int, int]] = []
    learn(data, store, resume=True, on_progress=lambda *step: tasks.append(step))
    assert {(what, total) for what, _, total in tasks} == {("learn", 2)}, "nothing is split or learned again"
    assert states_of(store) == plain_loop(table_of(data), W)
    assert sorted(path.name for path in store.iterdir() if path.is_dir()) == []


def test_a_killed_process_of_a_pool_is_one_sentence_and_a_resumed_run_is_complete(
    data: Path, tmp_path: Path
) -> None:
    store = tmp_path / "models"
    of_others = set(multiprocessing.active_children())  # the cluster of other tests

    def kill(what: str, done: int, total: int) -> None:
        if (what, done) == ("learn", 1):
            for child in set(multiprocessing.active_children()) - of_others:
                os.kill(child.pid or 0, signal.SIGKILL)

    result = learn(data, store, buckets=9, workers=2, on_progress=kill)
    if result.problems:  # unless all buckets were finished by then
        (problem,) = result.problems
        assert "buckets of keys were not learned: a worker process was killed" in problem
        learn(data, store, resume=True)
    assert states_of(store) == plain_loop(table_of(data), W)


def test_pooled_keys_start_from_one_model_and_learn_each_row_once(data: Path, tmp_path: Path) -> None:
    result = learn(data, tmp_path / "models", "Averaged(Perceptron())", pooled=100)
    prior = result.models.prior
    assert prior is not None
    assert prior.trials > 90
    assert result.items == 500
    first = {row["key"]: row for row in result.models.table().to_pylist()}
    assert sum(row["items"] for row in first.values()) == 500
    for key in first:
        assert result.models[key].trials == prior.trials + first[key]["trials"] + first[key]["novel"]
    again = learn(data, tmp_path / "again", "Averaged(Perceptron())", pooled=100, buckets=2)
    assert states_of(tmp_path / "again") == states_of(tmp_path / "models")
    assert again.items == 500


def test_a_pooled_start_helps_small_keys(tmp_path: Path) -> None:
    folder = write(tmp_path / "data", parts=1, count=1500, keys=50)
    alone = learn(folder, tmp_path / "alone", "Perceptron()").models.table()
    pooled = learn(folder, tmp_path / "pooled", "Perceptron()", pooled=500).models.table()

    def accuracy(table: Any) -> float:
        return 1.0 - sum(table["mistakes"].to_pylist()) / sum(table["trials"].to_pylist())

    assert accuracy(pooled) > accuracy(alone) + 0.02


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_all_formats_give_the_same_states(data: Path, tmp_path: Path, suffix: str) -> None:
    other = tmp_path / "other"
    if suffix == "csv":
        write(other, suffix="csv")
    else:
        other.mkdir()
        for path in sorted(data.iterdir()):
            lines = (json.dumps(row) + "\n" for row in pq.read_table(path).to_pylist())
            (other / path.with_suffix(".jsonl").name).write_text("".join(lines))
    learn(other, tmp_path / "models", time="when")
    assert states_of(tmp_path / "models") == plain_loop(table_of(data), W, time=True)


def test_a_folder_can_give_the_key(tmp_path: Path) -> None:
    found = rows(300, 3)
    for key in ("c0", "c1", "c2"):
        chosen = [i for i, name in enumerate(found["customer"]) if name == key]
        part = {name: [column[i] for i in chosen] for name, column in found.items() if name != "customer"}
        (tmp_path / "data" / f"customer={key}").mkdir(parents=True)
        write_part(tmp_path / "data" / f"customer={key}" / "part.parquet", part)
    learn(tmp_path / "data", tmp_path / "models")
    flat = pa.table(found).to_pylist()
    assert states_of(tmp_path / "models") == plain_loop(flat, W)


def test_remote_paths_are_read(data: Path, tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for path in data.iterdir():
        memory.pipe(f"/votes/{path.name}", path.read_bytes())
    try:
        result = learn("memory://votes", tmp_path / "models")
        assert result.items == 600
        assert states_of(tmp_path / "models") == plain_loop(table_of(data), W)
    finally:
        memory.rm("/votes", recursive=True)


def test_rows_without_a_key_are_counted_and_empty_files_are_nothing(tmp_path: Path) -> None:
    found = rows(100, 3)
    found["customer"][:10] = [None] * 10
    (tmp_path / "data").mkdir()
    write_part(tmp_path / "data" / "a.parquet", found)
    pq.write_table(pa.table(found).slice(0, 0), tmp_path / "data" / "b.parquet")
    result = learn(tmp_path / "data", tmp_path / "models")
    assert (result.items, result.without_key, result.problems) == (90, 10, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "client"}, "has no column 'client'"),
        ({"time": "e1"}, "'e1' holds neither numbers nor dates"),
        ({"buckets": 0}, "requires an integer buckets >= 1"),
        ({"resume": True, "relearn": True}, "exclude each other"),
        ({"cluster": 7}, "cluster is None"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(
    data: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        learn(data, tmp_path / "models", **options)


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
