"""The check of the arrays of a model file, before they are used: kernels check nothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.experts.base import Capacity, FrozenVotes
from linmax.kernels.forms import Sparse, SparseRows
from linmax.kernels.sources.scaling import ScaledRows
from linmax.rules.base import SCALE, SLACK
from linmax.runtime.instances import InstanceBuffer
from linmax.runtime.predictor import Predictor, State
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.sources import Generators, Scaling, Sources
from linmax.validation import check_array, require


def check_state(runner: Runner, state: State) -> None:
    """Raise a ValueError if no learning could have left this state; kernels check nothing.

    No more is allocated than the state holds.
    """
    check_array(state, "counts", (4,), np.int64, 0, 2**62)
    stored: dict[Sources, int] = {}
    held = len(state["kept.labels"])

    def sizes(sources: Sources) -> Capacity:
        return sources.sizes_of_names()._replace(stored=stored[sources])

    for owner, part in runner.parts_of(state):
        match owner:
            case InstanceBuffer():
                _check_buffer(owner, part, runner)
            case Scaling() | Generators():
                owner.validate(part)
            case Sources():
                stored[owner] = _check_memories(owner, part, held)
            case RuleRun():
                _check_run(owner, part, sizes(owner.sources), min(held, owner.buffer_size))
            case Predictor():
                owner.validate(part, sizes)


def _check_memories(sources: Sources, state: State, held: int) -> int:
    counts = [memory.validate(part, sources.names) for memory, part in sources.memories_of(state)]
    memory, classes = sources.freezing, len(sources.names.classes)
    if memory is not None and sources.buffer and held:
        pairs, length = max(counts), memory.labels.shape[1]
        pair, favourite, tied = (state[f"frozen.{field}"] for field in FrozenVotes._fields)
        require(pair.ndim == 2 and favourite.ndim == 3, "frozen has a wrong shape")
        check_array(state, "frozen.pair", (held, pair.shape[1]), np.int32, -1, pairs)
        check_array(state, "frozen.favourite", (held, pair.shape[1], length), np.int32, 0, max(classes, 1))
        check_array(state, "frozen.tied", pair.shape, np.int32, 0, length + 1)
        require(not bool(((pair < 0) & (tied > 0)).any()), "frozen has votes of a pair that does not exist")
    return max(counts, default=0)


def _check_run(run: RuleRun, state: State, sizes: Capacity, held: int) -> None:
    run.validate(state, sizes)
    check_array(state, "s", run.s.shape, np.float64, finite=False)
    check_array(state, "total", (1,), np.float64)
    check_array(state, "counts", (4,), np.int64, 0, 2**62)
    check_array(state, "used", (held,), np.int64, 0, 2**62)
    s = state["s"]
    require(s[SLACK] == run.s[SLACK], "its slack differs from the learner's")
    require(
        bool(np.isfinite(np.delete(s, SLACK)).all()) and s[SCALE] > 0, "s has values that no rule produces"
    )


def _check_buffer(buffer: InstanceBuffer, state: State, runner: Runner) -> None:
    names, needs = runner.names, {source.needs for source in runner.parts}
    held, classes = len(state["kept.labels"]), len(names.classes)
    require(held <= buffer.size, "it has more instances than the learner keeps")
    check_array(state, "kept.labels", (held,), np.int32, 0, max(classes, 1))
    if held and "votes" in needs:
        _check_votes(state, "kept.votes", held, len(names.experts), classes)
    if held and "rows" in needs:
        entries = _check_starts(state, "kept.rows", SparseRows, held)
        check_array(state, "kept.rows.index", (entries,), np.int32, 0, len(names.attributes))
        check_array(state, "kept.rows.value", (entries,), np.float64)
    if held and runner.scaling is not None:
        entries = _check_starts(state, "kept.scaled", ScaledRows, held)
        check_array(state, "kept.scaled.index", (entries,), np.int32, 0, len(names.attributes) + 1)
        for name in ("value", "unit"):
            check_array(state, f"kept.scaled.{name}", (entries,), np.float64)
    for i, source in enumerate(buffer.generated if held else ()):
        _check_votes(state, f"kept.generated.{i}", held, source.size, classes)


def _check_votes(state: State, name: str, held: int, experts: int, classes: int) -> None:
    entries = _check_starts(state, name, Sparse, held)
    check_array(state, f"{name}.expert", (entries,), np.int32, 0, experts)
    check_array(state, f"{name}.label", (entries,), np.int32, 0, classes)
    check_array(state, f"{name}.value", (entries,), np.float64)


def _check_starts(state: State, name: str, form: Any, held: int) -> int:
    starts = state[f"{name}.{form._fields[0]}"]
    entries = len(state[f"{name}.value"])
    check_array(state, f"{name}.{form._fields[0]}", (held + 1,), np.int64, 0, entries + 1)
    require(
        starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all()),
        f"{name} has starts that do not ascend from 0 to the number of its entries",
    )
    return entries
