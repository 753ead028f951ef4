"""Speed on the same work: linmax, C, Vowpal Wabbit, River and scikit-learn in turn."""

from benchmarks.speed.measure import measure
from benchmarks.speed.page import highlights, page
from benchmarks.speed.plot import draw

__all__ = ["draw", "highlights", "measure", "page"]
