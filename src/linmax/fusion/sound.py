"""Is the state in a file one that learning could have left? Kernels trust it blindly, so nobody else may."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Frozen, Room
from linmax.forms import Sparse, SparseRows
from linmax.rules.base import SCALE, SLACK
from linmax.techniques.columns import size_of
from linmax.techniques.engine import Engine


def check_state(engine: Engine, state: dict[str, np.ndarray]) -> None:
    """Raise a ValueError that says what is wrong; allocate no more than the file holds."""
    sizes = engine.sizes()
    memory = next((memory for memory in engine.memories if memory is not None), None)
    if memory is not None:
        pairs = len(state["memory.seen"])
        sizes = sizes._replace(pairs=pairs)
        length = memory.labels.shape[1]
        _expect(state, "memory.members", (pairs, 2), np.int64, 0, len(engine.names.values))
        _expect(state, "memory.labels", (pairs, length), np.int32, 0, max(sizes.classes, 1))
        _expect(state, "memory.seen", (pairs,), np.int64, 0, 2**62)
        _need(pairs <= memory.limit, "memory.members has more pairs than the learner allows")
        _need(len(np.unique(state["memory.members"], axis=0)) == pairs, "memory.members has a pair twice")
        _need(
            bool((state["memory.members"][:, 0] <= state["memory.members"][:, 1]).all()),
            "memory.members is out of order",
        )
    count = size_of(engine.parts, sizes)
    for name in ("theta", "w"):
        _expect(state, name, (count,), np.float64)
    _expect(state, "spoken", (count,), np.uint8, 0, 2)
    for name in ("past", "since"):
        _expect(state, name, (count if engine.averages else 0,), np.float64)
    _expect(state, "s", engine.s.shape, np.float64, finite=False)
    _expect(state, "total", (1,), np.float64)
    _expect(state, "counts", (4,), np.int64, 0, 2**62)
    s = state["s"]
    _need(s[SLACK] == engine.s[SLACK], "its slack is not that of the learner")
    _need(bool(np.isfinite(np.delete(s, SLACK)).all()) and s[SCALE] > 0, "s holds numbers that no rule makes")
    _check_kept(engine, state, sizes)


def _check_kept(engine: Engine, state: dict[str, np.ndarray], sizes: Room) -> None:
    held = len(state["kept.labels"])
    _need(held <= engine.size, "it keeps more instances than the learner does")
    _expect(state, "kept.labels", (held,), np.int32, 0, max(sizes.classes, 1))
    _expect(state, "kept.used", (held,), np.int64, 0, 2**62)
    needs = {part.needs for part in engine.parts} if held else set()
    if "votes" in needs:
        entries = _check_starts(state, "kept.votes", Sparse, held)
        _expect(state, "kept.votes.expert", (entries,), np.int32, 0, sizes.experts)
        _expect(state, "kept.votes.label", (entries,), np.int32, 0, sizes.classes)
        _expect(state, "kept.votes.value", (entries,), np.float64)
    if "rows" in needs:
        entries = _check_starts(state, "kept.rows", SparseRows, held)
        _expect(state, "kept.rows.index", (entries,), np.int32, 0, sizes.attributes)
        _expect(state, "kept.rows.value", (entries,), np.float64)
    if "nominal" in needs:
        pair, favourite, tied = (state[f"kept.frozen.{field}"] for field in Frozen._fields)
        _need(pair.ndim == 2 and favourite.ndim == 3, "kept.frozen has a wrong shape")
        memory = next(memory for memory in engine.memories if memory is not None)
        length = memory.labels.shape[1]
        _expect(state, "kept.frozen.pair", (held, pair.shape[1]), np.int32, -1, sizes.pairs)
        _expect(
            state, "kept.frozen.favourite", (held, pair.shape[1], length), np.int32, 0, max(sizes.classes, 1)
        )
        _expect(state, "kept.frozen.tied", pair.shape, np.int32, 0, length + 1)
        _need(not bool(((pair < 0) & (tied > 0)).any()), "kept.frozen lets a pair vote that is none")


def _check_starts(state: dict[str, np.ndarray], name: str, form: Any, held: int) -> int:
    starts = state[f"{name}.{form._fields[0]}"]
    entries = len(state[f"{name}.value"])
    _expect(state, f"{name}.{form._fields[0]}", (held + 1,), np.int64, 0, entries + 1)
    _need(
        starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all()),
        f"{name} does not add up",
    )
    return entries


def _expect(
    state: dict[str, np.ndarray], name: str, shape: tuple[int, ...], kind: Any,
    low: int | None = None, high: int | None = None, *, finite: bool = True,
) -> None:  # fmt: skip
    array = state[name]
    _need(array.shape == shape and array.dtype == kind, f"{name} has the wrong shape or type")
    if low is not None and high is not None and array.size:
        _need(bool(array.min() >= low) and bool(array.max() < high), f"{name} has values out of range")
    if finite and np.issubdtype(kind, np.floating):
        _need(bool(np.isfinite(array).all()), f"{name} has numbers that are not finite")


def _need(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)
