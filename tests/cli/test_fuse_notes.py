"""What `linmax fuse` says about files and options that may not be meant, and about places in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from linmax import Fusion
from tests.helpers.examples import rarely_compiled
from tests.helpers.files import refused, run, table, values
from tests.panels.small_tables import panel_columns, write_files

LEARNER = ("--learner", "Winnow(1.2)")


def written(path: Path, columns: dict[str, list[str]]) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
        return path
    return table(path, [columns, *zip(*columns.values(), strict=True)])


@pytest.mark.parametrize("second", ["gpt.csv", "./gpt.csv", "link.csv"])
def test_a_file_given_twice_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: str) -> None:
    monkeypatch.chdir(tmp_path)
    columns = panel_columns()
    ids = [f"t{i}" for i in range(60)]
    files = {
        "gpt.csv": {"id": ids, "prediction": columns["m0"]},
        "gold.csv": {"id": ids, "truth": columns["label"]},
    }
    write_files(tmp_path, files)
    (tmp_path / "link.csv").symlink_to("gpt.csv")
    said = refused("fuse", "gpt.csv", second, "gold.csv", *LEARNER)
    assert "is given twice" in said
    assert said.endswith("; name each file once")


def test_a_file_of_a_folder_is_given_twice_beside_the_folder(tmp_path: Path) -> None:
    columns = panel_columns()
    (tmp_path / "votes").mkdir()
    for name in ("m0", "m1"):
        file = {"id": list(range(60)), "prediction": columns[name], "truth": columns["label"]}
        write_files(tmp_path / "votes", {f"{name}.csv": file})
    assert run("look", tmp_path / "votes").exit_code == 0
    assert "m1.csv is given twice" in refused("look", tmp_path / "votes", tmp_path / "votes" / "m1.csv")


def test_a_vote_that_abstains_and_never_occurs_is_noted(tmp_path: Path) -> None:
    columns = panel_columns()
    columns["m0"][4] = "unsure"
    file = written(tmp_path / "v.csv", columns)

    def notes(*options: str) -> list[str]:
        found = values("fuse", file, *LEARNER, *options)["warnings"]
        return [one["text"] for one in found if "--abstain" in one["text"]]

    assert notes("--abstain", "unsur") == [
        "no vote in v.csv is 'unsur', which --abstain names; 'unsure' is similar"
    ]
    assert notes("--abstain", "zzz") == ["no vote in v.csv is 'zzz', which --abstain names"]
    assert notes("--abstain", "unsure") == notes("--abstain", "none") == notes() == []


@pytest.mark.parametrize(("suffix", "unit", "first"), [(".csv", "line", 2), (".parquet", "row", 1)])
def test_places_in_a_file_are_lines_or_rows(tmp_path: Path, suffix: str, unit: str, first: int) -> None:
    columns = panel_columns(120)
    file = written(tmp_path / f"v{suffix}", columns)
    result = run("fuse", file, *LEARNER, "--report", tmp_path / "r.html")
    hardest = next(line for line in result.stdout.splitlines() if line.startswith("Hardest items"))
    words = hardest.partition(": ")[2].split()
    assert words[0] == unit
    item = values("fuse", file, *LEARNER)["hardest"][0]
    assert words[1] == str(item["line"]) == str(item["row"] + first)
    assert f">{unit} {item['line']}<" in (tmp_path / "r.html").read_text(encoding="utf-8")
    del columns["label"]
    written(file, columns)
    result = run("fuse", file, "--label", "")
    other = {"line": "row", "row": "line"}[unit]
    assert f" {unit} " in result.stdout
    assert f" {other} " not in result.stdout


@pytest.mark.parametrize(
    ("learner", "noted"),
    [
        ("Winnow(1.2).on(Votes() + Attributes())", "Winnow"),
        ("Mixture((Perceptron(), Averaged(AdaptiveWinnow().on(Attributes()))))", "AdaptiveWinnow"),
        ("Winnow(1.2)", None),
        ("Perceptron().on(Votes() + Attributes())", None),
    ],
)
def test_attributes_that_are_too_large_for_winnow_are_noted(
    tmp_path: Path, learner: str, noted: str | None
) -> None:
    columns = panel_columns()
    columns |= {"age": [str(20 + i) for i in range(60)], "share": ["0.5", "1", "0", "0.25"] * 15}
    file = written(tmp_path / "votes.csv", columns)
    with rarely_compiled():
        found = values("fuse", file, "--attributes", "age,share", "--learner", learner)
    notes = [one["text"] for one in found["warnings"] if one["code"] == "attribute-range"]
    assert len(notes) == (noted is not None)
    assert all(note.startswith(f"{noted} needs attributes from 0 to 1 (age has 20 to 79)") for note in notes)


def test_an_expert_is_left_out_of_a_panel_with_many_values_of_text_attributes(tmp_path: Path) -> None:
    """Each session of the ablation meets the values itself."""
    chance = np.random.default_rng(0)
    truth = chance.integers(2, size=200)
    votes = np.where(chance.random((200, 2)) < [0.9, 0.6], truth[:, None], 1 - truth[:, None])
    towns = [f"t{code}" for code in chance.integers(60, size=200)]
    rows = [["xy"[a], "xy"[b], town, "xy"[y]] for (a, b), town, y in zip(votes, towns, truth, strict=True)]
    file = table(tmp_path / "towns.csv", [["ann", "bob", "town", "truth"], *rows])
    learner = "Perceptron().on(Votes() + Attributes())"
    with rarely_compiled():
        found = values("fuse", file, "--attributes", "town", "--in-order", "--learner", learner)
        for one in found["experts"]:
            fusion = Fusion(learner, classes=found["classes"], experts=["ann", "bob"])
            items = [
                {name: vote for name, vote in zip(("ann", "bob"), row, strict=False) if name != one["name"]}
                for row in rows
            ]
            run_ = fusion.learn(
                items, [row[-1] for row in rows], attributes=[{"town": town} for town in towns]
            )
            assert one["ablated_accuracy"] == pytest.approx(1 - run_.mistakes / 200)
