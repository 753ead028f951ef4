"""The same jobs at a larger scale: consumers of message logs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linmax.scale.follower import follow, follow_async

__all__ = ["follow", "follow_async"]
HOMES = {"follow": "follower", "follow_async": "follower"}  # imported when they are used


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
