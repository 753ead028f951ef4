"""Atomic writes: a file is replaced as a whole, or not changed at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from linmax import _files
from linmax._files import ABANDONED_AFTER, lock_file, open_atomic, resolve_output, unlock_file, write_atomic


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path) -> None:
    mask = os.umask(0o027)
    try:
        write_atomic(tmp_path / "new", b"content")
        assert os.umask(0o027) == 0o027  # reading the umask has not changed it
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    assert (tmp_path / "new").read_bytes() == b"content"


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"before")
    path.chmod(0o604)
    write_atomic(path, b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_changes_nothing_and_leaves_no_temporary_file(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "old"
    path.write_bytes(b"before")

    def fail() -> None:
        with open_atomic(path) as file:
            file.write(b"half of the new content")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "old"
    path.write_bytes(b"before")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomic(path, b"after")
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_the_content_is_on_disk_before_the_file_is_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (calls.append("fsync"), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda old, new: (calls.append("replace"), replace(old, new)))
    write_atomic(tmp_path / "new", b"content")
    assert calls == ["fsync", "replace"]


def test_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot write .*nowhere/new: No such file or directory"):
        write_atomic(tmp_path / "nowhere" / "new", b"content")


def test_an_output_path_follows_links_and_refuses_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    assert resolve_output(tmp_path / "link") == (tmp_path / "target").resolve()
    for bad in ("", tmp_path, 3.5, "a\0b"):
        with pytest.raises(ValueError, match="cannot write"):
            resolve_output(bad)


def interrupted_at(number: int, path: Path) -> bool:
    """Write a file, with an interrupt at the given line of `open_atomic`; return whether there was one."""
    left = number

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if frame.f_code.co_filename != _files.__file__ or frame.f_code.co_name != "open_atomic":
            return None if event == "call" else trace
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        write_atomic(path, b"after")
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # between open and with
def test_an_interrupt_at_any_line_leaves_no_temporary_file(tmp_path: Path) -> None:
    path = tmp_path / "old"
    number = 1
    while True:
        path.write_bytes(b"before")
        interrupted = interrupted_at(number, path)
        assert list(tmp_path.iterdir()) == [path], number
        assert path.read_bytes() in (b"before", b"after")
        if not interrupted:
            break
        number += 1
    assert number > 8
    assert path.read_bytes() == b"after"


KILLED = """
import os, signal, sys, time
from pathlib import Path
from linmax._files import open_atomic
with open_atomic(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


def age(path: Path, seconds: float) -> None:
    os.utime(path, (time.time() - seconds,) * 2)


def test_what_a_killed_process_left_is_removed_by_a_later_write_of_the_same_file(tmp_path: Path) -> None:
    path, other = tmp_path / "model[1].linmax", tmp_path / ".model.linmax.abcdefgh.part"
    other.write_bytes(b"of another file")
    age(other, 2 * ABANDONED_AFTER)
    process = subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    (left,) = set(tmp_path.iterdir()) - {other}
    age(left, 2 * ABANDONED_AFTER)
    write_atomic(path, b"new")
    assert left.exists() or sys.platform == "win32"  # it is old, but its process is alive
    process.kill()
    process.wait()
    process.stdout.close()
    age(left, ABANDONED_AFTER / 2)
    write_atomic(path, b"new")
    assert left.exists()  # its process might be about to lock it
    age(left, 2 * ABANDONED_AFTER)
    write_atomic(path, b"newer")
    assert set(tmp_path.iterdir()) == {path, other}
    assert path.read_bytes() == b"newer"


def test_an_unlocked_file_is_free_although_a_child_process_has_a_copy_of_it(tmp_path: Path) -> None:
    with open(tmp_path / "lock", "ab") as file, open(tmp_path / "lock", "ab") as other:
        assert lock_file(file)
        copy = os.dup(file.fileno())  # as a child process has it, until it begins its own program
        assert not lock_file(other)
        unlock_file(file)
        assert lock_file(other)
        os.close(copy)
