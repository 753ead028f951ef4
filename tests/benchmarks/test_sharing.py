"""The benchmark of hypothesis sharing, on a handful of trials."""

from pathlib import Path
from typing import Any

from benchmarks import sharing
from linmax._jit.compilation import interpreted
from linmax.experts import Attributes, Gaussian, Kernel


def test_costs_are_told_piece_by_piece_and_drawn(tmp_path: Path) -> None:
    attributes, labels = sharing.clouds(60)
    figures: dict[str, Any] = {}
    with interpreted():
        for name, source in {"multi": Attributes(), "kernel, multi": Kernel(Gaussian(0.07))}.items():
            figures[name] = sharing.cost_over_time(source, attributes, labels, 30)
    assert all(len(found["microseconds"]) == 2 for found in figures.values())
    assert figures["multi"]["supports"] == [0, 0]
    first, second = figures["kernel, multi"]["supports"]
    assert 0 < first < second <= figures["kernel, multi"]["mistakes"]
    assert figures["kernel, multi"]["megabytes"] > 0.01
    sharing.draw(figures, tmp_path / "cost.png")
    assert (tmp_path / "cost.png").stat().st_size > 1000


def test_the_clouds_are_the_same_again() -> None:
    one, other = sharing.clouds(50), sharing.clouds(50)
    assert all((here == there).all() for here, there in zip(one, other, strict=True))
