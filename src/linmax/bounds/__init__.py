"""What theory promises: how often a rule can be wrong, given a comparator and its noise."""

from linmax.bounds.bound import Promise, bound, promise, tightest
from linmax.bounds.case import Case
from linmax.bounds.published import printed_1999, printed_2003, printed_2006, printed_2008
from linmax.bounds.sharing import complexity, hinge_losses, mixing_bound, overlap, radius

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
