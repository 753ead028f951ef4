"""CONTRIBUTING.md: the rule that it adds works as shown, and its other statements hold."""

from __future__ import annotations

import doctest
import importlib.util
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import orc
from typer.testing import CliRunner

import linmax
from linmax import Fusion, parse, spec
from linmax.checks import check_learner, check_rule
from linmax.cli import app
from linmax.report import catalogue
from linmax.streams import StreamError, open_stream
from linmax.streams.columns import TableBatch
from linmax.streams.files.detect_format import MAGIC_BYTES, SUFFIXES
from linmax.streams.files.source import ByteSource
from linmax.streams.stream import TABLE_READERS
from tests.helpers.compare_rules import CLASSES, EXPERTS, FORMS, TECHNIQUES, follow, items, oracle_of
from tests.helpers.pages import ROOT, blocks
from tests.oracles import rules as oracles
from tests.oracles.session import Session

PAGE = ROOT / "CONTRIBUTING.md"
NAME = "linmax.rules.forgetful"


def files() -> dict[str, str]:
    """The python blocks of the page, by the file that each belongs to."""
    found = {}
    for kind, block in blocks(PAGE):
        if kind == "python":
            head, rest = block.split("\n", 1)
            found[head.removeprefix("# ")] = rest
    return found


@pytest.fixture
def forgetful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(spec, "_registry", spec.registered())
    monkeypatch.setattr(spec, "_names", dict(spec._names))
    path = tmp_path / "forgetful.py"
    path.write_text(files()["src/linmax/rules/forgetful.py"], encoding="utf-8")
    located = importlib.util.spec_from_file_location(NAME, path)
    assert located is not None
    assert located.loader is not None
    module = importlib.util.module_from_spec(located)
    monkeypatch.setitem(sys.modules, NAME, module)
    located.loader.exec_module(module)
    slow = dict(vars(oracles))
    exec(files()["tests/oracles/rules.py"], slow)
    monkeypatch.setattr(oracles, "Forgetful", slow["Forgetful"], raising=False)
    return module.Forgetful


def test_the_page_has_a_rule_and_its_oracle() -> None:
    assert list(files()) == ["src/linmax/rules/forgetful.py", "tests/oracles/rules.py"]
    assert len(files()["src/linmax/rules/forgetful.py"].splitlines()) < 75


def test_it_passes_every_check(forgetful: Any) -> None:
    check_learner(forgetful(0.1))


@pytest.mark.slow  # its techniques are compared with the oracle below
def test_it_passes_every_check_with_every_technique(forgetful: Any) -> None:
    check_rule(forgetful(0.1))


@pytest.mark.parametrize("form", FORMS)
def test_its_weights_are_the_oracle_s(forgetful: Any, form: str) -> None:
    for technique, (wrap, options) in TECHNIQUES.items():
        rule = forgetful(0.2)
        fusion = Fusion(wrap(rule), classes=CLASSES, experts=EXPERTS)
        session = Session(oracle_of(rule), classes=CLASSES, **options)
        assert follow(fusion, session, items(form, 30, seed=1), form) >= 5, technique


def test_its_docstring_prints_what_it_says(forgetful: Any) -> None:
    result = doctest.testmod(sys.modules[NAME])
    assert result.attempted > 0
    assert result.failed == 0


def test_it_parses_and_is_listed(forgetful: Any) -> None:
    assert linmax.Forgetful is forgetful
    assert parse("Averaged(Forgetful(0.05))").inner == forgetful(0.05)
    entry = next(entry for entry in catalogue() if entry.name == "Forgetful")
    assert (entry.kind, entry.formula, entry.parameters) == ("rule", "w = (1 - fade) w + z", ("fade=0.01",))
    assert "Forgetful" in CliRunner().invoke(app, ["learners"]).output


def test_bad_parameters_are_refused_in_a_sentence(forgetful: Any) -> None:
    with pytest.raises(ValueError, match=r"Forgetful requires 0 <= fade < 1 \(got 1\.5\)"):
        forgetful(1.5)


def test_forgetting_without_end_is_no_overflow(forgetful: Any) -> None:
    rule = forgetful(0.9)
    fusion = Fusion(rule)
    fusion.learn([["a", "b"]] * 2000, ["a", "b"] * 1000)
    assert all(abs(weight) < 10 for weight in fusion.weights.values())


