"""Quality after one pass over real and generated problems, compared with other on-line learners."""

from benchmarks.quality.measure import measure
from benchmarks.quality.page import highlights, page
from benchmarks.quality.plot import draw

__all__ = ["draw", "highlights", "measure", "page"]
