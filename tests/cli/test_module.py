"""`python -m linmax` is the command `linmax`."""

from __future__ import annotations

import runpy
import sys

import pytest

import linmax


def test_the_package_runs_as_a_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["linmax", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("linmax", run_name="__main__")
    assert ended.value.code == 0
    assert linmax.__version__ in capsys.readouterr().out
