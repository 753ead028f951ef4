"""Sources of sub-experts: what votes. They add up with `+`."""

from linmax.experts.attributes import Attributes, RandomFeatures, ScaledAttributes
from linmax.experts.base import Source
from linmax.experts.kernel import Gaussian, Kernel, Linear, Polynomial
from linmax.experts.neighbours import Neighbours
from linmax.experts.pairs import Pairs
from linmax.experts.shared import Shared
from linmax.experts.standard import standard
from linmax.experts.text_ngrams import text_ngrams
from linmax.experts.value_tables import ValueTables
from linmax.experts.votes import PerClass, Split, Thresholds, Votes

__all__ = [
    "Attributes",
    "Gaussian",
    "Kernel",
    "Linear",
    "Neighbours",
    "Pairs",
    "PerClass",
    "Polynomial",
    "RandomFeatures",
    "ScaledAttributes",
    "Shared",
    "Source",
    "Split",
    "Thresholds",
    "ValueTables",
    "Votes",
    "standard",
    "text_ngrams",
]
