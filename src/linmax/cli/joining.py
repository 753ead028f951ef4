"""A file of votes, and labels that came later in a file of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from linmax.cli.reading import Reading
from linmax.streams import Labels, Piece, Stream, StreamError, labels_from


class Truths:
    """The labels of a file, and before them those that came later."""

    def __init__(self, late: Labels | None) -> None:
        self.late = late
        self.joined = 0  # labels that came later and found their item

    def of(self, piece: Piece) -> Any:
        """The label of each item, None where there is none."""
        if self.late is None:
            return piece.labels
        found = self.late.of(piece.ids or ()).tolist()
        self.joined += piece.items - found.count(None)
        own = [None] * piece.items if piece.labels is None else piece.labels.tolist()
        both = [theirs if mine is None else mine for mine, theirs in zip(found, own, strict=True)]
        return np.array([*both, None], object)[:-1]

    def given(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        """Pieces with their labels."""
        return (piece if self.late is None else piece.labelled(self.of(piece)) for piece in pieces)


def opened(reading: Reading, labels: Path | None) -> tuple[Stream, Truths]:
    """The stream, and whence its labels are; one without any is refused."""
    stream = _stream(reading, labels)
    file, name = stream.layout.file, stream.layout.id
    if labels is not None:
        if name is None:
            raise ValueError(
                f"--labels {labels} is joined by id and {file} has none; name the column with --id"
            )
        return stream, Truths(labels_from(labels, id=name, label=reading.label, fold=reading.fold))
    if stream.layout.label is None:
        raise ValueError(
            f"{file} has no column of labels; name it with --label, or a file of labels with --labels"
        )
    return stream, Truths(None)


def _stream(reading: Reading, labels: Path | None) -> Stream:
    """With --labels the column of labels is one of that file, and may be one of this, too."""
    if labels is None or reading.label is None:
        return reading.open()
    if str(reading.path) != "-":  # standard input is read once
        with suppress(StreamError):
            return reading.open()
    return reading._replace(label=None).open()
