"""Regression figures: the same work counts the same, more work is detected."""

import gc
import json
from pathlib import Path
from typing import Any

import pytest
import typer

from benchmarks.regression import __main__ as command
from benchmarks.regression import counters
from benchmarks.regression.compare import CODE, EXACT, RATIO, changes

WITH = {"machine": "one", "python": "3", "numba": "1", "numpy": "2"}


def baseline(made_with: dict[str, str], **figures: tuple[float, str]) -> dict[str, Any]:
    named = {name: {"value": value, "kind": kind} for name, (value, kind) in figures.items()}
    return {"with": made_with, "figures": named}


def test_calls_are_counted() -> None:
    def three() -> list[int]:
        return sorted([len("ab"), 1])

    assert counters.calls(three) == 4  # itself, sorted, len, and the end of counting
    assert counters.calls(three) == counters.calls(three)


def test_garbage_collections_are_not_counted() -> None:
    def allocate() -> list[Any]:
        return [[] for _ in range(2000)]

    def collected(phase: str, info: dict[str, int]) -> None:
        pass

    count = counters.calls(allocate)
    before = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(10)
    try:
        assert counters.calls(allocate) == count
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)
    assert gc.isenabled()


def test_more_rows_make_no_more_python_calls() -> None:
    found = dict(counters.python_calls())
    assert [found[f"calls for 100 more rows, {name}"] for name in counters.LEARNERS] == [0, 0, 0]
    assert all(found[f"calls of learn_one, {name}"] < 60 for name in counters.LEARNERS)
    assert dict(counters.python_calls()) == found


def test_the_machine_code_of_the_loops_that_run_is_measured() -> None:
    found = dict(counters.machine_code_size())
    assert len(found) == 2
    assert all(size > 1000 for size in found.values())


def test_changes_are_classified() -> None:
    old = baseline(
        WITH, a=(100, EXACT), b=(100, CODE), c=(1.0, RATIO), d=(5, EXACT), e=(0, EXACT), z=(7, EXACT)
    )
    now = baseline(
        WITH, a=(103, EXACT), b=(104, CODE), c=(0.8, RATIO), e=(1, EXACT), n=(1, EXACT), z=(7, EXACT)
    )
    found = {one.name: one.status for one in changes(old, now)}
    assert found == {"a": "more", "b": "", "c": "less", "d": "gone", "e": "more", "z": "", "n": "new"}


@pytest.mark.parametrize(
    ("changed", "compared"),
    [
        ("machine", {EXACT}),
        ("numba", {EXACT}),
        ("python", {RATIO}),
        ("numpy", {CODE, RATIO}),
        ("linmax", {EXACT, CODE, RATIO}),
    ],
)
def test_figures_of_another_machine_or_version_are_not_compared(changed: str, compared: set[str]) -> None:
    values: Any = {EXACT: (1, EXACT), CODE: (1, CODE), RATIO: (1, RATIO)}
    old, now = baseline(WITH, **values), baseline({**WITH, changed: "other"}, **values)
    assert {one.name for one in changes(old, now) if not one.status} == compared
    assert not any(one.wrong for one in changes(old, now))


def test_the_command_stores_compares_and_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, count = tmp_path / "regression.json", iter([10, 10, 20])
    monkeypatch.setattr(command, "COUNTED", {lambda: iter([("work", next(count))]): EXACT})
    command.main(quick=True, baseline=file)
    assert json.loads(file.read_text())["figures"] == {"work": {"value": 10, "kind": "exact"}}
    command.main(quick=True, baseline=file)
    assert "0 of 1 figures changed" in capsys.readouterr().out
    with pytest.raises(typer.Exit) as ended:
        command.main(quick=True, baseline=file)
    assert ended.value.exit_code == 1
    assert "+100.0%" in capsys.readouterr().out


def test_the_baseline_has_all_kinds_of_figures() -> None:
    found = json.loads(command.BASELINE.read_text())["figures"]
    assert {one["kind"] for one in found.values()} == {EXACT, CODE, RATIO}
