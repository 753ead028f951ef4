"""What a state from a file must be like: kernels trust it blindly, so nobody else may."""

from __future__ import annotations

from typing import Any

import numpy as np


def expect(
    state: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kind: Any,
    low: int | None = None, high: int | None = None, *, finite: bool = True,
) -> None:  # fmt: skip
    """An array of this shape and type, with numbers in low <= x < high."""
    array = state[name]
    need(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if low is not None and high is not None and array.size:
        need(bool(array.min() >= low) and bool(array.max() < high), f"{name} has values out of range")
    if finite and np.issubdtype(kind, np.floating):
        need(bool(np.isfinite(array).all()), f"{name} has numbers that are not finite")


def need(condition: bool, what: str) -> None:
    """A ValueError that says what is wrong, unless the condition holds."""
    if not condition:
        raise ValueError(what)
