"""What Naive Bayes counts: the votes of each expert under each label, or how often each was right.

Probabilities are multiplied, and the exponents of the products are split off every few votes, so that a trial
takes one logarithm per class instead of one per vote and class.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from linmax._jit.compilation import dispatched, inline, separate
from linmax._jit.vectors import (
    WIDTH,
    assign,
    exponents,
    get,
    increase,
    largest,
    mantissas,
    maximum,
    put,
    splat,
    take,
)
from linmax.kernels.blocks import (
    add_number,
    copy_first,
    eight_at,
    eight_or_first,
    exists,
    n_eights,
    number_at,
    number_or_first,
    place_of_eight,
    prefetch_eight,
    set_number,
)
from linmax.kernels.elementwise import LN2, log_of

POOL = 10.0  # the strength of the prior of the pooled table, in pseudo-counts
TRUST = 0.6  # the accuracy of an expert under that prior; errors are spread evenly
NEAR = 2048  # probabilities of the votes of a trial that a processor has at hand
# factors between two looks at the exponents of the products: each is between 1e-30 and 1e30; also the votes
# whose long rows are read side by side: processors fetch few sequences ahead, three per vote
RUN = 8
# products of each class if there are few: a factor waits for the one before at the same place in memory
SIDES = 4


class VoteList(NamedTuple):
    """The votes of a trial that are for one class each.

    Parameters
    ----------
    expert, label : ndarray of shape (experts + 7,), int64
        Who votes, and for which class.
    value, other : ndarray of shape (experts + 7,)
        Scratch arrays, positive at first.
    product, powers : ndarray of shape (classes,), or of SIDES * WIDTH numbers if that is more
        The product of the votes' probabilities under each label, and the exponents that were split off.
    """

    expert: np.ndarray
    label: np.ndarray
    value: np.ndarray
    other: np.ndarray
    product: np.ndarray
    powers: np.ndarray


@dispatched
def begin_counts(counts, k):
    """Prepare what the votes of a trial are compared with."""


@dispatched
def add_votes(counts, votes, count, k, shrink, scores):
    """Add to scores[c] what the first `count` votes of a list say in favour of each class c."""


@dispatched
def add_log_odds(counts, i, a, part, k, shrink, r):
    """Add to r[c] what the vote of expert i for class a, of weight `part`, says in favour of each class c."""


@dispatched
def most_log_odds(counts, i, a, k, shrink):
    """Return the most that the vote of expert i for class a says in favour of a class."""


@dispatched
def count_vote(counts, i, a, part, y, shrink):
    """Count that expert i voted for class a, with weight `part`, when the label was y."""


@dispatched
def count_votes(counts, votes, count, y, shrink):
    """Count the first `count` votes of a list when the label was y."""


@dispatched
def end_counts(counts, y, k):
    """End a trial whose label is y."""


class Tables(NamedTuple):
    """Counts of the votes of each expert under each label.

    P(expert i votes a | label j) is (prior[a, j] * scale[j] + unit * said[i, a, j]) * inverse[i, j], up to a
    constant; it is exactly 1 for the first vote of an expert under the label it votes for, so that equal
    counts tie. Large tables are stored in blocks of eight labels, made when one of them is first counted.

    Parameters
    ----------
    said : column of shape (experts, votes, labels), see `kernels/blocks.py`
        How often an expert voted for a class when the label was j.
    heard, inverse : ndarray of shape (experts * labels,)
        The sums of `said` over the votes, and shrink / (shrink + heard).
    pooled, prior : columns of shape (1 + votes, labels)
        The sums of `said` over the experts; and the same with pseudo-counts, over TRUST. Row a + 1 is for
        votes for a. In blocks, the first block of row 0 stands for all that do not exist; that of label a in
        the row of votes for a always exists.
    pool, scale : ndarray of shape (labels,)
        The sums of `pooled` over the votes, and 1 / (POOL + pool).
    truths, log_truths : ndarray of shape (labels,)
        How often each class was the label, and the logarithm of 1 more.
    classes : ndarray of shape (1,), int64
        The number of classes that `prior` is for.
    """

    said: Any
    heard: np.ndarray
    inverse: np.ndarray
    pooled: Any
    prior: Any
    pool: np.ndarray
    scale: np.ndarray
    truths: np.ndarray
    log_truths: np.ndarray
    classes: np.ndarray

    def begin_counts(self, k):
        """Compute the prior anew if a class has become known."""
        if self.classes[0] != k:
            self.classes[0] = k
            write_priors(self.prior, self.pooled, len(self.truths), k)

    def add_votes(self, votes, count, k, shrink, scores):
        """Add the logarithm of the product of the votes' probabilities under each label."""
        unit = 1.0 / (shrink * TRUST)
        wide = len(self.truths)
        for b in range(0, k, WIDTH):
            put(votes.product, b, splat(1.0))
            put(votes.powers, b, splat(0.0))
        near = k <= WIDTH or k * count <= NEAR  # else a row is read from end to end, beside a few others
        group = max(count, 1) if near else RUN
        for begin in range(0, count, group):
            end = min(begin + group, count)
            if not near:
                prefetch_rows(self.said, votes, end, min(end + group, count), k, wide)
            for b in range(0, k, WIDTH):
                product, powers = take(votes.product, b), take(votes.powers, b)
                scale = take(self.scale, b)
                for first in range(begin, end, RUN):
                    for j in range(first, min(first + RUN, end)):
                        i, a = get(votes.expert, j), get(votes.label, j)
                        own = eight_at(self.said, (i * wide + a) * wide + b) * unit
                        p = own + eight_or_first(self.prior, (a + 1) * wide + b) * scale
                        product = product * (p * take(self.inverse, i * wide + b))
                    powers = powers + exponents(product)
                    product = mantissas(product)
                put(votes.powers, b, powers)
                put(votes.product, b, product)
        add_logs(votes, k, scores)

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add the log-probability of a vote for a under each label."""
        unit = 1.0 / (shrink * TRUST)
        wide = len(self.truths)
        for j in range(k):
            own = number_at(self.said, (i * wide + a) * wide + j) * unit
            p = own + number_or_first(self.prior, (a + 1) * wide + j) * self.scale[j]
            r[j] += part * math.log(p * self.inverse[i * wide + j])

    def most_log_odds(self, i, a, k, shrink):
        """Return the log-probability of a vote for a under the label where it is most probable."""
        unit = 1.0 / (shrink * TRUST)
        wide = len(self.truths)
        rest = k // WIDTH * WIDTH
        found = splat(0.0)
        for b in range(0, rest, WIDTH):
            own = eight_at(self.said, (i * wide + a) * wide + b) * unit
            p = own + eight_or_first(self.prior, (a + 1) * wide + b) * take(self.scale, b)
            found = maximum(found, p * take(self.inverse, i * wide + b))
        most = largest(found)
        for j in range(rest, k):
            own = number_at(self.said, (i * wide + a) * wide + j) * unit
            p = own + number_or_first(self.prior, (a + 1) * wide + j) * self.scale[j]
            most = max(most, p * self.inverse[i * wide + j])
        return math.log(most)

    def count_vote(self, i, a, part, y, shrink):
        """Count the vote."""
        wide = len(self.truths)
        add_number(self.said, (i * wide + a) * wide + y, part)
        increase(self.heard, i * wide + y, part)
        assign(self.inverse, i * wide + y, shrink / (shrink + get(self.heard, i * wide + y)))
        copy_first(self.prior, (a + 1) * wide + y)
        add_number(self.pooled, (a + 1) * wide + y, part)
        write_prior(self.prior, self.pooled, a, y, wide, self.classes[0])
        self.pool[y] += part

    def count_votes(self, votes, count, y, shrink):
        """Count the votes."""
        wide = len(self.truths)
        k = self.classes[0]
        for j in range(count):
            i, a = get(votes.expert, j), get(votes.label, j)
            add_number(self.said, (i * wide + a) * wide + y, 1.0)
            increase(self.heard, i * wide + y, 1.0)
            assign(self.inverse, i * wide + y, shrink / (shrink + get(self.heard, i * wide + y)))
            copy_first(self.prior, (a + 1) * wide + y)
            add_number(self.pooled, (a + 1) * wide + y, 1.0)
        if count < k:
            for j in range(count):
                write_prior(self.prior, self.pooled, get(votes.label, j), y, wide, k)
        else:
            for a in range(k):
                if exists(self.prior, (a + 1) * wide + y):
                    write_prior(self.prior, self.pooled, a, y, wide, k)
        self.pool[y] += count

    def end_counts(self, y, k):
        """Compute the scale of the label anew."""
        self.scale[y] = 1.0 / (POOL + self.pool[y])


@separate
def prefetch_rows(said, votes, first, last, k, wide):
    """Let the machine fetch what was counted of some votes."""
    for j in range(first, last):
        at = (get(votes.expert, j) * wide + get(votes.label, j)) * wide
        for b in range(0, k, WIDTH):
            prefetch_eight(said, at + b)


@inline
def add_logs(votes, k, scores):
    """Add the logarithms of the products to the scores."""
    for b in range(0, k, WIDTH):
        put(scores, b, take(scores, b) + log_of(take(votes.product, b)) + take(votes.powers, b) * LN2)


@inline
def prior_of(pooled, right, k):
    """Return how often experts cast a vote, with pseudo-counts and relative to TRUST."""
    first = TRUST if right else (1.0 - TRUST) / max(k - 1, 1)
    return (POOL * first + pooled) / TRUST


@inline
def write_prior(prior, pooled, a, y, wide, k):
    """Write the prior of votes for a under label y, which exists."""
    at = (a + 1) * wide + y
    set_number(prior, at, prior_of(number_at(pooled, at), a == y, k))


@separate
def write_priors(prior, pooled, wide, k):
    """Write the prior wherever it is stored, for k known classes."""
    for block in range(n_eights(prior)):
        first = place_of_eight(prior, block)
        a = first // wide - 1
        for at in range(first, first + WIDTH):
            set_number(prior, at, prior_of(number_at(pooled, at), a == at - (a + 1) * wide, k))


class Accuracies(NamedTuple):
    """Counts of the correct votes of each expert.

    Parameters
    ----------
    right, heard : ndarray of shape (experts,)
        Correct votes, and all votes, on labelled trials.
    pooled : ndarray of shape (2,)
        The sums of both over the experts.
    truths, log_truths : ndarray of shape (labels,)
        How often each class was the label, and the logarithm of 1 more.
    """

    right: np.ndarray
    heard: np.ndarray
    pooled: np.ndarray
    truths: np.ndarray
    log_truths: np.ndarray

    def begin_counts(self, k):
        pass

    def add_votes(self, votes, count, k, shrink, scores):
        """Add to each class the log-odds of the experts that vote for it."""
        g = shrink * (POOL * TRUST + self.pooled[0]) / (POOL + self.pooled[1])
        rest = shrink - g
        for j in range(count):
            i = get(votes.expert, j)
            right = get(self.right, i)
            assign(votes.value, j, g + right)
            assign(votes.other, j, rest + (get(self.heard, i) - right))
        few = count < k  # votes: a logarithm for each of them, else for each class
        for j in range(0, count, WIDTH):
            odds = take(votes.value, j) * max(k - 1, 1) / take(votes.other, j)
            put(votes.value, j, log_of(odds) if few else odds)
        if few:
            for j in range(count):
                increase(scores, get(votes.label, j), get(votes.value, j))
            return
        sides, numbers = (SIDES, SIDES * WIDTH) if k <= WIDTH else (1, k)
        for b in range(0, numbers, WIDTH):
            put(votes.product, b, splat(1.0))
            put(votes.powers, b, splat(0.0))
        for first in range(0, count, RUN * sides):
            for j in range(first, min(first + RUN * sides, count)):
                at = get(votes.label, j) + WIDTH * (j & (sides - 1))
                assign(votes.product, at, get(votes.product, at) * get(votes.value, j))
            for b in range(0, numbers, WIDTH):
                put(votes.powers, b, take(votes.powers, b) + exponents(take(votes.product, b)))
                put(votes.product, b, mantissas(take(votes.product, b)))
        for side in range(1, sides):
            put(votes.powers, 0, take(votes.powers, 0) + take(votes.powers, side * WIDTH))
            put(votes.product, 0, take(votes.product, 0) * take(votes.product, side * WIDTH))
        add_logs(votes, k, scores)

    def add_log_odds(self, i, a, part, k, shrink, r):
        """Add the log-odds of a against any other class."""
        r[a] += part * math.log(odds(self, i, k, shrink))

    def most_log_odds(self, i, a, k, shrink):
        """Return the log-odds of a against any other class, or those of another class, 0."""
        found = math.log(odds(self, i, k, shrink))
        return found if k == 1 else max(found, 0.0)

    def count_vote(self, i, a, part, y, shrink):
        """Count the vote."""
        right = part * (a == y)
        self.right[i] += right
        self.heard[i] += part
        self.pooled[0] += right
        self.pooled[1] += part

    def count_votes(self, votes, count, y, shrink):
        """Count the votes."""
        correct = 0.0
        for j in range(count):
            i = get(votes.expert, j)
            right = 1.0 * (get(votes.label, j) == y)
            increase(self.right, i, right)
            increase(self.heard, i, 1.0)
            correct += right
        self.pooled[0] += correct
        self.pooled[1] += count

    def end_counts(self, y, k):
        pass


@inline
def odds(counts, i, k, shrink):
    """Return p (k - 1) / (1 - p), where p is the accuracy of expert i."""
    g = shrink * (POOL * TRUST + counts.pooled[0]) / (POOL + counts.pooled[1])
    return (g + counts.right[i]) * max(k - 1, 1) / ((shrink - g) + (counts.heard[i] - counts.right[i]))
