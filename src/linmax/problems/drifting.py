"""A majority problem in which those who decide are replaced from time to time."""

import numpy as np

from linmax.problems._blocks import blocks
from linmax.problems._demands import chance, seats, whole
from linmax.problems._panel import Panel
from linmax.problems.majority import majority


def drifting(
    trials: int,
    relevant: int = 10,
    experts: int = 20,
    classes: int = 5,
    *,
    noise: float = 0.0,
    every: int = 1000,
    seed: int = 0,
) -> Panel:
    """The majority problem whose relevant experts are replaced by a random new set every ``every`` trials.

    The first set is the first ``relevant`` experts, as in ``majority``; each later one is drawn uniformly
    from all experts, so some of the old may stay. Votes, labels, noise and ties are those of ``majority``.

    The problem of Mesterharm & Hsu, Combinatorial Fusion with On-line Learning Algorithms, 2008, made to
    drift; the drift is not in the paper.

    Who agrees with the label tells who is relevant; here two of six, for 2000 trials each time:

    >>> votes, labels = drifting(4000, relevant=2, experts=6, every=2000)
    >>> [round(float((votes[:2000, i] == labels[:2000]).mean()), 2) for i in range(6)]
    [0.57, 0.62, 0.21, 0.2, 0.21, 0.21]
    >>> [round(float((votes[2000:, i] == labels[2000:]).mean()), 2) for i in range(6)]
    [0.19, 0.2, 0.62, 0.21, 0.19, 0.6]
    """
    whole("drifting", "trials", trials, 0)
    seats("drifting", "relevant", relevant, experts)
    whole("drifting", "classes", classes, 2)
    chance("drifting", "noise", noise)
    whole("drifting", "every", every, 1)
    whole("drifting", "seed", seed, 0)

    votes, labels = majority(trials, relevant, experts, classes, noise=noise, seed=seed)
    # all votes are alike in law, so reseating the experts is the same as choosing others to be relevant
    reseating = np.random.default_rng(seed).spawn(5)[4]  # the first four are majority's own
    for start in range(every, trials, every):
        order = reseating.permutation(experts)
        for rows in blocks(start, min(start + every, trials), experts):
            votes[rows] = votes[rows, order]
    return Panel(votes, labels)
