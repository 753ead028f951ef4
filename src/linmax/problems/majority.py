"""The majority learning problem: some of the experts decide, and nobody says which."""

import numpy as np

from linmax.problems._blocks import blocks
from linmax.problems._demands import chance, seats, whole
from linmax.problems._panel import Panel
from linmax.problems._plurality import Ties, plurality


def majority(
    trials: int,
    relevant: int = 10,
    experts: int = 20,
    classes: int = 5,
    *,
    noise: float = 0.0,
    speak: float = 1.0,
    ties: Ties = "class",
    seed: int = 0,
) -> Panel:
    """Experts name classes at random; the label is the plurality of the first ``relevant`` of them.

    With probability ``noise`` the label becomes one of the other classes, each equally often. The relevant
    experts always speak, the others with probability ``speak``. A tie goes to the smallest class in it
    (``ties="class"``) or to the class named by the lowest relevant expert in it (``ties="expert"``).

    Mesterharm & Hsu, Combinatorial Fusion with On-line Learning Algorithms, 2008: the defaults, with noise.
    Mesterharm, Using Linear-threshold Algorithms to Combine Multi-class Sub-experts, 2003: ``speak`` below 1
    and no noise. It prints ``ties="expert"``, under which two relevant experts are one (the label is what
    expert 0 names); its Figure 1 is reproduced with ``ties="class"``.

    Each kind of chance has its own generator: at one seed neither noise, speak nor ties changes what an
    expert would say, and a shorter stream is the beginning of a longer one.

    >>> votes, labels = majority(4, relevant=3, experts=6, classes=4, speak=0.5)
    >>> votes
    array([[ 3,  3,  0, -1,  3, -1],
           [ 0,  0,  3,  1, -1, -1],
           [ 3,  0,  1, -1, -1,  1],
           [ 2,  2,  2, -1, -1, -1]], dtype=int32)
    >>> labels
    array([3, 0, 0, 2])
    >>> clean, noisy = majority(5000), majority(5000, noise=0.05)
    >>> int((clean.labels != noisy.labels).sum())
    242
    """
    whole("majority", "trials", trials, 0)
    seats("majority", "relevant", relevant, experts)
    whole("majority", "classes", classes, 2)
    chance("majority", "noise", noise)
    chance("majority", "speak", speak)
    if ties not in ("class", "expert"):
        raise ValueError(f'majority needs ties="class" or ties="expert" (got {ties!r})')
    whole("majority", "seed", seed, 0)

    naming, silence, flips, others = np.random.default_rng(seed).spawn(4)
    votes = np.empty((trials, experts), dtype=np.int32)
    labels = np.empty(trials, dtype=np.int64)
    for rows in blocks(0, trials, experts + classes):
        length = rows.stop - rows.start
        # int32 also while drawing: narrower types throw bits away at the end of a block
        named = naming.integers(classes, size=(length, experts), dtype=np.int32)
        truth = plurality(named[:, :relevant], classes, ties)
        flipped = flips.random(length) < noise
        step = others.integers(1, classes, size=length)  # drawn also when unused, to keep the streams in step
        labels[rows] = np.where(flipped, (truth + step) % classes, truth)
        if speak < 1:
            silent = silence.random((length, experts - relevant)) >= speak
            np.copyto(named[:, relevant:], -1, where=silent)
        votes[rows] = named
    return Panel(votes, labels)
