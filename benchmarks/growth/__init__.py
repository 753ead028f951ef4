"""How cost grows: time and memory against experts, classes, trials, non-zeros and members."""

from benchmarks.growth.measure import measure
from benchmarks.growth.page import highlights, page
from benchmarks.growth.plot import draw

__all__ = ["draw", "highlights", "measure", "page"]
