"""The pages of docs/ are true: their code prints what they say, and their tables are the registry's."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers.pages import ROOT, blocks, run_page

PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_prints_what_it_says(page: Path) -> None:
    assert run_page(page) > 2


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.name)
def test_generated_tables_are_current(page: Path, build: ModuleType) -> None:
    text = page.read_text(encoding="utf-8")
    assert build.rebuilt(text) == text, f"{page.name} is out of date: run make docs"


def test_there_is_a_generated_table_of_each_kind(build: ModuleType) -> None:
    whole = "".join(page.read_text(encoding="utf-8") for page in [*PAGES, ROOT / "README.md"])
    for part in build.PARTS:
        assert whole.count(f"<!-- generated: {part} -->") == 1


def test_a_stale_page_is_rewritten_in_place(
    build: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "rules.md"
    page.write_text("before\n<!-- generated: techniques -->\nold\n<!-- end -->\nafter\n", encoding="utf-8")
    monkeypatch.setattr(build, "HERE", tmp_path)
    monkeypatch.setattr("sys.argv", ["build.py", "--check"])
    assert build.main() == 1
    assert "old" in page.read_text(encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["build.py"])
    assert build.main() == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "`Averaged`" in text
    monkeypatch.setattr("sys.argv", ["build.py", "--check"])
    assert build.main() == 0
    assert "run make docs" in capsys.readouterr().out


def test_every_array_of_a_file_is_explained() -> None:
    page = ROOT / "docs" / "files.md"
    names = next(block for kind, block in blocks(page) if kind == "python" and "sorted(arrays)" in block)
    text = page.read_text(encoding="utf-8")
    explained = text[text.index("| array |") : text.index("## Safety")]
    listed = names.split(">>> sorted(arrays)\n")[1].strip().strip("[]").replace("'", "").split(", ")
    for name in listed:
        assert f"`{name}`" in explained or f"`{name.split('.')[0]}.*`" in explained, name
