"""Which hypothesis predicts: techniques around a rule, freely nested, and committees of learners."""

from linmax.techniques.base import Committee, Technique, layers
from linmax.techniques.combine import Combine, Voted
from linmax.techniques.mixture import Mixture, Stacked
from linmax.techniques.naive_bayes import NaiveBayes
from linmax.techniques.presets import recommended, standard_bank, vr_combine
from linmax.techniques.regression import LeastSquares, Regression, SquaredHinge
from linmax.techniques.weighted_majority import WeightedMajority
from linmax.techniques.winnow_search import WinnowSearch
from linmax.techniques.wrappers import Averaged, Recycled, Tempered

__all__ = [
    "Averaged",
    "Combine",
    "Committee",
    "LeastSquares",
    "Mixture",
    "NaiveBayes",
    "Recycled",
    "Regression",
    "SquaredHinge",
    "Stacked",
    "Technique",
    "Tempered",
    "Voted",
    "WeightedMajority",
    "WinnowSearch",
    "layers",
    "recommended",
    "standard_bank",
    "vr_combine",
]
