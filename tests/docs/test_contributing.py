"""The rule that CONTRIBUTING.md adds: its files work as shown, and the statements about them hold."""

from __future__ import annotations

import doctest
import importlib.util
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import linmax
from linmax import Fusion, parse, spec
from linmax.checks import check_rule
from linmax.cli import app
from linmax.report import catalogue
from tests.helpers.pages import ROOT, blocks
from tests.oracles import rules as oracles
from tests.oracles.drive import CLASSES, EXPERTS, FORMS, TECHNIQUES, follow, items, oracle_of
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
    told = {
        line.split("`")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")
    }
    assert told == claimed


def test_the_layers_on_the_page_are_those_that_are_checked() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [layer.strip("()") for layer in lint["contracts"][0]["layers"]]
    page = next(block for kind, block in blocks(PAGE) if kind == "text")
    shown = [name for line in page.splitlines() for name in line.split("  ")[0].split(", ")]
    package = ROOT / "src" / "linmax"
    assert shown == [
        name for name in layers if (package / name).exists() or (package / f"{name}.py").exists()
    ]
