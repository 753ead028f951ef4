"""The three methods of the experiments of 2006."""

from __future__ import annotations

from typing import Any

from experiments.curves import BLUE, DASHES, ORANGE, RED
from linmax import Fusion, Perceptron, Run
from linmax.experts import Attributes, Gaussian, Kernel, Shared, Source

METHODS = ("multi", "single", "hybrid")
STYLES: dict[str, dict[str, Any]] = {
    "multi": {"color": BLUE, "linestyle": DASHES},
    "single": {"color": ORANGE},
    "hybrid": {"color": RED, "linewidth": 2.4},
}


def sources(feature_map: str) -> dict[str, Source]:
    """Return sources with a vector per class, one for all classes, and both, on attributes."""
    multi, single = Attributes(), Shared(feature_map)
    return {"multi": multi, "single": single, "hybrid": single + multi}


def kernels(sigma: float) -> dict[str, Source]:
    """Return the same with a Gaussian kernel; the shared one uses differences to class means (Eq. 11)."""
    multi, single = Kernel(Gaussian(sigma)), Kernel(Gaussian(sigma), "difference")
    return {"multi": multi, "single": single, "hybrid": multi + single}


def learn(source: Source, attributes: Any, labels: Any) -> Run:
    """Learn one pass with the Perceptron; a class is known from its first instance on."""
    return Fusion(Perceptron().on(source)).learn(attributes=attributes, labels=labels)
