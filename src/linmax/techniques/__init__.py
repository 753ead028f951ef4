"""Which hypothesis predicts: techniques around a rule, freely nested, and committees of learners."""

from linmax.techniques.averaged import Averaged
from linmax.techniques.banks import recommended, standard_bank, vr_combine
from linmax.techniques.base import Technique, layers
from linmax.techniques.combine import Combine
from linmax.techniques.committee import Committee
from linmax.techniques.mixture import Mixture
from linmax.techniques.naive_bayes import NaiveBayes
from linmax.techniques.recycled import Recycled
from linmax.techniques.stacked import Stacked
from linmax.techniques.tempered import Tempered
from linmax.techniques.voted import Voted
from linmax.techniques.weighted_majority import WeightedMajority

__all__ = [
    "Averaged",
    "Combine",
    "Committee",
    "Mixture",
    "NaiveBayes",
    "Recycled",
    "Stacked",
    "Technique",
    "Tempered",
    "Voted",
    "WeightedMajority",
    "layers",
    "recommended",
    "standard_bank",
    "vr_combine",
]
