"""Reports: the catalogue of learners, pictures of mistakes, and the HTML page of a run."""

from linmax.report.catalogue import Entry, catalogue, options
from linmax.report.charts.line_chart import draw

__all__ = ["Entry", "catalogue", "draw", "options"]
