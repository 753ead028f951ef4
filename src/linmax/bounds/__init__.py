"""What theory promises: how often a rule can be wrong, given a comparator and its noise."""

from linmax.bounds.case import Case
from linmax.bounds.mixing import complexity, hinge_losses, mixing_bound, overlap, radius
from linmax.bounds.printed import printed_1999, printed_2003, printed_2006, printed_2008
from linmax.bounds.promises import Promise, bound, promise, tightest

__all__ = [
    "Case",
    "Promise",
    "bound",
    "complexity",
    "hinge_losses",
    "mixing_bound",
    "overlap",
    "printed_1999",
    "printed_2003",
    "printed_2006",
    "printed_2008",
    "promise",
    "radius",
    "tightest",
]
