"""The tables of the log, how those of earlier versions are brought up to date, and connections to it."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable
from contextlib import suppress
from operator import getitem
from pathlib import Path
from typing import Any

import apsw

import linmax
from linmax._files import lock_file
from linmax.service.event_log.chunks import ChunkReader
from linmax.service.messages.errors import FolderInUseError

VERSION = 4
# kinds of events
PREDICTED, LABELLED, LEARNED, RELABELLED, EXCLUDED, CREATED, DELETED, TOKEN_CREATED, TOKEN_REVOKED = range(
    1, 10
)
UPLOADED, CHANGED = 10, 11
# what the table of items says about the request that brought an item, beside checksums of versions 1 and 2
NO_ID = b""  # it had no id, and no other request is the same
AS_STORED = b"="  # its content is that of its event

FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE fusions (
    fusion INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, settings BLOB NOT NULL, created REAL NOT NULL,
    expired INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE events (
    position INTEGER PRIMARY KEY, fusion INTEGER NOT NULL, kind INTEGER NOT NULL, id TEXT, item INTEGER,
    time REAL NOT NULL, actor TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX events_of_fusion ON events (fusion, position);
CREATE UNIQUE INDEX labels_of_items ON events (item) WHERE kind = 2;
CREATE TABLE items (
    fusion INTEGER NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, content BLOB NOT NULL,
    learned INTEGER, PRIMARY KEY (fusion, id)
) WITHOUT ROWID;
CREATE INDEX waiting_items ON items (fusion, position) WHERE learned IS NULL;
CREATE TABLE amendments (
    position INTEGER PRIMARY KEY, fusion INTEGER NOT NULL, label BLOB, by INTEGER NOT NULL
);
CREATE TABLE snapshots (
    fusion INTEGER NOT NULL, position INTEGER NOT NULL, trials INTEGER NOT NULL, digest TEXT NOT NULL,
    model BLOB NOT NULL, code TEXT NOT NULL, PRIMARY KEY (fusion, position)
);
CREATE TABLE tokens (
    token INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, name TEXT NOT NULL, scopes TEXT NOT NULL,
    fusions TEXT NOT NULL, created REAL NOT NULL, ends REAL, revoked REAL
);
"""
# Amendments of one event stay side by side, so that a rollback finds those of a moment; the last one counts.
# Those that version 1 has replaced are in the log if they were labels.
SECOND = f"""
CREATE TABLE versions (version INTEGER PRIMARY KEY, time REAL NOT NULL, linmax TEXT NOT NULL);
ALTER TABLE fusions ADD COLUMN horizon INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fusions ADD COLUMN horizon_time REAL NOT NULL DEFAULT 0;
ALTER TABLE amendments RENAME TO amendments_1;
CREATE TABLE amendments (
    position INTEGER NOT NULL, by INTEGER NOT NULL, fusion INTEGER NOT NULL, label BLOB,
    PRIMARY KEY (position, by)
) WITHOUT ROWID;
CREATE INDEX amendments_of_fusion ON amendments (fusion, by);
INSERT INTO amendments SELECT position, by, fusion, label FROM amendments_1;
INSERT OR IGNORE INTO amendments
    SELECT item, position, fusion, CAST(CAST(body AS TEXT) -> '$.label' AS BLOB)
    FROM events WHERE kind = {RELABELLED} AND fusion IN (SELECT fusion FROM fusions);
DROP TABLE amendments_1;
CREATE TABLE histories (
    fusion INTEGER NOT NULL, position INTEGER NOT NULL, trials INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (fusion, position)
);
CREATE TABLE models (position INTEGER PRIMARY KEY, fusion INTEGER NOT NULL, model BLOB NOT NULL);
CREATE TABLE compacted_ids (
    fusion INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (fusion, hash)
) WITHOUT ROWID;
"""
# from here on items may be `AS_STORED`, which earlier versions take for a checksum
THIRD = """
CREATE TABLE offsets (
    fusion INTEGER NOT NULL, source TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (fusion, source)
) WITHOUT ROWID;
"""
# what the events of a batch say; from here on the body of an event may be empty, see `chunks.py`
FOURTH = """
CREATE TABLE chunks (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, fusion INTEGER NOT NULL, names BLOB NOT NULL,
    votes BLOB, labels BLOB, predictions BLOB NOT NULL, probabilities BLOB
);
CREATE INDEX chunks_of_fusion ON chunks (fusion, first);
"""
STEPS = {1: FIRST, 2: SECOND, 3: THIRD, 4: FOURTH}

INSERT_EVENT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_ITEM = "INSERT INTO items VALUES (?, ?, ?, ?, ?)"
SET_LEARNED = "UPDATE items SET learned = ? WHERE fusion = ? AND id = ?"
# how far the messages of a log outside have been read; written with the events that they became
FIND_OFFSET = "SELECT body FROM offsets WHERE fusion = ? AND source = ?"
SET_OFFSET = "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)"

