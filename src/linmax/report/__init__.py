"""What was learned, as tables and pictures."""

from linmax.report.catalogue import Entry, catalogue, options
from linmax.report.charts import draw

__all__ = ["Entry", "catalogue", "draw", "options"]
