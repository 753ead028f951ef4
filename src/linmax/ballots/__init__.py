"""Whatever is passed as votes, labels and attributes becomes plain arrays that kernels can read."""

from linmax.ballots.abstain import DEFAULT
from linmax.ballots.batch import Batch, Nominal
from linmax.ballots.reading import read
from linmax.ballots.roll import Roll, Rolls
from linmax.ballots.strangers import Strangers, to_names
from linmax.ballots.triplets import Triplets
from linmax.forms import Dense, Hard, Rows, Sparse, SparseRows

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
