"""Programs: the kernels of a learner bound to fixed arrays, run block by block in one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from linmax._jit.compilation import CompiledKernel, interpreting
from linmax._jit.memory import Stage, address_of
from linmax._jit.parallel import gathering
from linmax._jit.vectors import WIDTH
from linmax.experts.base import TrialData
from linmax.kernels import program as programs
from linmax.kernels.ensembles.board import LANES, NARROW, Board, Temperatures, fill_board
from linmax.kernels.rule_group import GroupOutputs
from linmax.kernels.structs import Outputs
from linmax.runtime.concurrency import run_all, thread_count
from linmax.runtime.predictor import NO_SCORES, Predictions, Predictor, TrialChunk
from linmax.runtime.rule_runs.rule_group import RuleGroup
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.runtime.sources import NO_TRIALS, Scaling, Sources

MAX_BLOCK = 256  # trials
BLOCK_SCORES = 1 << 14  # scores of one class of one member in a block
# Members run in threads where that saves more than waking threads for every block costs, which may be a
# millisecond: blocks are larger then
THREADS_BLOCK, THREADS_SCORES = 4096, 1 << 19
THREADS_EXPERTS, THREADS_CELLS = 16, 200  # at least; a cell is an expert and a class
THREADS_WORK = 200_000  # votes, times vectors of classes


class Program:
    """The kernels of a predictor, of its members and of their rule runs, in the order they must run.

    Every kernel takes a block of trials, whose results are in arrays of the size of a block, before the next
    kernel does. The same program learns tables and single items. Members do not depend on each other: with
    many trials, their kernels take a block at the same time, in threads.

    Parameters
    ----------
    predictor
        The predictor at the top; `request` has told it what is wanted.
    rule_runs
        The rule runs below it.
    data
        The votes and attributes of all trials; None if the sources have loaded them.
    labels, known
        The label of each trial, and the number of classes that are known in it.
    classes
        The number of classes.
    codes
        Where the predicted codes go, one per trial.
    scores
        Where the scores go; without rows if they are not wanted.
    chunk
        The chunk that some predictors have computed their predictions of.
    first
        The trial that the first rows of `codes` and `scores` are for.
    scaling
        What standardises the attributes of `data`, if a source reads them so.
    observer
        What adds a kernel of its own to the predictions of each block: ``observer(program, codes, scores)``.

    Attributes
    ----------
    block : int
        The number of trials in a block.
    members : list of list of Stage
        The kernels of each rule run, or group of these, and of each other member without members.
    stages : list of Stage
        All kernels, bound to their arrays.
    """

    def __init__(
        self,
        predictor: Predictor,
        rule_runs: list[RuleRun],
        data: TrialData | None,
        labels: np.ndarray,
        known: np.ndarray,
        classes: int,
        codes: np.ndarray,
        scores: np.ndarray,
        chunk: TrialChunk | None = None,
        first: int = 0,
        scaling: Scaling | None = None,
        observer: Callable[[Any, np.ndarray, np.ndarray], None] | None = None,
    ) -> None:
        self.predictor = predictor
        self.chunk = chunk
        self.begin = first
        self.codes = codes
        self.data = data
        self.labels = labels
        self.known = known
        self.classes = classes
        self._tree = list(dict.fromkeys(predictor.tree()))
        self._users: dict[Predictor, list[Predictor]] = {one: [] for one in self._tree}
        for user in self._tree:
            for member in user.members:
                self._users[member].append(user)
        trials_to_run = max(1, len(labels) - first)
        self.threads = chunk is not None and _use_threads(predictor, chunk)
        self.block = self._block_size(trials_to_run, observer is not None)
        self.members: list[list[Stage]] = []
        self.stages: list[Stage] = []
        self._copies: list[Stage] = []
        self._bound: dict[Predictor, tuple[np.ndarray, np.ndarray]] = {}
        self._boards: dict[tuple[Predictor, ...], Board] = {}
        self._outputs: dict[RuleRun, dict[str, np.ndarray]] = {run: {} for run in rule_runs}
        self._forms: dict[Sources, Any] = {}
        whole = self.block >= trials_to_run
        block_codes = codes if whole else np.zeros(self.block, dtype=np.int32)
        wanted = len(scores) > 0 or observer is not None
        block_scores = np.zeros((self.block if wanted else 0, classes))
        if whole and len(scores):
            block_scores = scores
        with gathering():  # all kernels that are missing are compiled together
            if scaling is not None and data is not None:
                self.data = replace(data, scaled=scaling.bind(self, data.rows))
            prepared, self.stages = self.stages, []
            self.bind(predictor, block_codes, block_scores)
            if observer is not None:
                observer(self, block_codes, block_scores)
            if not whole:
                self.call(programs.collect, block_codes, block_scores, first, codes, scores)
            runs = [
                [self._stage_of(run)] if run.group is None else self._stages_of(run.group)
                for run in rule_runs
                if run.group is None or run is run.group.runs[0]
            ]
        self.members = runs + self.members
        self._combining = self._copies + self.stages
        self.stages = prepared + [stage for stages in self.members for stage in stages] + self._combining

    def _block_size(self, trials: int, observed: bool) -> int:
        members = max(len(part.members) for part in self._tree)
        if not members and not observed:
            return trials
        most, scores = (THREADS_BLOCK, THREADS_SCORES) if self.threads else (MAX_BLOCK, BLOCK_SCORES)
        return max(1, min(trials, most, scores // max(1, max(members, 1) * self.classes)))

    def run(self, begin: int, end: int) -> None:
        """Run the trials begin <= t < end."""
        compiled = all(stage.address for stage in self.stages)
        if compiled and self.threads and len(self.members) > 1:
            self._run_in_threads(begin, end)
        elif compiled:
            programs.run(_table(self.stages), len(self.stages), begin, end, self.block)
        else:
            for start in range(begin, end, self.block):
                for stage in self.stages:
                    stage(start, min(start + self.block, end))

    def _run_in_threads(self, begin: int, end: int) -> None:
        """Let all members take a block at the same time, and combine what they have found."""
        members = [_Member(stages, self.block) for stages in self.members]
        combining = _table(self._combining)
        for start in range(begin, end, self.block):
            stop = min(start + self.block, end)
            members.sort(key=lambda member: -member.seconds)  # those that take longest begin
            run_all([partial(member.run, start, stop) for member in members], stop - start)
            programs.run(combining, len(self._combining), start, stop, self.block)

    def repeat_stage(self, number: int, times: int) -> None:
        """Run one of the stages on the first trial so many times, to measure it."""
        programs.run(np.tile(_table([self.stages[number]]), times), times, 0, 1, 1)

    def first(self) -> Callable[[int], int]:
        """Return a function that runs the first trial, given the code of its label; it returns the guess."""
        if not all(stage.address for stage in self.stages):
            return self._run_first
        label, code = map(address_of, (self.labels, self.codes))
        self._memory = np.concatenate(([len(self.stages), label, code], _table(self.stages)))  # stays alive
        address = address_of(self._memory)
        return partial(programs.first.entry(address, 0), address)

    def run_each(self, codes: np.ndarray, labels: np.ndarray, item: np.ndarray) -> np.ndarray | None:
        """Run trials one after the other, after `first` was called; return the predicted codes.

        `item` has the votes that the program is bound to. None if the program is not compiled.
        """
        if not all(stage.address for stage in self.stages):
            return None
        found = np.empty(len(labels), dtype=np.int32)
        programs.each(address_of(self._memory), codes.astype(item.dtype, copy=False), labels, item, found)
        return found

    def _run_first(self, label: int) -> int:
        self.labels[0] = label
        self.run(0, 1)
        return int(self.codes[0])

    # --- what predictors call to add their kernels

    def bind(self, predictor: Predictor, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let a predictor write here; what it already writes elsewhere is copied.

        Parameters
        ----------
        predictor
            The predictor, or a member of it.
        codes
            Where the predicted codes of a block go.
        scores
            Where the scores go; empty if they are not needed here.
        """
        if predictor in self._bound:
            before, wanted = self._bound[predictor]
            if not len(wanted):
                scores = NO_SCORES
            self.call(programs.copy, before, wanted if len(scores) else NO_SCORES, codes, scores)
            return
        if predictor.scores_wanted and not len(scores):
            scores = np.zeros((self.block, self.classes))
        self._bound[predictor] = (codes, scores)
        if predictor.members:
            predictor.bind(self, codes, scores)
            return
        outer, self.stages = self.stages, []
        predictor.bind(self, codes, scores)
        if self.stages:
            self.members.append(self.stages)
        self.stages = outer

    def board(self, members: list[Predictor]) -> Board:
        """Return the board of these members, which is filled when the block gets there."""
        key = tuple(members)
        if key not in self._boards:
            codes = np.zeros((len(members), self.block), dtype=np.int32)
            scores = np.zeros((len(members), self.block, padded(max(self.classes, 1))))
            board = Board(
                scores.reshape(-1), scores.reshape(-1), np.zeros(0), codes, self.block, scores.shape[2]
            )
            if all(map(self.takes_probabilities_of, members)):
                for member, own_codes, own in zip(members, codes, scores, strict=True):
                    self.bind(member, own_codes, own)
            else:
                board = self._fill_board(key, board, scores)
            self._boards[key] = board
        return self._boards[key]

    def _fill_board(self, members: tuple[Predictor, ...], board: Board, scores: np.ndarray) -> Board:
        """Add a kernel that computes the probabilities of the members; return the board with them."""
        rows = np.full(len(members), -1, dtype=np.int64)
        table = np.zeros((1, 2))
        for i, (member, own) in enumerate(zip(members, scores, strict=True)):
            if member.temperature is not None and self._is_only_in(members, member):
                table, rows[i] = member.temperature
                member = member.members[0]
            self.bind(member, board.codes[i], own)
        lanes = padded(len(members))
        board = board._replace(p=np.zeros_like(board.scores), shift=np.zeros(self.block * lanes))
        scratch = np.ones(lanes), np.zeros(lanes), np.ones(lanes), np.zeros(NARROW * LANES)
        self.call(fill_board, self.labels, self.known, Temperatures(table, rows), board, *scratch)
        return board

    def takes_probabilities_of(self, member: Predictor) -> bool:
        """Whether a predictor writes probabilities instead of scores: no ensemble needs more of it."""
        return (
            member is not self.predictor
            and all(other.takes_probabilities for other in self._users[member])
            and all(one.gives_probabilities for other in self._users[member] for one in other.members)
        )

    def _is_only_in(self, members: tuple[Predictor, ...], member: Predictor) -> bool:
        """Whether nothing but the board of these members uses the scores of one of them."""
        return member is not self.predictor and all(
            tuple(other.members) == members for other in self._users[member]
        )

    def call(self, kernel: CompiledKernel, *arguments: Any) -> None:
        """Call a kernel with these very arrays for every block.

        Parameters
        ----------
        kernel
            The kernel.
        *arguments
            Its arguments, without the range of trials.
        """
        self.stages.append(kernel.stage(*arguments))

    def copy(self, found: Predictions, codes: np.ndarray, scores: np.ndarray) -> None:
        """Copy predictions that have been computed for the whole chunk."""
        wanted = found.scores if len(scores) else NO_SCORES
        self._copies.append(programs.distribute.stage(found.codes, wanted, self.begin, codes, scores))

    def form(self, sources: Sources) -> Any:
        """Return the trials as kernels read them."""
        if self.data is None:
            return sources.own_form()
        if sources not in self._forms:
            self._forms[sources] = sources.build_form(self.data)
        return self._forms[sources]

    def write_run(self, run: RuleRun, mean: bool, codes: np.ndarray, scores: np.ndarray) -> None:
        """Let a rule run write its predictions, or those of its mean, here."""
        outputs = self._outputs[run]
        outputs["mean" if mean else "own"] = codes
        if len(scores):
            outputs["mean_scores" if mean else "own_scores"] = scores

    def _stage_of(self, run: RuleRun) -> Stage:
        outputs = self._outputs[run]
        unused = np.zeros(self.block, dtype=np.int32)
        out = Outputs(
            outputs.get("own", unused),
            outputs.get("mean", unused if run.averages else unused[:0]),
            outputs.get("own_scores", NO_SCORES),
            outputs.get("mean_scores", NO_SCORES),
            np.zeros(0, dtype=np.uint8),
        )
        form = self.form(run.sources)
        return run.stage(form, self.labels, self.known, run.recycling_buffer(NO_TRIALS, form), out)

    def _stages_of(self, group: RuleGroup) -> list[Stage]:
        """Return what runs a group: its runs write to the rows of a board, or what they write is copied."""
        wanted = [
            (lane, self._outputs[run][name], self._outputs[run].get(f"{name}_scores", NO_SCORES))
            for r, run in enumerate(group.runs)
            for name, lane in (("own", r), ("mean", group.mean[r]))
            if name in self._outputs[run]
        ]
        lanes = [lane for lane, _, _ in wanted]
        codes = _same_array([codes for _, codes, _ in wanted])
        scores = _same_array([scores for _, _, scores in wanted])
        place = np.full(WIDTH, -1, dtype=np.int64)
        if codes is not None and scores is not None and codes[1] == scores[1]:
            place[lanes] = codes[1]
            out, wanted = GroupOutputs(codes[0], scores[0], place), []
        else:
            place[lanes] = lanes
            rows = self.block if any(len(out_scores) for _, _, out_scores in wanted) else 0
            out = GroupOutputs(
                np.zeros((WIDTH, self.block), dtype=np.int32), np.zeros((WIDTH, rows, self.classes)), place
            )
        stage = group.stage(self.form(group.runs[0].sources), self.labels, self.known, out)
        return [stage] + [
            programs.copy.stage(out.codes[lane], out.scores[lane], out_codes, out_scores)
            for lane, out_codes, out_scores in wanted
        ]


