"""Streams that are read: panels in files larger than memory, piece by piece."""

from linmax.streams.chunk import Piece
from linmax.streams.data_warnings import survey
from linmax.streams.late_labels import Labels, labels_from
from linmax.streams.predictions import Guesses
from linmax.streams.schema import Layout, StreamError
from linmax.streams.stream import Stream, open_stream

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
