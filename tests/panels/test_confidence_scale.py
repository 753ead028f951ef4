"""Models remember whether their confidences were from 0 to 1 or from 0 to 100."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from linmax import Fusion, load
from linmax.cli import app
from linmax.panels.panel import read_panel
from linmax.panels.roles.column_role import PanelOptions
from linmax.panels.stored import SCHEMA_NOTE
from linmax.scale import keyed
from tests.panels.small_tables import as_csv
from tests.panels.test_spoiled_scores import confidences, write

LEARNER = ["--learner", "Averaged(Winnow(1.2))"]


def scaled(factor: float) -> dict[str, list[Any]]:
    columns = confidences()
    return {**columns, "m0_conf": [round(factor * one, 3) for one in columns["m0_conf"]]}


def run(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def model(tmp_path: Path) -> str:
    """The model of a file with confidences from 0 to 100."""
    path = str(tmp_path / "model.linmax")
    assert run("fuse", write(tmp_path / "a.csv", scaled(100)), *LEARNER, "--save", path).exit_code == 0
    return path


@pytest.mark.parametrize(
    "words", ["predict MODEL FILE", "fuse FILE --from MODEL", "fuse FILE --from MODEL --ignore m2"]
)
def test_a_model_of_per_cent_refuses_confidences_from_0_to_1(words: str, model: str, tmp_path: Path) -> None:
    other = write(tmp_path / "b.csv", scaled(1))
    result = run(*({"MODEL": model, "FILE": other}.get(word, word) for word in words.split()))
    assert result.exit_code == 2
    assert "b.csv: 'm0_conf' has" in result.stderr
    assert "the model learned from confidences from 0 to 100 there; multiply them by 100" in result.stderr


def test_a_model_of_confidences_from_0_to_1_refuses_per_cent(tmp_path: Path) -> None:
    model, other = str(tmp_path / "model.linmax"), write(tmp_path / "b.csv", scaled(100))
    assert run("fuse", write(tmp_path / "a.csv", scaled(1)), *LEARNER, "--save", model).exit_code == 0
    assert "is read as how sure m0 is, from 0 to 1, as in the model; write all" in run(
        "predict", model, other
    ).stderr.replace("\n", " ")
    found = run("fuse", other, "--from", model, "--ignore", "m2")
    assert "the model learned from confidences from 0 to 1 there; divide them by 100" in found.stderr


def test_the_scale_of_the_model_holds_for_low_confidences(model: str, tmp_path: Path) -> None:
    columns = scaled(100)
    columns["m0_conf"] = [0] * 299 + [2]
    like = load(model).notes[SCHEMA_NOTE]
    path = tmp_path / "low.csv"
    path.write_bytes(as_csv(columns))
    panel = read_panel([path], PanelOptions(like=like))
    assert panel.chunk is not None
    assert panel.chunk.vote_dict(299)["m0"] == {columns["m0"][299]: 0.02}
    columns["m0_conf"] = [0] * 300
    path.write_bytes(as_csv(columns))
    assert run("predict", model, str(path)).exit_code == 0


def test_an_older_model_does_not_know_its_scale_and_says_so(model: str, tmp_path: Path) -> None:
    fusion = load(model)
    for column in fusion.notes[SCHEMA_NOTE]["columns"]:
        column.pop("per_cent", None)
    fusion.save(model)
    result = run("predict", model, write(tmp_path / "b.csv", scaled(1)))
    assert result.exit_code == 0
    shown = result.stderr.replace("\n", " ")
    assert "the model does not say whether its confidences were from 0 to 1 or from 0 to 100" in shown
    assert "this file has m0_conf from 0 to 1, so check" in shown


def test_a_further_file_of_a_data_set_with_another_scale_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "votes"
    folder.mkdir()
    for name, factor in (("a", 100), ("b", 1)):
        columns = {"customer": ["c1", "c2"] * 150, **scaled(factor)}
        (folder / f"{name}.csv").write_bytes(as_csv(columns))
    result = keyed(folder, by="customer", store=tmp_path / "store", learner="Winnow(1.2)", workers=1)
    assert result.items == 300
    (problem,) = result.problems
    assert "b.csv: 'm0_conf' has numbers up to 0.98" in problem


@pytest.mark.parametrize("options", [("--ignore", "m2"), ("--ignore", "team"), ("--shape", "wide")])
def test_options_of_columns_do_not_drop_the_confidences_that_a_model_learned(
    options: tuple[str, str], tmp_path: Path
) -> None:
    columns = {**confidences(), "team": ["red", "blue"] * 150}
    file, model = write(tmp_path / "a.csv", columns), str(tmp_path / "model.linmax")
    saved = run("fuse", file, "--ignore", "team", *LEARNER, "--save", model)
    assert saved.exit_code == 0
    other = write(tmp_path / "b.csv", {name: own for name, own in columns.items() if name != options[1]})
    assert run("predict", model, file, *options).stdout == run("predict", model, other).stdout


def test_confidences_that_a_model_of_the_library_does_not_know_are_named(tmp_path: Path) -> None:
    file, model = write(tmp_path / "a.csv", confidences()), tmp_path / "model.linmax"
    fusion = Fusion("Averaged(Winnow(1.2))")
    fusion.learn_one({"m0": "bug", "m1": "billing"}, "bug")
    fusion.save(model)
    found = " ".join(run("predict", str(model), file).stderr.split())
    assert "does not know 2 columns (m2, m0_conf)" in found
