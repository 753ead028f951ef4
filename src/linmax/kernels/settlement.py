"""The kernels of consultations: can the experts that were not asked yet change the prediction?"""

import math

from linmax._jit.compilation import CompiledKernel, inline, separate

NOT_ASKED, ABSTAINS = -2, -1  # in `answers`; others are codes of classes
LEADER, SETTLED, DISTANCE, NEXT = 0, 1, 2, 3  # in `result`
NUMBERS = 4


@inline
def largest_loss(diagonal, table, ranged, low, high, rescaled, case, i, place, leader, rival):
    """Return by how much any answer of expert i can reduce the lead over a rival."""
    at, other = place[leader], place[rival]
    up = diagonal[case, i, at]
    down = diagonal[case, i, other]
    own = rescaled[0, case, i]
    most = max(0.0, -up, down)
    box = rescaled[1, case, i]
    if table.shape[3] > 0 or ranged:
        most = 0.0
        for a in range(len(place)):
            label = 0.0
            if table.shape[3] > 0:
                label = table[case, i, place[a], at] - table[case, i, place[a], other]
            raw = label
            if a == leader:
                label += up
                raw += up - own
            if a == rival:
                label -= down
                raw -= down - own
            most = max(most, -label)
            box += max(0.0, -low * raw, -high * raw)
    return max(most, box) if ranged else most


@separate
def settle_item(
    base, answers, place, known, prices, silent, diagonal, table, rescaled,
    ranged, low, high, rounding, scores, gains, result,
):  # fmt: skip
    """Score the answers so far, and find the leader, how safe its lead is, and whom to ask next.

    Parameters
    ----------
    base
        Cases by classes of the item: the scores without the answers in `answers`. The true hypothesis lies
        between the cases.
    answers
        The code of the class that each expert has voted for, ABSTAINS or NOT_ASKED.
    place
        The index in the tables of each class of the item.
    known
        How many of these classes can be predicted; one more may be a class that nobody has named yet.
    prices, silent
        The price of each expert, and whether none of its votes changes a score.
    diagonal, table, rescaled
        What a vote adds to its own class and to all classes; of `diagonal`, the part on rescaled scores, and
        its largest absolute value.
    ranged, low, high
        Whether experts may answer with scores, and their range.
    rounding
        A lead must be larger than this.
    scores, gains
        Take the scores, and by how much each expert can reduce the smallest lead.
    result
        Takes the leader, whether it is settled, its distance from the nearest rival in units of what the
        experts not asked can change (the third root of the sum of third powers), and the next expert.
    """
    cases, classes, experts = base.shape[0], len(place), len(answers)
    left = 0
    loud = 0
    for case in range(cases):
        for c in range(classes):
            scores[case, c] = base[case, c]
    for i in range(experts):
        a = answers[i]
        if a == NOT_ASKED:
            left += 1
            loud += 1 - silent[i]
        elif a >= 0:
            for case in range(cases):
                scores[case, a] += diagonal[case, i, place[a]]
                if table.shape[3] > 0:
                    for c in range(classes):
                        scores[case, c] += table[case, i, place[a], place[c]]
    leader = -1
    for c in range(known):
        if leader < 0 or scores[0, c] > scores[0, leader]:
            leader = c
    result[LEADER] = leader
    result[NEXT] = -1
    if left == 0:
        result[SETTLED] = 1.0
        result[DISTANCE] = math.inf
        return
    settled = leader >= 0
    distance = math.inf
    closest = math.inf
    worst_case, worst_rival = 0, -1
    for case in range(cases):
        for rival in range(classes):
            if leader < 0 or rival == leader:
                continue
            total = 0.0
            cubes = 0.0
            for i in range(experts):
                if answers[i] == NOT_ASKED and silent[i] == 0:
                    loss = largest_loss(
                        diagonal, table, ranged, low, high, rescaled, case, i, place, leader, rival
                    )
                    total += loss
                    cubes += loss * loss * loss
            lead = scores[case, leader] - scores[case, rival]
            if loud > 0 or rival >= known:  # else no answer changes a score, and a tie stays as it is
                settled = settled and lead - total > rounding
                if lead - total < closest:
                    closest = lead - total
                    worst_case, worst_rival = case, rival
                if lead <= 0.0:
                    distance = min(distance, 0.0)
                elif cubes > 0.0:
                    distance = min(distance, lead / math.pow(cubes, 1.0 / 3.0))
    result[SETTLED] = 1.0 * settled
    result[DISTANCE] = math.inf if settled else distance
    best = -1.0
    for i in range(experts):
        gains[i] = -1.0
        if answers[i] == NOT_ASKED:
            gains[i] = 0.0
            if silent[i] == 0 and worst_rival >= 0:
                gains[i] = largest_loss(
                    diagonal, table, ranged, low, high, rescaled, worst_case, i, place, leader, worst_rival
                )
            elif silent[i] == 0:  # no class is known yet
                gains[i] = 1.0
            if gains[i] > 0.0:
                gains[i] = gains[i] / prices[i] if prices[i] > 0.0 else math.inf
            if gains[i] > best:
                best = gains[i]
                result[NEXT] = i


settle = CompiledKernel(settle_item)


def replay_items(
    base, bases, added, votes, available, place, known, prices, silent, diagonal, table, rescaled, ranged,
    low, high, rounding, batch, answers, scores, gains, result, order, distance, leader,
):  # fmt: skip
    """Ask all experts of many items, as `settle_item` says, and record what is known after every answer.

    Parameters
    ----------
    base, place, known, prices, silent, diagonal, table, rescaled, ranged, low, high, rounding, answers,
    scores, gains, result
        As for `settle_item`.
    bases
        The scores of each item without answers, which `base` takes: items by cases by classes. Without items:
        all begin with `base`.
    added
        What the answer of each expert adds to these: items by cases by experts by classes. Without items:
        what `diagonal` and `table` say of their votes.
    votes, available
        Items by experts: the code of the class that each would vote for, or ABSTAINS, and who can be asked.
    batch
        How many are asked at a time.
    order
        Takes the experts in the order in which they are asked; items by experts, NOT_ASKED at the end.
    distance, leader
        Take the distance and the leader before each answer and in the end, items by experts + 1; the distance
        is -1 inside of a batch.
    """
    for t in range(len(votes)):
        if len(bases) > 0:
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
                answers[best] = votes[t, best]
                if len(added) > 0:  # it is in the scores from now on
                    answers[best] = ABSTAINS
                    for case in range(len(base)):
                        for c in range(len(place)):
                            base[case, c] += added[t, case, best, c]
                order[t, m] = best
                m += 1
        for rest in range(m + 1, distance.shape[1]):
            distance[t, rest] = distance[t, m]
            leader[t, rest] = leader[t, m]


replay = CompiledKernel(replay_items)


FAR = 700.0  # the largest exponent
MARGIN = 1e-9  # by which the sum must be larger, beyond what rounding and approximate exponentials change
FLOOR = -20.0  # the smallest log-probability of a member of a stack, as in kernels/ensembles/mixtures.py


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
