"""The kernel of interval bounds: can experts change the prediction of a mixture of soft-max probabilities?

The prediction is the class with the largest sum over leaves of g_j p_j. For each leaf, whose scores are
linear in the votes, the lead of class l over r is at least low_r whatever the experts not asked vote. Then

    p_l - p_r  >=  (1 - exp(-low_r)) / (1 + sum over r' of exp(-low_r'))   if low_r >= 0,
    p_l - p_r  >=  tanh(low_r / 2)                                         otherwise,

since p_l = 1 / (1 + sum of exp(-(s_l - s_r'))), p_r / p_l = exp(-(s_l - s_r)), and p_l + p_r <= 1.
"""

import math

from linmax._jit import CompiledKernel, separate
from linmax.kernels.settlement import ABSTAINS, NOT_ASKED, largest_loss

FAR = 700.0  # the largest exponent
MARGIN = 1e-9  # by which the sum must be larger, beyond what rounding and approximate exponentials change
FLOOR = -20.0  # the smallest log-probability of a member of a stack, as in kernels/ensembles.py


@separate
def leads_always(base, answers, place, leader, g, diagonal, table, spread, share, scores, low, total):
    """Return whether a class is predicted whatever the experts not asked vote.

    Parameters
    ----------
    base, diagonal, table
        The tables of each leaf, see `settle_item`.
    answers, place
        As for `settle_item`.
    leader
        The class.
    g
        The share of each leaf in the probabilities; 0 for members of a stack that are no leaves themselves.
    spread
        Leaves by experts, twice: the largest difference that a vote makes between two classes.
    share
        Leaves by leaves: the absolute weight of a member in a stack.
    scores, low, total
        Scratch arrays: leaves by classes, leaves by classes, and classes.
    """
    leaves, classes = base.shape[0], len(place)
    for j in range(leaves):
        for c in range(classes):
            scores[j, c] = base[j, c]
        for i in range(len(answers)):
            a = answers[i]
            if a >= 0:
                scores[j, a] += diagonal[j, i, a]
                if table.shape[3] > 0:
                    for c in range(classes):
                        scores[j, c] += table[j, i, a, c]
    for r in range(classes):
        total[r] = 0.0
    for j in range(leaves):
        if g[j] == 0.0:
            continue
        penalty = 0.0
        for m in range(leaves):
            if share[j, m] != 0.0:  # members whose log-probabilities may be cut off at FLOOR
                smallest, largest = math.inf, -math.inf
                for c in range(classes):
                    smallest = min(smallest, scores[m, c])
                    largest = max(largest, scores[m, c])
                reach = largest - smallest + math.log(classes)
                for i in range(len(answers)):
                    if answers[i] == NOT_ASKED:
                        reach += spread[0, m, i]
                penalty += share[j, m] * max(0.0, reach + FLOOR)
        rest = 0.0
        for r in range(classes):
            if r != leader:
                low[j, r] = scores[j, leader] - scores[j, r] - penalty
                for i in range(len(answers)):
                    if answers[i] == NOT_ASKED:
                        low[j, r] -= largest_loss(
                            diagonal, table, 0, 0.0, 0.0, spread, j, i, place, leader, r
                        )
                rest += math.exp(min(max(-low[j, r], -FAR), FAR))
        for r in range(classes):
            if r != leader:
                if low[j, r] >= 0.0:
                    total[r] += g[j] * (1.0 - math.exp(max(-low[j, r], -FAR))) / (1.0 + rest)
                else:
                    total[r] += g[j] * math.tanh(max(low[j, r], -FAR) / 2.0)
    smallest = math.inf
    for r in range(classes):
        if r != leader:
            smallest = min(smallest, total[r])
    return smallest > MARGIN


always = CompiledKernel(leads_always)


def first_settled(
    votes, available, order, leader, base, place, g, diagonal, table, spread, share,
    answers, scores, low, total, settled,
):  # fmt: skip
    """Find after how many answers the prediction of each item is settled, on paths of `replay_items`."""
    for t in range(len(votes)):
        for i in range(len(answers)):
            answers[i] = NOT_ASKED if available[t, i] else ABSTAINS
        m = 0
        while m < order.shape[1] and order[t, m] >= 0:
            if leads_always(
                base, answers, place, leader[t, m], g, diagonal, table, spread, share, scores, low, total
            ):
                break
            answers[order[t, m]] = votes[t, order[t, m]]
            m += 1
        settled[t] = m


first = CompiledKernel(first_settled)
