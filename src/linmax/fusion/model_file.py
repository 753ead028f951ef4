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
from linmax.decisions import MistakeCosts
from linmax.fusion.consult.record import ARRAY
from linmax.fusion.session import Fusion
from linmax.fusion.state_check import check_state
from linmax.spec import UnknownNameError, parse, short

FORMAT = "linmax"
VERSION = 1
UNLEARNED = frozenset({"notes", "tickets", "consultations"})  # facts that a fingerprint leaves out
LARGEST = 8 << 30  # bytes of a file that is opened
LONGEST_HEADER = 100 << 20  # bytes of names and facts


def save(fusion: Fusion, path: str | os.PathLike[str]) -> None:
    """Write a session to a new file, which then replaces an old one of that name.

    Parameters
    ----------
    fusion
        The session.
    path
        The name of the file.
    """
    write_atomic(resolve_output(path), to_bytes(fusion))


def to_bytes(fusion: Fusion) -> bytes:
    """Return a session as the content of a model file.

    Parameters
    ----------
    fusion
        The session.
    """
    from safetensors.numpy import save as arrays_to_bytes

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
        _check_keys(facts["notes"])
        try:
            header = json.dumps({**facts, "digest": digest(arrays, facts)}, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise ValueError(_unsaved(facts)) from None
    return arrays_to_bytes(arrays, metadata={"linmax": header})


def fingerprint(fusion: Fusion) -> str:
    """Return a checksum of what a session has learned: sessions with the same one go on alike.

    Parameters
    ----------
    fusion
        The session. Its notes, tickets and consultations do not count, nor does the default that it would use
        for items like the last ones, as long as it has learned nothing.
    """
    with fusion._lock, fusion._lock.state:
        fusion._choose_learner(votes=True, attributes=False)
        facts = _facts(fusion, repr(fusion.learner))
        arrays = fusion.state()
    return digest(arrays, {name: fact for name, fact in facts.items() if name not in UNLEARNED})


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
        **({"cost_margins": True} if fusion.cost_margins else {}),  # others have an old fingerprint
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
    number = next((number for number, *item in facts["tickets"]["waiting"] if not _is_json(item)), 0)
    return f"ticket {number} waits with votes or attributes that JSON cannot hold; learn it before saving"


def _check_keys(note: Any) -> None:
    """Refuse dicts in notes whose keys are not texts: JSON would turn them into texts."""
    waiting = [note]
    while waiting:
        note = waiting.pop()
        if isinstance(note, dict):
            for key in note:
                if not isinstance(key, str):
                    raise ValueError(
                        f"the notes have the key {short(key)}, which would be loaded as a text; write"
                        f" {str(key)!r}"
                    )
            note = list(note.values())
        if isinstance(note, list | tuple) and len(waiting) < LONGEST_HEADER:  # a list may contain itself
            waiting += [one for one in note if isinstance(one, dict | list | tuple)]


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
    return _build(*_read(file), str(path))


def from_bytes(content: bytes, name: str = "the model") -> Fusion:
    """Return the session that `to_bytes` was given.

    Parameters
    ----------
    content
        The content of a model file.
    name
        What errors call it.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load as arrays_from_bytes

    try:
        length = int.from_bytes(content[:8], "little")
        if length > min(len(content), LONGEST_HEADER):
            raise ValueError("the header is too long")
        header = json.loads(content[8 : 8 + length])
        facts = json.loads(header.get("__metadata__", {}).get("linmax", "null"))
        state = arrays_from_bytes(content)
    except (SafetensorError, ValueError, TypeError, AttributeError, RecursionError):
        raise ValueError(f"{name} cannot be loaded: it is damaged or not a linmax file") from None
    return _build(facts, state, name)


def _build(facts: Any, state: dict[str, np.ndarray], path: str) -> Fusion:
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
    abstain, costs = facts["abstain"], _unpack(facts.get("mistake_costs"))
    fusion = Fusion(
        learner,
        classes=facts["classes"],
        experts=map(_tuples, facts["experts"]),
        on_new_class=facts["on_new_class"],
        abstain=inputs.DEFAULT if abstain is None else abstain[0],
        seed=facts["seed"],
        calibrate=facts.get("calibrate", "sample"),
        mistake_costs=costs and MistakeCosts(costs, ()),
        cost_margins=facts.get("cost_margins", False),
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
