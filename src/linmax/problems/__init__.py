"""Streams that are generated: every one takes a seed and gives the same panel or table again."""

from linmax.problems._common import Panel, Table
from linmax.problems.adversary import adversary
from linmax.problems.calendar import Calendar, calendar
from linmax.problems.majority import drifting, majority, panel
from linmax.problems.sharing import disjoint, penguin, shared

__all__ = [
    "Calendar",
    "Panel",
    "Table",
    "adversary",
    "calendar",
    "disjoint",
    "drifting",
    "majority",
    "panel",
    "penguin",
    "shared",
]
