"""A learner at work: all its runs, what they share, and the one who decides."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np

from linmax.experts import Thresholds, Votes
from linmax.experts.base import Source
from linmax.kernels.structs import COUNTS, KEPT, MISTAKES, MOVES, NOVEL, TRIALS, Out
from linmax.runtime import concurrency as threads
from linmax.runtime.concurrency import deferred
from linmax.runtime.instances import InstanceBuffer
from linmax.runtime.layout import part_of
from linmax.runtime.predictor import Asked, Predictor, RulePredictor, State, TrialChunk, Predictions
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.sources import Sources
from linmax.spec import Learner

CELLS = 1 << 18  # of frozen votes in memory at once
BOARD = 1 << 21  # scores in memory at once
CHUNK = 1 << 16  # trials that an interrupt waits for at most
SHORT = 1 << 13  # the same for committees, whose members each write down their guesses

DEFAULT_SOURCE = Votes() + Thresholds()


class Runner:
    """The engines of a learner: one, or those of all members of a committee; equal runs are run once."""

    def __init__(self, learner: Learner, names: Any, seed: int = 0) -> None:
        self.learner = learner
        self.names = names
        self.seed = seed
        self.version = 0  # changes with the room and the names: what was bound to the old arrays is void
        self.grounds: list[Sources] = []
        self.engines: list[RuleRun] = []
        self.runs: dict[tuple[Learner, int, int], RuleRun] = {}
        self._seats: dict[Learner, Predictor] = {}
        self.head = self.predictor(learner)
        self.heads = list(dict.fromkeys(self.head.heads()))
        self.kept = InstanceBuffer(max([engine.size for engine in self.engines] + [head.recent for head in self.heads]))
        for ground in self.grounds:
            ground.size = self.kept.size
        self.solo = isinstance(self.head, RulePredictor)
        self.counts = self.engines[0].counts if self.solo else np.zeros(COUNTS, dtype=np.int64)

    # --- who takes part

    def predictor(self, learner: Any) -> Predictor:
        """The one who decides for a learner, with the engines below; equal learners have the same."""
        if learner not in self._seats:
            self._seats[learner] = learner.predictor(self)
        return self._seats[learner]

    def rule_predictor(self, learner: Learner) -> RulePredictor:
        """The predictor of a single run; learners that differ in averaging alone share the run."""
        options = learner.run_options()
        run = (learner.rule, options.buffer, options.updates)
        if run not in self.runs:
            ground = self.ground((learner.rule.experts or DEFAULT_SOURCE).parts)
            self.runs[run] = RuleRun(learner.rule, options, ground)
            self.engines.append(self.runs[run])
        if options.averages:
            self.runs[run].average()
        return RulePredictor(learner, self.runs[run], options.averages)

    def ground(self, parts: tuple[Source, ...]) -> Sources:
        """Sources at work; those that remember nothing are shared."""
        for ground in self.grounds:
            if ground.parts == parts and not ground.remembering:
                return ground
        self.grounds.append(Sources(parts, self.names))
        return self.grounds[-1]

    @property
    def parts(self) -> list[Source]:
        """All sources that take part."""
        return [part for ground in self.grounds for part in ground.parts]

    def check(self, batch: Any = None) -> None:
        """Refuse a batch (or the names there are) that cannot be served, before anything has changed."""
        for ground in self.grounds:
            need = ground.sizes() if batch is None else ground.need(batch)
            ground.check(need)
            for part in ground.parts if batch is not None else ():
                part.check_rows(batch.rows)
            for head in self.heads:
                head.check_room(need)

    def fit(self) -> None:
        """Room for everyone known."""
        for ground in self.grounds:
            self.version += ground.grow(ground.sizes())
        for engine in self.engines:
            engine.fit(engine.ground.sizes())
        for head in self.heads:
            head.fit()

    # --- running

    def run(self, batch: Any, *, scores: bool = False) -> Predictions:
        """Run a batch: its labelled trials are learned, the others only guessed."""
        chunks = [*self._chunks(batch)]
        alone = self.solo and len(chunks) == 1  # its verdict is handed on as it is
        guesses = np.empty(0 if alone else batch.trials, dtype=np.int32)
        board = np.zeros((batch.trials if scores and not alone else 0, batch.classes_seen))
        for rows in chunks:
            with deferred() if (batch.labels[rows] >= 0).any() else nullcontext():
                verdict = self._run_chunk(batch, rows, scores)
            if not alone:
                guesses[rows] = verdict.guesses
                if scores:
                    board[rows] = verdict.board
        self.fit()  # an empty batch may have brought names
        return verdict if alone else Predictions(guesses, board)

    def _chunks(self, batch: Any) -> Iterator[slice]:
        chunk = CHUNK
        if not self.solo:
            chunk = min(SHORT, max(64, BOARD // (len(self.heads) * max(1, batch.classes_seen))))
        if batch.nominal is not None:
            columns = batch.nominal.codes.shape[1]
            chunk = max(1, min(chunk, CELLS // max(1, columns * (columns - 1) // 2)))
        for ground in self.grounds:
            chunk = min([chunk, *(memory.chunk_size(batch.classes_seen) for memory in ground.remembering)])
        for begin in range(0, batch.trials, chunk):
            yield slice(begin, min(begin + chunk, batch.trials))

    def lay_out(self, batch: Any, rows: slice) -> TrialChunk:
        """Some trials in the forms of all grounds, with room for everyone in them."""
        tape = self.kept.before(batch, rows)
        learns = bool((batch.labels[rows] >= 0).any())
        tapes = {id(ground): ground.lay(tape, batch, rows) for ground in self.grounds}
        for ground in self.grounds:
            ground.expect_trials(len(batch.labels[rows]) if learns else 0, batch.classes_seen)
            self.version += ground.grow(ground.need(batch))
        for engine in self.engines:
            engine.fit(engine.ground.need(batch))
        for head in self.heads:
            head.fit()
        forms = {id(ground): ground.form(tapes[id(ground)].data) for ground in self.grounds}
        asked = Asked(len(tape.labels) - tape.held, learns, set(), set(), set(), set(), set())
        return TrialChunk(batch, rows, tape, tapes, forms, asked, {}, {}, {}, {})

    def _run_chunk(self, batch: Any, rows: slice, scores: bool) -> Predictions:
        stretch = self.lay_out(batch, rows)
        asked = stretch.asked
        self.head.ask(asked, scores)
        for engine in self.engines:
            if id(engine) in asked.again:
                stretch.twins[id(engine)] = engine.twin()
            stretch.outs[id(engine)] = self._out(engine, asked, batch.classes_seen)
        threads.each(
            [
                engine.errand(
                    stretch.forms[id(engine.ground)],
                    stretch.tapes[id(engine.ground)],
                    stretch.outs[id(engine)],
                )
                for engine in self.engines
            ],
            stretch.length,
        )
        verdict = self.head.verdict(stretch)
        if stretch.asked.learns:
            self._count(stretch, verdict)
            for ground in self.grounds:
                ground.take_in(stretch.tapes[id(ground)])
            self.kept.take_in(stretch.tape)
        for engine in self.engines:
            engine.sweep()
            engine.fit(engine.ground.sizes())
        return verdict

    @staticmethod
    def _out(engine: RuleRun, asked: Asked, classes: int) -> Out:
        count = asked.length
        return Out(
            np.empty(count, dtype=np.int32),
            np.empty(count if engine.averages else 0, dtype=np.int32),
            np.zeros((count if id(engine) in asked.own else 0, classes)),
            np.zeros((count if id(engine) in asked.mean else 0, classes)),
            np.zeros(count if id(engine) in asked.moves else 0, dtype=np.uint8),
        )

    def _count(self, stretch: TrialChunk, verdict: Predictions) -> None:
        if self.solo:
            return
        labels = stretch.labels
        self.counts[TRIALS] += np.count_nonzero(labels >= 0)
        self.counts[NOVEL] += np.count_nonzero(labels >= stretch.known)
        self.counts[MISTAKES] += np.count_nonzero(stretch.judged(verdict.guesses))

    def facts(self) -> np.ndarray:
        """The counts: trials, mistakes, novel labels, and moves of all runs together."""
        if not self.solo:
            self.counts[MOVES] = sum(int(engine.counts[MOVES]) for engine in self.engines)
        return self.counts[:KEPT].copy()

    # --- as arrays

    def _kept_apart(self) -> Iterator[tuple[str, Any]]:
        """Whoever keeps something, by the start of its names."""
        yield "", self.kept
        for what, keepers in (("ground", self.grounds), ("run", self.engines), ("head", self.heads)):
            for i, keeper in enumerate(keepers):
                yield "" if self.solo else f"{what}.{i}.", keeper

    def state(self) -> State:
        """Everything that learning changed, without spare room: equal states are equal arrays."""
        state = {} if self.solo else {"counts": self.facts()}
        for start, keeper in self._kept_apart():
            state |= {start + name: array for name, array in keeper.state().items()}
        return {name: np.array(array) for name, array in state.items()}

    def restore(self, state: State) -> None:
        """Take up a state that `state` gave (and that was found sound)."""
        self.fit()
        for start, keeper in self._kept_apart():
            keeper.restore(part_of(state, start))
        if not self.solo:
            self.counts[:KEPT] = state["counts"]
        self.fit()

    def parts_of(self, state: State) -> Iterator[tuple[Any, State]]:
        """Whoever keeps something, with its part of a state."""
        for start, keeper in self._kept_apart():
            yield keeper, part_of(state, start)
