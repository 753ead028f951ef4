"""The pages of docs/: their code and commands print what the pages show, and their tables are current."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from linmax.cli.commands import COMMANDS
from linmax.evaluate import Findings, Gain
from linmax.evaluate.findings.findings import BaselineComparison, ExpertSummary, ModelResult
from tests.helpers.pages import ROOT, blocks, commands, run_page

PAGES = sorted((ROOT / "docs").glob("*.md"))
# a few trials on each of many sources, which take long to compile; but thousands on random features
SHORT = ("experts.md",)


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
    assert run_page(page, lambda block: page.name not in SHORT or "RandomFeatures" in block) > 2


@pytest.mark.parametrize("name", ["tutorial.md", "commands.md"])
def test_commands_are_shown_as_typed(name: str) -> None:
    found = blocks(ROOT / "docs" / name)
    assert sum(len(commands(block)) for kind, block in found if kind == "console") > 6
    assert not [block for kind, block in found if kind == "python" and "linmax.cli" in block]


def test_every_command_has_a_place_on_the_page_of_commands() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"`linmax {name}`" in text, name


def test_the_page_of_commands_lists_all_json_keys() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text[text.index("### JSON") : text.index("## linmax compare")]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    keys = {key for row in rows for key in re.findall(r"`(\w+)`", row[0])}
    assert keys == {field.name for field in dataclasses.fields(Findings)} | {"finished", "missing"}
    described = {row[0].strip("| `"): set(re.findall(r"`([^`]+)`", row[1])) for row in rows}
    assert described["results"] == set(ModelResult._fields)
    assert described["comparisons"] == {*BaselineComparison._fields, *Gain._fields} - {"trials"}
    assert described["experts"] - {"as voted", "remapped", "ignored"} == set(ExpertSummary._fields)


CSV = """\
$ cat > votes.csv << END
> ann,bob,truth
> a,b,b
> END
$ head -n 1 votes.csv
ann,bob,truth
"""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (CSV, ""),
        (CSV + "$ cat votes.csv\nann,bob,truth\na,b,b\n$ ls\nvotes.csv\n", ""),
        (CSV + "$ cat votes.csv\nann,bob,truth\n...\n", ""),
        (
            CSV + "$ linmax fuse votes.csv \\\n>   --label trut\nlinmax: votes.csv has no column 'trut'...\n",
            "",
        ),
        (CSV + "$ cat votes.csv\nann,bob,truth\n", "a,b,b"),
        (CSV + "$ linmax fuse votes.csv --label trut\n", "no column 'trut'"),
        (CSV + "$ linmax fuse votes.csv --label trut\nlinmax: votes.csv has no rows\n", "no column 'trut'"),
        ("$ rm votes.csv\n", "pages run no 'rm'"),
        ("$ cat > votes.csv << END\n> ann\n", "is not ended by 'END'"),
    ],
)
def test_a_console_block_fails_unless_it_shows_the_output(tmp_path: Path, text: str, error: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"```console\n{text}```\n", encoding="utf-8")
    if error:
        with pytest.raises(AssertionError, match=error):
            run_page(page)
    else:
        assert run_page(page) >= 2


def test_python_and_console_blocks_share_a_folder(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    python = '>>> import pathlib\n>>> size = pathlib.Path("votes.csv").write_text("ann\\na\\n")\n'
    console = "$ cat votes.csv\nann\na\n"
    page.write_text(f"```python\n{python}```\n```console\n{console}```\n", encoding="utf-8")
    assert run_page(page) == 3
    assert not Path("votes.csv").exists()


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
