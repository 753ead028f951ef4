"""A session from its file. Nothing in the file is ever run, and nothing is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from linmax import ballots
from linmax.fusion.saving import FORMAT, VERSION, digest
from linmax.fusion.session import Fusion
from linmax.fusion.sound import check_state
from linmax.terms import UnknownNameError, parse

LARGEST = 8 << 30  # bytes of a file that is opened
LONGEST_HEADER = 100 << 20  # bytes of names and facts


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
    try:
        file = Path(path)
    except TypeError:
        raise ValueError(f"load needs the name of a file (got {path!r})") from None
    facts, state = _read(file)
    try:
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise ValueError("it is not a linmax file")
        if type(facts.get("version")) is not int or facts["version"] != VERSION:
            raise ValueError(f"it has version {facts.get('version')!r} and this linmax reads {VERSION}")
        return _rebuild(facts, state)
    except KeyError as error:
        raise ValueError(f"{path} cannot be loaded: {error.args[0]!r} is missing") from None
    except (TypeError, AttributeError, IndexError, OverflowError):
        raise ValueError(f"{path} cannot be loaded: its facts are not those of a linmax file") from None
    except ValueError as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from None


def is_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like one that `fusion.save` wrote."""
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
        raise ValueError(f"{error} It was written with {', '.join(modules) or 'a newer linmax'}.") from None
    abstain = facts["abstain"]
    fusion = Fusion(
        learner,
        classes=facts["classes"],
        experts=map(_tuples, facts["experts"]),
        on_new_class=facts["on_new_class"],
        abstain=ballots.DEFAULT if abstain is None else abstain[0],
        seed=facts["seed"],
    )
    fusion.names.attributes.extend(map(_tuples, facts["attributes"]))
    fusion.names.values.extend(map(_tuples, facts["values"]))
    check_state(fusion._council, state)
    if digest(state, facts) != facts["digest"]:
        raise ValueError("its numbers or names are not those that were saved")
    fusion._council.restore(state)
    tickets = facts["tickets"]
    fusion.notes = dict(facts["notes"])
    fusion.ignored = _count(facts["ignored"])
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
