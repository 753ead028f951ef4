"""Single items that name experts or classes which a session does not know."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from linmax._jit import tiers
from linmax._jit.numba_internals import State as JitState
from linmax.experts.base import TrialData
from linmax.kernels.forms import Sparse, SparseRows
from linmax.runtime.predictor import Predictions, TrialChunk
from linmax.runtime.program import Program
from linmax.runtime.runner import Runner
from linmax.runtime.sources import NO_TRIALS

PREDICT_ONLY = -1
CELLS = 4  # of votes for which there is space, for each expert
MOST = 4  # numbers of experts and classes whose arrays are kept
THREAD = JitState.thread


class UnknownNames:
    """Predicts single items that name experts or classes which the session does not know.

    The arrays of an item are kept and stay bound to the compiled kernels, for each number of experts and
    classes that items had: binding them takes longer than all the rest. Nothing becomes known.

    Parameters
    ----------
    runner
        The learner at work, whose kernels can run single items.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self._version, self._interpreted = -1, False
        self._bound: dict[tuple[int, int], _Bound] = {}

    def predict(self, batch: Any) -> Predictions | None:
        """Predict an item, with its scores, as `Runner.run` does.

        Parameters
        ----------
        batch
            The encoded item.

        Returns
        -------
        Predictions or None
            None if it must take the general path.
        """
        runner, votes = self.runner, batch.votes
        names = runner.names
        if (
            batch.trials != 1
            or not len(names.classes)
            or type(votes) is not Sparse
            or batch.rows is not None
            or batch.nominal is not None
            or (batch.experts_seen, batch.classes_seen) == (len(names.experts), len(names.classes))
            or len(votes.value) > CELLS * batch.experts_seen
            or runner.in_blocks
            or (runner.observer is not None and runner.observer.decides)
            or (runner.may_wait and tiers.postpones())
        ):
            return None
        try:
            runner.resize(runner.sizes_with(batch))
            bound = self._bind(batch)
            count = len(votes.value)
            bound.votes.indptr[1] = count
            bound.votes.expert[:count], bound.votes.label[:count] = votes.expert, votes.label
            bound.votes.value[:count] = votes.value
            bound.known[:] = batch.known
            code = bound.run(PREDICT_ONLY)
            return Predictions(np.array([code], dtype=np.int32), bound.scores.copy())
        finally:
            runner.resize()

    def _bind(self, batch: Any) -> _Bound:
        runner, experts, classes = self.runner, batch.experts_seen, batch.classes_seen
        if self._version != runner.version or self._interpreted is not THREAD.interpreting:
            self._bound.clear()
            self._version, self._interpreted = runner.version, THREAD.interpreting
        found = self._bound.pop((experts, classes), None)
        if found is None:
            cells = CELLS * experts
            votes = Sparse(
                np.zeros(2, dtype=np.int64), np.zeros(cells, dtype=np.int32),
                np.zeros(cells, dtype=np.int32), np.ones(cells),
            )  # fmt: skip
            rows = SparseRows(np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32), np.zeros(0))
            label, known, code = (np.zeros(1, dtype=np.int32) for _ in range(3))
            scores = np.zeros((1, classes))
            runner.predictor.request(TrialChunk(batch, NO_TRIALS), True)
            program = Program(
                runner.predictor, runner.staged_runs, TrialData(votes, rows), label, known, classes, code,
                scores, scaling=runner.scaling,
            )  # fmt: skip
            for predictor in runner.predictors:
                predictor.release()
            found = _Bound(votes, known, scores, program, program.first())
        while len(self._bound) >= MOST:
            del self._bound[next(iter(self._bound))]
        self._bound[experts, classes] = found  # the latest one is the last
        return found


class _Bound(NamedTuple):
    """The arrays of an item, and what runs it."""

    votes: Any
    known: np.ndarray
    scores: np.ndarray
    program: Program
    run: Callable[[int], int]
