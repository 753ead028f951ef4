"""Regression on the classes: a squared hinge loss and least squares, on attributes or on votes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linmax._jit.memory import aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.experts import RandomFeatures, ScaledAttributes, Source
from linmax.experts.base import Capacity
from linmax.kernels.ensembles.regression import (
    MOST_INPUTS,
    DiagonalSquares,
    Hinge,
    Inputs,
    MatrixSquares,
    regress,
)
from linmax.runtime.layout import WeightLayout
from linmax.runtime.predictor import Attribution, Predictor, State
from linmax.runtime.sources import Sources
from linmax.spec import Learner, check_source, short
from linmax.validation import check_array, check_choice, is_finite, require

FIRST_SQUARES = 1e-12  # of gradients, before the first


@dataclass(frozen=True, repr=False)
class Regression(Learner, abstract=True):
    """A learner with one regression per class, against the rest; all classes move at every trial."""

    ensemble: ClassVar[bool] = True

    experts: Source | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        """Refuse a source whose inputs have no weight per class."""
        super().__post_init__()
        check_source(self._name(), self.experts)
        for part in self.source.parts:
            require(
                part.per_class,
                f"{self._name()} needs a weight per class, as ScaledAttributes() and PerClass() have"
                f" (got {short(part)})",
            )

    def __repr__(self) -> str:
        text = super().__repr__()
        return text if self.experts is None else f"{text}.on({self.experts!r})"

    @property
    def source(self) -> Source:
        """The source that is learned from."""
        return self.experts if self.experts is not None else self.default_source()

    def default_source(self) -> Source:
        """Return the source if none is given."""
        return ScaledAttributes(unit=True)

    @property
    def rule(self) -> Any:
        """A regression is not a rule: AttributeError."""
        raise AttributeError(f"{self!r} is a regression, and has no rule")

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor that keeps the weights."""
        return RegressionPredictor(self, runner.shared_sources(self.source.parts))


