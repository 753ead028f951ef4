"""The store of `keyed`: it is not overwritten by mistake, and no file is learned twice into it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from linmax.scale import KeyedModels
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
