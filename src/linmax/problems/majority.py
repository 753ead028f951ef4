"""The majority learning problem: some of the experts decide, and nobody says which."""

from collections.abc import Sequence

import numpy as np

from linmax.problems._common import Panel, Ties, blocks, plurality
from linmax.validation import check_integer, check_panel_size, check_probability


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
    check_integer("majority", "trials", trials, 0)
    check_panel_size("majority", "relevant", relevant, experts)
    check_integer("majority", "classes", classes, 2)
    check_probability("majority", "noise", noise)
    check_probability("majority", "speak", speak)
    if ties not in ("class", "expert"):
        raise ValueError(f'majority needs ties="class" or ties="expert" (got {ties!r})')
    check_integer("majority", "seed", seed, 0)

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
    check_integer("drifting", "trials", trials, 0)
    check_panel_size("drifting", "relevant", relevant, experts)
    check_integer("drifting", "classes", classes, 2)
    check_probability("drifting", "noise", noise)
    check_integer("drifting", "every", every, 1)
    check_integer("drifting", "seed", seed, 0)

    votes, labels = majority(trials, relevant, experts, classes, noise=noise, seed=seed)
    # all votes are alike in law, so reseating the experts is the same as choosing others to be relevant
    reseating = np.random.default_rng(seed).spawn(5)[4]  # the first four are majority's own
    for start in range(every, trials, every):
        order = reseating.permutation(experts)
        for rows in blocks(start, min(start + every, trials), experts):
            votes[rows] = votes[rows, order]
    return Panel(votes, labels)


def panel(
    trials: int, experts: int = 100, size: int = 3, *, signs: Sequence[int] | None = None, seed: int = 0
) -> Panel:
    """Experts say -1 or +1 at random, given as the classes 0 and 1; the first ``size`` of them decide.

    label = sign(u . x),  u = 1 on the panel and 0 elsewhere,  margin 1/size under sum |u| = 1

    ``signs`` such as ``(1, -1, -1)`` puts signs into u: a -1 marks a member who counts for the opposite of
    what he says, so that no non-negative weights are right. Its length is then the size.

    Schapire, COS 511: Theoretical Machine Learning, lecture 15, 2008, section 2 (signs: section 5).

    >>> votes, labels = panel(4, experts=6)
    >>> votes
    array([[1, 1, 0, 0, 1, 1],
           [0, 0, 1, 0, 1, 1],
           [1, 0, 0, 1, 0, 0],
           [1, 1, 1, 1, 0, 0]], dtype=int32)
    >>> labels
    array([1, 0, 0, 1])
    >>> votes, labels = panel(1000, signs=(1, -1, -1))
    >>> [round(float((votes[:, i] == labels).mean()), 2) for i in range(5)]
    [0.74, 0.25, 0.24, 0.51, 0.48]
    """
    check_integer("panel", "trials", trials, 0)
    if signs is not None:
        wrong = [sign for sign in signs if sign not in (-1, 1)]
        if wrong:
            raise ValueError(f"panel needs signs that are 1 or -1 (got {wrong[0]})")
        size = len(signs)
    check_panel_size("panel", "size" if signs is None else "len(signs)", size, experts)
    if size % 2 == 0:
        raise ValueError(f"panel needs an odd size, which rules out ties (got {size})")
    check_integer("panel", "seed", seed, 0)

    votes, labels = majority(trials, size, experts, classes=2, seed=seed)
    if signs is not None:
        contrary = np.flatnonzero(np.asarray(signs) == -1)
        votes[:, contrary] = 1 - votes[:, contrary]  # what he says is as uniform as what he counts for
    return Panel(votes, labels)