class _Member:
    """The kernels of a member, and how long they took for the last block."""

    def __init__(self, stages: list[Stage], block: int) -> None:
        self.table, self.count, self.block = _table(stages), len(stages), block
        self.seconds = 0.0

    def run(self, begin: int, end: int) -> None:
        started = time.perf_counter()
        programs.run(self.table, self.count, begin, end, self.block)
        self.seconds = time.perf_counter() - started


def _use_threads(predictor: Predictor, chunk: TrialChunk) -> bool:
    """Whether members without members run in threads: there are several, and the chunk is large."""
    several = sum(not part.members for part in predictor.tree()) > 1
    large = (
        chunk.experts >= THREADS_EXPERTS
        and chunk.experts * chunk.classes >= THREADS_CELLS
        and chunk.length * chunk.experts * -(-chunk.classes // WIDTH) >= THREADS_WORK
    )
    return several and large and thread_count() > 1 and not interpreting()


def _same_array(rows: list[np.ndarray]) -> tuple[np.ndarray, list[int]] | None:
    """Return the array that all of these are rows of, and which ones; None if there is no such array."""
    whole = rows[0].base
    if whole is None or whole.ndim != rows[0].ndim + 1 or any(row.base is not whole for row in rows):
        return None
    first, *others = map(address_of, (whole, *rows))
    return whole, [(other - first) // whole.strides[0] for other in others]


def _table(stages: list[Stage]) -> np.ndarray:
    """Return the addresses of the code and the memory of each stage."""
    words = [word for stage in stages for word in (stage.address, address_of(stage.memory))]
    return np.array(words, dtype=np.int64)


def padded(count: int) -> int:
    """Return the length of an array of so many numbers that is read by complete vectors."""
    return -(-count // LANES) * LANES
