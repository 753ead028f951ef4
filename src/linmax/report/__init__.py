"""What was learned, as tables and pictures."""

from linmax.report.catalogue import Entry, catalogue, options
from linmax.report.curves import draw
from linmax.report.trust import Trust, trust

__all__ = ["Entry", "Trust", "catalogue", "draw", "options", "trust"]
