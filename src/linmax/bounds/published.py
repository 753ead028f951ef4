"""Bounds as they stand in print, for comparison; some are false."""

from __future__ import annotations

import math
from typing import Any

from linmax.bounds.case import Case
from linmax.bounds.sharing import complexity


def printed_1999(n: int, delta: float) -> float:
    """Committee's bound as printed: 2 ln n / delta^2, with alpha = (1 - delta)^(-1/2). False.

    Mesterharm, A multi-class linear learning algorithm related to Winnow, NIPS 1999, Theorem 1. An adversary
    (`linmax.problems.adversary`) exceeds it: 168 mistakes against 165.8 at n = 10^4 and delta = 1/3, and 463
    against 460.5 at delta = 1/5. What holds with this alpha is `bound(Winnow((1 - delta) ** -0.5), case)`;
    and 2 ln n / delta^2 holds for alpha = ((1 + delta) / (1 - delta))^(1/2): `Winnow.for_margin(delta)`.

    >>> from linmax import Winnow
    >>> from linmax.bounds import Case, bound, printed_1999
    >>> printed_1999(10_000, 1 / 3)
    165.8
    >>> case = Case(n=10_000, delta=1 / 3, u=[1 / 3, 1 / 3, 1 / 3])
    >>> bound(Winnow((1 - 1 / 3) ** -0.5), case)
    172.0
    """
    return 2.0 * math.log(n) / delta**2


def printed_2003(n: int, delta: float) -> float:
    """Winnow's bound as printed: ln n / delta^2, with alpha = (1 - delta)^(-1/2). False.

    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003, section 4.3:
    half of what was printed in 1999, which was too little already. The adversary makes 168 mistakes, again.

    >>> from linmax.bounds import printed_2003
    >>> printed_2003(10_000, 1 / 3)
    82.9
    """
    return math.log(n) / delta**2


def printed_2006(u: Any, length: float) -> float:
    """The bound of hypothesis sharing without loss, as its example prints it: 2 max|x|^2 sum |u^tau|^2.

    Fink, Shalev-Shwartz, Singer & Ullman, Online multiclass learning by interclass hypothesis sharing, 2006,
    section 2: 128 for one vector shared by all classes, 2048 for sixteen. Its own Eqs. 5 and 2, with
    R = 2 max|x|, give 256 and 4096 (`complexity`). The 128 is false: an adversary makes 216 mistakes.
    The 2048 is true, by its Lemma 1: with a vector per class z = (x, -x), and |z|^2 = 2 |x|^2.

    >>> import numpy as np
    >>> from linmax.bounds import complexity, printed_2006
    >>> u = np.array([[0.5, 0.5, 0.5, 0.5] + [0] * 60])
    >>> printed_2006(u, length=8), printed_2006(u.repeat(16, axis=0), length=8)
    (128.0, 2048.0)
    >>> complexity(u, rho=1, radius=2 * 8), complexity(u.repeat(16, axis=0), rho=1, radius=2 * 8)
    (256.0, 4096.0)
    """
    return complexity(u, rho=1, radius=2.0 * length) / 2


def printed_2008(n: int, delta: float, u: Any = None, noise: float = 0.0) -> float:
    """Balanced Winnow's bound as printed: 3.2 (ln 2n + sum |u| ln |u|) / delta^2 + 1.35 noise.

    Mesterharm & Hsu, Combinatorial fusion with on-line learning algorithms, 2008, Eq. 1; alpha = 1 + delta.
    `noise` is the hinge divided by delta. Printed, and not proven here: the argument behind `bound` gives a
    coefficient near 2 on the noise. The paper's 7329 for its majority problem has ln n for ln 2n, as is right
    for one vector of weights.

    >>> import math
    >>> from linmax.bounds import printed_2008
    >>> u = [1 / 12] * 10 + [4 / 60, 3 / 60, 2 / 60, 1 / 60]
    >>> round(printed_2008(25, 1 / 60, u)), round(printed_2008(25, 1 / 60, u) - 3.2 * 60**2 * math.log(2))
    (15314, 7329)
    """
    return 3.2 * Case(n=n, delta=delta, u=u).surprise(doubled=True) / delta**2 + 1.35 * noise
