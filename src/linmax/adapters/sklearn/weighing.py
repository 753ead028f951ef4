"""Sample weights, where a rule can honour them.

A weight c asks that a row counts c times in the loss, so that its gradient is c times as long. A rule whose
theta moves by exactly z does so when its row is c times as long: z is then c z, and no guess changes, for
scores that are all multiplied by c > 0 keep their order. This needs a rule that moves on mistakes only, one
rival or all violators, and a source that is linear in the row. Every other rule can leave a row out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from linmax.adapters.sessions import leaves
from linmax.adapters.sklearn.deciding import Array
from linmax.experts import Attributes
from linmax.learner import Learner


def weighed(learner: Learner, X: Any, y: Array, weights: Any) -> tuple[Any, Array]:
    """The rows to learn: those of weight 0 left out, the others as long as they weigh."""
    if weights is None:
        return X, y
    weights = _check_sample_weight(weights, X, dtype=np.float64, ensure_non_negative=True)
    there = np.flatnonzero(weights)
    if not len(there):
        raise ValueError("sample_weight is 0 for every row; at least one must count")
    X, y, weights = X[there], y[there], weights[there]
    if (weights == 1.0).all():
        return X, y
    for leaf in leaves(learner):
        if not _moves_by_z(leaf):
            raise ValueError(
                f"{leaf!r} cannot honour a sample weight of {weights[weights != 1.0][0]:g};"
                " take weights of 0 and 1, or a rule that moves by exactly z, such as Perceptron()"
            )
    if sparse.issparse(X):
        return sparse.diags_array(weights, format="csr") @ X, y
    return X * weights[:, None], y


def _moves_by_z(rule: Any) -> bool:
    return (
        "theta adds z" in getattr(rule, "claims", ())
        and rule.slack == 0
        and rule.rivals in ("top", "violators")
        and rule.experts == Attributes()
    )
