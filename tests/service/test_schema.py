"""Requests that are generated from the OpenAPI document never make the server fail."""

from __future__ import annotations

import pytest

from tests.slow.service_schema import MISSING, run


def test_no_generated_request_makes_the_server_fail() -> None:
    pytest.importorskip("schemathesis", reason=MISSING)
    sent, failures, problems = run(100)
    assert sent >= 100
    assert (failures, problems) == ([], [])
