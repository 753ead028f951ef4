"""The contract of a form: what a trial looks like to a kernel.

A form is a NamedTuple of arrays. Kernels call the generic functions of this file, and a form implements each
as a method of the same name: `add_scores(form, t, ...)` calls `form.add_scores(t, ...)`. In all of them `t`
is the trial, `k` the number of known classes, and `offset` the index of the form's first weight.
Decorators such as `without_memory` supply the methods that do nothing in most forms.
"""

from typing import Any, NamedTuple, TypeVar

from linmax._jit.compilation import dispatched, inline
from linmax._jit.vectors import (
    WIDTH,
    like,
    maximum,
    over_root,
    put,
    squarable,
    take,
    total,
    where_above,
    wide,
)
from linmax.kernels.blocks import eight_at, number_at, prefetch_eight, set_eight, set_number

Form = TypeVar("Form", bound=type)

SMALL, LARGEST_SMALL = 1e-4, 1e-2  # shares in z, see `smallest_share`

# --- what a form does


@dispatched
def begin_trial(form, t):
    """Begin a trial: sources with memory freeze the votes they give in it."""


@dispatched
def add_scores(form, t, k, w, offset, scores):
    """Add this form's part of `w . x` to the scores of the k known classes.

    `scores` has one more slot than there are classes: the votes of an abstention (-1) go there.
    """


@dispatched
def add_both_scores(form, t, k, w, v, offset, scores, others):
    """Do what `add_scores` does for two hypotheses in one pass: w into `scores`, v into `others`."""


@dispatched
def append_z(form, t, k, q, offset, index, value, count):
    """Append the non-zero coordinates of `z = sum over classes c of q[c] x^c`, each once.

    They are written from `index[count]` and `value[count]` on; returns the new count.
    """


@dispatched
def add(form, t, k, q, step, offset, w):
    """Add a multiple of z to the weights: w[i] += step z_i."""


@dispatched
def add_group_scores(form, t, k, w, offset, scores):
    """Do what `add_scores` does for eight hypotheses side by side: w and scores are arrays of vectors."""


@dispatched
def add_to_group(form, t, k, q, steps, offset, w):
    """Do what `add` does for eight hypotheses side by side, with a step each; q is an array of vectors."""


@dispatched
def adapt(form, t, k, q, step, initial, offset, theta, w, z):
    """Add z with a step per weight: theta_i += z_i^2, w_i += step z_i / sqrt(initial + theta_i).

    `z` is a scratch array with space for the experts and one vector more.
    """


@dispatched
def multiply(form, t, k, q, offset, h, mass):
    """Add z, of which all are -1, 0 or 1, to theta, and multiply the weights (see `linmax.rules.winnow`).

    Returns the sum of the weights; `mass` is their sum before.
    """


@dispatched
def list_inputs(form, t, offset, index, value, count):
    """List the inputs of trial t, each of which has a weight per class: w[index + c] votes value for class c.

    They are written from `index[count]` and `value[count]` on; returns the new count.
    """


@dispatched
def append_new_voters(form, t, k, offset, spoken, index, count):
    """Do what `append_new_experts` does, for the experts themselves only."""


@dispatched
def append_new_experts(form, t, k, offset, spoken, index, count):
    """Append the sub-experts that vote for the first time: `spoken` is 0; returns the new count."""


@dispatched
def observe(form, t, y):
    """End a trial whose label is y: sources with memory store it."""


@dispatched
def write_shifts(form, t, bits, blank, shifts):
    """Write by how many bits each weight is shifted in the sketch of trial t (see `kernels/recycling.py`)."""


@dispatched
def constant_sketch(form, k, offset, bits, q):
    """Return the part of a sketch that is the same in every trial."""


# --- what votes, attributes and hypotheses are read with


@dispatched
def n_entries(data, t):
    """Return the number of votes, or of attributes, that trial t lists."""


@dispatched
def vote_at(votes, t, j):
    """Return the j-th vote of trial t: its expert, its class (-1: an abstention) and its value."""


@dispatched
def list_votes(votes, t, expert, label):
    """List the votes of trial t for one class each; return their number, and whether there are others."""


@dispatched
def attribute_at(rows, t, j):
    """Return the j-th attribute that trial t lists, and its value."""


@dispatched
def begin_rows(rows, t):
    """Compute the attributes of trial t, if they are computed."""


@dispatched
def attribute_value(rows, t, a):
    """Return the value of attribute a in trial t; 0 where it is not listed."""


