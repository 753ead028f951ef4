"""Forms: what a trial looks like to a kernel. `forms/base.py` defines their contract."""

from linmax.kernels.forms.attributes import Complement, LinearMachine, RememberedPairs, Rows, SparseRows
from linmax.kernels.forms.base import Last, Mean, Sum
from linmax.kernels.forms.dual import DualVotes
from linmax.kernels.forms.shared import Portraits, SharedFeatures, Sharing
from linmax.kernels.forms.votes import Always, Dense, Hard, PerClassVotes, Sparse, SplitVotes

__all__ = [
    "Always",
    "Complement",
    "Dense",
    "DualVotes",
    "Hard",
    "Last",
    "LinearMachine",
    "Mean",
    "PerClassVotes",
    "Portraits",
    "RememberedPairs",
    "Rows",
    "SharedFeatures",
    "Sharing",
    "Sparse",
    "SparseRows",
    "SplitVotes",
    "Sum",
]
