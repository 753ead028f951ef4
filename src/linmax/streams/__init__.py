"""Read votes, labels and attributes from files larger than memory, in chunks, and write predictions."""

from linmax.validation import require_extra

require_extra("pyarrow", "cli", "linmax.streams")

from linmax.streams.chunk import Chunk  # noqa: E402
from linmax.streams.data_warnings import data_warnings  # noqa: E402
from linmax.streams.late_labels import LateLabels, read_labels  # noqa: E402
from linmax.streams.predictions import PredictionWriter  # noqa: E402
from linmax.streams.schema import Schema, StreamError  # noqa: E402
from linmax.streams.stream import Stream, open_stream  # noqa: E402

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
