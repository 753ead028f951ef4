"""Is the state in a file one that learning could have left? Kernels trust it blindly, so nobody else may."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Frozen, Room
from linmax.experts.expect import expect, need
from linmax.forms import Sparse, SparseRows
from linmax.rules.base import SCALE, SLACK
from linmax.techniques.columns import size_of
from linmax.techniques.council import Council
from linmax.techniques.engine import Engine
from linmax.techniques.ground import Ground
from linmax.techniques.head import Head, State
from linmax.techniques.kept import Kept


def check_state(council: Council, state: State) -> None:
    """Raise a ValueError that says what is wrong; allocate no more than the file holds."""
    expect(state, "counts", (4,), np.int64, 0, 2**62)
    remembered: dict[int, int] = {}
    held = len(state["kept.labels"])
    for keeper, part in council.parts_of(state):
        match keeper:
            case Kept():
                _check_kept(keeper, part, {source.needs for source in council.parts}, council.names)
            case Ground():
                remembered[id(keeper)] = _check_memories(keeper, part, held)
            case Engine():
                sizes = keeper.ground.sizes()._replace(remembered=remembered[id(keeper.ground)])
                _check_engine(keeper, part, sizes, min(held, keeper.size))
            case Head():
                keeper.check(part, remembered)


def _check_memories(ground: Ground, state: State, held: int) -> int:
    counts = [memory.check(part, ground.names) for memory, part in ground.memories_of(state)]
    memory, classes = ground.freezing, len(ground.names.classes)
    if memory is not None and ground.size and held:
        pairs, length = max(counts), memory.labels.shape[1]
        pair, favourite, tied = (state[f"frozen.{field}"] for field in Frozen._fields)
        need(pair.ndim == 2 and favourite.ndim == 3, "frozen has a wrong shape")
        expect(state, "frozen.pair", (held, pair.shape[1]), np.int32, -1, pairs)
        expect(state, "frozen.favourite", (held, pair.shape[1], length), np.int32, 0, max(classes, 1))
        expect(state, "frozen.tied", pair.shape, np.int32, 0, length + 1)
        need(not bool(((pair < 0) & (tied > 0)).any()), "frozen lets a pair vote that is none")
    return max(counts, default=0)


def _check_engine(engine: Engine, state: State, sizes: Room, held: int) -> None:
    count = size_of(engine.ground.parts, sizes)
    for name in ("theta", "w"):
        expect(state, name, (count,), np.float64)
    expect(state, "spoken", (count,), np.uint8, 0, 2)
    for name in ("past", "since"):
        expect(state, name, (count if engine.averages else 0,), np.float64)
    expect(state, "s", engine.s.shape, np.float64, finite=False)
    expect(state, "total", (1,), np.float64)
    expect(state, "counts", (4,), np.int64, 0, 2**62)
    expect(state, "used", (held,), np.int64, 0, 2**62)
    s = state["s"]
    need(s[SLACK] == engine.s[SLACK], "its slack is not that of the learner")
    need(bool(np.isfinite(np.delete(s, SLACK)).all()) and s[SCALE] > 0, "s holds numbers that no rule makes")


def _check_kept(kept: Kept, state: State, needs: set[Any], names: Any) -> None:
    held, classes = len(state["kept.labels"]), len(names.classes)
    need(held <= kept.size, "it keeps more instances than the learner does")
    expect(state, "kept.labels", (held,), np.int32, 0, max(classes, 1))
    if held and "votes" in needs:
        entries = _check_starts(state, "kept.votes", Sparse, held)
        expect(state, "kept.votes.expert", (entries,), np.int32, 0, len(names.experts))
        expect(state, "kept.votes.label", (entries,), np.int32, 0, classes)
        expect(state, "kept.votes.value", (entries,), np.float64)
    if held and "rows" in needs:
        entries = _check_starts(state, "kept.rows", SparseRows, held)
        expect(state, "kept.rows.index", (entries,), np.int32, 0, len(names.attributes))
        expect(state, "kept.rows.value", (entries,), np.float64)


def _check_starts(state: State, name: str, form: Any, held: int) -> int:
    starts = state[f"{name}.{form._fields[0]}"]
    entries = len(state[f"{name}.value"])
    expect(state, f"{name}.{form._fields[0]}", (held + 1,), np.int64, 0, entries + 1)
    need(
        starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all()),
        f"{name} does not add up",
    )
    return entries
