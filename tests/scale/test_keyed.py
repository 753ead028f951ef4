"""`keyed`: every key learns its own rows, in their order, as a plain loop would; a later run goes on."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax import Fusion, NaiveBayes, Perceptron, Stacked, Winnow, parse, recommended
from linmax.fusion.model_file import fingerprint
from linmax.scale import KeyedModels, keyed, predict
from linmax.scale.by_key import split as split_module
from linmax.scale.engine import ThisProcess, WorkerError
from tests.helpers.committees import COMMITTEES
from tests.helpers.datasets import EXPERTS, rows, write, write_part

W = "Winnow(1.2)"
STATES: dict[str, dict[str, str]] = {}  # many tests have the same rows


def table_of(folder: Path) -> list[dict[str, Any]]:
    """All rows, in the order of files: 2 before 10."""
    paths = sorted(folder.glob("*.parquet"), key=lambda path: (len(path.name), path.name))
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def plain_loop(
    found: list[dict[str, Any]], learner: Any, *, time: bool = False, by: str = "customer"
) -> dict[str, str]:
    """The oracle: a session per key, fed with the rows of this key one after the other."""
    given = repr((found, learner, time, by))
    if given in STATES:
        return dict(STATES[given])
    if time:
        found = sorted(found, key=lambda row: row["when"])
    states = {}
    for key in {row[by] for row in found}:
        own = [row for row in found if row[by] == key]
        fusion = Fusion(learner)
        fusion.learn([{name: row[name] for name in EXPERTS} for row in own], [row["truth"] for row in own])
        states[key] = fingerprint(fusion)
    STATES[given] = states
    return dict(states)


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
    **{name: COMMITTEES[name] for name in ("mixture", "experts")},
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


@pytest.mark.parametrize(
    ("buckets", "batch"),
    [(1, 10_000), (5, 7), *(pytest.param(*pair, marks=pytest.mark.slow) for pair in ((1, 7), (5, 10_000)))],
)
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


def test_keys_may_have_several_columns(tmp_path: Path) -> None:
    found = rows(300, 3)
    odd = ["a,b", 'a","b', "a\\", '["x"]', "", "日本\n"]
    found["topic"] = [odd[i % 6] for i in range(300)]
    found["customer"][7] = None
    (tmp_path / "data").mkdir()
    write_part(tmp_path / "data" / "part.parquet", found)
    result = learn(tmp_path / "data", tmp_path / "models", by=["customer", "topic"])
    flat = [{**row, "both": (row["customer"], row["topic"])} for row in pa.table(found).to_pylist()]
    expected = plain_loop([row for row in flat if row["customer"]], W, by="both")
    assert states_of(tmp_path / "models") == expected
    assert (result.keys, result.without_key) == (18, 1)
    assert ("c1", "a,b") in result.models
    with pytest.raises(KeyError, match="there is no model of customer 'c9', topic 'x'"):
        result.models["c9", "x"]
    with pytest.raises(KeyError, match="a key has a value for each of customer, topic"):
        result.models["c1"]
    table = result.models.table().to_pylist()
    assert {(row["customer"], row["topic"]): row["trials"] for row in table}.keys() == expected.keys()
    guesses = pq.read_table(predict(result.models, tmp_path / "data", tmp_path / "g", workers=1).files[0])
    for row, guess in zip(flat[:20], guesses.column("guess").to_pylist(), strict=False):
        votes = {name: row[name] for name in EXPERTS}
        assert guess == (result.models[row["both"]].predict_one(votes) if row["customer"] else None)


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
    with pytest.raises(ValueError, match=r"has no column 'hour'; it has customer, ann:x, ann:y, truth$"):
        learn(folder, tmp_path / "other", time="hour")
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


class BrokenEngine(ThisProcess):
    """An engine whose workers are killed after some tasks of a step."""

    def __init__(self, function: str, after: int) -> None:
        self.function, self.left = function, after

    def map(self, function: Callable[..., Any], items: Iterable[Any], *shared: Any) -> list[Any]:
        def run(item: Any, *arguments: Any) -> Any:
            self.left -= function.__name__ == self.function
            if self.left < 0:
                raise WorkerError("a worker process was killed")
            return function(item, *arguments)

        return super().map(run, items, *shared)


def test_a_run_whose_workers_are_killed_keeps_what_is_finished(data: Path, tmp_path: Path) -> None:
    store = tmp_path / "models"
    with pytest.raises(WorkerError, match="a worker process was killed; nothing new was learned: run again"):
        learn(data, store, buckets=9, cluster=BrokenEngine("split_partition", 1), workers=None)
    engine = BrokenEngine("learn_bucket", 5)
    result = learn(data, store, buckets=9, cluster=engine, workers=None)
    assert result.problems == ["4 of 9 buckets of keys were not learned: a worker process was killed"]
    assert 0 < result.keys < 7
    assert learn(data, store, resume=True).problems == []
    assert states_of(store) == plain_loop(table_of(data), W)


@pytest.mark.slow
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


def test_times_may_be_decimal_numbers(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for path in sorted(data.iterdir()):
        table = pq.read_table(path)
        when = table.column("when").cast(pa.int64()).cast(pa.decimal128(30, 4))
        pq.write_table(table.set_column(table.column_names.index("when"), "when", when), other / path.name)
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
    expected = plain_loop(flat, W)
    assert states_of(tmp_path / "models") == expected
    (tmp_path / "data" / "customer=c1").rename(tmp_path / "data" / "customer=c9")
    assert learn(tmp_path / "data", tmp_path / "models", resume=True).keys == 4
    assert states_of(tmp_path / "models") == {**expected, "c9": expected["c1"]}, "no file of c1 was moved"


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
        ({"by": "truth"}, "column 'truth' of the data set is named by --by and by --label; name it once"),
        ({"by": None}, r"by is the column of keys, or a list of columns \(got None\)"),
        ({"by": ["customer", "customer"]}, "by names a column twice"),
        ({"by": ["customer", "items"]}, "the table of results has a column 'items', too"),
        ({"buckets": 0}, "requires an integer buckets >= 1"),
        ({"buckets": 5000}, r"requires at most 4,096 buckets \(got 5,000\)"),
        ({"seed": -1}, "requires an integer seed >= 0"),
        ({"pooled": 1.5}, "requires an integer pooled >= 0"),
        ({"pooled": 600}, "pooled 600 takes all 600 items, and leaves none for the keys; use fewer"),
        ({"ignore_case": True}, "--ignore-case has no effect on the rows of a data set; leave it out"),
        ({"header": False}, "--no-header has no effect"),
        ({"resume": True, "relearn": True}, "exclude each other"),
        ({"cluster": 7}, "cluster is None"),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(
    data: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        learn(data, tmp_path / "models", **options)


def test_keys_in_two_spellings_and_what_the_first_rows_make_doubtful_are_noted(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for part, keys in enumerate((["1", "2"], ["1.0", "2"])):
        columns = {"customer": keys * 30, "ann": ["x", "y"] * 30, "bob": ["y", "y"] * 30}
        write_part(tmp_path / "data" / f"part-{part}.csv", {**columns, "truth": ["x", "y"] * 30})
    result = learn(tmp_path / "data", tmp_path / "models")
    assert result.keys == 3
    doubt, note = result.notes
    assert doubt.startswith(
        "in the first rows, 'ann' is right on 100.0% of 60 items, no other nearly so often"
    )
    assert note == (
        "1 key can be read with .0 at the end, too: '1' and '1.0' have models of their own; write the column"
        " in one way if they are the same"
    )
    with pytest.raises(KeyError, match=r"rows without a key have no model \(got None\)"):
        result.models[None]


def test_rows_that_are_sorted_by_label_are_noted(data: Path, tmp_path: Path) -> None:
    assert learn(data, tmp_path / "shuffled").notes == []
    (tmp_path / "one").mkdir()
    pq.write_table(pq.read_table(data).sort_by("truth"), tmp_path / "one" / "part.parquet")
    (note,) = learn(tmp_path / "one", tmp_path / "sorted").notes
    assert note.startswith("600 of 600 items are of keys whose rows are sorted by label")
    assert learn(tmp_path / "one", tmp_path / "timed", time="when").notes == []
