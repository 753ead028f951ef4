"""A folder given as a file: its tables are read as one file per expert."""

from __future__ import annotations

from pathlib import Path

import pytest

from linmax.panels.panel import read_panel
from linmax.streams import StreamError
from tests.panels.small_tables import draw_labels, experts_of, roles_of, vote, write_files

LABELS = draw_labels(60)
IDS = list(range(60))


def expert_file(seed: int) -> dict[str, list[object]]:
    return {"id": IDS, "answer": vote(LABELS, 0.8, seed)}


def test_the_tables_of_a_folder_are_one_per_expert_and_one_of_labels(tmp_path: Path) -> None:
    truth = {"id": IDS, "truth": LABELS}
    write_files(tmp_path, {"gpt.csv": expert_file(1), "bert.csv": expert_file(2), "gold.csv": truth})
    (tmp_path / "README.md").write_text("Answers.")
    panel = read_panel([tmp_path])
    assert experts_of(panel) == ["bert", "gpt"]
    assert roles_of(panel)["truth"] == "label"
    assert any("its 3 tables (bert.csv, gold.csv, gpt.csv) are read" in one.text for one in panel.warnings)


def test_tables_may_be_in_a_folder_per_expert(tmp_path: Path) -> None:
    for seed, name in enumerate(("gpt", "bert")):
        (tmp_path / name).mkdir()
        write_files(tmp_path / name, {"answers.csv": {**expert_file(seed), "label": LABELS}})
    assert experts_of(read_panel([str(tmp_path)])) == ["bert", "gpt"]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Answers.")
    with pytest.raises(StreamError, match=r"folder without tables \(it has README.md\); name a file"):
        read_panel([tmp_path])


def test_a_folder_with_tables_of_several_formats_is_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"gpt.csv": expert_file(1), "bert.csv": expert_file(2)})
    (tmp_path / "log.jsonl").write_text("{}")
    with pytest.raises(StreamError, match=r"several formats \(CSV, JSONL\).*such as .*\*\.csv"):
        read_panel([tmp_path])


def test_a_folder_whose_tables_have_little_in_common_is_refused(tmp_path: Path) -> None:
    other = {"day": IDS, "price": IDS}
    another = {"name": IDS, "town": IDS}
    files = {"a.csv": expert_file(1), "b.csv": expert_file(2), "c.csv": other, "d.csv": another}
    write_files(tmp_path, files)
    with pytest.raises(StreamError, match=r"different columns.*not one per expert; name the files"):
        read_panel([tmp_path])
