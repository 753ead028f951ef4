"""Streams that are generated: every one takes a seed and gives the same panel again."""

from linmax.problems._panel import Panel
from linmax.problems.adversary import adversary
from linmax.problems.drifting import drifting
from linmax.problems.majority import majority
from linmax.problems.panel import panel

__all__ = ["Panel", "adversary", "drifting", "majority", "panel"]
