"""Whatever is passed as votes, labels and attributes becomes plain arrays that kernels can read."""

from linmax.inputs.batch import Batch, Nominal
from linmax.inputs.classes import DEFAULT, UnknownClasses, decode_classes
from linmax.inputs.names import NameIndex, Names
from linmax.inputs.read import read
from linmax.inputs.votes import Triplets
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows

__all__ = [
    "DEFAULT",
    "Batch",
    "Dense",
    "Hard",
    "Nominal",
    "NameIndex",
    "Names",
    "Rows",
    "Sparse",
    "SparseRows",
    "UnknownClasses",
    "Triplets",
    "read",
    "decode_classes",
]
