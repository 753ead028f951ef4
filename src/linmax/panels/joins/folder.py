"""Folders: all tables in one are read as several files, one per expert, perhaps with one of labels."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from linmax.panels.table import RawTable
from linmax.streams.files.detect_format import COMPRESSED_SUFFIXES, SUFFIXES
from linmax.streams.schema import StreamError, short_list

MAX_FILES = 200
"""With more files in a folder, they are hardly one per expert."""


def list_tables(paths: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Replace folders by the tables in them.

    Parameters
    ----------
    paths : sequence of str, path-like or binary file
        Files and folders. A folder may have its tables in folders of their own, one level down.

    Returns
    -------
    files : list
        The files, those of a folder sorted by name.
    notes : list of str
        One sentence for each folder.

    Raises
    ------
    StreamError
        If a folder has no table, tables of several formats, or too many.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("gpt4.csv", "claude.csv", "README.md"):
    ...     _ = (folder / name).write_text("id,answer")
    >>> files, notes = list_tables([folder])
    >>> [file.name for file in files]
    ['claude.csv', 'gpt4.csv']
    """
    files: list[Any] = []
    notes: list[str] = []
    for path in paths:
        if not isinstance(path, str | os.PathLike) or not os.path.isdir(path):
            files.append(path)
            continue
        found = _tables_in(Path(path))
        files += found
        shown = short_list([one.relative_to(path).as_posix() for one in found], 6)
        notes.append(
            f"{os.fspath(path)} is a folder: its {len(found)} tables ({shown}) are read, one per expert or"
            " one of labels"
            if len(found) > 1
            else f"{os.fspath(path)} is a folder: its only table, {shown}, is read"
        )
    return files, notes


def check_alike(tables: Sequence[RawTable], folders: Sequence[str]) -> None:
    """Refuse tables of a folder that are not one per expert: at most one may have other columns.

    Parameters
    ----------
    tables : sequence of RawTable
        The tables.
    folders : sequence of str
        The notes on folders; without them nothing is checked.

    Raises
    ------
    StreamError
        If several tables have columns of their own.
    """
    if not folders or len(tables) < 3:
        return
    columns = Counter(frozenset(table.data.column_names) for table in tables)
    common, count = columns.most_common(1)[0]
    if len(tables) - count > 1:
        odd = next(t for t in tables if frozenset(t.data.column_names) != common)
        raise StreamError(
            f"the tables of the folder have different columns ({odd.file} has"
            f" {short_list(odd.data.column_names, 4)}, {tables[0].file} has"
            f" {short_list(tables[0].data.column_names, 4)}), so they are not one per expert; name the files"
            " to read"
        )


def _tables_in(folder: Path) -> list[Path]:
    entries = sorted(one for one in folder.iterdir() if not one.name.startswith((".", "~")))
    found = [one for one in entries if _format(one)]
    if not found:
        inner = [one for one in entries if one.is_dir()]
        found = sorted(file for one in inner for file in one.iterdir() if _format(file))
    names = short_list([one.name for one in entries], 5) or "no files"
    if not found:
        raise StreamError(f"{str(folder)!r} is a folder without tables (it has {names}); name a file")
    formats = {_format(one) for one in found}
    if len(formats) > 1 or len(found) > MAX_FILES:
        what = (
            f"files of several formats ({', '.join(sorted(formats))})" if len(formats) > 1 else "many files"
        )
        raise StreamError(
            f"{str(folder)!r} is a folder with {what}, {names}; name those to read, such as"
            f" {folder / ('*' + found[0].suffix)}"
        )
    return found


def _format(path: Path) -> str:
    name = path.name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return SUFFIXES.get(name.rpartition(".")[2], "") if "." in name and path.is_file() else ""
