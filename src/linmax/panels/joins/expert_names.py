"""Names of experts from the names of their files, where there is one file per expert."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import PurePath

from linmax.streams.files.detect_format import COMPRESSED_SUFFIXES, SUFFIXES

PREFIX = re.compile(r"(samples?|predictions?|preds?|outputs?|answers)[_\-.]+", re.I)
TIME = re.compile(r"[_\-.]?\d{4}-\d\d-\d\d(T[\d\-:.]+)?")
BORDER = re.compile(r"(?<=[_\-. #])|(?=[_\-. #])")


def expert_names(files: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the name of the expert in each file: the part of the path in which the files differ.

    Parameters
    ----------
    files : sequence of str or path-like
        The files. The folders count if the names of the files are equal but for a time.

    Returns
    -------
    list of str
        Distinct names.

    Examples
    --------
    >>> expert_names(["samples_gpt4.jsonl.gz", "samples_claude.jsonl.gz"])
    ['gpt4', 'claude']
    >>> expert_names(["gpt4/samples_arc_2024-06-28T00-00-00.jsonl", "claude/samples_arc_2024-06-29.jsonl"])
    ['gpt4', 'claude']
    >>> expert_names(["samples_gpt4.jsonl"])
    ['gpt4']
    """
    paths = [PurePath(os.fspath(file)) for file in files]
    stems = [TIME.sub("", stem(path.name)) for path in paths]
    if len(files) == 1:
        return [PREFIX.sub("", stems[0], count=1) or stems[0]]
    if len(set(stems)) == len(stems):
        return _strip_common(stems)
    for depth in range(1, max(len(path.parts) for path in paths)):
        folders = ["/".join(path.parts[-1 - depth : -1]) for path in paths]
        if len(set(folders)) == len(folders):
            return _strip_common([folder.replace("/", "_") for folder in folders])
    stems = [stem(path.name) for path in paths]
    if len(set(stems)) == len(stems):
        return _strip_common(stems)
    return [f"{name} {i + 1}" for i, name in enumerate(stems)]


def file_expert(name: str) -> str | None:
    """Return the expert that the name of one file tells, None if it does not begin like samples_NAME.

    Examples
    --------
    >>> file_expert("samples_gpt4.jsonl.gz"), file_expert("lab.csv")
    ('gpt4', None)
    """
    base = TIME.sub("", stem(name))
    match = PREFIX.match(base)
    return base[match.end() :] or None if match else None


def stem(name: str) -> str:
    """Return the name of a file without suffixes of formats and compressions.

    Examples
    --------
    >>> stem("llama-3.1.jsonl.gz")
    'llama-3.1'
    """
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    base, dot, suffix = name.rpartition(".")
    return base if dot and base and suffix.lower() in {*SUFFIXES, "txt", "dat"} else name


def _strip_common(names: list[str]) -> list[str]:
    """Remove the words that all names begin with and those that all end with."""
    words = [BORDER.split(name) for name in names]
    shortest = min(map(len, words))
    start = end = 0
    while start < shortest and len({parts[start] for parts in words}) == 1:
        start += 1
    while end < shortest - start and len({parts[-1 - end] for parts in words}) == 1:
        end += 1
    stripped = ["".join(parts[start : len(parts) - end]).strip("_-. #") for parts in words]
    return stripped if all(stripped) and len(set(stripped)) == len(names) else names
