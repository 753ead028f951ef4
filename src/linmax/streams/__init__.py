"""Read votes, labels and attributes from files larger than memory, in chunks, and write predictions."""

from linmax.validation import require_extra

require_extra("pyarrow", "cli", "linmax.streams")

from linmax.streams.chunk import Chunk  # noqa: E402
from linmax.streams.predictions import PredictionWriter  # noqa: E402
from linmax.streams.schema import Schema, StreamError  # noqa: E402
from linmax.streams.stream import Stream, open_stream  # noqa: E402

__all__ = [
    "Chunk",
    "PredictionWriter",
    "Schema",
    "Stream",
    "StreamError",
    "open_stream",
]
