"""Connections to the file of the log, with the functions of its statements, and the lock of its folder."""

from __future__ import annotations

import os
from contextlib import suppress
from operator import getitem
from pathlib import Path
from typing import Any

import apsw

from linmax._files import lock_file
from linmax.service.chunks import ChunkReader
from linmax.service.problems import FolderInUseError
from linmax.service.schema import id_hash

LOCK = "linmax.lock"
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
    connection.set_busy_timeout(5000)
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
