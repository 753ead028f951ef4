"""Streams that are read: panels in files larger than memory, piece by piece."""

from linmax.streams.errors import StreamError
from linmax.streams.guesses import Guesses
from linmax.streams.late import Labels, labels_from
from linmax.streams.layout import Layout
from linmax.streams.pieces import Piece
from linmax.streams.stream import Stream, open_stream
from linmax.streams.survey import survey

__all__ = [
    "Guesses",
    "Labels",
    "Layout",
    "Piece",
    "Stream",
    "StreamError",
    "labels_from",
    "open_stream",
    "survey",
]
