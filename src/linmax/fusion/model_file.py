"""Model files: safetensors for the arrays, JSON in the header for names and facts.

Nothing in a file is ever executed, and everything is validated before it is used.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from linmax import inputs
from linmax._files import resolve_output, write_atomic
from linmax.experts.base import Capacity, FrozenVotes
from linmax.fusion.consult.record import ARRAY
from linmax.fusion.session import Fusion
from linmax.kernels.forms import Sparse, SparseRows
from linmax.kernels.scaling import ScaledRows
from linmax.rules.base import SCALE, SLACK
from linmax.runtime.instances import InstanceBuffer
from linmax.runtime.predictor import Predictor, State
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.scaling import Scaling
from linmax.runtime.sources import Sources
from linmax.spec import UnknownNameError, parse, short
from linmax.validation import check_array, require

FORMAT = "linmax"
VERSION = 1
LARGEST = 8 << 30  # bytes of a file that is opened
LONGEST_HEADER = 100 << 20  # bytes of names and facts


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
            case Scaling():
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
        entries = _check_starts(state, "kept.votes", Sparse, held)
        check_array(state, "kept.votes.expert", (entries,), np.int32, 0, len(names.experts))
        check_array(state, "kept.votes.label", (entries,), np.int32, 0, classes)
        check_array(state, "kept.votes.value", (entries,), np.float64)
    if held and "rows" in needs:
        entries = _check_starts(state, "kept.rows", SparseRows, held)
        check_array(state, "kept.rows.index", (entries,), np.int32, 0, len(names.attributes))
        check_array(state, "kept.rows.value", (entries,), np.float64)
    if held and runner.scaling is not None:
        entries = _check_starts(state, "kept.scaled", ScaledRows, held)
        check_array(state, "kept.scaled.index", (entries,), np.int32, 0, len(names.attributes) + 1)
        for name in ("value", "unit"):
            check_array(state, f"kept.scaled.{name}", (entries,), np.float64)


def _check_starts(state: State, name: str, form: Any, held: int) -> int:
    starts = state[f"{name}.{form._fields[0]}"]
    entries = len(state[f"{name}.value"])
    check_array(state, f"{name}.{form._fields[0]}", (held + 1,), np.int64, 0, entries + 1)
    require(
        starts[0] == 0 and starts[-1] == entries and bool((np.diff(starts) >= 0).all()),
        f"{name} has starts that do not ascend from 0 to the number of its entries",
    )
    return entries


def save(fusion: Fusion, path: str | os.PathLike[str]) -> None:
    """Write a session to a new file, which then replaces an old one of that name.

    Parameters
    ----------
    fusion
        The session.
    path
        The name of the file.
    """
    from safetensors.numpy import save as to_bytes

    with fusion._lock, fusion._lock.state:
        learner = repr(fusion.learner)
        if "<unregistered" in learner:
            raise ValueError(
                f"{short(fusion.learner)} cannot be saved; give what it uses a name with @linmax.register"
            )
        if parse(learner) != fusion.learner:
            raise ValueError(
                f"{short(fusion.learner)} cannot be saved, because its text does not parse back to it"
            )
        arrays = {name: np.ascontiguousarray(array) for name, array in fusion.state().items()}
        try:
            check_state(fusion.runner, arrays)
            fusion.decisions.validate(arrays)
        except ValueError as error:
            raise ValueError(f"the session cannot be saved, because {error}") from None
        arrays |= fusion.consultations.arrays()
        facts = _facts(fusion, learner)
        try:
            header = json.dumps({**facts, "digest": digest(arrays, facts)}, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(_unsaved(facts)) from None
    write_atomic(resolve_output(path), to_bytes(arrays, metadata={"linmax": header}))


def _facts(fusion: Fusion, learner: str) -> dict[str, Any]:
    names, tickets = fusion.names, fusion.tickets
    return {
        "format": FORMAT,
        "version": VERSION,
        "learner": learner,
        "chooses_learner": fusion.chooses_learner,
        "modules": _modules(fusion.learner),
        "classes": names.classes.names,
        "experts": names.experts.names,
        "attributes": names.attributes.names,
        "values": names.values.names,
        "on_new_class": fusion.on_new_class,
        "abstain": None if isinstance(fusion.abstain, type(inputs.DEFAULT)) else [fusion.abstain],
        "seed": fusion.seed,
        "calibrate": fusion.decisions.calibrate,
        "mistake_costs": _pack(fusion.decisions.costs and fusion.decisions.costs.pairs),
        "ignored": fusion.ignored,
        "notes": fusion.notes,
        "consultations": fusion.consultations.facts(),
        "tickets": {
            "session": tickets.session,
            "limit": tickets.limit,
            "expired": tickets.expired,
            "given": tickets.given,
            "waiting": [[number, *map(_pack, item)] for number, item in tickets.waiting.items()],
        },
    }


def _unsaved(facts: dict[str, Any]) -> str:
    """Return a sentence about the first fact that JSON cannot hold."""
    for kind, what in (("classes", "class"), ("experts", "expert"), ("attributes", "attribute")):
        for name in facts[kind]:
            if not _is_json(name):
                return f"the {what} {short(name)} cannot be saved; a name is text, a finite number or a tuple"
    for key, note in facts["notes"].items():
        if not _is_json({key: note}):
            return f"the note {short(key)} is {short(note)}, which JSON cannot hold; change or remove it"
    return "a waiting ticket has votes or attributes that JSON cannot hold; learn it before saving"


def _is_json(fact: Any) -> bool:
    try:
        json.dumps(fact, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def digest(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> str:
    """Return a checksum over all arrays and facts: a flipped bit in a weight would still be a weight."""
    covered = {name: fact for name, fact in facts.items() if name != "digest"}
    total = hashlib.sha256(json.dumps(covered, allow_nan=False, sort_keys=True).encode())
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype} {arrays[name].shape} ".encode())
        total.update(arrays[name].tobytes())
    return total.hexdigest()


def _modules(learner: Any) -> list[str]:
    """Return the modules of a learner's parts, to name the missing import when the file is loaded."""
    found = {type(learner).__module__}
    parts = [
        part for value in vars(learner).values() for part in (value if isinstance(value, tuple) else (value,))
    ]
    for value in parts:
        if hasattr(value, "__module__") and hasattr(value, "__dict__"):
            found.update(_modules(value) if not callable(value) else {value.__module__})
    return sorted(found)


