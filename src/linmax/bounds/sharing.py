"""The mistake bound of hypothesis sharing, where sets of classes share the vectors of a Perceptron.

h(x, r) = sum over tau of tau(r) u^tau . phi^tau(x, r);   M <= L + C + sqrt(L C),
L = sum of (1 - h(x, y) + max over rivals h(x, r))_+,   C = rho R^2 sum |u^tau|^2

A trial whose label is novel counts neither as a mistake nor in L.

References
----------
M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman, Online multiclass learning by interclass hypothesis
sharing, ICML 2006, Theorem 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax.experts.shared import ClassSets


def mixing_bound(loss: float, complexity: float) -> float:
    """Return the bound M <= L + C + sqrt(L C) of a comparator.

    Parameters
    ----------
    loss : float
        L, the hinge loss of the comparator summed over the trials; see `hinge_losses`.
    complexity : float
        C; see `complexity`.

    Returns
    -------
    mistakes : float
        The bound.

    Examples
    --------
    >>> from linmax.bounds import mixing_bound
    >>> mixing_bound(0, 256), mixing_bound(9, 256)
    (256.0, 313.0)
    """
    for name, value in (("loss", loss), ("complexity", complexity)):
        if not value >= 0:  # nor NaN
            raise ValueError(f"mixing_bound requires {name} >= 0 (got {value!r})")
    return float(complexity + loss + math.sqrt(loss * complexity))


def complexity(u: Mapping[Any, Any] | Iterable[Any], *, rho: int, radius: float) -> float:
    """Return C = rho R^2 sum |u^tau|^2 (Eq. 8) of a comparator.

    `rho` and `radius` are those of the learner, even if the vector of a set is 0.

    Parameters
    ----------
    u : mapping, list or matrix
        The vectors of all sets: by the name of the set, or one per row. With a kernel only the norm of a
        vector matters: pass [norm] for it.
    rho : int
        The largest number of sets that contain one class; see `overlap`.
    radius : float
        R; see `radius`.

    Returns
    -------
    complexity : float
        C.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax.bounds import complexity
    >>> u = np.array([0.5, 0.5, 0.5, 0.5] + [0] * 60)
    >>> complexity({"all": u}, rho=1, radius=16)
    256.0
    >>> complexity([u] * 16, rho=1, radius=16)
    4096.0
    """
    vectors = list(u.values() if isinstance(u, Mapping) else u)
    if not (rho >= 1 and math.isfinite(radius) and radius >= 0):
        raise ValueError(
            f"complexity requires rho >= 1 and a finite radius >= 0 (got rho={rho}, radius={radius})"
        )
    squares = 0.0
    for vector in vectors:
        row = np.asarray(vector, dtype=np.float64)
        if row.ndim != 1 or not np.isfinite(row).all():
            raise ValueError(
                f"complexity requires a vector of finite numbers for every set (got {vector!r});"
                " pass a single vector in a list"
            )
        squares += float(row @ row)
    return rho * radius**2 * squares


def radius(*features: Any) -> float:
    """Return R = 2 max |phi^tau(x_t, r)| (Eq. 8).

    With a kernel |phi|^2 is K(phi, phi).

    Parameters
    ----------
    *features : array-like of shape (..., n)
        One array per feature map, of shape (trials, n) if all classes have the same features, or
        (trials, classes, n). NaN, where a class has no features yet, is ignored.

    Returns
    -------
    radius : float
        R.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax.bounds import radius
    >>> radius(np.ones((5, 64)), np.full((5, 16, 4), 3.0))
    16.0
    """
    largest = 0.0
    for array in features:
        squares = np.square(np.asarray(array, dtype=np.float64)).sum(axis=-1)
        largest = max(largest, float(np.nanmax(squares, initial=0.0)))
    return 2.0 * math.sqrt(largest)


def overlap(sets: Mapping[Any, Iterable[Hashable]] | Iterable[Iterable[Hashable]]) -> int:
    """Return rho, the largest number of sets that contain one class.

    Parameters
    ----------
    sets : mapping or iterable
        The sets of classes: a dict as for `Shared`, or a list of lists.

    Returns
    -------
    rho : int
        The largest number of sets with a common class.

    Examples
    --------
    >>> from linmax.bounds import overlap
    >>> single, multi = [range(16)], [[r] for r in range(16)]
    >>> overlap(single), overlap(multi), overlap(single + multi)
    (1, 1, 2)
    >>> overlap({"water": ["cod", "duck"], "air": ["duck", "owl"]})
    2
    """
    sets = dict(sets) if isinstance(sets, ClassSets) else sets
    try:
        given = [set(members) for members in (sets.values() if isinstance(sets, Mapping) else sets)]
    except TypeError:
        raise ValueError(
            f"overlap requires sets of classes, as a dict or a list of lists (got {sets!r})"
        ) from None
    memberships = Counter(r for members in given for r in members)
    return max(memberships.values(), default=0)


def hinge_losses(
    scores: Any, labels: Any, *, classes: Sequence[Any] | None = None, known: Any = None
) -> NDArray[np.float64]:
    """Return the hinge loss of a comparator on each trial; L is their sum.

    loss = (1 - h(x, y) + max over known rivals h(x, r))_+,  0 on a trial whose label is novel

    Parameters
    ----------
    scores : array-like of shape (trials, classes)
        The scores h(x, r).
    labels : sequence
        The label of each trial.
    classes : sequence, optional
        The class of each column; by default labels are column numbers.
    known : array-like of bool, optional
        Which classes are known on which trial, broadcast to the shape of `scores`; by default a class is
        known after its first label. True means all classes from the start.

    Returns
    -------
    losses : ndarray of shape (trials,)
        The losses.

    Examples
    --------
    >>> from linmax.bounds import hinge_losses
    >>> scores = [[0, 0, 9], [3, 1, 9], [2, 1, 9], [0.5, 1, 9], [0, 0, 9]]
    >>> hinge_losses(scores, ["a", "b", "a", "a", "c"], classes=["a", "b", "c"])
    array([0. , 0. , 0. , 1.5, 0. ])
    >>> hinge_losses(scores, [0, 1, 0, 0, 2], known=True)
    array([10. ,  9. ,  8. ,  9.5,  0. ])
    """
    h = np.asarray(scores, dtype=np.float64)
    if h.ndim != 2 or len(h) != len(labels):
        raise ValueError(f"hinge_losses requires a row of scores per label (got {h.shape} for {len(labels)})")
    trials, k = h.shape
    y = _columns(labels, range(k) if classes is None else classes, k)
    trial = np.arange(trials)
    if known is None:
        first = np.full(k, trials)
        np.minimum.at(first, y, trial)
        known = trial[:, None] > first
    rivals = np.array(np.broadcast_to(known, h.shape), dtype=bool)
    label_known = rivals[trial, y]
    rivals[trial, y] = False  # a class is not its own rival
    best_rival = np.where(rivals, h, -np.inf).max(axis=1, initial=-np.inf)
    losses: NDArray[np.float64] = np.where(label_known, np.maximum(1.0 - h[trial, y] + best_rival, 0.0), 0.0)
    return losses


def _columns(labels: Any, classes: Sequence[Any], k: int) -> NDArray[np.int64]:
    """Return the column of each label."""
    if len(classes) != k:
        raise ValueError(f"hinge_losses requires a class per column (got {len(classes)} for {k} columns)")
    column = {name: j for j, name in enumerate(classes)}
    unknown = [label for label in labels if label not in column]
    if unknown:
        raise ValueError(f"hinge_losses has no column for the label {unknown[0]!r}; add it to classes=")
    return np.array([column[label] for label in labels], dtype=np.int64)
