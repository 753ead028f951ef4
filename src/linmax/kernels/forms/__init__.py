"""Forms: what a trial looks like to a kernel. `forms/base.py` defines their contract."""

from linmax.kernels.forms.attributes import (
    Complement,
    FeatureRows,
    LinearMachine,
    RememberedPairs,
    Rows,
    SparseRows,
)
from linmax.kernels.forms.base import LastWeights, Sum
from linmax.kernels.forms.class_votes import ConstantVotes, PerClassVotes, SplitVotes
from linmax.kernels.forms.dual import DualVotes
from linmax.kernels.forms.shared import SharedFeatures, Sharing, StatisticArrays
from linmax.kernels.forms.votes import Dense, Hard, Sparse

__all__ = [
    "Complement",
    "ConstantVotes",
    "Dense",
    "DualVotes",
    "FeatureRows",
    "Hard",
    "LastWeights",
    "LinearMachine",
    "PerClassVotes",
    "RememberedPairs",
    "Rows",
    "SharedFeatures",
    "Sharing",
    "Sparse",
    "SparseRows",
    "SplitVotes",
    "StatisticArrays",
    "Sum",
]
