"""One item at a time, in microseconds: arrays that stay in place, and kernels called without a look-up."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Set
from functools import partial
from struct import Struct
from typing import Any

import numpy as np

from linmax._jit import CompiledKernel, interpreting
from linmax.experts.base import TrialData
from linmax.inputs.abstain import read_abstain
from linmax.kernels import trial as trials
from linmax.kernels.forms import Sparse, SparseRows
from linmax.kernels.structs import MISTAKES, TRIALS, Outputs
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.predictor import NO_SCORES, Predictor, TrialChunk
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.sources import NO_TRIALS
from linmax.validation import LARGEST_NUMBER, SMALLEST_NUMBER

PREDICT_ONLY = -1


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

    Attributes
    ----------
    label, known : ndarray
        The label and the number of known classes of the item, as kernels read them.
    votes : Sparse
    rows : SparseRows
        The votes and attributes of the item.
    """

    def __init__(self, runner: Runner, needs: Set[str], abstain: Any, lock: SessionLock) -> None:
        self.runner = runner
        self.abstain = abstain
        self._votes_type = dict if "votes" in needs else type(None)
        self._attributes_type = dict if "rows" in needs else type(None)
        self._lock = lock
        self._acquire, self._release = lock.state.acquire, lock.state.release
        self._version, self._interpreted = -1, False
        self._ready = False
        self._supported = (
            all(predictor.single_item for predictor in runner.predictors)
            and not any(run.buffer_size for run in runner.rule_runs)
            and all(part.single_item for part in runner.parts)
        )

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
            if self._version != self.runner.version or self._interpreted is not interpreting():
                self._prepare()
            if (
                not self._ready
                or type(votes) is not self._votes_type
                or type(attributes) is not self._attributes_type
                or (label is not None and self._lock.learns)
            ):
                return None
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
            attributes = {
                name: value
                for name, value in attributes.items()
                if ((name, value) if isinstance(value, str) else name) in codes
            }
        known = [len(item) for item in (votes, attributes) if type(item) is dict]
        return None if known == sizes else self.run(votes, attributes, None)

    def _run(self, votes: Any, attributes: Any, label: Any) -> int | None:
        try:
            code = PREDICT_ONLY if label is None else self._classes[label]
            if label is not None and self._int_classes and type(label) is bool:
                return None  # True is not 1 here, although it is to a dict
            if votes is not None and not self._write_votes(votes):
                return None
            if attributes is not None and not self._write_attributes(attributes):
                return None
        except (KeyError, TypeError):  # an unknown name, or one that cannot be a key
            return None
        self.label[0] = code
        if self._counts is None:  # a single run of a rule, which counts by itself
            self._calls[0]()
            return self._code.item()
        kernels = map(operator.call, self._calls)
        try:
            deque(kernels, 0)  # runs them all without a chance for Ctrl-C between two
        finally:
            if code >= 0:
                self._counts[TRIALS] += 1
                self._counts[MISTAKES] += self._code[0] != code
        return self._code.item()

    # --- the arrays of an item, and the kernels over them

    def _prepare(self) -> None:
        runner = self.runner
        names = runner.names
        self._ready = self._supported and len(names.classes) > 0
        if self._ready:
            runner.resize()
            self._allocate(len(names.experts), len(names.classes), len(names.attributes))
            self._bind_all()
        self._version, self._interpreted = runner.version, interpreting()

    def _allocate(self, experts: int, classes: int, attributes: int) -> None:
        names = self.runner.names
        abstentions = read_abstain(self.abstain, names.classes, None)
        self._classes: dict[Any, int] = names.classes.codes
        self._codes = dict.fromkeys((None, *abstentions.names), -1) | names.classes.codes
        for name in abstentions.ambiguous:  # the general path raises an error for these
            self._codes.pop(name, None)
        self._int_classes = type(names.classes.names[0]) is int
        self._experts = names.experts.codes
        self._attributes = names.attributes.codes
        self._panel: tuple[Any, ...] | None = None  # the experts of the last item
        self._all_ones = True  # are the values of all votes 1?
        cells, columns = 4 * max(8, experts) * max(1, min(classes, 4)), 4 * max(8, attributes)
        self.votes = Sparse(
            np.zeros(2, dtype=np.int64), np.zeros(cells, dtype=np.int32),
            np.zeros(cells, dtype=np.int32), np.ones(cells),
        )  # fmt: skip
        self._labels: Any = self.votes.label.data
        self.rows = SparseRows(
            np.zeros(2, dtype=np.int64), np.zeros(columns, dtype=np.int32), np.zeros(columns)
        )
        self.label = np.zeros(1, dtype=np.int32)
        self.known = np.array([classes], dtype=np.int32)
        self._code = np.zeros(1, dtype=np.int32)
        self._counts = None if self.runner.single_run else self.runner.counts

    def _bind_all(self) -> None:
        runner = self.runner
        self._calls: list[Callable[[], Any]] = []
        self._bound: dict[Predictor, tuple[np.ndarray, np.ndarray]] = {}
        self._stacked: dict[tuple[Predictor, ...], np.ndarray] = {}
        self._outputs: dict[RuleRun, dict[str, np.ndarray]] = {run: {} for run in runner.rule_runs}
        runner.predictor.request(TrialChunk(_NoBatch, NO_TRIALS), False)
        self.bind(runner.predictor, self._code, NO_SCORES)
        for predictor in runner.predictors:
            predictor.release()
        self._calls = [self._run_call(run) for run in runner.rule_runs] + self._calls

    def bind(self, predictor: Predictor, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let a predictor write here; what it already writes elsewhere is copied.

        Parameters
        ----------
        predictor
            The predictor, or a member of it.
        codes
            Where the predicted code goes.
        scores
            Where the scores go; empty if they are not needed here.
        """
        if predictor in self._bound:
            for target, source in zip((codes, scores), self._bound[predictor], strict=True):
                if len(target):
                    self._calls.append(partial(target.__setitem__, slice(None), source))
            return
        if predictor.scores_wanted and not len(scores):
            scores = np.zeros((1, int(self.known[0])))
        self._bound[predictor] = (codes, scores)
        predictor.bind(self, codes, scores)

    def stacked_scores(self, members: list[Predictor]) -> np.ndarray:
        """Return the array (members, 1, classes) into which these members write their scores."""
        key = tuple(members)
        if key not in self._stacked:
            self._stacked[key] = np.zeros((len(members), 1, int(self.known[0])))
            for member, scores in zip(members, self._stacked[key], strict=True):
                self.bind(member, np.zeros(1, dtype=np.int32), scores)
        return self._stacked[key]

    def call(self, kernel: CompiledKernel, *arguments: Any) -> None:
        """Call a kernel with these very arrays for every item.

        Parameters
        ----------
        kernel
            The kernel.
        *arguments
            Its arguments.
        """
        self._calls.append(partial(kernel.entry(*arguments), *arguments))

    def write_run(self, run: RuleRun, mean: bool, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let a rule run write its predictions, or those of its mean, here."""
        outputs = self._outputs[run]
        outputs["mean" if mean else "own"] = codes
        if len(scores):
            outputs["mean_scores" if mean else "own_scores"] = scores

    def _run_call(self, run: RuleRun) -> Callable[[], Any]:
        outputs = self._outputs[run]
        unused = np.zeros(1, dtype=np.int32)
        out = Outputs(
            outputs.get("own", unused),
            outputs.get("mean", unused if run.averages else unused[:0]),
            outputs.get("own_scores", NO_SCORES),
            outputs.get("mean_scores", NO_SCORES),
            np.zeros(0, dtype=np.uint8),
        )
        form = run.sources.build_form(TrialData(self.votes, self.rows))
        state = run.kernel_state(run.recycling_buffer(NO_TRIALS, form))
        arguments = (form, self.label, self.known, 0, 1, *state, out)
        return partial(trials.run.entry(*arguments), *arguments)

    # --- an item into the arrays

    def _write_votes(self, votes: dict[Any, Any]) -> bool:
        """Write labels, experts in the order of their codes; the same panel again costs one comparison."""
        try:
            labels = list(map(self._codes.__getitem__, votes.values()))
        except TypeError:  # a dict of scores
            return self._write_scores(votes)
        if self._int_classes and bool in map(type, votes.values()):
            return False
        panel = tuple(votes)
        if panel != self._panel and not self._write_panel(panel):
            return self._write_scores(votes)
        if not self._all_ones:
            self.votes.value.fill(1.0)
            self._all_ones = True
        self._pack(self._labels, 0, *labels)
        return True

    def _write_panel(self, panel: tuple[Any, ...]) -> bool:
        experts = [self._experts[name] for name in panel]
        if len(experts) > len(self.votes.expert) or any(map(operator.gt, experts, experts[1:])):
            return False
        self._panel = panel
        self._pack = Struct(f"{len(panel)}i").pack_into  # half the time of an assignment to a slice
        self.votes.indptr[1] = len(experts)
        self.votes.expert[: len(experts)] = experts
        return True

    def _write_scores(self, votes: dict[Any, Any]) -> bool:
        """Write votes of experts that come in another order, or that give scores."""
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
        if len(cells) > len(self.votes.expert):
            return False
        self._all_ones = False
        self._panel = None
        cells.sort()
        self.votes.indptr[1] = len(cells)
        for at, cell in enumerate(cells):
            self.votes.expert[at], self.votes.label[at], self.votes.value[at] = cell
        return True

    def _write_attributes(self, attributes: dict[Any, Any]) -> bool:
        cells: list[tuple[int, float]] = []
        for name, value in attributes.items():
            if isinstance(value, str):
                cells.append((self._attributes[name, value], 1.0))
            elif value != 0:
                if not _is_ordinary(value):
                    return False
                cells.append((self._attributes[name], float(value)))
        if len(cells) > len(self.rows.index):
            return False
        cells.sort()
        self.rows.indptr[1] = len(cells)
        for at, cell in enumerate(cells):
            self.rows.index[at], self.rows.value[at] = cell
        return True


class _NoBatch:
    """A batch without trials."""

    classes_seen = experts_seen = 0


def _is_ordinary(value: Any) -> bool:
    """Whether a number needs no check; the general path has an error for the others."""
    return (type(value) is float or type(value) is int) and SMALLEST_NUMBER <= abs(value) <= LARGEST_NUMBER
