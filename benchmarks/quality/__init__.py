"""Quality after one pass over real and generated problems, beside other on-line learners."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def measure(
    quick: bool, data: Path, tell: Callable[..., None] = lambda what: None, fresh: bool = False
) -> dict[str, Any]:
    """Everybody's mistakes on every problem; `tell` hears what is done now."""
    from benchmarks.quality.gather import gathered

    return gathered(quick, data, tell, fresh=fresh)


def page(results: dict[str, Any]) -> str:
    """The figures as Markdown."""
    from benchmarks.quality.pages import page as text

    return text(results)


def found(results: dict[str, Any]) -> list[str]:
    """How often linmax is ahead, level and behind, and what was left out."""
    from benchmarks.quality.losses import counts
    from benchmarks.quality.pages import KINDS

    met = [row for row in results["problems"] if "best peer" in row]
    return [*results["notes"], *counts(met, KINDS).splitlines()]


def draw(results: dict[str, Any], path: Path) -> None:
    """Two pictures beside a path, as PNG and SVG: of panels, and of the rest."""
    from benchmarks.quality.plot import draw as pictures

    pictures(results, path)