@dispatched
def weight_of(hypothesis, i):
    """Return the weight of sub-expert i."""


@dispatched
def weights_of(hypothesis, i):
    """Return the weights of the eight sub-experts from i on, as a vector of float64."""


@dispatched
def prefetch_weights(hypothesis, i):
    """Let the machine fetch the weights from i on, which are needed soon."""


@dispatched
def start_sums(hypothesis, sums):
    """Return eight sums in the precision in which products with `own_weights_of` are added to them."""


@dispatched
def own_weights_of(hypothesis, i):
    """Return the weights of the eight sub-experts from i on, in the precision in which they are kept."""


# --- methods that most forms share


def _begin_trial(self, t):
    pass


def _observe(self, t, y):
    pass


def without_begin(form: Form) -> Form:
    """Add a `begin_trial` that does nothing."""
    form.begin_trial = _begin_trial  # type: ignore[attr-defined]
    return form


def without_observation(form: Form) -> Form:
    """Add an `observe` that does nothing."""
    form.observe = _observe  # type: ignore[attr-defined]
    return form


def without_memory(form: Form) -> Form:
    """Add a `begin_trial` and an `observe` that do nothing."""
    form.begin_trial, form.observe = _begin_trial, _observe  # type: ignore[attr-defined]
    return form


def _append_no_voters(self, t, k, offset, spoken, index, count):
    return count


def without_voters(form: Form) -> Form:
    """Add an `append_new_voters` that does nothing, to a form whose sub-experts are not the experts."""
    form.append_new_voters = _append_no_voters  # type: ignore[attr-defined]
    return form


def _append_new_experts(self, t, k, offset, spoken, index, count):
    return append_new_experts(self, t, k, offset, spoken, index, count)


def of_voters(form: Form) -> Form:
    """Add an `append_new_voters` to a form whose sub-experts are the experts."""
    form.append_new_voters = _append_new_experts  # type: ignore[attr-defined]
    return form


@inline
def add_vector(vectors, i, x):
    """Add eight numbers to the i-th vector of an array."""
    put(vectors, i * WIDTH, take(vectors, i * WIDTH) + x)


