"""Two hypotheses tallied over one trial: the last one and the mean.

Each is added up in the order in which `tally` alone would add it, so the bits are the same. Where a form
has a loop for both, one addition need not wait for the other.
"""

from typing import TypeVar

Form = TypeVar("Form", bound=type)


def _one_by_one(self, t, k, w, v, at, scores, others):
    self.tally(t, k, w, at, scores)
    self.tally(t, k, v, at, others)


def one_by_one(form: Form) -> Form:
    """Give a form the verb `tally_both` that tallies twice."""
    form.tally_both = _one_by_one  # type: ignore[attr-defined]
    return form
