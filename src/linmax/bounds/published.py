"""Bounds as they were published, for comparison with `bound`; some of them are false."""

from __future__ import annotations

import math
from typing import Any

from linmax.bounds.case import Case
from linmax.bounds.sharing import complexity


def published_1999(n: int, delta: float) -> float:
    """Return the bound published for Committee: 2 ln n / delta^2, with alpha = (1 - delta)^(-1/2).

    The bound is false. An adversary (`linmax.problems.adversary`) makes 168 mistakes against 165.8 at
    n = 10^4 and delta = 1/3, and 463 against 460.5 at delta = 1/5. With this alpha the bound is
    `bound(Winnow((1 - delta) ** -0.5), case)`. The value 2 ln n / delta^2 holds for
    alpha = ((1 + delta) / (1 - delta))^(1/2), which is `Winnow.for_margin(delta)`.

    Parameters
    ----------
    n : int
        The number of sub-experts.
    delta : float
        The margin of the comparator.

    Returns
    -------
    mistakes : float
        The published value.

    References
    ----------
    C. Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999, Theorem 1.

    Examples
    --------
    >>> from linmax import Winnow
    >>> from linmax.bounds import Case, bound, published_1999
    >>> published_1999(10_000, 1 / 3)
    165.8
    >>> case = Case(n=10_000, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> bound(Winnow((1 - 1 / 3) ** -0.5), case)
    172.0
    """
    Case(n=n, delta=delta)  # checks both
    return 2.0 * math.log(n) / delta**2


def published_2003(n: int, delta: float) -> float:
    """Return the bound published for Winnow: ln n / delta^2, with alpha = (1 - delta)^(-1/2).

    The bound is false: it is half of that of 1999, which is already too small. The same adversary makes 168
    mistakes against 82.9.

    Parameters
    ----------
    n : int
        The number of sub-experts.
    delta : float
        The margin of the comparator.

    Returns
    -------
    mistakes : float
        The published value.

    References
    ----------
    C. Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003,
    section 4.3.

    Examples
    --------
    >>> from linmax.bounds import published_2003
    >>> published_2003(10_000, 1 / 3)
    82.9
    """
    Case(n=n, delta=delta)  # checks both
    return math.log(n) / delta**2


def published_2006(u: Any, length: float) -> float:
    """Return the bound published for hypothesis sharing without loss: 2 max|x|^2 sum |u^tau|^2.

    The paper's example has 128 for one vector shared by all classes and 2048 for sixteen vectors. Its own
    Eqs. 5 and 2, with R = 2 max|x|, give 256 and 4096 (`complexity`). The 128 is false: an adversary makes
    216 mistakes. The 2048 holds by its Lemma 1: with a vector per class, z = (x, -x) and |z|^2 = 2 |x|^2.

    Parameters
    ----------
    u : array-like of shape (sets, n)
        The vectors of the comparator.
    length : float
        max |x|.

    Returns
    -------
    mistakes : float
        The published value.

    References
    ----------
    M. Fink, S. Shalev-Shwartz, Y. Singer and S. Ullman, Online multiclass learning by interclass hypothesis
    sharing, ICML 2006, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax.bounds import complexity, published_2006
    >>> u = np.array([[0.5, 0.5, 0.5, 0.5] + [0] * 60])
    >>> published_2006(u, length=8), published_2006(u.repeat(16, axis=0), length=8)
    (128.0, 2048.0)
    >>> complexity(u, rho=1, radius=2 * 8), complexity(u.repeat(16, axis=0), rho=1, radius=2 * 8)
    (256.0, 4096.0)
    """
    return complexity(u, rho=1, radius=2.0 * length) / 2


def published_2008(n: int, delta: float, u: Any = None, noise: float = 0.0) -> float:
    """Return the bound published for Balanced Winnow: 3.2 (ln 2n + sum |u| ln |u|) / delta^2 + 1.35 noise.

    The bound is for alpha = 1 + delta. linmax has no proof of it: the argument behind `bound` gives a
    coefficient near 2 for the noise. The paper's 7329 for its majority problem has ln n instead of ln 2n,
    which is correct for a single vector of weights.

    Parameters
    ----------
    n : int
        The number of sub-experts.
    delta : float
        The margin of the comparator.
    u : array-like, optional
        The weights of the comparator.
    noise : float, default=0.0
        The hinge divided by delta.

    Returns
    -------
    mistakes : float
        The published value.

    References
    ----------
    C. Mesterharm and D. F. Hsu, Combinatorial fusion with on-line learning algorithms, 2008, Eq. 1.

    Examples
    --------
    >>> import math
    >>> from linmax.bounds import published_2008
    >>> u = [1 / 12] * 10 + [4 / 60, 3 / 60, 2 / 60, 1 / 60]
    >>> value = published_2008(25, 1 / 60, u)
    >>> round(value), round(value - 3.2 * 60**2 * math.log(2))
    (15314, 7329)
    """
    return 3.2 * Case(n=n, delta=delta, u=u).relative_entropy(doubled=True) / delta**2 + 1.35 * noise
