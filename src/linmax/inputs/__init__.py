"""Whatever is passed as votes, labels and attributes becomes plain arrays that kernels can read."""

from linmax.inputs.batch import Batch, Nominal
from linmax.inputs.classes import DEFAULT, Strangers, to_names
from linmax.inputs.names import Roll, Rolls
from linmax.inputs.read import read
from linmax.inputs.votes import Triplets
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows

__all__ = [
    "DEFAULT",
    "Batch",
    "Dense",
    "Hard",
    "Nominal",
    "Roll",
    "Rolls",
    "Rows",
    "Sparse",
    "SparseRows",
    "Strangers",
    "Triplets",
    "read",
    "to_names",
]
