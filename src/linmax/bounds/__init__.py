"""Mistake bounds: the largest number of mistakes a learner can make, given a comparator and its noise."""

from linmax.bounds.bound import MistakeBound, bound, mistake_bound
from linmax.bounds.case import Case
from linmax.bounds.certificate import Certificate, certify
from linmax.bounds.multipliers import multiplier_bound
from linmax.bounds.published import published_1999, published_2003, published_2006, published_2008
from linmax.bounds.search import grid_factor, search_bound
from linmax.bounds.sharing import complexity, hinge_losses, mixing_bound, overlap, radius
from linmax.bounds.theorems import parameter_mixing_bound
from linmax.bounds.tightest import tightest

__all__ = [
    "Case",
    "Certificate",
    "MistakeBound",
    "bound",
    "certify",
    "complexity",
    "grid_factor",
    "hinge_losses",
    "mistake_bound",
    "mixing_bound",
    "multiplier_bound",
    "overlap",
    "parameter_mixing_bound",
    "published_1999",
    "published_2003",
    "published_2006",
    "published_2008",
    "radius",
    "search_bound",
    "tightest",
]
