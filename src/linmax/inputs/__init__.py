"""User data in, encoded batches out: votes, labels and attributes become arrays for kernels."""

from linmax.inputs.abstain import DEFAULT
from linmax.inputs.batch import Batch, Newcomers, Nominal
from linmax.inputs.classes import UnknownClasses, decode_classes
from linmax.inputs.names import NameIndex, Names
from linmax.inputs.read import read
from linmax.inputs.votes import Triplets
from linmax.kernels.forms import Dense, Hard, Rows, Sparse, SparseRows

__all__ = [
    "DEFAULT",
    "Batch",
    "Dense",
    "Hard",
    "NameIndex",
    "Names",
    "Newcomers",
    "Nominal",
    "Rows",
    "Sparse",
    "SparseRows",
    "Triplets",
    "UnknownClasses",
    "decode_classes",
    "read",
]
