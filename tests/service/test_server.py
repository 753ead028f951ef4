"""A server and its process: its start, kill -9 under load, and what it changes for other sessions."""

from __future__ import annotations

import ast
import asyncio
from pathlib import Path

import pytest

import linmax.service
from linmax._jit.tiers import Budget, postpones
from tests.helpers.examples import EVERYTHING
from tests.service.api import serving
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


def test_other_sessions_of_the_process_run_as_before_when_servers_have_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Budget, "left", 3.0)
    monkeypatch.setattr(Budget, "is_cold", None)
    monkeypatch.setattr(Budget, "suspended", 0)  # a server of another test may run

    async def main() -> None:
        first, second = serving(tmp_path / "first"), serving(tmp_path / "second")
        await first.__aenter__()
        await second.__aenter__()
        assert not postpones()
        await first.__aexit__(None, None, None)
        assert not postpones()
        await second.__aexit__(None, None, None)

    asyncio.run(main())
    assert postpones()
    assert Budget.left == 3.0
