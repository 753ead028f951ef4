"""Whether a file has what a learner needs, said in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from linmax.cli.options import Reading
from linmax.fusion import Fusion, load
from linmax.streams import Labels, Piece, Stream, StreamError, labels_from
from linmax.streams.schema import several


def open_model(model: Path) -> Fusion:
    """The session in a file."""
    if not model.exists():
        raise ValueError(f"there is no file {str(model)!r}; check the path")
    return load(model)


def demand(fusion: Fusion, piece: Piece, who: str, file: str) -> None:
    """Refuse a file without what the learner learns from."""
    if "votes" in fusion._needs and piece.votes is None:
        raise ValueError(f"{who} learns from votes and {file} has none; name the columns with --experts")
    if fusion._needs - {"votes"} and piece.attributes is None:
        raise ValueError(f"{who} learns from attributes; name their columns in {file} with --attributes")


def demand_acquaintance(fusion: Fusion, experts: list[Any], who: str, file: str) -> None:
    """Refuse a panel of which nobody is known."""
    known = fusion.experts
    if "votes" in fusion._needs and known and experts and not set(experts) & set(known):
        raise ValueError(
            f"{file} has no expert that {who} knows (it has {several(map(repr, experts))}; the model knows"
            f" {several(map(repr, known))}); name the columns as they were when it learned"
        )


@contextmanager
def within(file: str, piece: Piece) -> Iterator[None]:
    """An error over some rows says which."""
    try:
        yield
    except StreamError:
        raise
    except ValueError as error:
        rows = f"{piece.lines[0]} to {piece.lines[-1]}" if piece.items else "none"
        raise ValueError(f"{file}, rows {rows}: {error}") from None


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


def open_labelled(reading: Reading, labels: Path | None) -> tuple[Stream, Truths]:
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
