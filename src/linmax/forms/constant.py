"""Threshold experts: one per known class, which always votes 1 for it."""

from typing import NamedTuple

from linmax.forms.memory import without_memory


@without_memory
class Always(NamedTuple):
    """Sub-expert c votes for class c on every trial."""

    stride: int

    def tally(self, t, k, w, at, scores):
        for c in range(k):
            scores[c] += w.of(at + c)

    def tally_both(self, t, k, w, v, at, scores, others):
        for c in range(k):
            scores[c] += w.of(at + c)
            others[c] += v.of(at + c)

    def gap(self, t, k, q, at, index, value, count):
        for c in range(k):
            index[count] = at + c
            value[count] = q[c]
            count += 1 * (q[c] != 0.0)
        return count

    def speakers(self, t, k, at, spoken, index, count):
        for c in range(k):
            if spoken[at + c] == 0:
                index[count] = at + c
                count += 1
        return count

    def marks(self, t, bits, blank, shifts):
        pass  # the same in every trial: the backdrop

    def backdrop(self, k, at, bits, q):
        total = 0
        for c in range(k):
            total += int(q[at + c]) << (bits * c)
        return total

    def most_marks(self):
        return 0
