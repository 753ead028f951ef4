"""Sources of sub-experts: what votes. They add up with `+`."""

from linmax.experts.attributes import Attributes
from linmax.experts.base import Source
from linmax.experts.kernel import Kernel
from linmax.experts.mercer import Gaussian, Linear, Polynomial
from linmax.experts.pairs import Pairs
from linmax.experts.per_class import PerClass
from linmax.experts.shared import Shared
from linmax.experts.split import Split
from linmax.experts.thresholds import Thresholds
from linmax.experts.votes import Votes

__all__ = [
    "Attributes",
    "Gaussian",
    "Kernel",
    "Linear",
    "Pairs",
    "PerClass",
    "Polynomial",
    "Shared",
    "Source",
    "Split",
    "Thresholds",
    "Votes",
]