def test_the_claims_on_the_page_are_those_that_rules_make(forgetful: Any) -> None:
    claimed = set().union(*(entry.claims for entry in catalogue() if entry.kind == "rule"))
    text = PAGE.read_text(encoding="utf-8")
    section = text[text.index("## Add a rule") : text.index("## Add a committee")]
    assert {line.split("`")[1] for line in section.splitlines() if line.startswith("| `")} == claimed


class OrcReader:
    """A reader of ORC files, as the page describes readers."""

    format, unit = "ORC", "row"

    def __init__(self, source: ByteSource) -> None:
        self.roles: dict[str, Any] = {}
        self.file = orc.ORCFile(source.seekable_file())
        self.arrow_schema = self.file.schema
        self.num_rows = self.file.nrows

    def batches(self, columns: Sequence[str], max_rows: int) -> Iterator[TableBatch]:
        table = self.file.read(list(columns))
        for start in range(0, len(table), max_rows):
            part = table.slice(start, max_rows)
            yield TableBatch(part, np.arange(start + 1, start + 1 + len(part)))


def test_a_file_format_is_a_reader_and_its_entries_in_two_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "votes.orc"
    votes = {"ann": ["a", "b", "a", "b"] * 5, "bob": ["b", "b", "a", "a"] * 5}
    orc.write_table(pa.table({**votes, "truth": [*["b", "b", "a", "b"] * 4, "b", "b", None, None]}), path)
    with pytest.raises(StreamError, match="unknown format"):
        open_stream(path, label="truth")
    monkeypatch.setitem(TABLE_READERS, "ORC", OrcReader)
    monkeypatch.setitem(SUFFIXES, "orc", "ORC")
    monkeypatch.setitem(MAGIC_BYTES, b"ORC", "ORC")
    stream = open_stream(path, label="truth")
    assert str(stream.schema) == "votes.orc: ORC, wide: 2 experts (ann, bob), label truth"
    assert stream.rows_total == 20
    fusion = Fusion("Winnow(1.2)")
    assert [fusion.learn(chunk.votes, chunk.labels).trials for chunk in stream] == [18]
    assert fusion.experts == ["ann", "bob"]
    result = CliRunner().invoke(app, ["fuse", str(path), "--learner", "Winnow(1.2)"])
    assert result.exit_code == 0
    assert "ORC, wide: 2 experts" in result.output


def test_the_files_and_names_on_the_page_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    package = ROOT / "src" / "linmax"
    for name in set(re.findall(r"`((?:\w+/)+(?:\w+\.(?:py|md))?)`", text)):
        assert any((folder / name).exists() for folder in (ROOT, package, package.parent)), name
    for file, names in {
        "streams/stream.py": ["TABLE_READERS"],
        "streams/files/detect_format.py": ["SUFFIXES", "MAGIC_BYTES"],
        "streams/columns.py": ["class TableReader"],
        "streams/readers/arrow.py": ["class ParquetReader"],
        "cli/commands.py": ["@command"],
        "cli/options/files.py": ["class ReadOptions"],
        "techniques/mixture.py": ["class Mixture(Committee)", "class ScoreEnsemble(Predictor)"],
        "kernels/ensembles/mixtures.py": ["mix = CompiledKernel("],
    }.items():
        source = (package / file).read_text(encoding="utf-8")
        assert file in text
        for name in names:
            assert name in source
            assert re.search(rf"\b{re.split(r'[ (]', name.removeprefix('class '))[0].lstrip('@')}\b", text)


def test_every_command_of_the_makefile_is_on_the_page() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"\.PHONY: (.*?[^\\])\n", makefile, re.DOTALL)[1].replace("\\", " ").split())  # type: ignore[index]
    shown = set(re.findall(r"^make (\S+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    assert targets - {"setup", "clean", "compat-newest", "compat-oldest"} == shown


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [layer.strip("()") for layer in lint["contracts"][0]["layers"]]
    page = next(block for kind, block in blocks(PAGE) if kind == "text")
    shown = [name for line in page.splitlines() for name in line.split("  ")[0].split(", ")]
    package = ROOT / "src" / "linmax"
    assert shown == [
        name for name in layers if (package / name).exists() or (package / f"{name}.py").exists()
    ]
