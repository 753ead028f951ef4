"""The kernel of Weighted Majority: one pass over what members or experts guessed."""

import math

from linmax._jit import Kernel, inline
from linmax.techniques.moving import best

NEW, SPOKEN = 0, 1  # a newcomer starts at the mean weight of those who have spoken


@inline
def mean_log(logs, spoken):
    """The log of the mean of the weights of those who have spoken; 0 when there are none."""
    top = -math.inf
    for i in range(len(logs)):
        if spoken[i] != NEW:
            top = max(top, logs[i])
    if top == -math.inf:
        return 0.0
    total = 0.0
    count = 0
    for i in range(len(logs)):
        if spoken[i] != NEW:
            total += math.exp(logs[i] - top)
            count += 1
    return top + math.log(total / count)


def weigh_trials(ballots, labels, known, logs, spoken, step, scores, guesses, board):
    """Weighted Majority over what members (or experts) guess, -1 when they abstain."""
    for t in range(ballots.shape[0]):
        k = known[t]
        y = labels[t]
        join = math.nan
        top = -math.inf
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                if spoken[i] == NEW:
                    if math.isnan(join):
                        join = mean_log(logs, spoken)
                    logs[i] = join
                top = max(top, logs[i])
        for c in range(k):
            scores[c] = 0.0
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                scores[ballots[t, i]] += math.exp(logs[i] - top)  # the heaviest who speaks counts 1
        guesses[t] = best(scores, k)
        if len(board) > 0:
            for c in range(k):
                board[t, c] = scores[c]
        for i in range(ballots.shape[1]):
            if ballots[t, i] >= 0:
                if y >= 0:
                    spoken[i] = SPOKEN
                    if y < k and ballots[t, i] != y:
                        logs[i] -= step
                elif spoken[i] == NEW:
                    logs[i] = 0.0  # a prediction leaves no trace


weigh = Kernel(weigh_trials)
