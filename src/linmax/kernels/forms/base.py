"""The contract of a form: what a trial looks like to a kernel.

A form is a NamedTuple of arrays. Kernels call the generic functions of this file, and a form implements each
as a method of the same name: `add_scores(form, t, ...)` calls `form.add_scores(t, ...)`. In all of them `t`
is the trial, `k` the number of known classes, and `at` the index of the form's first weight.
Decorators such as `without_memory` supply the methods that do nothing in most forms.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np

from linmax._jit import dispatched

Form = TypeVar("Form", bound=type)

# --- what a form does


@dispatched
def begin_trial(form, t):
    """Begin a trial: sources with memory freeze the votes they give in it."""


@dispatched
def add_scores(form, t, k, w, at, scores):
    """Add this form's part of `w . x` to the scores of the k known classes.

    `scores` has one more slot than there are classes: the votes of an abstention (-1) go there.
    """


@dispatched
def add_both_scores(form, t, k, w, v, at, scores, others):
    """Do what `add_scores` does for two hypotheses in one pass: w into `scores`, v into `others`."""


@dispatched
def append_z(form, t, k, q, at, index, value, count):
    """Append the non-zero coordinates of `z = sum over classes c of q[c] x^c`, each once.

    They are written from `index[count]` and `value[count]` on; returns the new count.
    """


@dispatched
def append_new_experts(form, t, k, at, spoken, index, count):
    """Append the sub-experts that vote for the first time: `spoken` is 0; returns the new count."""


@dispatched
def observe(form, t, y):
    """End a trial whose label is y: sources with memory store it."""


@dispatched
def write_shifts(form, t, bits, blank, shifts):
    """Write by how many bits each weight is shifted in the sketch of trial t (see `kernels/recycling.py`)."""


@dispatched
def constant_sketch(form, k, at, bits, q):
    """Return the part of a sketch that is the same in every trial."""


# --- what votes, attributes and hypotheses are read with


@dispatched
def n_entries(data, t):
    """Return the number of votes, or of attributes, that trial t lists."""


@dispatched
def vote_at(votes, t, j):
    """Return the j-th vote of trial t: its expert, its class (-1: an abstention) and its value."""


@dispatched
def attribute_at(rows, t, j):
    """Return the j-th attribute that trial t lists, and its value."""


@dispatched
def attribute_value(rows, t, a):
    """Return the value of attribute a in trial t; 0 where it is not listed."""


@dispatched
def weight_of(hypothesis, i):
    """Return the weight of sub-expert i."""


# --- methods that most forms share


def _begin_trial(self, t):
    pass


def _observe(self, t, y):
    pass


def without_entrance(form: Form) -> Form:
    """Give a form that freezes nothing the verb `enter` that does nothing."""
    form.begin_trial = _begin_trial  # type: ignore[attr-defined]
    return form


def without_memory(form: Form) -> Form:
    """Give a form the verbs `enter` and `observe` that do nothing."""
    form.begin_trial, form.observe = _begin_trial, _observe  # type: ignore[attr-defined]
    return form


def _write_shifts(self, t, bits, blank, shifts):
    pass


def _constant_sketch(self, k, at, bits, q):
    return 0


def _no_marks(self):
    return -1


def without_sketch(form: Form) -> Form:
    """Give a form whose votes are not all 0 or 1 the verbs of sketches, which are never used."""
    form.write_shifts, form.constant_sketch, form.most_marks = _write_shifts, _constant_sketch, _no_marks  # type: ignore[attr-defined]
    return form


def _one_by_one(self, t, k, w, v, at, scores, others):
    add_scores(self, t, k, w, at, scores)
    add_scores(self, t, k, v, at, others)


def one_by_one(form: Form) -> Form:
    """Give a form the verb `tally_both` that tallies twice."""
    form.add_both_scores = _one_by_one  # type: ignore[attr-defined]
    return form


def voices(form, t, k, q, at, index, value, count):
    """What each sub-expert votes: what `gap` says of all sources but those whose z is a new coordinate."""
    if isinstance(form, Sum):
        count = voices(form.a, t, k, q, at, index, value, count)
        return voices(form.b, t, k, q, at + form.split, index, value, count)
    return getattr(form, "voices", form.append_z)(t, k, q, at, index, value, count)


class Sum(NamedTuple):
    """The verbs of both parts; the second part's weights start at `split`."""

    a: Any
    b: Any
    split: int

    def add_scores(self, t, k, w, at, scores):
        add_scores(self.a, t, k, w, at, scores)
        add_scores(self.b, t, k, w, at + self.split, scores)

    def add_both_scores(self, t, k, w, v, at, scores, others):
        add_both_scores(self.a, t, k, w, v, at, scores, others)
        add_both_scores(self.b, t, k, w, v, at + self.split, scores, others)

    def append_z(self, t, k, q, at, index, value, count):
        count = append_z(self.a, t, k, q, at, index, value, count)
        return append_z(self.b, t, k, q, at + self.split, index, value, count)

    def append_new_experts(self, t, k, at, spoken, index, count):
        count = append_new_experts(self.a, t, k, at, spoken, index, count)
        return append_new_experts(self.b, t, k, at + self.split, spoken, index, count)

    def begin_trial(self, t):
        begin_trial(self.a, t)
        begin_trial(self.b, t)

    def observe(self, t, y):
        observe(self.a, t, y)
        observe(self.b, t, y)

    def write_shifts(self, t, bits, blank, shifts):
        write_shifts(self.a, t, bits, blank, shifts)

    def constant_sketch(self, k, at, bits, q):
        return constant_sketch(self.a, k, at, bits, q) + constant_sketch(self.b, k, at + self.split, bits, q)

    def most_marks(self):
        return self.a.most_marks() if self.b.most_marks() == 0 else -1  # votes first, then what is constant


class Last(NamedTuple):
    """The hypothesis of this moment."""

    w: np.ndarray

    def weight_of(self, i):
        return self.w[i]


class Mean(NamedTuple):
    """The sum of the hypotheses held at the start of each trial, the current one included.

    A coordinate's sum is brought up to date only when it moves: `past` holds what it had gathered then,
    `since` the cumulated scale of then, and `total` that of now; the current hypothesis, with its own
    `scale`, comes on top. Dividing by the number of trials changes no guess.
    """

    w: np.ndarray
    past: np.ndarray
    since: np.ndarray
    total: float
    scale: float

    def weight_of(self, i):
        return self.past[i] + self.w[i] * (self.total - self.since[i]) + self.w[i] * self.scale
