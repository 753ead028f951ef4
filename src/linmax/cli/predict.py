"""Guesses of a model for the items of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linmax.cli.inputs import demand, demand_acquaintance, within
from linmax.cli.inputs import open_model as opened
from linmax.cli.options import Reading
from linmax.cli.output import Watch, progressing, tell
from linmax.evaluate.predict import Foresight, foresee
from linmax.fusion import Fusion
from linmax.streams import Stream
from linmax.streams.predictions import Guesses
from linmax.streams.schema import several


class Tally(NamedTuple):
    """What came of it."""

    rows: int
    labelled: int
    right: int
    unknown: list[Any]  # experts that the model has not met
    absent: list[Any]  # experts that the file has not

    def __str__(self) -> str:
        told = f"{self.rows} row{'s' * (self.rows != 1)} guessed"
        if self.labelled:
            told += f", {self.right} of {self.labelled} labelled right ({self.right / self.labelled:.1%})"
        return told


def predict(model: Path, reading: Reading, output: Path | None) -> Tally:
    """Guess every row, write the guesses, and say how many were right."""
    _demand_another(output, model, reading.path)
    fusion = opened(model)
    guesses = Guesses(output)
    to_screen = guesses.path is None and sys.stdout.isatty()
    with reading.open() as stream, progressing(stream, "guessing", quiet=to_screen) as watch:
        first = stream.peek()
        if first is not None:
            demand(fusion, first, str(model), stream.layout.file)
        with guesses:
            tally = _written(fusion, stream, guesses, model, watch)
    if tally.unknown:
        tell(f"{model} has not met {_named(tally.unknown)} of {stream.layout.file}")
    if tally.absent:
        tell(f"{stream.layout.file} lacks {_named(tally.absent)} of {model}")
    tell(str(tally))
    return tally


def _written(fusion: Fusion, stream: Stream, guesses: Guesses, model: Path, watch: Watch) -> Tally:
    rows = labelled = right = 0
    met: dict[Any, None] = {}
    file = stream.layout.file
    for part in _parts(fusion, stream):
        if not met:
            demand_acquaintance(fusion, part.experts, str(model), file)
        met.update(dict.fromkeys(part.experts))
        guesses.write(part.piece, part.guesses, part.margins, part.piece.labels)
        rows += part.piece.items
        known, hits = _hits(part)
        labelled, right = labelled + known, right + hits
        watch.done(rows)
    mine = set(fusion.experts)
    heard = "votes" in fusion._needs and met and mine
    return Tally(
        rows, labelled, right,
        [name for name in met if name not in mine] if heard else [],
        [name for name in fusion.experts if name not in met] if heard else [],
    )  # fmt: skip


def _parts(fusion: Fusion, stream: Stream) -> Iterator[Foresight]:
    for piece in stream:
        parts = foresee(fusion, piece)
        while True:
            with within(stream.layout.file, piece):
                part = next(parts, None)
            if part is None:
                break
            yield part


def _hits(part: Foresight) -> tuple[int, int]:
    """How many labels there are, and how many of them were guessed."""
    truths = part.piece.labels
    if truths is None:
        return 0, 0
    known = np.array([truth is not None for truth in truths.tolist()], bool)
    hits = np.array(part.guesses, object) == np.array(truths, object)
    return int(known.sum()), int((hits & known).sum())


def _named(experts: list[Any]) -> str:
    return f"{len(experts)} expert{'s' * (len(experts) != 1)} ({several(experts)})"


def _demand_another(output: Path | None, *taken: Path) -> None:
    """Refuse to write over what is read."""
    if output is None or str(output) == "-":
        return
    for path in taken:
        if str(path) != "-" and path.exists() and output.exists() and output.samefile(path):
            raise ValueError(f"--output {output} is read here; name another file")
