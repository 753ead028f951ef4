"""Sources side by side: the sub-experts of one, then those of the other."""

from typing import Any, NamedTuple


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
