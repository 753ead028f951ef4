"""One item at a time, in microseconds: arrays that stay in place, and kernels called without a look-up."""

from __future__ import annotations

from collections.abc import Callable, Set
from functools import partial
from operator import itemgetter
from struct import Struct
from typing import Any

import numpy as np

from linmax._jit.numba_internals import State as JitState
from linmax._jit.tiers import expect, postponed, postpones
from linmax.experts.base import TrialData
from linmax.inputs.abstain import read_abstain
from linmax.kernels import program as programs
from linmax.kernels.forms import Hard, Sparse, SparseRows
from linmax.kernels.forms.votes import code_type
from linmax.runtime.concurrency import DeferredInterrupt, SessionLock
from linmax.runtime.predictor import NO_SCORES, Predictions, TrialChunk
from linmax.runtime.program import Program
from linmax.runtime.runner import Runner
from linmax.runtime.sources import NO_TRIALS
from linmax.runtime.unknown_names import UnknownNames
from linmax.validation import LARGEST_NUMBER, SMALLEST_NUMBER

PREDICT_ONLY = -1
FEW_ROWS = 100  # of a table, which take less time one by one
ITEMS = 16  # for so many there is space in tables that are stored in blocks
THREAD = JitState.thread


class SingleItem:
    """Predicts and learns single items that are given as dicts of known names.

    The arrays of one item are allocated once and bound to compiled kernels; they are made anew when the
    names or the capacity of the runner change. Whatever this class does not know (a new name, a value that
    needs checking, a learner that keeps several items) is left to the general path: `run` then returns None,
    and nothing has changed.

    Parameters
    ----------
    runner
        The learner at work.
    needs
        What the learner reads: "votes", "rows" or "nominal".
    abstain
        The votes that abstain, as given to the session.
    lock
        The lock of the session.
    """

    def __init__(self, runner: Runner, needs: Set[str], abstain: Any, lock: SessionLock) -> None:
        self.runner = runner
        self.abstain = abstain
        self._needs = needs
        self._lock = lock
        self._acquire, self._release = lock.state.acquire, lock.state.release
        self._version, self._interpreted = -1, False
        self._supported = (
            all(predictor.staged for predictor in runner.predictors)
            and not runner.whole_runs
            and all(part.single_item for part in runner.parts)
        )
        self._unknown = UnknownNames(runner)

    def run(self, votes: Any, attributes: Any, label: Any) -> int | None:
        """Predict an item and, unless the label is None, learn it.

        Parameters
        ----------
        votes, attributes
            Dicts, or None where the learner reads none.
        label
            The name of the class.

        Returns
        -------
        int or None
            The code of the predicted class; None if the item must take the general path.
        """
        try:
            if not self._acquire(False):
                self._lock.acquire_in_turn()
            if self._version != self.runner.version or self._interpreted is not THREAD.interpreting:
                self._prepare()
            if (
                type(votes) is not self._votes_type
                or type(attributes) is not self._attributes_type
                or (label is not None and self._lock.learning_thread is not None)
            ):
                return None
            try:
                if attributes is None and len(votes) == self._panel:  # nobody is missing
                    given = self._votes_of(votes)
                    if not self._int_classes or (type(label) is not bool and bool not in map(type, given)):
                        self._pack(self._memory, 0, *itemgetter(*given)(self._codes))
                        return self._labelled(PREDICT_ONLY if label is None else self._classes[label])
            except (KeyError, TypeError):
                pass
            return self._run(votes, attributes, label)
        finally:
            try:  # noqa: SIM105 (contextlib.suppress takes as long as the lock)
                self._release()
            except RuntimeError:
                pass  # an interrupt came while it waited for the lock

    def run_known(self, votes: Any, attributes: Any) -> int | None:
        """Predict an item without the experts and attributes that are not known.

        Parameters
        ----------
        votes, attributes
            As for `run`.

        Returns
        -------
        int or None
            As from `run`; None also if all names are known.
        """
        names = self.runner.names
        sizes = [len(item) for item in (votes, attributes) if type(item) is dict]
        if type(votes) is dict:
            experts = names.experts.codes
            votes = {name: vote for name, vote in votes.items() if name in experts}
        if type(attributes) is dict:
            codes = names.attributes.codes
            if any(isinstance(value, str) and name in codes for name, value in attributes.items()):
                return None  # text instead of a number: the general path has an error for that
            attributes = {
                name: value
                for name, value in attributes.items()
                if ((name, value) if isinstance(value, str) else name) in codes
            }
        known = [len(item) for item in (votes, attributes) if type(item) is dict]
        return None if known == sizes else self.run(votes, attributes, None)

    def learn_rows(self, batch: Any) -> np.ndarray | None:
        """Learn a batch as `run_rows` does, as a whole, after the threads that wait for the state."""
        if batch.trials > FEW_ROWS:
            return None
        self._lock.let_others_go_first()
        with self._lock.state, DeferredInterrupt():
            return self.run_rows(batch)

    def run_rows(self, batch: Any) -> np.ndarray | None:
        """Predict the few rows of a batch, and learn those with a label; the lock of the state is held.

        The result is that of a table, which takes longer to set up than so few rows take.

        Parameters
        ----------
        batch
            The encoded batch.

        Returns
        -------
        ndarray or None
            The code of the predicted class of each row; None if the batch must take the general path.
        """
        runner = self.runner
        if batch.trials > FEW_ROWS or runner.in_blocks or runner.changing or not batch.sliceable:
            return None
        if self._version != runner.version or self._interpreted is not THREAD.interpreting:
            self._prepare()
        codes, only_votes = batch.votes.codes, self._votes_type is dict and self._attributes_type is not dict
        if not only_votes or codes.shape[1] != len(self._order):
            return None
        return self.programs[0].run_each(codes, batch.labels, self._labels.codes)

    def predict_read(self, batch: Any, scores: bool = False) -> Predictions:
        """Predict items that were read, which may name what is not known; the lock of the state is held.

        Parameters
        ----------
        batch
            The encoded items.
        scores
            Whether scores are returned, too.
        """
        found = self._unknown.predict(batch) if self._supported else None
        return self.runner.run(batch, learn=False, scores=scores) if found is None else found

    def predict_probabilities(self, votes: Any, attributes: Any) -> tuple[int, np.ndarray] | None:
        """Predict an item, and return the probabilities of the classes, too.

        Parameters
        ----------
        votes, attributes
            As for `run`.

        Returns
        -------
        tuple or None
            The code of the predicted class, and the probabilities, which the next call overwrites; None if
            the item must take the general path.
        """
        with self._lock.state:
            if self._version != self.runner.version or self._interpreted is not THREAD.interpreting:
                self._prepare()
            right = type(votes) is self._votes_type and type(attributes) is self._attributes_type
            if not right or self.runner.observer is None:
                return None
            try:
                if attributes is not None and not self._write_attributes(attributes):
                    return None
                labels = votes is None or self._write_labels(votes)
                if not labels and not self._write_scores(votes):
                    return None
            except (KeyError, TypeError):
                return None
            if labels not in self._estimating:
                found = np.zeros((1, int(self._known[0])))
                self._estimating[labels] = self._bind(self._labels if labels else self._scores, found), found
            run, found = self._estimating[labels]
            return run(PREDICT_ONLY), found[0]

    def _run(self, votes: Any, attributes: Any, label: Any) -> int | None:
        try:
            code = PREDICT_ONLY if label is None else self._classes[label]
            if label is not None and self._int_classes and type(label) is bool:
                return None  # True is not 1 here, although it is to a dict
            if attributes is not None and not self._write_attributes(attributes):
                return None
            if votes is None or self._write_labels(votes):
                return self._labelled(code)
            return self._scored(code) if self._write_scores(votes) else None
        except (KeyError, TypeError):  # an unknown name, or one that cannot be a key
            return None

    # --- the arrays of an item, and the kernels over them

    def _prepare(self) -> None:
        runner = self.runner
        names = runner.names
        ready = self._supported and len(names.classes) > 0
        self._votes_type: Any = dict if "votes" in self._needs else type(None)
        self._attributes_type: Any = dict if "rows" in self._needs else type(None)
        if not ready:
            self._votes_type = self._attributes_type = SingleItem  # nothing can be run
        else:
            runner.resize()
            self._allocate(len(names.experts), len(names.classes), len(names.attributes))
            self.programs: list[Program] = []
            if runner.in_blocks:
                runner.reserve(self._scores.expert, ITEMS, len(names.classes))
            self._labelled = self._bind(self._labels)
            self._scored: Any = None
            self._estimating: dict[bool, tuple[Callable[[int], int], np.ndarray]] = {}
        self._version, self._interpreted = runner.version, THREAD.interpreting

    def _allocate(self, experts: int, classes: int, attributes: int) -> None:
        names = self.runner.names
        abstentions = read_abstain(self.abstain, names.classes, None)
        self._classes: dict[Any, int] = names.classes.codes
        kind = type(names.classes.names[0])
        silent = [name for name in abstentions.names if type(name) is kind or name not in self._classes]
        self._codes = self._classes | dict.fromkeys((None, *silent), -1)
        for name in abstentions.ambiguous:  # the general path raises an error for these
            self._codes.pop(name, None)
        self._int_classes = kind is int
        self._experts = names.experts.codes
        self._attributes = names.attributes.codes
        self._order = tuple(names.experts.names)
        self._votes_of: Any = itemgetter(*self._order) if experts > 1 else None
        self._panel = experts if experts > 1 else -1
        cells, columns = 4 * max(8, experts) * max(1, min(classes, 4)), 4 * max(8, attributes)
        self._labels = Hard(np.zeros((1, experts), dtype=code_type(classes)))
        self._memory: Any = self._labels.codes.data
        letter = self._labels.codes.dtype.char
        self._pack = Struct(f"{experts}{letter}").pack_into  # half the time of an assignment to a slice
        self._scores = Sparse(
            np.zeros(2, dtype=np.int64), np.zeros(cells, dtype=np.int32),
            np.zeros(cells, dtype=np.int32), np.ones(cells),
        )  # fmt: skip
        self._rows = SparseRows(
            np.zeros(2, dtype=np.int64), np.zeros(columns, dtype=np.int32), np.zeros(columns)
        )
        self._known = np.array([classes], dtype=np.int32)

    def _bind(self, votes: Any, probabilities: np.ndarray = NO_SCORES) -> Callable[[int], int]:
        """Return the function that runs an item whose votes are in these arrays.

        If there is space for probabilities, they are written, and the function may only predict.
        """
        names = self.runner.names
        expected = expect(1, len(names.experts), len(names.classes), len(names.attributes))
        if not self.runner.may_wait or not postpones(expected):
            return self._bind_now(votes, probabilities)
        with postponed():
            run = self._bind_now(votes, probabilities)

        def run_as_python(code: int) -> int:
            with postponed():
                found = run(code)
            if not postpones():
                self._version = -1  # all is bound anew, compiled
            return found

        return run_as_python

    def _bind_now(self, votes: Any, probabilities: np.ndarray) -> Callable[[int], int]:
        runner = self.runner
        label, code = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32)
        observed = runner.observer is not None and (runner.observer.learns or len(probabilities) > 0)
        names = runner.names.classes.names
        runner.predictor.request(TrialChunk(_NoBatch, NO_TRIALS), observed)
        program = Program(
            runner.predictor, runner.staged_runs, TrialData(votes, self._rows), label, self._known,
            int(self._known[0]), code, NO_SCORES, scaling=runner.scaling,
            observer=partial(runner.observer.bind, names, probabilities) if observed else None,
        )  # fmt: skip
        for predictor in runner.predictors:
            predictor.release()
        if not runner.single_run:  # whose rule counts by itself
            program.call(programs.count, label, code, runner.counts)
        self.programs.append(program)  # keeps its arrays alive
        run = program.first()
        if runner.changing:
            run = self._with_changes(run)
        return self._with_space(run, votes) if runner.in_blocks else run

    def _with_space(self, run: Callable[[int], int], votes: Any) -> Callable[[int], int]:
        """Return a function that has all arrays bound anew when there is no space for one more item."""
        runner, votes = self.runner, votes if isinstance(votes, Hard) else votes.expert

        def checked(code: int) -> int:
            predicted = run(code)
            if code >= 0 and runner.lacks(votes, int(self._known[0])):
                runner.version += 1
            return predicted

        return checked

    def _with_changes(self, run: Callable[[int], int]) -> Callable[[int], int]:
        """Return a function that lets members be replaced after an item that was learned."""

        def checked(code: int) -> int:
            predicted = run(code)
            if code >= 0:
                self.runner.change_members()
            return predicted

        return checked

    # --- an item into the arrays

    def _write_labels(self, votes: dict[Any, Any]) -> bool:
        """Write the vote of every expert; False if votes are scores, which raise TypeError as keys."""
        if votes.keys() <= self._experts.keys():
            given = tuple(map(votes.get, self._order))
        else:
            raise KeyError("an expert is unknown")
        if self._int_classes and bool in map(type, given):
            raise KeyError("a vote is no class")
        try:
            self._pack(self._memory, 0, *map(self._codes.__getitem__, given))
        except TypeError:
            return False
        return True

    def _write_scores(self, votes: dict[Any, Any]) -> bool:
        """Write votes of experts that give scores."""
        cells: list[tuple[int, int, float]] = []
        for name, vote in votes.items():
            expert = self._experts[name]
            if isinstance(vote, dict):
                for label, score in vote.items():
                    code = self._codes[label]
                    if score != 0:
                        if code < 0 or not _is_ordinary(score):
                            return False
                        cells.append((expert, code, float(score)))
            elif self._codes[vote] >= 0:
                cells.append((expert, self._codes[vote], 1.0))
        sparse = self._scores
        if len(cells) > len(sparse.expert):
            return False
        if self._scored is None:
            self._scored = self._bind(sparse)
        cells.sort()
        sparse.indptr[1] = len(cells)
        for at, cell in enumerate(cells):
            sparse.expert[at], sparse.label[at], sparse.value[at] = cell
        return True

    def _write_attributes(self, attributes: dict[Any, Any]) -> bool:
        cells: list[tuple[int, float]] = []
        for name, value in attributes.items():
            if isinstance(value, str):
                cells.append((self._attributes[name, value], 1.0))
                continue
            code = self._attributes[name]  # also of a 0, by which a name becomes known, too
            if value != 0:
                if not _is_ordinary(value):
                    return False
                cells.append((code, float(value)))
        if len(cells) > len(self._rows.index):
            return False
        cells.sort()
        self._rows.indptr[1] = len(cells)
        for at, cell in enumerate(cells):
            self._rows.index[at], self._rows.value[at] = cell
        return True


class _NoBatch:
    """A batch without trials."""

    classes_seen = experts_seen = 0


def _is_ordinary(value: Any) -> bool:
    """Whether a number needs no check; the general path has an error for the others."""
    return (type(value) is float or type(value) is int) and SMALLEST_NUMBER <= abs(value) <= LARGEST_NUMBER
