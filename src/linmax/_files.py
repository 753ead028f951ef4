"""Atomic file writes: a file is replaced as a whole, or not changed at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed
    fcntl = None  # type: ignore[assignment]

ABANDONED_AFTER = 3600.0
"""Seconds without a write after which the temporary file of a process that was killed is removed."""


def write_atomic(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically.

    Parameters
    ----------
    path : Path
        The file to create or replace.
    content : bytes
        The new content.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.txt"
    ...     write_atomic(path, b"done")
    ...     print(path.read_text(), [file.name for file in path.parent.iterdir()])
    done ['report.txt']
    """
    with open_atomic(path) as file:
        file.write(content)


@contextlib.contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the `with` block succeeds.

    The temporary file is in the same folder as `path`, so that the replacement is one rename. It is
    flushed to disk before the rename. The replaced file's permissions are copied; a new file gets the usual
    ones. If the block raises, the temporary file is removed and `path` stays as it was. A process that is
    killed leaves its temporary file behind; the next write to `path`, an hour later or more, removes it.

    Parameters
    ----------
    path : Path
        The file to create or replace. Symbolic links are replaced, not followed: pass the result of
        `resolve_output` to follow them.

    Yields
    ------
    BinaryIO
        The temporary file, open for writing.

    Raises
    ------
    ValueError
        If no file can be created in the folder.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     with open_atomic(path) as file:
    ...         _ = file.write(b"ann,bob")
    ...         before = path.exists()
    ...     print(before, path.exists())
    False True
    """
    # its name is known before it exists, so that an interrupt at any point removes it
    temporary = path.absolute().parent / f".{path.name}.{secrets.token_hex(8)}.part"
    try:
        with _create(temporary, path) as file:
            lock_file(file)
            _remove_abandoned(path)
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


def _create(temporary: Path, path: Path) -> BinaryIO:
    try:
        return open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))
    except OSError as error:
        raise ValueError(f"cannot write {path}: {error.strerror}") from None


def lock_file(file: Any) -> bool:
    """Lock a file until it is closed; return False if another process has locked it.

    Parameters
    ----------
    file : binary file
        The open file.
    """
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def unlock_file(file: Any) -> None:
    """Unlock a file that `lock_file` locked, also where a child process has a copy of it.

    A process that is being started has the open files of its parent for a moment: closing the file here
    would leave it locked until then.

    Parameters
    ----------
    file : binary file
        The open file.
    """
    if fcntl is not None:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_UN)


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files for `path` that are old and that no process is writing."""
    name = re.compile(re.escape(f".{path.name}.") + r"[a-z0-9_]{8,16}\.part")
    with contextlib.suppress(OSError), os.scandir(path.absolute().parent) as entries:
        for entry in entries:
            if name.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError), open(entry.path, "rb") as file:
                    old = time.time() - entry.stat().st_mtime > ABANDONED_AFTER
                    if old and lock_file(file):
                        os.unlink(entry.path)


def resolve_output(path: Any) -> Path:
    """Return the file that a user's path refers to, following symbolic links.

    Parameters
    ----------
    path : str or path-like
        The path as the user gave it.

    Returns
    -------
    Path
        The absolute path of the file to write.

    Raises
    ------
    ValueError
        If `path` is not the name of a file: empty, a folder, or no path at all.

    Examples
    --------
    >>> resolve_output("/")
    Traceback (most recent call last):
    ValueError: cannot write '/': it is not the name of a file
    """
    try:
        target = Path(os.path.realpath(path))
    except (TypeError, ValueError) as error:
        raise ValueError(f"cannot write {path!r}: {error}") from None
    if not str(path) or target.is_dir():
        raise ValueError(f"cannot write {str(path)!r}: it is not the name of a file")
    return target


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
