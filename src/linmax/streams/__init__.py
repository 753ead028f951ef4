"""Streams that are read: panels in files larger than memory, chunk by chunk."""

from linmax.streams.chunk import Chunk
from linmax.streams.data_warnings import data_warnings
from linmax.streams.late_labels import LateLabels, read_labels
from linmax.streams.predictions import PredictionWriter
from linmax.streams.schema import Schema, StreamError
from linmax.streams.stream import Stream, open_stream

__all__ = [
    "Chunk",
    "LateLabels",
    "PredictionWriter",
    "Schema",
    "Stream",
    "StreamError",
    "data_warnings",
    "open_stream",
    "read_labels",
]
