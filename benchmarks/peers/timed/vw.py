"""Timed runs of Vowpal Wabbit: a whole file, its binary cache, or row by row from Python.

It guesses each example before it learns it, by itself; its sum of losses is the number of mistakes. Features
are numbers, which it reads faster than names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers.settings import VW
from benchmarks.peers.timed.rows import Rows
from benchmarks.peers.timed.stopwatch import Stopwatch

Run = Callable[[Stopwatch], int]


def by_file(setting: str, rows: Rows) -> Run:
    """Return a run that reads a text file."""
    folder = TemporaryDirectory()
    file = _written(Path(folder.name), setting, rows)
    return lambda stopwatch: _driven(stopwatch, f"{_options(setting, rows)} --no_stdin -d {file}", folder)


def by_cache(setting: str, rows: Rows) -> Run:
    """Return a run that reads the binary cache of an earlier run."""
    folder = TemporaryDirectory()
    file = _written(Path(folder.name), setting, rows)
    options = f"{_options(setting, rows)} --no_stdin -d {file} --cache_file {file}.cache"
    _driven(Stopwatch(), options, folder)
    file.write_text("")  # so that only the cache is read
    return lambda stopwatch: _driven(stopwatch, options, folder)


def by_text(setting: str, rows: Rows) -> Run:
    """Return a run that learns one text at a time from Python."""
    texts = list(_texts(setting, rows))

    def run(stopwatch: Stopwatch) -> int:
        with stopwatch:
            workspace = _workspace(_options(setting, rows))
            for text in texts:
                workspace.learn(text)
            return _ended(workspace)

    return run


def by_example(setting: str, rows: Rows) -> Run:
    """Return a run that learns examples from Python; parsing them is not timed."""
    texts = list(_texts(setting, rows))

    def run(stopwatch: Stopwatch) -> int:
        workspace = _workspace(_options(setting, rows))
        examples = [workspace.parse(text) for text in texts]
        with stopwatch:
            for example in examples:
                workspace.learn(example)
        for example in examples:
            workspace.finish_example(example)
        return _ended(workspace)

    return run


METHODS: dict[str, tuple[Callable[[str, Rows], Run], str]] = {
    f"{name}, {way}": (make, setting)
    for name, setting in VW.items()
    for way, make in (("file", by_file), ("cache", by_cache), ("Python", by_text), ("parsed", by_example))
}


def _options(setting: str, rows: Rows) -> str:
    return f"{setting.format(k=rows.k)} --quiet"


def _workspace(options: str) -> Any:
    from vowpalwabbit import Workspace  # type: ignore[import-not-found]  # only the peers' environment has it

    return Workspace(options)


def _driven(stopwatch: Stopwatch, options: str, _: TemporaryDirectory[str]) -> int:
    with stopwatch:
        return _ended(_workspace(options))


def _ended(workspace: Any) -> int:
    mistakes = round(workspace.get_sum_loss())
    workspace.finish()
    return mistakes


def _written(folder: Path, setting: str, rows: Rows) -> Path:
    ends = "\n\n" if "_ldf" in setting else "\n"
    file = folder / "examples"
    with file.open("w") as text:
        text.writelines(one + ends for one in _texts(setting, rows))
    return file


def _texts(setting: str, rows: Rows) -> Iterator[str]:
    if "_ldf" in setting:
        assert rows.votes is not None
        for row, y in zip(rows.votes.tolist(), rows.labels.tolist(), strict=True):
            yield lines_by_class(row, y, rows.k)
        return
    matrix = rows.matrix()
    for at, y in enumerate(rows.labels.tolist()):
        yield f"{y + 1} |" + _features(matrix, at)


def _features(matrix: Any, at: int) -> str:
    if isinstance(matrix, np.ndarray):
        (index,) = matrix[at].nonzero()
        value = matrix[at, index]
    else:
        part = slice(*matrix.indptr[at : at + 2])
        index, value = matrix.indices[part], matrix.data[part]
    if (value == 1).all():
        return "".join(f" {i}" for i in index.tolist())
    return "".join(f" {i}:{x:.6g}" for i, x in zip(index.tolist(), value.tolist(), strict=True))


def lines_by_class(row: list[int], y: int, k: int) -> str:
    """Return a line per class: its cost, and the experts that voted for it."""
    voters = [""] * k
    for expert, said in enumerate(row):
        if said >= 0:
            voters[said] += f" {expert}"
    return "\n".join(f"{c + 1}:{int(c != y)} |{voters[c]}" for c in range(k))
