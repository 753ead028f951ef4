"""The compiled loop over recorded answers that differ by item in what they add: attributes and scores."""

from linmax._jit import CompiledKernel
from linmax.kernels.settlement import ABSTAINS, DISTANCE, LEADER, NEXT, NOT_ASKED, settle_item


def replay_items_with(
    bases, added, available, place, known, prices, silent, diagonal, table, rescaled, ranged, low, high,
    rounding, batch, answers, base, scores, gains, result, order, distance, leader,
):  # fmt: skip
    """Ask all experts of many items, and record what is known after every answer.

    Parameters
    ----------
    bases
        The scores of each item without answers: items by cases by classes.
    added
        What the answer of each expert adds to them: items by cases by experts by classes.
    available, place, known, prices, silent, diagonal, table, rescaled, ranged, low, high, rounding, batch,
    answers, base, scores, gains, result, order, distance, leader
        As for `linmax.kernels.settlement.replay_items` and `settle_item`.
    """
    for t in range(len(added)):
        for case in range(len(base)):
            for c in range(len(place)):
                base[case, c] = bases[t, case, c]
        for i in range(len(answers)):
            answers[i] = NOT_ASKED if available[t, i] else ABSTAINS
        m = 0
        while True:
            settle_item(
                base, answers, place, known, prices, silent, diagonal, table, rescaled,
                ranged, low, high, rounding, scores, gains, result,
            )  # fmt: skip
            distance[t, m] = result[DISTANCE]
            leader[t, m] = int(result[LEADER])
            if result[NEXT] < 0:
                break
            for j in range(batch):
                best = -1
                for i in range(len(answers)):
                    if answers[i] == NOT_ASKED and (best < 0 or gains[i] > gains[best]):
                        best = i
                if best < 0:
                    break
                if j > 0:
                    distance[t, m] = -1.0
                    leader[t, m] = leader[t, m - 1]
                answers[best] = ABSTAINS
                for case in range(len(base)):
                    for c in range(len(place)):
                        base[case, c] += added[t, case, best, c]
                order[t, m] = best
                m += 1
        for rest in range(m + 1, distance.shape[1]):
            distance[t, rest] = distance[t, m]
            leader[t, rest] = leader[t, m]


replay_answers = CompiledKernel(replay_items_with)
