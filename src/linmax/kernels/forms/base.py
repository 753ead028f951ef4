"""What most forms do without: a memory, and sketches."""

from typing import Any, NamedTuple, TypeVar

import numpy as np

Form = TypeVar("Form", bound=type)


def _enter(self, t):
    pass


def _observe(self, t, y):
    pass


def without_entrance(form: Form) -> Form:
    """Give a form that freezes nothing the verb `enter` that does nothing."""
    form.enter = _enter  # type: ignore[attr-defined]
    return form


def without_memory(form: Form) -> Form:
    """Give a form the verbs `enter` and `observe` that do nothing."""
    form.enter, form.observe = _enter, _observe  # type: ignore[attr-defined]
    return form


def _marks(self, t, bits, blank, shifts):
    pass


def _backdrop(self, k, at, bits, q):
    return 0


def _no_marks(self):
    return -1


def without_sketch(form: Form) -> Form:
    """Give a form whose votes are not all 0 or 1 the verbs of sketches, which are never used."""
    form.marks, form.backdrop, form.most_marks = _marks, _backdrop, _no_marks  # type: ignore[attr-defined]
    return form


def _one_by_one(self, t, k, w, v, at, scores, others):
    self.tally(t, k, w, at, scores)
    self.tally(t, k, v, at, others)


def one_by_one(form: Form) -> Form:
    """Give a form the verb `tally_both` that tallies twice."""
    form.tally_both = _one_by_one  # type: ignore[attr-defined]
    return form


def voices(form, t, k, q, at, index, value, count):
    """What each sub-expert votes: what `gap` says of all sources but those whose z is a new coordinate."""
    if isinstance(form, Sum):
        count = voices(form.a, t, k, q, at, index, value, count)
        return voices(form.b, t, k, q, at + form.split, index, value, count)
    return getattr(form, "voices", form.gap)(t, k, q, at, index, value, count)


class Sum(NamedTuple):
    """The verbs of both parts; the second part's weights start at `split`."""

    a: Any
    b: Any
    split: int

    def tally(self, t, k, w, at, scores):
        self.a.tally(t, k, w, at, scores)
        self.b.tally(t, k, w, at + self.split, scores)

    def tally_both(self, t, k, w, v, at, scores, others):
        self.a.tally_both(t, k, w, v, at, scores, others)
        self.b.tally_both(t, k, w, v, at + self.split, scores, others)

    def gap(self, t, k, q, at, index, value, count):
        count = self.a.gap(t, k, q, at, index, value, count)
        return self.b.gap(t, k, q, at + self.split, index, value, count)

    def speakers(self, t, k, at, spoken, index, count):
        count = self.a.speakers(t, k, at, spoken, index, count)
        return self.b.speakers(t, k, at + self.split, spoken, index, count)

    def enter(self, t):
        self.a.enter(t)
        self.b.enter(t)

    def observe(self, t, y):
        self.a.observe(t, y)
        self.b.observe(t, y)

    def marks(self, t, bits, blank, shifts):
        self.a.marks(t, bits, blank, shifts)

    def backdrop(self, k, at, bits, q):
        return self.a.backdrop(k, at, bits, q) + self.b.backdrop(k, at + self.split, bits, q)

    def most_marks(self):
        return self.a.most_marks() if self.b.most_marks() == 0 else -1  # votes first, then what is constant


class Last(NamedTuple):
    """The hypothesis of this moment."""

    w: np.ndarray

    def of(self, i):
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

    def of(self, i):
        return self.past[i] + self.w[i] * (self.total - self.since[i]) + self.w[i] * self.scale
