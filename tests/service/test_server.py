"""A server in another process: its start, kill -9 under load, and SIGHUP."""

from __future__ import annotations

import ast
from pathlib import Path

import linmax.service
from tests.helpers.examples import EVERYTHING
from tests.slow.service_soak import soak


def test_kills_under_load_lose_nothing_that_was_acknowledged() -> None:
    planned = 2 if EVERYTHING else 1
    kills, acknowledged, wrong, same = soak(kills=planned, clients=3, longest=0.25)
    assert acknowledged > 0
    assert (kills, wrong, same) == (planned, 0, True)


def test_a_start_of_the_server_does_not_wait_for_the_evaluation() -> None:
    """Modules that only figures need are imported when somebody asks for figures."""
    for path in Path(linmax.service.__file__).parent.rglob("*.py"):
        for statement in ast.parse(path.read_text()).body:
            if isinstance(statement, ast.ImportFrom):
                assert not (statement.module or "").startswith(("linmax.evaluate", "linmax.report")), path