AMENDMENT = """
LEFT JOIN amendments a ON a.position = {0}
AND a.by = (SELECT max(by) FROM amendments WHERE position = {0})
"""  # the amendment of an event that counts
# the event that has set the label which the event {0} had after position {1}, or had before it was excluded.
# From an amendment by a rollback, the steps go to the amendment that counted at the position that was rolled
# back to; logs of earlier versions do not have that position: there, they go to the last one with that label
SETTER = f"""
coalesce((
    WITH RECURSIVE steps(by) AS (
        SELECT max(by) FROM amendments WHERE position = {{0}} AND by <= {{1}}
        UNION ALL
        SELECT (
            SELECT max(former.by) FROM amendments former
            WHERE former.position = {{0}} AND former.by < steps.by AND CASE
                WHEN amending.goal >= {{0}} THEN former.by <= amending.goal
                WHEN amending.goal IS NULL AND present.label IS NOT NULL THEN former.label IS present.label
                ELSE TRUE
            END
        )
        FROM steps JOIN amendments present ON present.position = {{0}} AND present.by = steps.by
        JOIN (
            SELECT position, CAST(body AS TEXT) ->> '$.to' AS goal FROM events WHERE kind = {EXCLUDED}
        ) amending ON amending.position = steps.by
    )
    SELECT by FROM steps ORDER BY by NULLS FIRST LIMIT 1
), {{0}})
"""
NOW = 2**62  # no position is larger
LAST_LABEL = f"""
CASE WHEN EXISTS (SELECT 1 FROM amendments WHERE position = {{0}})
THEN (SELECT label FROM amendments WHERE position = {{0}} AND by = {SETTER.format("{0}", NOW)}) END
"""  # the label of an event, also if it is excluded now; null if it is that with which it came


def migrate(connection: apsw.Connection, read_only: bool, now: Callable[[], float] = time.time) -> None:
    """Create the tables, or bring those of an earlier version up to date, all of them or none.

    Parameters
    ----------
    connection
        The connection that writes.
    read_only
        Whether nothing may be written: then tables of another version are an error.
    now
        The clock.
    """
    (version,) = next(iter(connection.execute("PRAGMA user_version")))
    if version > VERSION:
        raise ValueError(f"it has version {version} and this linmax reads up to {VERSION}; update linmax")
    if version == VERSION:
        return
    if read_only:
        raise ValueError(
            f"it is empty, or has a version before {VERSION}; start a server on it once, which updates it"
        )
    with connection:
        for number in range(version + 1, VERSION + 1):
            connection.execute(STEPS[number])
            if number == 1:
                connection.execute("INSERT INTO meta VALUES ('created', ?)", (now(),))
        connection.execute("INSERT INTO versions VALUES (?, ?, ?)", (VERSION, now(), linmax.__version__))
        connection.execute(f"PRAGMA user_version = {VERSION}")


def id_hash(id_: Any) -> bytes:
    """Return what stays of an id before the horizon of the log.

    >>> id_hash("mail 1").hex()
    '5eecfabcde74784b277a015eac17aa33'
    """
    return hashlib.blake2b(id_.encode(), digest_size=16).digest()


LOCK = "linmax.lock"
BUSY = 5000  # milliseconds for which a connection waits for another process that writes
LARGEST_WAL = 64 << 20  # bytes that the file beside the database keeps after a checkpoint


class LogConnection(apsw.Connection):
    """A connection to a log.

    Attributes
    ----------
    chunks : ChunkReader
        Reads the chunks of the log.
    """

    chunks: ChunkReader


def connect(path: Path, *, reads: bool = False) -> LogConnection:
    """Return a connection to a log.

    Parameters
    ----------
    path
        The file.
    reads
        Whether it only reads; else the file is created if it does not exist.
    """
    if not reads:
        create_private(path)
    flags = apsw.SQLITE_OPEN_READONLY if reads else apsw.SQLITE_OPEN_READWRITE
    connection = LogConnection(str(path), flags=flags)
    connection.set_busy_timeout(BUSY)
    connection.chunks = ChunkReader(connection)
    if not reads:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_WAL}")
        connection.create_scalar_function("id_hash", id_hash, 1, deterministic=True)  # type: ignore[arg-type]
        connection.create_scalar_function("row_of", getitem, 2)  # type: ignore[arg-type]
        # what was rolled back is not in the log, and its positions are used again
        connection.set_rollback_hook(connection.chunks.forget)
    return connection


def create_private(path: Path) -> None:
    """Create a file for this user alone if it does not exist: a log has all votes, and hashes of tokens."""
    # a file that exists is not opened: to close it would end the locks of other connections to it
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode=0o600))


def lock_folder(folder: Path) -> Any:
    """Lock a data folder for this process; the lock ends with the process."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = (folder / LOCK).open("a+")
    if not lock_file(file):
        file.seek(0)
        owner = file.read().strip()
        file.close()
        process, hint = (f" (process {owner})", f" (kill {owner})") if owner else ("", "")
        raise FolderInUseError(f"{folder} is in use by another server{process}; stop that one first{hint}")
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
