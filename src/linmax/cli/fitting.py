"""Whether a file has what a learner needs, said in the words of the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from linmax.fusion import Fusion, load
from linmax.streams import Piece, StreamError
from linmax.streams.errors import several


def opened(model: Path) -> Fusion:
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
