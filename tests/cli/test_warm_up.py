"""`linmax warm-up`: what it compiles, and what it says."""

from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from linmax import Fusion, parse
from linmax._jit.compilation import interpreted
from linmax._jit.numba_internals import State
from linmax.cli import app
from linmax.cli import warm_up as module
from linmax.cli.warm_up import CLASSES, DEFAULTS, FILES, compile_form, forms, warm_up

TEXTS = [*DEFAULTS, "Averaged(Winnow(1.2))", "Perceptron().on(Pairs())", "Perceptron().on(Attributes())"]


@pytest.mark.parametrize("text", TEXTS)
def test_every_form_of_items_is_learned(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, items = parse(text), 6
    monkeypatch.setattr(module, "ITEMS", items)
    with interpreted():
        for form in forms(frozenset(Fusion(learner).needs)):
            compile_form(learner, form, np.arange(items) % CLASSES)


def test_each_need_has_its_forms() -> None:
    assert [form.name for form in forms(frozenset({"votes"}))] == [
        "labels, no attributes", "scores, no attributes", "triplets, no attributes",
        "labels, one by one", "scores, one by one",
    ]  # fmt: skip
    assert [form.name for form in forms(frozenset({"rows"}))] == [
        "no votes, attributes", "no votes, sparse attributes", "no votes, one by one",
    ]  # fmt: skip
    assert [form.name for form in forms(frozenset({"nominal"}))] == ["no votes, nominal attributes"]


def test_the_command_lists_what_it_has_compiled() -> None:
    result = CliRunner().invoke(app, ["warm-up", "Winnow(1.2)"])
    assert result.exit_code == 0
    assert "labels, one by one" in result.output
    assert "processes that start from now on load the machine code" in result.output


def test_the_defaults_and_files_are_compiled_without_a_name(monkeypatch: Any) -> None:
    ran: list[str] = []
    monkeypatch.setattr(module, "compile_form", lambda learner, form, labels: ran.append(form.name))
    monkeypatch.setattr(module, "compile_files", lambda: ran.append(FILES))
    found = warm_up([], Console(quiet=True))
    assert {name for name, _, _ in found} == set(DEFAULTS)
    assert ran[-1] == FILES
    assert len(ran) == 5 + 3 + 8 + 1


def test_an_unknown_learner_is_one_sentence() -> None:
    result = CliRunner().invoke(app, ["warm-up", "Winow(1.2)"])
    assert result.exit_code == 2
    assert "did you mean 'Winnow'" in result.output


def test_there_is_nothing_to_compile_without_numba(monkeypatch: Any) -> None:
    monkeypatch.setattr(State, "compiles", False)
    with pytest.raises(ValueError, match="there is nothing to compile"):
        warm_up(["Winnow(1.2)"])
