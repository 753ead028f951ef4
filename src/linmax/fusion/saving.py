"""One file for a session: safetensors for the arrays, JSON in its header for names and facts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from linmax import ballots
from linmax.fusion.sound import check_state
from linmax.terms import parse

FORMAT = "linmax"
VERSION = 1


def save(fusion: Any, path: str | os.PathLike[str]) -> None:
    """Write a session: into a new file beside the old one, which it then replaces."""
    from safetensors.numpy import save as to_bytes

    learner = repr(fusion.learner)
    if "<unregistered" in learner:
        raise ValueError(f"{learner} cannot be saved; give what it uses a name with @linmax.register")
    names = fusion.names
    arrays = {name: np.ascontiguousarray(array) for name, array in fusion.state().items()}
    try:
        check_state(fusion._council, arrays)
    except ValueError as error:
        raise ValueError(f"the session cannot be saved, because {error}") from None
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
        "abstain": None if isinstance(fusion.abstain, type(ballots.DEFAULT)) else [fusion.abstain],
        "seed": fusion.seed,
        "ignored": fusion.ignored,
        "notes": fusion.notes,
        "tickets": {
            "session": fusion.tickets.session,
            "limit": fusion.tickets.limit,
            "expired": fusion.tickets.expired,
            "given": fusion.tickets.given,
            "waiting": [[number, *map(_pack, item)] for number, item in fusion.tickets.waiting.items()],
        },
    }
    try:
        header = json.dumps({**facts, "digest": digest(arrays, facts)}, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError(
            "names and notes that are neither text nor numbers cannot be saved; rename or drop them"
        ) from None
    if parse(learner) != fusion.learner:
        raise ValueError(f"{learner} does not parse back to the learner, so it cannot be saved")
    write(_path(path), to_bytes(arrays, metadata={"linmax": header}))


def digest(arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> str:
    """A checksum over all arrays and facts: a flipped bit in a weight or a name would look like another."""
    told = {name: fact for name, fact in facts.items() if name != "digest"}
    total = hashlib.sha256(json.dumps(told, allow_nan=False, sort_keys=True).encode())
    for name in sorted(arrays):
        total.update(f"{name} {arrays[name].dtype} {arrays[name].shape} ".encode())
        total.update(arrays[name].tobytes())
    return total.hexdigest()


def _path(path: Any) -> Path:
    """Where to write: a link leads to its target."""
    try:
        target = Path(os.path.realpath(path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot write {path!r}: {error}") from None
    if not str(path) or target.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is not the name of a file")
    return target


def write(path: Path, content: bytes) -> None:
    """Replace a file by new content, wholly or not at all."""
    with replacing(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file to write into, beside the one that it replaces when all went well; else nothing changes."""
    folder = path.absolute().parent
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            os.chmod(temporary, path.stat().st_mode if path.exists() else 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _modules(learner: Any) -> list[str]:
    """Where a learner's parts are from, for whoever loads the file without the import."""
    found = {type(learner).__module__}
    parts = [
        part for value in vars(learner).values() for part in (value if isinstance(value, tuple) else (value,))
    ]
    for value in parts:
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
