"""Majority problems: some of the experts determine the label, and the learner is not told which."""

from collections.abc import Sequence

import numpy as np

from linmax.problems._common import Ties, VoteData, plurality, row_ranges
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
) -> VoteData:
    """Generate the majority learning problem.

    Every expert votes for a class at random. The label is the plurality of the first `relevant` experts:

    label = argmax_j |{i < relevant: vote_i = j}|

    Parameters
    ----------
    trials : int
        The number of trials.
    relevant : int, default 10
        The number of relevant experts. They never abstain.
    experts : int, default 20
        The number of all experts.
    classes : int, default 5
        The number of classes.
    noise : float, default 0.0
        The probability that the label is replaced by one of the other classes, all equally likely.
    speak : float, default 1.0
        The probability that an expert who is not relevant votes; otherwise it abstains.
    ties : {"class", "expert"}, default "class"
        Whether a tie goes to the smallest class or to the class of the first relevant expert in the tie.
    seed : int, default 0
        The seed. Votes, abstentions and noise have generators of their own: at one seed, `noise`, `speak` and
        `ties` do not change what an expert would vote, and a shorter stream is the beginning of a longer one.

    Returns
    -------
    data : VoteData
        The votes and the labels.

    Notes
    -----
    The defaults are those of the 2008 paper, which adds noise. The 2003 paper uses `speak` below 1 and no
    noise. It prints ``ties="expert"``, under which the label of two relevant experts is always the vote of
    the first one; its Figure 1 is reproduced with ``ties="class"``.

    References
    ----------
    C. Mesterharm (2003). Using linear-threshold algorithms to combine multi-class sub-experts.

    C. Mesterharm and D. F. Hsu (2008). Combinatorial fusion with on-line learning algorithms.

    Examples
    --------
    >>> from linmax.problems import majority
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
        raise ValueError(f'majority requires ties="class" or ties="expert" (got {ties!r})')
    check_integer("majority", "seed", seed, 0)

    vote_rng, abstain_rng, noise_rng, other_rng = np.random.default_rng(seed).spawn(4)
    votes = np.empty((trials, experts), dtype=np.int32)
    labels = np.empty(trials, dtype=np.int64)
    for rows in row_ranges(0, trials, experts + classes):
        length = rows.stop - rows.start
        # drawn as int32, because narrower types discard random bits at the end of a block
        drawn = vote_rng.integers(classes, size=(length, experts), dtype=np.int32)
        truth = plurality(drawn[:, :relevant], classes, ties)
        noisy = noise_rng.random(length) < noise
        step = other_rng.integers(1, classes, size=length)  # drawn even if unused, to keep streams in step
        labels[rows] = np.where(noisy, (truth + step) % classes, truth)
        if speak < 1:
            abstains = abstain_rng.random((length, experts - relevant)) >= speak
            np.copyto(drawn[:, relevant:], -1, where=abstains)
        votes[rows] = drawn
    return VoteData(votes, labels)


def drifting(
    trials: int,
    relevant: int = 10,
    experts: int = 20,
    classes: int = 5,
    *,
    noise: float = 0.0,
    every: int = 1000,
    seed: int = 0,
) -> VoteData:
    """Generate the majority problem with concept drift: the relevant experts change every `every` trials.

    The first relevant experts are the first `relevant` ones, as in `majority`. Each later set is drawn
    uniformly from all experts, so that some of the old ones may remain.

    Parameters
    ----------
    trials, relevant, experts, classes, noise, seed
        As in `majority`.
    every : int, default 1000
        The number of trials after which the relevant experts are drawn again.

    Returns
    -------
    data : VoteData
        The votes and the labels.

    References
    ----------
    C. Mesterharm and D. F. Hsu (2008). Combinatorial fusion with on-line learning algorithms. The drift is
    not in the paper.

    Examples
    --------
    How often an expert agrees with the label shows whether it is relevant, here two of six for 2000 trials
    each:

    >>> from linmax.problems import drifting
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
    # all experts vote with the same distribution, so permuting them amounts to choosing other relevant ones
    rng = np.random.default_rng(seed).spawn(5)[4]  # the first four belong to majority
    for start in range(every, trials, every):
        order = rng.permutation(experts)
        for rows in row_ranges(start, min(start + every, trials), experts):
            votes[rows] = votes[rows, order]
    return VoteData(votes, labels)


def panel(
    trials: int, experts: int = 100, size: int = 3, *, signs: Sequence[int] | None = None, seed: int = 0
) -> VoteData:
    """Generate a two-class problem in which the majority of a few experts is the label.

    Experts say -1 or +1 at random, given as the classes 0 and 1. With x the vector of what they say,

    label = sign(u . x),  u_i = 1 for i < size and 0 elsewhere,  margin 1/size for sum |u| = 1

    Parameters
    ----------
    trials : int
        The number of trials.
    experts : int, default 100
        The number of all experts.
    size : int, default 3
        The number of experts who determine the label; odd.
    signs : sequence of {1, -1}, optional
        The signs of u, such as ``(1, -1, -1)``. The vote of an expert with -1 counts for the other class, so
        that no non-negative weights are right. `size` is then its length.
    seed : int, default 0
        The seed.

    Returns
    -------
    data : VoteData
        The votes and the labels.

    References
    ----------
    R. Schapire (2008). COS 511: Theoretical machine learning, lecture 15, section 2 (signs: section 5).

    Examples
    --------
    >>> from linmax.problems import panel
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
            raise ValueError(f"panel requires signs that are 1 or -1 (got {wrong[0]})")
        size = len(signs)
    check_panel_size("panel", "size" if signs is None else "len(signs)", size, experts)
    if size % 2 == 0:
        raise ValueError(f"panel requires an odd size, which rules out ties (got {size})")
    check_integer("panel", "seed", seed, 0)

    votes, labels = majority(trials, size, experts, classes=2, seed=seed)
    if signs is not None:
        negative = np.flatnonzero(np.asarray(signs) == -1)
        votes[:, negative] = 1 - votes[:, negative]  # a flipped uniform vote is uniform
    return VoteData(votes, labels)
