"""Speed on the same work: linmax, plain C, Vowpal Wabbit, River and scikit-learn in turn."""

from benchmarks.speed.measure import measure
from benchmarks.speed.page import found, page
from benchmarks.speed.plot import draw

__all__ = ["draw", "found", "measure", "page"]
