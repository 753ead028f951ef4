"""What a trial looks like to a kernel.

A form is a NamedTuple of arrays with seven verbs, each written once as a plain method:

- `enter(t)`: the trial begins (sources with memory freeze what they will vote);
- `tally(t, k, w, at, scores)`: add this source's part to the scores of the k known classes; its weights start
  at `at`; `tally_both(t, k, w, v, at, scores, others)` does so with two hypotheses at a time;
- `gap(t, k, q, at, index, value, count)`: append this source's part of
  `z = sum over classes c of q[c] x^c`;
- `speakers(t, k, at, spoken, index, count)`: append the sub-experts that speak now for the first time;
- `observe(t, y)`: the trial is over (sources with memory take it in);
- `marks(t, bits, blank, shifts)`: write down by how much each of this source's weights is shifted in a
sketch of
  trial t, and `backdrop(k, at, bits, q)`: the part of a sketch that is the same in every trial (see
  `forms/sketch.py`).

`most_marks()` tells how many marks a trial can have, or -1 where votes are not all 0 or 1.
"""

from linmax._jit import verb
from linmax.kernels.forms.attributes import Complement, LinearMachine, RememberedPairs, Rows, SparseRows
from linmax.kernels.forms.base import Last, Mean, Sum
from linmax.kernels.forms.dual import DualVotes
from linmax.kernels.forms.shared import Portraits, SharedFeatures, Sharing
from linmax.kernels.forms.votes import Always, Dense, Hard, PerClassVotes, Sparse, SplitVotes

for pattern in (
    Hard.tally,
    Hard.tally_both,
    Hard.gap,
    Hard.speakers,
    RememberedPairs.enter,
    RememberedPairs.observe,
    Hard.size,
    Hard.vote,
    Rows.cell,
    Rows.entry,
    Last.of,
    Hard.marks,
    Hard.backdrop,
):
    verb(pattern)

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
