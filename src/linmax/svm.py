"""The instances behind a stream, and what a support vector machine makes of them (2003, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

from linmax._jit import Kernel
from linmax.fusion import Fusion
from linmax.inputs import DEFAULT
from linmax.rules.perceptron import Perceptron
from linmax.spec import Learner

CELLS = 1 << 20  # of instances that are filled in at a time


class Instances(NamedTuple):
    """All z = x^y - x^j of a stream: T (k - 1) rows; columns in the order of `Fusion.weights`."""

    z: Any  # (rows, sub-experts), a sparse CSR array
    trial: np.ndarray  # the item of each row
    rival: np.ndarray  # the class j of each row, its place in `Fusion.classes`


def fill(form, labels, k, begin, widest, q, index, value, ends, trial, rival):  # type: ignore[no-untyped-def]
    """Write the instances of the trials from `begin` on, for as long as there is room for one more trial."""
    t = begin
    row = 0
    count = 0
    while t < len(labels) and count + k * widest <= len(index) and row + k <= len(ends):
        y = labels[t]
        form.enter(t)
        if y >= 0:
            for j in range(k):
                if j != y:
                    q[y] = 1.0
                    q[j] = -1.0
                    count = form.gap(t, k, q, 0, index, value, count)
                    q[y] = 0.0
                    q[j] = 0.0
                    ends[row] = count
                    trial[row] = t
                    rival[row] = j
                    row += 1
            form.observe(t, y)
        t += 1
    return t, row, count


_fill = Kernel(fill)


def instances(learner: Fusion | Learner, votes: Any, labels: Any, attributes: Any = None) -> Instances:
    """The truth against every rival: z = x^y - x^j for each labelled item and each class j but its label y.

    The sub-experts are those of the learner's source, and the classes all that are named anywhere, also where
    an on-line learner would not know them yet. A `Fusion` lends its classes, experts and options, and stays
    as it is; memories of sources begin anew.

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
    return _gather(_afresh(learner), votes, labels, attributes)


def _afresh(learner: Fusion | Learner) -> Fusion:
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


