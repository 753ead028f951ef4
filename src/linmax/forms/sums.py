"""Sources side by side: the sub-experts of one, then those of the other."""

from typing import Any, NamedTuple


class Sum(NamedTuple):
    """The verbs of both parts; the second part's weights start at `split`."""

    a: Any
    b: Any
    split: int

    def tally(self, t, k, w, at, scores):
        self.a.tally(t, k, w, at, scores)
        self.b.tally(t, k, w, at + self.split, scores)

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

    def marks(self, t, at, width, marks, count):
        count = self.a.marks(t, at, width, marks, count)
        return self.b.marks(t, at + self.split, width, marks, count)

    def backdrop(self, k, at, width, words):
        before = self.a.backdrop(k, at, width, words)
        return before + self.b.backdrop(k, at + self.split, width, words)

    def most_marks(self):
        a, b = self.a.most_marks(), self.b.most_marks()
        return a + b if min(a, b) >= 0 else -1
