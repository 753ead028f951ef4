"""Generated problems: streams of votes or attributes that depend on their parameters and a seed only."""

from linmax.problems._common import AttributeData, VoteData
from linmax.problems.adversary import adversary
from linmax.problems.calendar import Calendar, calendar
from linmax.problems.majority import drifting, majority, panel
from linmax.problems.sharing import disjoint, penguin, shared

__all__ = [
    "AttributeData",
    "Calendar",
    "VoteData",
    "adversary",
    "calendar",
    "disjoint",
    "drifting",
    "majority",
    "panel",
    "penguin",
    "shared",
]