def _gather(fusion: Fusion, votes: Any, labels: Any, attributes: Any) -> Instances:
    """The instances over the sub-experts of a fusion, which meets everyone in them and learns nothing."""
    from scipy import sparse  # it takes a while to import, and not all of linmax needs it

    batch = fusion.read(votes, labels, attributes=attributes)
    fusion._meet(batch)
    council = fusion._council
    engine = council.engines[0]
    (form,) = council.lay_out(batch, slice(0, batch.trials)).forms.values()
    k, widest = len(fusion.classes), len(engine.columns["w"]) + 1
    cells = max(CELLS, k * widest)
    index, value = np.zeros(cells, dtype=np.int64), np.zeros(cells)
    ends, trial, rival = (np.zeros(max(cells // widest, k), dtype=np.int64) for _ in range(3))
    begin = 0
    pieces: list[Instances] = []
    while begin < batch.trials:
        begin, rows, count = _fill(
            form, batch.labels, k, begin, widest, engine.work.q, index, value, ends, trial, rival
        )
        named = _places(fusion)
        column = np.zeros(widest, dtype=np.int32)  # scikit-learn takes no longer ones
        column[named] = np.arange(len(named))
        indptr = np.concatenate(([0], ends[:rows])).astype(np.int32)
        z = sparse.csr_array(
            (value[:count], column[index[:count]], indptr), shape=(rows, len(named)), copy=True
        )
        pieces.append(Instances(z, trial[:rows].copy(), rival[:rows].copy()))
    if not pieces:
        return Instances(sparse.csr_array((0, len(_places(fusion)))), trial[:0], rival[:0])
    z, trials, rivals = zip(*pieces, strict=True)
    return Instances(sparse.vstack(z, format="csr"), np.concatenate(trials), np.concatenate(rivals))


def _places(fusion: Fusion) -> np.ndarray:
    """Where each named sub-expert is among the weights."""
    return np.array([at for _, _, at in fusion._council.grounds[0].named()], dtype=np.int64)


def comparator(instances: Instances, C: float = 1.0) -> np.ndarray:
    """The weights u of a linear SVM without intercept on the instances: what a bound may be measured against.

    min 1/2 |u|^2 + C sum over z of (1 - u . z)_+^2

    scikit-learn's LinearSVC on every z and its mirror -z, which balances the two classes it needs and changes
    nothing else. Its weights have signs; for Winnow's bound take `simplex_comparator`.

    >>> from linmax import Perceptron
    >>> from linmax.experts import Votes
    >>> from linmax.problems import panel
    >>> from linmax.svm import comparator, instances
    >>> found = instances(Perceptron().on(Votes()), *panel(200, experts=5))
    >>> [abs(round(float(weight), 2)) for weight in comparator(found, C=100)]
    [1.0, 1.0, 1.0, 0.0, 0.0]
    """
    from scipy import sparse
    from sklearn.svm import LinearSVC  # it takes a second to import, and only this function needs it

    _demand(instances, C)
    z = instances.z
    machine = LinearSVC(fit_intercept=False, C=C / 2, dual=False, tol=1e-6)  # every instance is there twice
    machine.fit(sparse.vstack((z, -z)), np.repeat((1, -1), z.shape[0]))
    return np.asarray(machine.coef_[0], dtype=np.float64)


def simplex_comparator(instances: Instances, C: float = 1.0) -> np.ndarray:
    """The non-negative comparator of least hinge, scaled to sum 1: the u of Winnow's bound.

    min sum u + C sum over trials of max over rivals (1 - u . z)_+,  u >= 0;  then u / sum u

    A linear programme, solved by scipy's HiGHS: some seconds for 20,000 instances. Without noise and with a
    large C the margin is the largest there is.

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

    _demand(instances, C)
    z = instances.z
    rows, n = z.shape
    trials, trial = np.unique(instances.trial, return_inverse=True)
    short = sparse.csr_array((np.ones(rows), (np.arange(rows), trial)), shape=(rows, len(trials)))
    cost = np.concatenate((np.ones(n), np.full(len(trials), C)))
    found = linprog(cost, A_ub=-sparse.hstack((z, short)), b_ub=-np.ones(rows), method="highs")  # all >= 0
    if found.status != 0:
        raise ValueError(f"the linear programme for u found no end ({found.message}); try fewer trials")
    u = np.maximum(found.x[:n], 0.0)
    if not u.any():
        raise ValueError(f"no non-negative u is worth its weight at C={C:g}; raise C, or take comparator")
    return np.asarray(u / u.sum(), dtype=np.float64)


def _demand(instances: Instances, C: float) -> None:
    if not C > 0:
        raise ValueError(f"an SVM needs C > 0 (got {C!r}); 1 is usual, and large without noise")
    if not instances.z.shape[0]:
        raise ValueError("an SVM needs instances (got none); are there two classes and any labels?")


class SvmFusion:
    """The fusion of 2003, section 4.4: a linear SVM on all instances of a batch; it learns nothing on-line.

    It guesses as every linear-max function does, by the highest score, over any source of sub-experts.

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
        self._given = {"classes": classes, "abstain": abstain}
        self._fusion: Fusion | None = None

    def __repr__(self) -> str:
        return f"SvmFusion({self.C!r}, {self.source!r})"

    def fit(self, votes: Any = None, labels: Any = None, *, attributes: Any = None) -> Self:
        """Learn from a whole batch; what was learned before is forgotten."""
        fusion = Fusion(Perceptron().on(self.source), **self._given)
        u = comparator(_gather(fusion, votes, labels, attributes), self.C)
        for name in ("theta", "w"):
            fusion._council.engines[0].columns[name][_places(fusion)] = u
        self._fusion = fusion
        return self

    def predict(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """The class of every item."""
        return self._fitted().predict(votes, attributes=attributes)

    def scores(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """The score of every item for every class, columns in the order of `classes`."""
        return self._fitted().scores(votes, attributes=attributes)

    @property
    def weights(self) -> dict[Any, float]:
        """The SVM's weights, by the names of the sub-experts."""
        return self._fitted().weights

    @property
    def classes(self) -> list[Any]:
        """The classes, in the order of the columns of `scores`."""
        return self._fitted().classes

    def _fitted(self) -> Fusion:
        if self._fusion is None:
            raise ValueError(f"{self!r} has learned nothing yet; call fit(votes, labels) first")
        return self._fusion
