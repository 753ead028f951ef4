"""The instances z = x^y - x^j of a stream, comparators fitted to them, and a linear SVM as a fusion.

References
----------
C. Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003, section 4.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from linmax._jit.compilation import CompiledKernel
from linmax.fusion import Fusion
from linmax.inputs import DEFAULT
from linmax.kernels.forms.base import append_z, begin_trial, observe
from linmax.rules.perceptron import Perceptron
from linmax.spec import Learner
from linmax.validation import require_extra

__all__ = ["Instances", "SvmFusion", "comparator", "instances", "simplex_comparator"]

CELLS = 1 << 20  # size of the buffer that the kernel fills in one call


class Instances(NamedTuple):
    """All z = x^y - x^j of a stream of T items and k classes.

    Parameters
    ----------
    z : sparse CSR array of shape (T (k - 1), sub-experts)
        One z per row, columns in the order of `Fusion.weights`.
    trial : ndarray of shape (T (k - 1),)
        The item of each row.
    rival : ndarray of shape (T (k - 1),)
        The class j of each row, as a position in `Fusion.classes`.
    """

    z: Any
    trial: np.ndarray
    rival: np.ndarray


def fill(form, labels, k, begin, widest, q, index, value, ends, trial, rival):  # type: ignore[no-untyped-def]
    """Write the instances of the trials from `begin` on, while the buffers have room for another trial."""
    t = begin
    row = 0
    count = 0
    while t < len(labels) and count + k * widest <= len(index) and row + k <= len(ends):
        y = labels[t]
        begin_trial(form, t)  # type: ignore[no-untyped-call]
        if y >= 0:
            for j in range(k):
                if j != y:
                    q[y] = 1.0
                    q[j] = -1.0
                    count = append_z(form, t, k, q, 0, index, value, count)  # type: ignore[no-untyped-call]
                    q[y] = 0.0
                    q[j] = 0.0
                    ends[row] = count
                    trial[row] = t
                    rival[row] = j
                    row += 1
            observe(form, t, y)  # type: ignore[no-untyped-call]
        t += 1
    return t, row, count


_fill = CompiledKernel(fill)


def instances(learner: Fusion | Learner, votes: Any, labels: Any, attributes: Any = None) -> Instances:
    """Return z = x^y - x^j for each labelled item and each class j other than its label y.

    The classes are all classes of the stream, even on trials where an on-line learner would not know them
    yet.

    Parameters
    ----------
    learner : Fusion or Learner
        Its source of sub-experts is used. Of a `Fusion` also the classes, experts and options are used; it is
        not changed, and memories of sources start empty.
    votes : Any
        The votes, as for `Fusion.learn`.
    labels : sequence
        The labels; items without a label are left out.
    attributes : Any, optional
        The attributes, as for `Fusion.learn`.

    Returns
    -------
    result : Instances
        The instances, with the trial and the rival of each.

    Examples
    --------
    >>> from linmax import Perceptron
    >>> from linmax.experts import Votes
    >>> from linmax.svm import instances
    >>> z, trial, rival = instances(Perceptron().on(Votes()), [["a", "b", "c"], ["b", "b", "a"]], ["a", "b"])
    >>> z.toarray()
    array([[ 1., -1.,  0.],
           [ 1.,  0., -1.],
           [ 1.,  1., -1.],
           [ 1.,  1.,  0.]])
    >>> trial, rival
    (array([0, 0, 1, 1]), array([1, 2, 0, 2]))
    """
    return _compute_instances(_fresh_session(learner), votes, labels, attributes)


def _fresh_session(learner: Fusion | Learner) -> Fusion:
    if not isinstance(learner, Fusion):
        return Fusion(learner)
    fresh = Fusion(
        learner.learner,
        classes=learner.classes,
        experts=learner.experts,
        on_new_class=learner.on_new_class,
        abstain=learner.abstain,
    )
    fresh.names.attributes.extend(learner.names.attributes.names)
    fresh.names.values.extend(learner.names.values.names)
    return fresh


def _compute_instances(fusion: Fusion, votes: Any, labels: Any, attributes: Any) -> Instances:
    """Return the instances of a session, which adds the names in the data and learns nothing."""
    from scipy import sparse  # slow to import

    batch = fusion.read(votes, labels, attributes=attributes)
    runner = fusion.runner
    runner.prepare(batch, learn=True)
    run = runner.rule_runs[0]
    form = run.sources.form
    k, widest = len(fusion.classes), len(run.columns["w"]) + 1
    cells = max(CELLS, k * widest)
    index, value = np.zeros(cells, dtype=np.int64), np.zeros(cells)
    ends, trial, rival = (np.zeros(max(cells // widest, k), dtype=np.int64) for _ in range(3))
    begin = 0
    pieces: list[Instances] = []
    while begin < batch.trials:
        begin, rows, count = _fill(
            form, batch.labels, k, begin, widest, run.work.q, index, value, ends, trial, rival
        )
        named = _weight_positions(fusion)
        column = np.zeros(widest, dtype=np.int32)  # scikit-learn requires 32-bit indices
        column[named] = np.arange(len(named))
        indptr = np.concatenate(([0], ends[:rows])).astype(np.int32)
        z = sparse.csr_array(
            (value[:count], column[index[:count]], indptr), shape=(rows, len(named)), copy=True
        )
        pieces.append(Instances(z, trial[:rows].copy(), rival[:rows].copy()))
    if not pieces:
        return Instances(sparse.csr_array((0, len(_weight_positions(fusion)))), trial[:0], rival[:0])
    z, trials, rivals = zip(*pieces, strict=True)
    return Instances(sparse.vstack(z, format="csr"), np.concatenate(trials), np.concatenate(rivals))


def _weight_positions(fusion: Fusion) -> np.ndarray:
    """Return the position of each named sub-expert among the weights."""
    return np.array([at for _, _, at in fusion.runner.sources[0].named_weights()], dtype=np.int64)


def comparator(instances: Instances, C: float = 1.0) -> np.ndarray:
    """Fit a linear SVM without intercept to the instances, as the comparator of a mistake bound.

    min 1/2 |u|^2 + C sum over z of (1 - u . z)_+^2

    scikit-learn's LinearSVC is fitted to every z and its mirror -z, which balances the two classes it needs
    and does not change the solution. The weights may be negative; for the bound of Winnow use
    `simplex_comparator`. It requires `linmax[sklearn]`.

    Parameters
    ----------
    instances : Instances
        The result of `instances`.
    C : float, default=1.0
        The cost of the loss; use a large value for data without noise.

    Returns
    -------
    u : ndarray of shape (sub-experts,)
        The weights.

    Examples
    --------
    >>> from linmax import Perceptron
    >>> from linmax.experts import Votes
    >>> from linmax.problems import panel
    >>> from linmax.svm import comparator, instances
    >>> found = instances(Perceptron().on(Votes()), *panel(200, experts=5))
    >>> [abs(round(float(weight), 2)) for weight in comparator(found, C=100)]
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    from scipy import sparse

    sklearn_svm = require_extra("sklearn.svm", "sklearn", "linmax.svm.comparator")
    _validate(instances, C)
    z = instances.z
    # C / 2, since every instance is given twice
    svm = sklearn_svm.LinearSVC(fit_intercept=False, C=C / 2, dual=False, tol=1e-6)
    svm.fit(sparse.vstack((z, -z)), np.repeat((1, -1), z.shape[0]))
    return np.asarray(svm.coef_[0], dtype=np.float64)


