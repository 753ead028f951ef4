"""What the command line does with a data folder: check it, copy it, and manage its tokens.

Functions that only read work while a server uses the folder. Those that write take its lock, and are refused
while it runs: one process writes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
import msgspec

from linmax.service.event_log.database import FILE, Database
from linmax.service.event_log.schema import INSERT_EVENT, TOKEN_CREATED, TOKEN_REVOKED, create_private
from linmax.service.fusions import replay
from linmax.service.messages.errors import FolderInUseError, ServiceError
from linmax.service.messages.requests import TokenRequest
from linmax.service.tokens import REVOKE, Token, TokenStore, new_token

ACTOR = "command line"


@contextmanager
def reading(folder: Path) -> Iterator[Database]:
    """Open a data folder to read it, also while a server uses it.

    Parameters
    ----------
    folder
        The data folder.
    """
    with closing(Database(folder, read_only=True)) as database:
        yield database


@contextmanager
def _writing(folder: Path) -> Iterator[Database]:
    if not (folder / FILE).exists():
        raise ValueError(f"{folder} is not the data folder of a server: it has no {FILE}")
    try:
        database = Database(folder)
    except FolderInUseError as error:
        raise ValueError(f"{error}, or use its HTTP interface: /v1/tokens") from None
    with closing(database):
        try:
            yield database
        except ServiceError as error:
            raise ValueError(error.message) from None


def verify(folder: Path, report: Callable[[str, int, int, str], None]) -> list[str]:
    """Derive every state from the log and compare it with the snapshots; return what is wrong.

    Parameters
    ----------
    folder
        The data folder.
    report
        As for `replay.verify`.
    """
    with reading(folder) as database:
        return replay.verify(database, report)


def backup(folder: Path, target: Path) -> int:
    """Copy the log to a new file, also while a server uses it; return its size in bytes.

    Parameters
    ----------
    folder
        The data folder.
    target
        The new file.
    """
    with reading(folder) as database:
        replay.backup(database, target)
    return target.stat().st_size


def restore(folder: Path, source: Path) -> None:
    """Make a data folder from a backup; one that has a log is left alone.

    Parameters
    ----------
    folder
        The data folder.
    source
        The file that `backup` wrote.
    """
    target = folder / FILE
    if target.exists():
        raise ValueError(f"{target} exists; restore into a new folder")
    for left in (folder / (FILE + ending) for ending in ("-wal", "-shm", "-journal")):
        if left.exists():
            raise ValueError(
                f"{left} is left of a log that was removed, and could damage the restored one; move it away,"
                " or restore into a new folder"
            )
    if not source.is_file():
        raise ValueError(f"there is no file {source}")
    new_folders = [one for one in (folder, *folder.parents) if not one.exists()]
    part = folder / (FILE + ".part")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.unlink(missing_ok=True)
        create_private(part)
        shutil.copyfile(source, part)
        _check_backup(part, source)
        replay.sync_file(part)
        part.rename(target)
        replay.sync_file(folder)
    except BaseException as error:
        for remove in (part.unlink, *(one.rmdir for one in new_folders)):
            with suppress(OSError):
                remove()
        if isinstance(error, OSError) and (error.filename is None or error.filename2 is not None):
            raise ValueError(
                f"{target} cannot be written: {error.strerror}; free some space, or restore into another"
                " folder"
            ) from None
        raise  # a file that cannot be opened is named


def _check_backup(part: Path, source: Path) -> None:
    try:
        with closing(apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
            found = list(connection.execute("PRAGMA integrity_check"))
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    except apsw.Error as error:
        raise ValueError(f"{source} is not a backup of a server: {error}") from None
    if found != [("ok",)] or not {"events", "fusions", "items"} <= tables:
        raise ValueError(f"{source} is damaged, or not a backup of a server")


def list_tokens(folder: Path) -> list[Token]:
    """Return the tokens of a server, also while it runs.

    Parameters
    ----------
    folder
        The data folder.
    """
    with reading(folder) as database:
        return TokenStore(database).list()


def create_token(folder: Path, name: str, scopes: list[str], fusions: str, days: float | None) -> str:
    """Create a token and return its text, which is not stored.

    Parameters
    ----------
    folder
        The data folder.
    name, scopes, fusions, days
        As in `TokenRequest`.
    """
    given = {"name": name, "scopes": scopes, "fusions": fusions, "days": days}
    try:
        wanted = msgspec.convert(given, TokenRequest)
    except msgspec.ValidationError as error:
        raise ValueError(
            f"a token has a name, and scopes among predict, label, learn, grow, read and admin ({error})"
        ) from None
    with _writing(folder) as database:
        TokenStore(database).check_name(name)
        text, statement = new_token(name, scopes, fusions, days)
        body = msgspec.json.encode(wanted)
        event = database.next_position(), 0, TOKEN_CREATED, None, None, database.now(), ACTOR, body
        database.write([(INSERT_EVENT, event), statement])
    return text


def revoke_token(folder: Path, number: int) -> None:
    """Revoke a token.

    Parameters
    ----------
    folder
        The data folder.
    number
        Its number in the list of tokens.
    """
    with _writing(folder) as database:
        if number not in {token.number for token in TokenStore(database).list()}:
            raise ValueError(f"there is no token {number}; linmax serve token lists them")
        body = msgspec.json.encode({"token": number})
        event = database.next_position(), 0, TOKEN_REVOKED, None, None, database.now(), ACTOR, body
        database.write([(INSERT_EVENT, event), (REVOKE, (database.now(), number))])
