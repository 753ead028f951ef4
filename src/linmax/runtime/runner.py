"""The runner of a learner: it takes batches through rule runs and predictors, chunk by chunk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from linmax._jit import tiers
from linmax.experts import Thresholds, Votes
from linmax.experts.base import Capacity, Source
from linmax.kernels.structs import COUNTS, KEPT, MISTAKES, MOVES, NOVEL, TRIALS
from linmax.runtime import concurrency
from linmax.runtime.chunks import cut_batch
from linmax.runtime.instances import InstanceBuffer
from linmax.runtime.layout import strip_prefix
from linmax.runtime.predictor import (
    NO_SCORES,
    Predictions,
    Predictor,
    RulePredictor,
    State,
    TrialChunk,
    Wanted,
)
from linmax.runtime.program import Program
from linmax.runtime.rule_runs.rule_group import group_runs
from linmax.runtime.rule_runs.rule_run import Requests, RuleRun
from linmax.runtime.sources import Generators, Scaling, Sources, add_derived, sizes_of
from linmax.spec import Learner

FEW_UPDATES = 10  # per trial, of rules that may run as Python
MANY_RUNS = 12  # rule runs from which on each goes through a chunk as a whole, in threads
DEFAULT_SOURCE = Votes() + Thresholds()


class Runner:
    """Runs a learner over encoded batches.

    Equal rule runs of an ensemble are run once, and sources without memory are shared.

    Parameters
    ----------
    learner
        The learner.
    names
        The names of classes, experts, attributes and values that the session knows.
    seed
        For learners that draw at random.
    costs
        Returns what multiplies the slack of rules, given the names of the classes and the size of the matrix.

    Attributes
    ----------
    predictor : Predictor
        Predicts for the learner.
    predictors : list of Predictor
        This one and all below.
    rule_runs : list of RuleRun
    sources : list of Sources
    counts : ndarray
        Trials, mistakes, novel labels and updates.
    observer : Decisions or None
        What turns scores into decisions, and learns how from the labels.
    version : int
        Changes with the names and the capacity: what is bound to older arrays must be rebuilt.
    """

    def __init__(
        self,
        learner: Learner,
        names: Any,
        seed: int = 0,
        costs: Callable[[Sequence[Any], int], np.ndarray] | None = None,
    ) -> None:
        self.learner = learner
        self.names = names
        self.seed = seed
        self.observer: Any = None  # what decides and learns from scores beside the learner
        self.version = 0
        self.sources: list[Sources] = []
        self.rule_runs: list[RuleRun] = []
        self._runs: dict[tuple[Learner, int, int], RuleRun] = {}
        self._predictors: dict[Learner, Predictor] = {}
        self.predictor = self.predictor_for(learner)
        self.predictors = list(dict.fromkeys(self.predictor.tree()))
        self.single_run = isinstance(self.predictor, RulePredictor)
        self.changing = [predictor for predictor in self.predictors if predictor.changes]
        scaled = [predictor for predictor in self.predictors if predictor.temperature is not None]
        temperatures = np.zeros((len(scaled), 2))
        for row, predictor in enumerate(scaled):
            predictor.temperature = temperatures, row
        self.stateful = any(sources.stateful for sources in self.sources)
        self.may_wait = tiers.is_own(learner) and all(run.updates <= FEW_UPDATES for run in self.rule_runs)
        self.scaling = Scaling(names) if any(part.scaled for part in self.parts) else None
        self.generators = Generators(self.parts, names)
        self.buffer = InstanceBuffer(
            max([0, *(run.buffer_size for run in self.rule_runs), *(p.recent for p in self.predictors)]),
            self.generators.sources,
        )
        if costs is not None:
            for predictor in self.predictors:
                predictor.check_cost_margins()
        for sources in self.sources:
            sources.buffer, sources.cost_matrix = self.buffer.size, costs
        self.counts = self.rule_runs[0].counts if self.single_run else np.zeros(COUNTS, dtype=np.int64)
        self.sizes: Capacity | None = None
        self.whole_runs = self._whole_runs()
        self.staged_runs = [run for run in self.rule_runs if run not in self.whole_runs]
        for run in self.staged_runs:
            run.use_in_place()
        self.by_threads = len(self.staged_runs) >= MANY_RUNS and not self.single_run
        if not self.by_threads:
            group_runs(self.staged_runs)

    # --- construction

    def predictor_for(self, learner: Any) -> Predictor:
        """Return the predictor of a learner; equal learners have the same."""
        if learner not in self._predictors:
            self._predictors[learner] = learner.predictor(self)
        return self._predictors[learner]

    def rule_predictor(self, learner: Learner) -> RulePredictor:
        """Return the predictor of one rule run; learners that differ in averaging alone share the run."""
        options = learner.run_options()
        key = (learner.rule, options.buffer, options.updates)
        if key not in self._runs:
            sources = self.shared_sources((learner.rule.experts or DEFAULT_SOURCE).parts)
            self._runs[key] = RuleRun(learner.rule, options, sources)
            self.rule_runs.append(self._runs[key])
        if options.averages:
            self._runs[key].average()
        return RulePredictor(learner, self._runs[key], options.averages)

    def shared_sources(self, parts: tuple[Source, ...]) -> Sources:
        """Return the sources at work; equal ones without memory are shared."""
        for sources in self.sources:
            if sources.parts == parts and not sources.stateful:
                return sources
        self.sources.append(Sources(parts, self.names))
        return self.sources[-1]

    def _whole_runs(self) -> list[RuleRun]:
        """Return the rule runs that go through a chunk as a whole before any predictor does."""
        whole = {run for run in self.rule_runs if run.buffer_size}
        for predictor in self.predictors:
            if not predictor.staged:
                whole |= {below.run for below in predictor.tree() if isinstance(below, RulePredictor)}
        return [run for run in self.rule_runs if run in whole]

    @property
    def parts(self) -> list[Source]:
        """All sources of all members."""
        return [part for sources in self.sources for part in sources.parts]

    @property
    def _learners(self) -> list[Any]:
        """Whatever has a size that depends on the names."""
        return [*self.rule_runs, *self.predictors]

    # --- sizes

    def sizes_with(self, batch: Any) -> Capacity:
        """Return how many of each there are with the new names of a batch."""
        attributes = len(self.names.attributes.names) + len(batch.new_attributes)
        return Capacity(batch.experts_seen, batch.classes_seen, attributes, 0)

    def check(self, batch: Any = None) -> None:
        """Raise a ValueError if a batch (or the present names) cannot be served, before anything changes."""
        sizes = sizes_of(self.names) if batch is None else self.sizes_with(batch)
        for sources in self.sources:
            if batch is not None:
                for part in sources.parts:
                    part.check_rows(batch.rows)
            sources.check(sizes)
        for owner in self._learners:
            owner.check_sizes(sizes)

    def resize(self, sizes: Capacity | None = None) -> None:
        """Make space for so many of each; for the names of the session if no sizes are given."""
        sizes = sizes_of(self.names) if sizes is None else sizes
        if sizes == self.sizes and not self.stateful:
            return
        self.sizes = sizes
        if self.scaling is not None:
            self.version += self.scaling.resize(sizes)
        for sources in self.sources:
            self.version += sources.resize(sizes)
        for run in self.rule_runs:
            run.resize()
        for predictor in self.predictors:
            predictor.resize()

    # --- running

    def run(
        self,
        batch: Any,
        *,
        learn: bool,
        scores: bool = False,
        probabilities: bool = False,
        lock: concurrency.SessionLock | None = None,
    ) -> Predictions:
        """Run a batch, chunk by chunk.

        Parameters
        ----------
        batch
            The encoded batch.
        learn
            Whether new names become known and labelled trials are learned; else no trial has a label.
        scores
            Whether scores are returned, too.
        probabilities
            Whether those of the observer are, too.
        lock
            Its `state` is held while a chunk is run, and released between chunks.
        """
        chunks = cut_batch(self, batch, learn, probabilities)
        waits, most = self.may_wait and tiers.postpones(), tiers.PROBE
        expected = tiers.expect(batch.trials, *self.sizes_with(batch)[:3]) if waits else 0.0
        whole = len(chunks) == 1 and not (waits and batch.trials > most)
        codes = np.empty(batch.trials, dtype=np.int32)
        all_scores = np.zeros((batch.trials if scores and not whole else 0, batch.classes_seen))
        all_p = np.zeros((batch.trials if probabilities and not whole else 0, batch.classes_seen))
        while chunks:
            rows, observed = chunks.pop(0)
            if lock is not None:
                lock.let_others_go_first()
            waits = waits and tiers.postpones(2.0 * expected)  # as much again may follow
            if waits and rows.stop - rows.start > most:
                chunks.insert(0, (slice(rows.start + most, rows.stop), observed))
                rows = slice(rows.start, rows.start + most)
            with nullcontext() if lock is None else lock.state:
                wanted, start = Wanted(codes[rows], scores, observed, probabilities), time.perf_counter()
                with tiers.postponed() if waits else nullcontext():
                    found = self._run_chunk(batch, rows, learn, wanted)
                rate = max(time.perf_counter() - start, 1e-9) / max(1, rows.stop - rows.start)
            expected, most = rate * (batch.trials - rows.stop), max(1, int(tiers.STEP / rate))
            if whole:
                return found
            if found.codes is not wanted.codes:
                codes[rows] = found.codes
            if scores:
                all_scores[rows] = found.scores
            if probabilities:
                all_p[rows] = found.probabilities
        return Predictions(codes, all_scores, all_p)

    def _run_chunk(self, batch: Any, rows: slice, learn: bool, wanted: Wanted) -> Predictions:
        with concurrency.DeferredInterrupt() if learn else nullcontext():
            chunk = self._begin_chunk(batch, rows)
            if learn:
                known = len(self.names.classes.names) + len(batch.new_classes)
                if batch.new_classes and rows.stop < batch.trials:  # only those that these trials have named
                    named = np.maximum(chunk.known, chunk.labels + 1)[chunk.labels >= 0]
                    known = min(known, int(named.max(initial=0)))
                self.version += batch.add_names(self.names, known)
            self._build_forms()
            try:
                return self._execute(chunk, wanted)
            finally:
                parts: list[Any] = [*self.predictors, *self.rule_runs, *self.sources]
                for part in parts:
                    part.release()
                self.resize()
                self.version += learn and self.in_blocks  # a single item needs space of its own

    def prepare(self, batch: Any, *, learn: bool = False) -> TrialChunk:
        """Return all trials of a batch as one chunk, in the form of every source; nothing is run.

        Parameters
        ----------
        batch
            The encoded batch.
        learn
            Whether its new names become known.
        """
        chunk = self._begin_chunk(batch, slice(0, batch.trials))
        if learn:
            self.version += batch.add_names(self.names, len(self.names.classes) + len(batch.new_classes))
        self._build_forms()
        return chunk

    def _begin_chunk(self, batch: Any, rows: slice) -> TrialChunk:
        sizes = self.sizes_with(batch)
        if self.scaling is not None:
            self.version += self.scaling.resize(sizes)
        derive = partial(add_derived, self.scaling, self.generators, sizes, batch.new_attributes)
        trials = self.buffer.followed_by(batch, rows, derive)
        chunk = TrialChunk(batch, trials)
        for sources in self.sources:
            sources.load(trials, batch, rows)
            if sources.stateful:
                sources.reserve(chunk.length if chunk.learns else 0, chunk.classes)
        self.resize(sizes)
        if chunk.learns:
            self.reserve(trials.data.votes, chunk.length, chunk.classes)
        return chunk

    def reserve(self, votes: Any, trials: int, classes: int) -> None:
        """Make space for what so many trials may add to tables that are stored in blocks."""
        for owner in self._learners:
            self.version += owner.reserve(votes, trials, classes)

    @property
    def in_blocks(self) -> bool:
        """Whether tables are stored in blocks, which need space before a trial is learned."""
        return any(owner.in_blocks for owner in self._learners)

    def lacks(self, votes: Any, classes: int) -> bool:
        """Whether there is no space for what one more trial may add."""
        return any(owner.lacks(votes, classes) for owner in self._learners)

    def _build_forms(self) -> None:
        """Build the form of every source, which depends on the names: sets of classes, for example."""
        for sources in self.sources:
            sources.form = sources.build_form(sources.trials.data)

    def _execute(self, chunk: TrialChunk, wanted: Wanted) -> Predictions:
        for run in self.rule_runs:
            run.requests = Requests()
        self.predictor.request(chunk, wanted.scores or wanted.observed)
        whole, staged = self.whole_runs, self.staged_runs
        if self.by_threads:  # which gain more than a program does
            whole, staged = self.rule_runs, []
        for run in whole:
            run.begin(chunk.length, chunk.classes)
        concurrency.run_all([run.execute for run in whole], chunk.length)
        found = self._run_program(chunk, staged, wanted)
        if chunk.learns:
            if self.observer is not None and self.observer.learns and not wanted.observed:
                self.observer.run(chunk, found, NO_SCORES)
            self._count(chunk, found)
            self.change_members()
            self.buffer.update(chunk.trials)
            for sources in self.sources:
                sources.keep_frozen()
            if self.stateful:
                for run in self.rule_runs:
                    run.drop_forgotten()
        return found

    def _run_program(self, chunk: TrialChunk, staged: list[RuleRun], wanted: Wanted) -> Predictions:
        """Run all that can be run block by block, and return the predictions."""
        p = np.zeros((chunk.length if wanted.probabilities else 0, chunk.classes))
        if not self.predictor.staged or (self.single_run and self.whole_runs):
            found = self.predictor.predictions(chunk)
            if wanted.observed:
                found = Predictions(found.codes.copy(), found.scores, p)
                self.observer.run(chunk, found, found.scores, self.names.classes.names)
            return found
        all_scores = np.zeros((chunk.length if wanted.scores else 0, chunk.classes))
        trials = chunk.trials
        observe = partial(self.observer.bind, self.names.classes.names, p) if wanted.observed else None
        program = Program(
            self.predictor, staged, None, trials.labels, trials.known, chunk.classes,
            wanted.codes, all_scores, chunk, trials.buffered, observer=observe,
        )  # fmt: skip
        program.run(trials.buffered, len(trials.labels))
        return Predictions(wanted.codes, all_scores, p)

    def _count(self, chunk: TrialChunk, found: Predictions) -> None:
        if self.single_run:
            return  # the kernel has counted
        self.counts[TRIALS] += np.count_nonzero(chunk.labels >= 0)
        self.counts[NOVEL] += np.count_nonzero(chunk.labels >= chunk.known)
        self.counts[MISTAKES] += np.count_nonzero(chunk.wrong(found.codes))

    def change_members(self) -> None:
        """Let predictors add or replace members, after a chunk that was learned."""
        self.version += sum(predictor.change(int(self.counts[TRIALS])) for predictor in self.changing)

    def totals(self) -> np.ndarray:
        """Return the counts: trials, mistakes, novel labels, and updates of all rule runs together."""
        if not self.single_run:
            self.counts[MOVES] = sum(int(run.counts[MOVES]) for run in self.rule_runs)
        return self.counts[:KEPT].copy()

    # --- as arrays

    def _owners(self) -> Iterator[tuple[str, Any]]:
        """Yield whatever has a state, with the prefix of its arrays, as it is in model files."""
        yield "", self.buffer
        if self.scaling is not None:
            yield "scale.", self.scaling
        yield "generate.", self.generators
        for what, owners in (("ground", self.sources), ("run", self.rule_runs), ("head", self.predictors)):
            for i, owner in enumerate(owners):
                yield "" if self.single_run else f"{what}.{i}.", owner

    def state(self) -> State:
        """Return all that learning has changed, without spare capacity: equal states are equal arrays."""
        state = {} if self.single_run else {"counts": self.totals()}
        for prefix, owner in self._owners():
            state |= {prefix + name: array for name, array in owner.state().items()}
        return {name: np.array(array) for name, array in state.items()}

    def restore(self, state: State) -> None:
        """Take over a state that `state` returned and that was validated."""
        self.resize()
        for owner, part in self.parts_of(state):
            owner.restore(part)
        if not self.single_run:
            self.counts[:KEPT] = state["counts"]
        self.sizes = None
        self.resize()
        self.version += 1

    def parts_of(self, state: State) -> Iterator[tuple[Any, State]]:
        """Yield whatever has a state, with its part of a state."""
        for prefix, owner in self._owners():
            yield owner, strip_prefix(state, prefix)
