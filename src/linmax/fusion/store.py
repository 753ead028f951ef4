"""One file for a session: safetensors for the arrays, JSON in its header for names and facts."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from linmax import ballots
from linmax.fusion.session import Fusion
from linmax.fusion.sound import check_state
from linmax.terms import UnknownNameError, parse

FORMAT = "linmax"
VERSION = 1
LARGEST = 8 << 30  # bytes of a file that `load` opens
LONGEST_HEADER = 100 << 20  # bytes of names and facts


def save(fusion: Fusion, path: str | os.PathLike[str]) -> None:
    """Write a session: into a new file beside the old one, which it then replaces."""
    from safetensors.numpy import save as to_bytes

    learner = repr(fusion.learner)
    if "<unregistered" in learner:
        raise ValueError(f"{learner} cannot be saved; give what it uses a name with @linmax.register")
    names = fusion.names
    facts = {
        "format": FORMAT,
        "version": VERSION,
        "learner": learner,
        "modules": _modules(fusion.learner),
        "classes": names.classes.names,
        "experts": names.experts.names,
        "attributes": names.attributes.names,
        "values": names.values.names,
        "on_new_class": fusion.on_new_class,
        "abstain": None if fusion.abstain is ballots.DEFAULT else [fusion.abstain],
        "seed": fusion.seed,
        "ignored": fusion.ignored,
        "tickets": {
            "limit": fusion.tickets.limit,
            "expired": fusion.tickets.expired,
            "given": fusion.tickets.given,
            "waiting": [[number, *map(_pack, item)] for number, item in fusion.tickets.waiting.items()],
        },
    }
    try:
        header = json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            "names that are neither text nor numbers cannot be saved; rename experts and attributes"
        ) from None
    if parse(learner) != fusion.learner:
        raise ValueError(f"{learner} does not parse back to the learner, so it cannot be saved")
    arrays = {name: np.ascontiguousarray(array) for name, array in fusion.state().items()}
    write(Path(path), to_bytes(arrays, metadata={"linmax": header}))


def write(path: Path, content: bytes) -> None:
    """Replace a file by new content, wholly or not at all."""
    folder = path.absolute().parent
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            os.chmod(temporary, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> Fusion:
    """The session that `fusion.save` wrote; it goes on bit by bit as the original would have.

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
    facts, state = _read(Path(path))
    try:
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError("it is not a linmax file")
        if facts.get("version") != VERSION:
            raise ValueError(f"it has version {facts.get('version')!r} and this linmax reads {VERSION}")
        return _rebuild(facts, state)
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, ValueError) as error:
        reason = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{path} cannot be loaded: {reason}") from None


def _read(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    from safetensors import SafetensorError, safe_open

    try:
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
        raise ValueError(f"{error} It was written with {', '.join(modules) or 'a newer linmax'}.") from None
    abstain = facts["abstain"]
    fusion = Fusion(
        learner,
        classes=facts["classes"],
        experts=facts["experts"],
        on_new_class=facts["on_new_class"],
        abstain=ballots.DEFAULT if abstain is None else abstain[0],
        seed=facts["seed"],
    )
    fusion.names.attributes.extend(map(_tuples, facts["attributes"]))
    fusion.names.values.extend(map(_tuples, facts["values"]))
    check_state(fusion._engine, state)
    fusion._engine.restore(state)
    tickets = facts["tickets"]
    fusion.ignored = int(facts["ignored"])
    fusion.tickets.limit, fusion.tickets.expired, fusion.tickets.given = (
        int(tickets[x]) for x in ("limit", "expired", "given")
    )
    fusion.tickets.waiting.update(
        (int(number), (_unpack(votes), _unpack(rows))) for number, votes, rows in tickets["waiting"]
    )
    return fusion


def _modules(learner: Any) -> list[str]:
    """Where a learner's parts are from, for whoever loads the file without the import."""
    found = {type(learner).__module__}
    for value in vars(learner).values():
        if hasattr(value, "__module__") and hasattr(value, "__dict__"):
            found.update(_modules(value) if not callable(value) else {value.__module__})
    return sorted(found)


def _pack(item: Any) -> Any:
    """A dict as a list of pairs: JSON would turn its keys into text."""
    return (
        {"pairs": [[_pack(key), _pack(value)] for key, value in item.items()]}
        if isinstance(item, dict)
        else item
    )


def _unpack(item: Any) -> Any:
    return {_tuples(key): _unpack(value) for key, value in item["pairs"]} if isinstance(item, dict) else item


def _tuples(name: Any) -> Any:
    return tuple(map(_tuples, name)) if isinstance(name, list) else name


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
