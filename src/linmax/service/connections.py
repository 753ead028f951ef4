"""Connections to the file of the log, with the functions that its statements use."""

from __future__ import annotations

from operator import getitem
from pathlib import Path

import apsw

from linmax.service.chunks import ChunkReader
from linmax.service.schema import id_hash

LARGEST_WAL = 64 << 20  # bytes that the file beside the database keeps after a checkpoint


def connect(path: Path, *, reads: bool = False) -> apsw.Connection:
    """Return a connection to a log.

    Parameters
    ----------
    path
        The file.
    reads
        Whether it only reads; else the file is created if it does not exist.
    """
    flags = apsw.SQLITE_OPEN_READONLY if reads else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    connection = apsw.Connection(str(path), flags=flags)
    connection.set_busy_timeout(5000)
    chunks = ChunkReader(connection)
    if not reads:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {LARGEST_WAL}")
        connection.create_scalar_function("id_hash", id_hash, 1, deterministic=True)  # type: ignore[arg-type]
        connection.create_scalar_function("row_of", getitem, 2)  # type: ignore[arg-type]
        # what was rolled back is not in the log, and its positions are used again
        connection.set_rollback_hook(chunks.forget)
    return connection
