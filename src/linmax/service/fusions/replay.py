"""States from the log: a snapshot and the events after it give the state that the server had, bit for bit."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import msgspec

import linmax
from linmax.fusion import Fusion
from linmax.fusion.model_file import fingerprint, from_bytes, to_bytes
from linmax.inputs import DEFAULT, Batch
from linmax.service.event_log.database import Database
from linmax.service.event_log.schema import (
    AMENDMENT,
    CREATED,
    EXCLUDED,
    LABELLED,
    LEARNED,
    RELABELLED,
    UPLOADED,
)
from linmax.service.event_log.trials import CodedTrials, LearnedTrial, read_trials
from linmax.service.event_log.vote_codes import Codes, KnownNames, can_read_codes
from linmax.service.event_log.writes import Statement
from linmax.service.messages.class_keys import typed_votes
from linmax.service.messages.requests import FusionSettings

LATEST = f"""
SELECT position FROM events WHERE fusion = ? AND position <= ?
AND kind IN ({CREATED}, {LABELLED}, {LEARNED}, {RELABELLED}, {EXCLUDED}, {UPLOADED})
ORDER BY position DESC LIMIT 1
"""
LAST_UPLOAD = f"""
SELECT m.position, m.model FROM models m
{AMENDMENT.format("m.position")}
WHERE m.fusion = ? AND m.position > ? AND m.position <= ? AND (a.position IS NULL OR a.label IS NOT NULL)
ORDER BY m.position DESC LIMIT 1
"""  # models are few, events many
THIN = """
DELETE FROM snapshots WHERE fusion = ? AND trials / ? = ? AND code = ?
AND position > (SELECT horizon FROM fusions WHERE fusions.fusion = snapshots.fusion)
"""
WITHOUT_CONTENT = """
SELECT e.position FROM events e WHERE length(e.body) = 0 AND e.position >
coalesce((SELECT last FROM chunks WHERE first <= e.position ORDER BY first DESC LIMIT 1), 0) LIMIT 10
"""  # events whose chunk is not there
INSERT_SNAPSHOT = "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?)"
CHUNK = 1000  # events that are learned at once


class FusionState(NamedTuple):
    """The state of a fusion after an event.

    Attributes
    ----------
    fusion : Fusion
        The session.
    position : int
        The position up to which the log was looked at.
    version : int
        The position of the last event that has changed the model.
    snapshot : int
        The position of the snapshot that it started from; 0 if it started from nothing.
    learned : int
        The number of events that were learned after that.
    left_out : tuple of str
        A sentence for every event that could not be learned any more, since others before it were amended.
    """

    fusion: Fusion
    position: int
    version: int
    snapshot: int
    learned: int
    left_out: tuple[str, ...] = ()


def new_fusion(settings: FusionSettings) -> Fusion:
    """Return the session that a fusion starts with; a ValueError says what is wrong with the settings."""
    abstain = DEFAULT if settings.abstain is msgspec.UNSET else settings.abstain
    return Fusion(
        settings.learner, classes=settings.classes, on_new_class=settings.on_new_class, abstain=abstain
    )


def restore(
    database: Database,
    number: int,
    settings: FusionSettings,
    until: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> FusionState:
    """Return the state of a fusion at a position, from the last snapshot before it.

    Parameters
    ----------
    database
        The database.
    number
        The number of the fusion.
    settings
        What it was created with.
    until
        The position of the last event that counts.
    keep_going
        Called now and then; False ends the work with an InterruptedError.
    """
    with database.consistent():
        found = database.rows(
            "SELECT position, model FROM snapshots WHERE fusion = ? AND position <= ?"
            " ORDER BY position DESC LIMIT 1",
            number, until,
        )  # fmt: skip
        if found:
            at, model = found[0]
            state = FusionState(from_bytes(model, f"the snapshot at position {at}"), at, at, at, 0)
        else:
            state = FusionState(new_fusion(settings), 0, 0, 0, 0)
        return advance(database, number, state, until, keep_going)


def advance(
    database: Database,
    number: int,
    state: FusionState,
    until: int,
    keep_going: Callable[[], bool] = lambda: True,
) -> FusionState:
    """Learn the events between the position of a state and another one, or those after the last upload.

    An event that cannot be learned is left out: amendments of others may have changed the kind of classes.
    """
    with database.consistent():
        return _advance(database, number, state, until, keep_going)


def _advance(
    database: Database, number: int, state: FusionState, until: int, keep_going: Callable[[], bool]
) -> FusionState:
    uploaded = database.rows(LAST_UPLOAD, number, state.position, until)
    if uploaded:
        at, model = uploaded[0]
        fusion = from_bytes(model, f"the model that was uploaded at position {at}")
        state = FusionState(fusion, at, at, state.snapshot, state.learned + 1)
    fusion, learned, left_out = state.fusion, state.learned, list(state.left_out)
    for trials in read_trials(database, number, state.position, until, CHUNK, CHUNK):
        count = len(trials)
        if isinstance(trials, CodedTrials):
            if _learn_coded(fusion, trials):
                learned += count
                trials = []
            else:
                trials = trials.by_item(database, number)
        if trials:
            faults = [] if _learn_together(fusion, trials) else _learn_each(fusion, trials)
            left_out += faults
            learned += count - len(faults)
        if not keep_going():
            raise InterruptedError("the server stops")
    latest = database.rows(LATEST, number, until)
    version = max(latest[0][0] if latest else 0, state.version)  # before the horizon, events are missing
    return FusionState(fusion, max(until, state.position), version, state.snapshot, learned, tuple(left_out))


def _learn_coded(fusion: Fusion, trials: CodedTrials) -> bool:
    """Learn trials with votes as codes at once; False if that is not possible."""
    if not can_read_codes(fusion):
        return False
    names = fusion.names
    codes = trials.encode(names.experts.codes, names.classes.codes)
    return codes is not None and _learn_codes(fusion, *codes)


def _learn_codes(fusion: Fusion, votes: Codes, labels: Codes) -> bool:
    try:
        fusion.learn_batch(Batch.of_codes(fusion.names, votes, labels))
    except ValueError:  # nothing was learned
        return False
    return True


def _learn_together(fusion: Fusion, trials: list[LearnedTrial]) -> bool:
    """Learn trials at once, which gives the same state; False if that is not possible."""
    if not can_read_codes(fusion) or any(one.votes is None or one.attributes is not None for one in trials):
        return False
    names = KnownNames(fusion)
    votes = names.encode_votes([one.votes or {} for one in trials])
    labels = names.encode_labels([one.label for one in trials])
    return votes is not None and labels is not None and _learn_codes(fusion, votes, labels)


def _learn_each(fusion: Fusion, trials: list[LearnedTrial]) -> list[str]:
    """Learn trials one by one; return a sentence for each that cannot be learned."""
    left_out = []
    for trial in trials:
        try:
            votes = typed_votes(fusion, trial.votes, trial.label)
            fusion.learn_one(votes, trial.label, attributes=trial.attributes)
        except ValueError as error:
            left_out.append(f"the event at position {trial.position} cannot be learned any more: {error}")
    return left_out


@functools.cache
def code_of_linmax() -> str:
    """Return a checksum of the source of linmax: another one may give states that differ in the last bits."""
    home = Path(linmax.__file__).parent
    total = hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        total.update(path.relative_to(home).as_posix().encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def snapshot(fusion: Fusion, number: int, position: int, every: int) -> list[Statement]:
    """Return the statements that store the state of a fusion after the event at a position.

    Of the snapshots of each `every` trials only the last one of this version of linmax stays.
    """
    row = snapshot_row(fusion, number, position)
    return [(THIN, (number, every, fusion.trials // every, code_of_linmax())), (INSERT_SNAPSHOT, row)]


def snapshot_row(fusion: Fusion, number: int, position: int) -> tuple[Any, ...]:
    """Return the row of a snapshot."""
    return number, position, fusion.trials, fingerprint(fusion), to_bytes(fusion), code_of_linmax()


@functools.lru_cache(1000)
def warm_up(learner: str | None) -> None:
    """Compile what a learner needs before its first item comes; learners of attributes are left out."""
    fusion = Fusion(learner)
    with contextlib.suppress(ValueError):
        for label in ("a", "b"):
            fusion.predict_proba_one({"ann": "a"})
            fusion.learn_one({"ann": "a"}, label)


def verify(database: Database, report: Callable[[str, int, int, str], None] = lambda *_: None) -> list[str]:
    """Derive every state anew from the first event on, and compare it with every snapshot.

    A snapshot of another version of linmax is where the states of this one start: it cannot be derived, and
    neither can the one at the horizon of a log that was compacted.

    Parameters
    ----------
    database
        The database.
    report
        Called with the name of each fusion, the number of its events that were learned, the number of its
        snapshots, and the digest of its state.

    Returns
    -------
    list of str
        A sentence for everything that is wrong; empty if all is well.
    """
    try:
        with database.consistent():
            return _damages(database) or _differences(database, report)
    except apsw.Error as error:
        return [f"the database is damaged: {error}"]


def _damages(database: Database) -> list[str]:
    """Return what SQLite finds, and items whose events are missing."""
    found = [
        f"the database is damaged: {row}" for (row,) in database.rows("PRAGMA integrity_check") if row != "ok"
    ]
    if not found:
        orphans = database.rows(
            "SELECT i.id, f.name FROM items i JOIN fusions f USING (fusion)"
            " LEFT JOIN events v ON v.position = i.position AND v.fusion = i.fusion AND v.id = i.id"
            " LEFT JOIN events l ON l.position = i.learned AND l.fusion = i.fusion AND l.id = i.id"
            " WHERE v.position IS NULL OR (i.learned > 0 AND l.position IS NULL) LIMIT 10"
        )
        found = [f"the item {id_!r} of {name} has no event in the log" for id_, name in orphans]
        found += [
            f"the content of the event at position {position} is missing"
            for (position,) in database.rows(WITHOUT_CONTENT)
        ]
    return found


def _differences(database: Database, report: Callable[[str, int, int, str], None]) -> list[str]:
    problems: list[str] = []
    until = database.last_position()
    for number, name, settings, horizon in database.rows(
        "SELECT fusion, name, settings, horizon FROM fusions ORDER BY fusion"
    ):
        try:
            state = FusionState(new_fusion(msgspec.json.decode(settings, type=FusionSettings)), 0, 0, 0, 0)
            snapshots = database.rows(
                "SELECT position, digest, model, code FROM snapshots WHERE fusion = ? AND position <= ?"
                " ORDER BY position",
                number, until,
            )  # fmt: skip
            for position, expected, model, code in snapshots:
                found = from_bytes(model, f"the snapshot at position {position}")
                if code != code_of_linmax():
                    state = FusionState(found, position, position, position, state.learned)
                    continue
                stored = fingerprint(found)
                if position <= horizon:
                    state = FusionState(found, position, position, position, state.learned)
                else:
                    state = advance(database, number, state, position)
                if not fingerprint(state.fusion) == expected == stored:
                    problems.append(
                        f"the snapshot of {name} at position {position} is not what the log gives"
                    )
            state = advance(database, number, state, until)
            problems += [f"{name}: {sentence}" for sentence in state.left_out]
            report(name, state.learned, len(snapshots), fingerprint(state.fusion))
        except (ValueError, msgspec.MsgspecError) as error:
            problems.append(f"{name} cannot be replayed: {error}")
    return problems


def backup(database: Database, target: Path) -> float:
    """Copy the database to a new file while it is in use; return the seconds it took.

    The copy is made by a connection that only reads, and has a name of its own until it is on disk.
    """
    if target.exists():
        raise ValueError(f"{target} exists; choose another name for the backup")
    start = time.perf_counter()
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    try:
        os.close(os.open(part, os.O_CREAT | os.O_EXCL, mode=0o600))  # it has all votes, and hashes of tokens
        database.rows("VACUUM INTO ?", str(part))
        sync_file(part)
        part.rename(target)
        sync_file(target.parent)
    except apsw.Error as error:
        raise ValueError(f"{target} cannot be written: {error}") from None
    finally:
        part.unlink(missing_ok=True)
    return time.perf_counter() - start


def sync_file(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