def simplex_comparator(instances: Instances, C: float = 1.0) -> np.ndarray:
    """Fit the non-negative comparator of smallest hinge, scaled to sum 1, for the bound of Winnow.

    min sum u + C sum over trials of max over rivals (1 - u . z)_+,  u >= 0;  then u / sum u

    The linear program is solved by scipy's HiGHS, in seconds for 20,000 instances. Without noise and with a
    large C the result has the largest possible margin.

    Parameters
    ----------
    instances : Instances
        The result of `instances`.
    C : float, default=1.0
        The cost of the loss; use a large value for data without noise.

    Returns
    -------
    u : ndarray of shape (sub-experts,)
        The weights, non-negative with sum 1.

    Examples
    --------
    >>> from linmax import Perceptron
    >>> from linmax.experts import Votes
    >>> from linmax.problems import panel
    >>> from linmax.svm import instances, simplex_comparator
    >>> found = instances(Perceptron().on(Votes()), *panel(200, experts=5))
    >>> simplex_comparator(found, C=100).round(3)
    array([0.333, 0.333, 0.333, 0.   , 0.   ])
    """
    from scipy import sparse
    from scipy.optimize import linprog

    _validate(instances, C)
    z = instances.z
    rows, n = z.shape
    trials, trial = np.unique(instances.trial, return_inverse=True)
    slack = sparse.csr_array((np.ones(rows), (np.arange(rows), trial)), shape=(rows, len(trials)))
    cost = np.concatenate((np.ones(n), np.full(len(trials), C)))
    # linprog's variables are >= 0 by default
    solution = linprog(cost, A_ub=-sparse.hstack((z, slack)), b_ub=-np.ones(rows), method="highs")
    if solution.status != 0:
        raise ValueError(f"the linear program for u was not solved ({solution.message}); use fewer trials")
    u = np.maximum(solution.x[:n], 0.0)
    if not u.any():
        raise ValueError(
            f"the best non-negative u is 0 at C={C:g}; raise C, or fit u with linmax.svm.comparator"
        )
    return np.asarray(u / u.sum(), dtype=np.float64)


