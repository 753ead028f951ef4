"""Pages without drawings, for tests of their words: most of the time of a page is that of its figures."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from linmax.report.charts import consultation as consultation_chart
from linmax.report.charts import curves, experts, probabilities


def draw_nothing(monkeypatch: pytest.MonkeyPatch, *, but: ModuleType | None = None) -> None:
    """Leave every figure of a page empty, where it is; those of one module may be drawn."""
    for module in {curves, probabilities, probabilities, experts, consultation_chart} - {but}:
        monkeypatch.setattr(module, "render_svg", _empty)


def _empty(width: float, height: float, font: float, draw: Any) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img"'
        ' aria-label="not drawn"></svg>'
    )