def _pack(item: Any) -> Any:
    """Turn a dict into a list of pairs, since JSON would turn its keys into text."""
    return (
        {"pairs": [[_pack(key), _pack(value)] for key, value in item.items()]}
        if isinstance(item, dict)
        else item
    )


def load(path: str | os.PathLike[str]) -> Fusion:
    """Load a session from a file that `fusion.save` wrote; it goes on as the original would have.

    Parameters
    ----------
    path
        The name of the file.

    Returns
    -------
    Fusion

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linmax import Fusion, Winnow, load
    >>> fusion = Fusion(Winnow(1.5))
    >>> run = fusion.learn([["a", "b"], ["b", "a"]], ["b", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fusion.save(pathlib.Path(folder) / "panel.linmax")
    ...     again = load(pathlib.Path(folder) / "panel.linmax")
    >>> again.weights == fusion.weights
    True
    """
    try:
        file = Path(path)
    except TypeError:
        raise ValueError(f"load needs the name of a file (got {path!r})") from None
    facts, state = _read(file)
    try:
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError("it is not a linmax file")
        if type(facts.get("version")) is not int or facts["version"] != VERSION:
            raise ValueError(
                f"it has version {facts.get('version')!r} and this linmax reads {VERSION}; update linmax"
            )
        return _rebuild(facts, state)
    except KeyError as error:
        raise ValueError(f"{path} cannot be loaded: {error.args[0]!r} is missing") from None
    except (TypeError, AttributeError, IndexError, OverflowError):
        raise ValueError(f"{path} cannot be loaded: its facts are not those of a linmax file") from None
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like one that `fusion.save` wrote.

    Parameters
    ----------
    path
        The name of the file.

    Returns
    -------
    bool
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            return "linmax" in (file.metadata() or {})
    except (SafetensorError, OSError, ValueError, RuntimeError):
        return False


def _read(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    try:
        if "\0" in str(path):
            raise ValueError(f"{str(path)!r} cannot be read: it is not the name of a file")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} cannot be read: it is not a file")
        size = path.stat().st_size
        with path.open("rb") as file:
            header = int.from_bytes(file.read(8), "little")
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    if size > LARGEST or header > min(size, LONGEST_HEADER):
        raise ValueError(f"{path} cannot be loaded: it is too large, damaged or not a linmax file")
    try:
        with safe_open(path, framework="numpy") as file:
            facts = json.loads((file.metadata() or {}).get("linmax", "null"))
            return facts, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError, TypeError, RecursionError, OSError):
        raise ValueError(f"{path} cannot be loaded: it is damaged or not a linmax file") from None


def _rebuild(facts: dict[str, Any], state: dict[str, np.ndarray]) -> Fusion:
    try:
        learner = parse(facts["learner"])
    except UnknownNameError as error:
        modules = [str(module) for module in facts["modules"] if not str(module).startswith("linmax.")]
        hint = f"import {', '.join(modules)} before loading" if modules else "update linmax"
        raise ValueError(f"{str(error).partition(';')[0]} in this program; {hint}") from None
    abstain = facts["abstain"]
    fusion = Fusion(
        learner,
        classes=facts["classes"],
        experts=map(_tuples, facts["experts"]),
        on_new_class=facts["on_new_class"],
        abstain=inputs.DEFAULT if abstain is None else abstain[0],
        seed=facts["seed"],
        calibrate=facts.get("calibrate", "sample"),
        mistake_costs=_unpack(facts.get("mistake_costs")),
    )
    fusion.chooses_learner = facts.get("chooses_learner", False) is True
    fusion.names.attributes.extend(map(_tuples, facts["attributes"]))
    fusion.names.values.extend(map(_tuples, facts["values"]))
    check_state(fusion.runner, state)
    fusion.decisions.validate(state)
    if digest(state, facts) != facts["digest"]:
        raise ValueError("its numbers or names are not those that were saved")
    fusion.runner.restore(state)
    fusion.decisions.restore(state)
    tickets = facts["tickets"]
    fusion.notes = dict(facts["notes"])
    fusion.ignored = _count(facts["ignored"])
    if "consultations" in facts:  # not in files of earlier versions
        sizes = len(fusion.names.experts), len(fusion.names.classes)
        fusion.consultations.restore(facts["consultations"], state.get(ARRAY), *sizes)
    fusion.tickets.session = str(tickets["session"])
    fusion.tickets.limit, fusion.tickets.expired, fusion.tickets.given = (
        _count(tickets[x]) for x in ("limit", "expired", "given")
    )
    fusion.tickets.waiting.update(
        (int(number), (_unpack(votes), _unpack(rows))) for number, votes, rows in tickets["waiting"]
    )
    return fusion


def _count(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 2**62:
        raise ValueError(f"{number!r} is not a count")
    return number


def _unpack(item: Any) -> Any:
    return {_tuples(key): _unpack(value) for key, value in item["pairs"]} if isinstance(item, dict) else item


def _tuples(name: Any) -> Any:
    return tuple(map(_tuples, name)) if isinstance(name, list) else name