@dataclass(frozen=True, repr=False)
class SquaredHinge(Regression):
    """Follow the gradient of the squared hinge loss of each class against the rest, with a step per weight.

    G_ic += 4 (t_c - s_c)^2 x_i^2;  w_ic += (t_c - s_c) (1 - e^(-2 eta P_c)) / P_c  x_i / sqrt G_ic

    t_c is 1 for the label and -1 for all other classes, s_c is the score clipped to [-1, 1], and P_c = sum_i
    x_i^2 / sqrt G_ic: the step is that of infinitely many small ones, and never overshoots. There is no bound
    on the mistakes. It is meant as a member of a committee on attributes, and is best on texts.

    Parameters
    ----------
    eta : float, default 0.5
        The rate, eta > 0.
    experts : Source, optional
        The source, set with `.on(...)`: each of its inputs must have a weight per class. Default:
        ``ScaledAttributes(unit=True)``.

    References
    ----------
    Karampatziakis & Langford, Online importance weight aware updates, 2011. Duchi, Hazan & Singer, Adaptive
    subgradient methods for online learning, JMLR 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, SquaredHinge
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 5))
    >>> Fusion(SquaredHinge()).learn(attributes=rows, labels=rows[:, :3].argmax(axis=1)).mistakes
    68
    """

    eta: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a rate out of range."""
        super().__post_init__()
        require(
            is_finite(self.eta) and 0 < self.eta <= 1e3,
            f"SquaredHinge requires 0 < eta <= 1000 (got {self.eta!r}); 0.5 is usual",
        )


@dataclass(frozen=True, repr=False)
class LeastSquares(Regression):
    """Least squares on-line: each class is 1 for its items and 0 for the others.

    w_c += v (1{y = c} - s_c)

    "diagonal" keeps a variance sigma_i per input, with v_i = sigma_i x_i / (0.1 + sum_j sigma_j x_j^2).
    "matrix" keeps the covariance P of all pairs of inputs, with v = P x / (1 + x P x): it is recursive least
    squares, whose covariance returns to its prior by 1/10,000 at every trial. It takes time in proportion to
    the square of the number of inputs, and so learns only while there are at most 10 inputs per class, and
    400 in all.

    Parameters
    ----------
    of : {"diagonal", "matrix"}, default "diagonal"
        What is kept.
    experts : Source, optional
        The source, set with `.on(...)`: each of its inputs must have a weight per class; for "matrix" it is
        `ScaledAttributes` or `RandomFeatures`. Default: ``ScaledAttributes(unit=True)``, for "matrix"
        ``ScaledAttributes()``.

    References
    ----------
    Crammer, Kulesza & Dredze, Adaptive regularization of weight vectors, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from linmax import Fusion, LeastSquares
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(size=(1000, 5))
    >>> Fusion(LeastSquares("matrix")).learn(attributes=rows, labels=rows[:, :3].argmax(axis=1)).mistakes
    81
    """

    of: str = "diagonal"

    def __post_init__(self) -> None:
        """Refuse an unknown kind."""
        check_choice("LeastSquares", "of", self.of, ("diagonal", "matrix"))
        super().__post_init__()
        require(
            self.of == "diagonal" or isinstance(self.source, ScaledAttributes | RandomFeatures),
            'LeastSquares("matrix") learns on ScaledAttributes() or RandomFeatures()'
            f' (got {short(self.source)}); use "diagonal" on others',
        )

    def default_source(self) -> Source:
        """Return the source if none is given."""
        return ScaledAttributes(unit=self.of == "diagonal")


class RegressionPredictor(Predictor):
    """Keeps the weights of a regression, and what decides its steps.

    Parameters
    ----------
    learner
        The learner.
    sources
        The sources of inputs.

    Attributes
    ----------
    columns : dict of str to ndarray
        What is kept: "w" and "squares" per weight, "variances" per input, "covariance" per pair of inputs.
    """

    staged: ClassVar[bool] = True

    def __init__(self, learner: Any, sources: Sources) -> None:
        self.learner = learner
        self.sources = sources
        self.kept = "squares"
        if isinstance(learner, LeastSquares):
            self.kept = "variances" if learner.of == "diagonal" else "covariance"
        self.inputs = np.zeros(1, dtype=np.int64)
        self.layout = sources.layout
        self.columns = self._empty(self.layout)

    # --- sizes

    def _empty(self, layout: WeightLayout) -> State:
        size, inputs = layout.size, layout.size // max(1, layout.sizes.classes)
        columns: State = {"w": aligned_zeros(size, np.float32)}
        if self.kept == "squares":
            columns[self.kept] = aligned_zeros(size, np.float32)
            columns[self.kept][:] = FIRST_SQUARES
        elif self.kept == "variances":
            columns[self.kept] = np.ones(inputs)
        else:
            columns[self.kept] = np.eye(_width(inputs), dtype=np.float32).reshape(-1)
        return columns

    def _copied(self, columns: State, old: WeightLayout, new: WeightLayout) -> State:
        """Return columns in another layout, larger or smaller."""
        after = self._empty(new)
        k = min(old.sizes.classes, new.sizes.classes)
        if not k:
            return after
        source, target = _common_inputs(old, new)
        for name, column in columns.items():
            if name == "variances":
                after[name][target] = column[source]
            elif name == "covariance":
                few = (source < math.isqrt(len(column))) & (target < math.isqrt(len(after[name])))
                square, other = (array.reshape(math.isqrt(len(array)), -1) for array in (column, after[name]))
                other[np.ix_(target[few], target[few])] = square[np.ix_(source[few], source[few])]
            else:
                before, fresh = (
                    column.reshape(-1, old.sizes.classes),
                    after[name].reshape(-1, new.sizes.classes),
                )
                fresh[target, :k] = before[source, :k]
        return after

    def resize(self) -> None:
        """Follow the capacity of the sources."""
        layout = self.sources.layout
        if layout is not self.layout:
            self.columns = self._copied(self.columns, self.layout, layout)
            self.layout = layout

    # --- running

    def bind(self, program: Any, codes: np.ndarray, scores: np.ndarray) -> None:
        """Call the kernel on the inputs."""
        stride, c = self.layout.sizes.classes, self.columns
        inputs = self.layout.size // stride
        regression: Any
        if self.kept == "squares":
            regression = Hinge(c["w"], c["squares"], float(self.learner.eta))
        elif self.kept == "variances":
            regression = DiagonalSquares(c["w"], c["variances"], stride)
        else:
            width = _width(inputs)
            scratch = np.zeros(width, np.float32), np.zeros(width, np.float32)
            regression = MatrixSquares(c["w"], c["covariance"], *scratch, self.inputs, width, stride)
        steps = np.zeros(inputs * WIDTH if self.kept == "squares" else 0, np.float32)
        work = Inputs(
            np.zeros(inputs + 1, np.int64), np.zeros(inputs + 1), np.zeros(stride), np.zeros(stride), steps
        )
        program.call(
            regress,
            program.form(self.sources),
            program.labels,
            program.known,
            regression,
            work,
            codes,
            scores,
        )

    # --- what was learned

    def weights(self) -> dict[Any, float]:
        """Return the weights by key."""
        w = self.columns["w"]
        return {key: float(w[at]) for key, _, at in self.sources.named_weights()}

    def explain(self, item: Any) -> Attribution:
        """Return what each input adds."""
        return item.of_vector(self.sources, self.columns["w"].astype(np.float64))  # type: ignore[no-any-return]

    def _trimmed(self, sizes: Capacity) -> WeightLayout:
        return WeightLayout(self.sources.parts, sizes)

    def state(self) -> State:
        """Return all columns without spare capacity."""
        trimmed = self._trimmed(self.sources.sizes_of_names())
        columns = self._copied(self.columns, self.layout, trimmed)
        return {
            **{name: column.astype(np.float64) for name, column in columns.items()},
            "inputs": self.inputs,
        }

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        trimmed = self._trimmed(self.sources.sizes_of_names())
        self.resize()
        columns = {name: state[name].astype(self.columns[name].dtype) for name in self.columns}
        self.columns = self._copied(columns, trimmed, self.layout)
        self.inputs[:] = state["inputs"]

    def validate(self, state: State, sizes: Any) -> None:
        """Check shapes and ranges."""
        expected = self._empty(self._trimmed(sizes(self.sources)))
        for name, column in expected.items():
            check_array(state, name, column.shape, np.float64)
        if self.kept != "covariance":
            require(bool((state[self.kept] >= 0.0).all()), f"{self.kept} has negative values")
        check_array(state, "inputs", (1,), np.int64, 0, 2**62)


def _width(inputs: int) -> int:
    """Return the width of a matrix of so many inputs, or of the most that there may be: complete vectors."""
    return -(-min(inputs, MOST_INPUTS) // WIDTH) * WIDTH


def _common_inputs(old: WeightLayout, new: WeightLayout) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices, in both layouts, of the inputs that both have."""
    source: list[np.ndarray] = []
    target: list[np.ndarray] = []
    for before, after in zip(old.blocks, new.blocks, strict=True):
        shapes = before.shape[:-1], after.shape[:-1]
        corner = np.ix_(*(range(min(pair)) for pair in zip(*shapes, strict=True)))
        for block, layout, shape, found in zip(
            (before, after), (old, new), shapes, (source, target), strict=True
        ):
            first = block.at // layout.sizes.classes
            found.append((first + np.arange(math.prod(shape)).reshape(shape)[corner]).reshape(-1))
    return np.concatenate(source), np.concatenate(target)