def _validate(instances: Instances, C: float) -> None:
    if not C > 0:
        raise ValueError(f"an SVM requires C > 0 (got {C!r}); 1 is typical, or more for data without noise")
    if not instances.z.shape[0]:
        raise ValueError("an SVM requires instances (got none): the data need labels and two classes")


class SvmFusion:
    """A linear SVM on all instances of a batch; it does not learn on-line.

    The prediction is the class with the highest score, as for every other learner, over any source of
    sub-experts. It requires `linmax[sklearn]`.

    Parameters
    ----------
    C : float, default=1.0
        The cost of the loss.
    source : Source, optional
        The source of sub-experts; by default that of a rule.
    classes : iterable, optional
        The classes, as for `Fusion`.
    abstain : Any, optional
        The vote that means an abstention, as for `Fusion`.

    Attributes
    ----------
    weights : dict
        The weight of each sub-expert.
    classes : list
        The classes, in the order of the columns of `scores`.

    References
    ----------
    C. Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, ICML 2003,
    section 4.4.

    Examples
    --------
    >>> from linmax.experts import Thresholds, Votes
    >>> from linmax.problems import majority
    >>> from linmax.svm import SvmFusion
    >>> votes, labels = majority(400, relevant=3, experts=6, classes=3)
    >>> fusion = SvmFusion(source=Votes() + Thresholds()).fit(votes[:300], labels[:300])
    >>> [abs(round(fusion.weights[expert], 1)) for expert in range(6)]
    [1.9, 1.9, 1.9, 0.0, 0.0, 0.0]
    >>> float((fusion.predict(votes[300:]) == labels[300:]).mean())
    1.0
    """

    def __init__(
        self,
        C: float = 1.0,
        source: Any = None,
        *,
        classes: Iterable[Any] | None = None,
        abstain: Any = DEFAULT,
    ) -> None:
        self.C = C
        self.source = source
        self._options = {"classes": classes, "abstain": abstain}
        self._fusion: Fusion | None = None

    def __repr__(self) -> str:
        return f"SvmFusion({self.C!r}, {self.source!r})"

    def fit(self, votes: Any = None, labels: Any = None, *, attributes: Any = None) -> Self:
        """Fit the SVM to a batch; earlier fits are forgotten.

        Parameters
        ----------
        votes : Any, optional
            The votes, as for `Fusion.learn`.
        labels : sequence
            The labels.
        attributes : Any, optional
            The attributes, as for `Fusion.learn`.

        Returns
        -------
        self : SvmFusion
            The fitted fusion.
        """
        fusion = Fusion(Perceptron().on(self.source), **self._options)
        u = comparator(_compute_instances(fusion, votes, labels, attributes), self.C)
        for name in ("theta", "w"):
            fusion.runner.rule_runs[0].columns[name][_weight_positions(fusion)] = u
        self._fusion = fusion
        return self

    def predict(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """Predict the class of every item.

        Parameters
        ----------
        votes : Any, optional
            The votes, as for `Fusion.predict`.
        attributes : Any, optional
            The attributes, as for `Fusion.predict`.

        Returns
        -------
        predictions : ndarray of shape (items,)
            The classes.
        """
        return self._fitted().predict(votes, attributes=attributes)

    def scores(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """Return the scores of every item.

        Parameters
        ----------
        votes : Any, optional
            The votes, as for `Fusion.scores`.
        attributes : Any, optional
            The attributes, as for `Fusion.scores`.

        Returns
        -------
        scores : ndarray of shape (items, classes)
            The scores, columns in the order of `classes`.
        """
        return self._fitted().scores(votes, attributes=attributes)

    @property
    def weights(self) -> dict[Any, float]:
        """The weight of each sub-expert."""
        return self._fitted().weights

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the columns of `scores`."""
        return self._fitted().classes

    def _fitted(self) -> Fusion:
        if self._fusion is None:
            raise ValueError(f"{self!r} is not fitted; call fit(votes, labels) first")
        return self._fusion