@inline
def vector_of_class(vectors, c):
    """Return the index of the vector of class c in an array; -1, an abstention, has the last one."""
    return c + (c < 0) * (len(vectors) // WIDTH)


@inline
def adapt_one(theta, w, i, z, step, initial):
    """Add z to one weight, with a step of its own."""
    own = squarable(theta, z)
    squares = number_at(theta, i) + own * own
    set_number(theta, i, squares)
    change = over_root(own * like(theta, step), squares + like(theta, initial))
    set_number(w, i, number_at(w, i) + change)


@inline
def adapt_eight(theta, w, i, z, step, initial):
    """Do what `adapt_one` does for eight weights in a row, with the same bits; z is of their type."""
    squares = eight_at(theta, i) + z * z
    set_eight(theta, i, squares)
    change = over_root(z * like(theta, step), squares + like(theta, initial))
    set_eight(w, i, eight_at(w, i) + change)


@inline
def all_small(shares, least):
    """Tell whether eight classes all have a smaller share in z than this."""
    return total(where_above(maximum(shares, 0.0 - shares), least, 1.0, 0.0)) == 0.0


@inline
def smallest_share(k):
    """Return the share in z below which the weights of a class are not adapted, if eight in a row are.

    The more classes there are, the more of them share what is left; the bound grows from 1e-4 (up to 100
    classes) to 1e-2 (from 1000 classes on), so that a trial changes few weights.
    """
    return float(min(max(SMALL, SMALL * (k / 100.0) * (k / 100.0)), LARGEST_SMALL))  # not of float64


def _write_shifts(self, t, bits, blank, shifts):
    pass


def _constant_sketch(self, k, offset, bits, q):
    return 0


def _no_sketch(self):
    return -1


def without_sketch(form: Form) -> Form:
    """Add the methods of sketches to a form whose votes are not all 0 or 1; they are never used."""
    form.write_shifts, form.constant_sketch = _write_shifts, _constant_sketch  # type: ignore[attr-defined]
    form.sketch_votes = _no_sketch  # type: ignore[attr-defined]
    return form


def _one_by_one(self, t, k, w, v, offset, scores, others):
    add_scores(self, t, k, w, offset, scores)
    add_scores(self, t, k, v, offset, others)


def one_pass_each(form: Form) -> Form:
    """Add an `add_both_scores` that calls `add_scores` twice."""
    form.add_both_scores = _one_by_one  # type: ignore[attr-defined]
    return form


def append_votes(form, t, k, q, offset, index, value, count):
    """Append what each sub-expert votes, for an explanation: `append_z`, except in dual forms."""
    if isinstance(form, Sum):
        count = append_votes(form.a, t, k, q, offset, index, value, count)
        return append_votes(form.b, t, k, q, offset + form.split, index, value, count)
    return getattr(form, "append_votes", form.append_z)(t, k, q, offset, index, value, count)


def has_multiply(form: Any) -> bool:
    """Tell whether a form has `multiply`: all its votes are 0 or 1."""
    if isinstance(form, Sum):
        return has_multiply(form.a) and has_multiply(form.b)
    return hasattr(form, "multiply")


class Sum(NamedTuple):
    """The sum of two forms; the weights of the second start at `split`."""

    a: Any
    b: Any
    split: int

    def add_scores(self, t, k, w, offset, scores):
        add_scores(self.a, t, k, w, offset, scores)
        add_scores(self.b, t, k, w, offset + self.split, scores)

    def add_both_scores(self, t, k, w, v, offset, scores, others):
        add_both_scores(self.a, t, k, w, v, offset, scores, others)
        add_both_scores(self.b, t, k, w, v, offset + self.split, scores, others)

    def append_z(self, t, k, q, offset, index, value, count):
        count = append_z(self.a, t, k, q, offset, index, value, count)
        return append_z(self.b, t, k, q, offset + self.split, index, value, count)

    def add(self, t, k, q, step, offset, w):
        add(self.a, t, k, q, step, offset, w)
        add(self.b, t, k, q, step, offset + self.split, w)

    def add_group_scores(self, t, k, w, offset, scores):
        add_group_scores(self.a, t, k, w, offset, scores)
        add_group_scores(self.b, t, k, w, offset + self.split, scores)

    def add_to_group(self, t, k, q, steps, offset, w):
        add_to_group(self.a, t, k, q, steps, offset, w)
        add_to_group(self.b, t, k, q, steps, offset + self.split, w)

    def adapt(self, t, k, q, step, initial, offset, theta, w, z):
        adapt(self.a, t, k, q, step, initial, offset, theta, w, z)
        adapt(self.b, t, k, q, step, initial, offset + self.split, theta, w, z)

    def multiply(self, t, k, q, offset, h, mass):
        mass = multiply(self.a, t, k, q, offset, h, mass)
        return multiply(self.b, t, k, q, offset + self.split, h, mass)

    def list_inputs(self, t, offset, index, value, count):
        count = list_inputs(self.a, t, offset, index, value, count)
        return list_inputs(self.b, t, offset + self.split, index, value, count)

    def append_new_voters(self, t, k, offset, spoken, index, count):
        count = append_new_voters(self.a, t, k, offset, spoken, index, count)
        return append_new_voters(self.b, t, k, offset + self.split, spoken, index, count)

    def append_new_experts(self, t, k, offset, spoken, index, count):
        count = append_new_experts(self.a, t, k, offset, spoken, index, count)
        return append_new_experts(self.b, t, k, offset + self.split, spoken, index, count)

    def begin_trial(self, t):
        begin_trial(self.a, t)
        begin_trial(self.b, t)

    def observe(self, t, y):
        observe(self.a, t, y)
        observe(self.b, t, y)

    def write_shifts(self, t, bits, blank, shifts):
        write_shifts(self.a, t, bits, blank, shifts)

    def constant_sketch(self, k, offset, bits, q):
        return constant_sketch(self.a, k, offset, bits, q) + constant_sketch(
            self.b, k, offset + self.split, bits, q
        )

    def sketch_votes(self):
        return self.a.sketch_votes() if self.b.sketch_votes() == 0 else -1  # hard votes, then constants


class LastWeights(NamedTuple):
    """The last hypothesis; w is a column, see `kernels/blocks.py`."""

    w: Any

    def weight_of(self, i):
        return number_at(self.w, i)

    def weights_of(self, i):
        return wide(eight_at(self.w, i))

    def prefetch_weights(self, i):
        prefetch_eight(self.w, i)

    def start_sums(self, sums):
        return like(self.w, sums)

    def own_weights_of(self, i):
        return eight_at(self.w, i)
