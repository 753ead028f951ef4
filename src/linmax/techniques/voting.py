"""The one who decides for `Combine` and `Voted`."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax.kernels import trial as trials
from linmax.kernels.recycling import Buffer, NoBuffer
from linmax.kernels.structs import Out
from linmax.kernels.voting import (
    NUMBERS,
    SAVED,
    SLOT,
    SPACING,
    TOLD,
    VOTING,
    Ballot,
    Leader,
    Record,
    Rules,
    Sheet,
    count_mistakes,
    follow,
    uniform,
)
from linmax.runtime.layout import copy_columns, layout, size_of
from linmax.runtime.predictor import Asked, Predictor, RulePredictor, Attribution, State, TrialChunk, Predictions, completed, scaled
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.sources import Sources
from linmax.validation import check_array, require


class VotingPredictor(Predictor):
    """Saved hypotheses of the leaders of their time, as rows over the weights of all members' sources."""

    def __init__(self, learner: Any, members: list[RulePredictor], council: Any) -> None:
        self.learner = learner
        self.members = members
        self.recent = learner.recent if learner.hypotheses else 0
        self.rules = Rules(
            learner.hypotheses, learner.window, learner.recent, learner.patience,
            int(learner.choose == "random"), council.seed,
        )  # fmt: skip
        self.sources = list(dict.fromkeys(member.engine.ground.parts for member in members))
        parts = [part for source in self.sources for part in source]
        memories = [memory for part in parts if (memory := part.new_memory()) is not None]
        if any(memory.binds_weights for memory in memories):
            raise ValueError(
                f"hypotheses on a Kernel cannot be saved apart from its supports (got {learner!r});"
                " WeightedMajority and Mixture take such members"
            )
        if sum(memory.freezes_votes for memory in memories) > 1:
            raise ValueError(
                f"only one source that freezes its votes can be in a committee that votes (got {learner!r});"
                " WeightedMajority takes any members"
            )
        self.ground: Sources = council.ground(tuple(parts))
        self.mistakes = np.zeros(len(members), dtype=np.int64)
        self.streak = np.zeros(len(members), dtype=np.int64)
        self.room = self.ground.room
        self._blank(size_of(self.ground.parts, self.room))
        self.ballot.numbers[[SPACING, SLOT]] = 1

    def _blank(self, weights: int) -> None:
        slots, members = self.rules.hypotheses, len(self.members)
        self.ballot = Ballot(
            np.zeros((slots, weights)), np.zeros(weights), np.zeros(slots),
            np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64),
            np.zeros(members, dtype=np.int64), np.zeros(NUMBERS, dtype=np.int64),
        )  # fmt: skip

    def fit(self) -> None:
        """Later experts and classes have weight 0 in what is saved."""
        if self.room != self.ground.room:
            self._move(self.ballot, self.room, self.ground.room)
            self.room = self.ground.room

    def _move(self, ballot: Ballot, old: Any, new: Any) -> None:
        parts = self.ground.parts
        before = {str(i): row for i, row in enumerate((*ballot.saved, ballot.total))}
        self._blank(size_of(parts, new))
        after = {str(i): row for i, row in enumerate((*self.ballot.saved, self.ballot.total))}
        copy_columns(before, layout(parts, old), after, layout(parts, new))
        for mine, other in zip(self.ballot[2:], ballot[2:], strict=True):
            mine[...] = other

    @property
    def leader(self) -> RulePredictor:
        """The member with the fewest mistakes so far, the first of those."""
        leader: RulePredictor = self.members[int(self.mistakes.argmin())]
        return leader

    def ahead(self) -> bool:
        """Does the leader guess, because it has made fewer mistakes than voting?"""
        best = int(self.mistakes.argmin())
        numbers = self.ballot.numbers
        if self.rules.random or not self.rules.hypotheses:
            return not numbers[SAVED]
        return bool(self.mistakes[best] - self.ballot.since[best] < numbers[VOTING])

    def _plain(self) -> bool:
        """Are hypotheses judged by the right guesses that were made while they were current?"""
        return self.rules.hypotheses > 0 and self.rules.recent == 0

    # --- running

    def ask(self, asked: Asked, board: bool) -> None:
        """The leader's scores or, where the leader may change, leave to go over its run again."""
        super().ask(asked, board)
        if self._plain():
            asked.moves.update(id(member.engine) for member in self.members)
        if not self.rules.hypotheses:
            for member in self.members:
                member.ask(asked, board)
        elif not asked.learns:
            self.leader.ask(asked, True)
        else:
            for member in self.members:
                member.ask(asked, asked.length == 1)
                if asked.length > 1:
                    asked.again.add(id(member.engine))

    def decide(self, stretch: TrialChunk, board: bool) -> Predictions:
        """Follow the leaders through a stretch."""
        record = self._record(stretch)
        if not self.rules.hypotheses:
            return self._led(stretch, record, board)
        sheet = self._sheet(stretch, board)
        tape = stretch.tapes[id(self.ground)]
        record = record._replace(drawn=self._drawn(stretch))
        labelled = tape.labels >= 0
        places = np.flatnonzero(labelled)
        told = np.concatenate(([0], np.cumsum(labelled)))[tape.held :]
        whole, again = stretch.forms[id(self.ground)], Again(stretch)
        turns = np.flatnonzero(np.diff(record.leader)) + 1
        for begin, end in zip((0, *turns.tolist()), (*turns.tolist(), stretch.length + 1), strict=True):
            member = int(record.leader[begin])
            leaf = self.members[member]
            form, tools, out = again.at(leaf.engine, begin, end)
            leader = Leader(member, self._start(leaf), int(leaf.mean), int(again.needed))
            sheet = sheet._replace(candidate=np.zeros(len(leaf.engine.columns["w"])))
            follow(
                whole, form, tape.labels, tape.known, places, told, tape.held, begin, end, leader,
                *tools, out, self.ballot, self.rules, record, sheet,
            )  # fmt: skip
        return Predictions(sheet.guesses, sheet.board)

    def _start(self, leaf: RulePredictor) -> int:
        """Where the weights of a member's source begin."""
        before = self.sources[: self.sources.index(leaf.engine.ground.parts)]
        return sum(size_of(parts, self.ground.room) for parts in before)

    def _record(self, stretch: TrialChunk) -> Record:
        guesses = np.stack([member.verdict(stretch).guesses for member in self.members])
        moved = np.zeros((0, 0), dtype=np.uint8)
        if self._plain() and stretch.asked.learns:
            moved = np.stack([stretch.outs[id(member.engine)].moved for member in self.members])
        count = (stretch.length + 1, len(self.members))
        record = Record(
            np.zeros(count[0], dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.zeros(count, dtype=np.int64),
            np.zeros((0, 0), dtype=np.uint8),
        )
        count_mistakes(guesses, moved, stretch.labels, stretch.known, self.mistakes, self.streak, record)
        return record

    def _led(self, stretch: TrialChunk, record: Record, board: bool) -> Predictions:
        verdicts = [member.verdict(stretch) for member in self.members]
        trial = np.arange(stretch.length)
        guesses = np.stack([verdict.guesses for verdict in verdicts])[record.leader[:-1], trial]
        scores = np.stack([verdict.board for verdict in verdicts])
        return Predictions(guesses, scores[record.leader[:-1], trial] if board else scores[0])

    def _drawn(self, stretch: TrialChunk) -> np.ndarray:
        """Which slots take the hypothesis before each trial: with probability 1/t after t trials."""
        if not self.rules.random:
            return np.zeros((0, 0), dtype=np.uint8)
        told = int(self.ballot.numbers[TOLD]) + np.concatenate(([0], np.cumsum(stretch.labels >= 0)))
        chance = uniform(self.rules.seed, told[:, None], np.arange(1, self.rules.hypotheses + 1)[None, :])
        return np.asarray(chance * told[:, None] < 1.0, dtype=np.uint8)

    def _sheet(self, stretch: TrialChunk, board: bool) -> Sheet:
        classes = self.ground.room.classes + 1
        return Sheet(
            np.zeros(0), np.zeros(classes), np.zeros(classes), np.empty(stretch.length, dtype=np.int32),
            np.zeros((stretch.length if board else 0, stretch.batch.classes_seen)),
            np.zeros(len(stretch.tape.labels), dtype=np.uint8),
        )  # fmt: skip

    # --- what was learned

    def vector(self) -> np.ndarray:
        """The hypothesis that decides now: the leader's, with the saved ones unless it is ahead."""
        vector = np.zeros(len(self.ballot.total)) if self.ahead() else self.ballot.total.copy()
        if self.rules.random and not self.ahead():
            return self.ballot.saved.sum(axis=0)  # type: ignore[no-any-return]
        at, own = self._start(self.leader), self.leader.vector()
        vector[at : at + len(own)] += own
        return vector

    def shares(self) -> list[tuple[Predictor, float]]:
        """How many of the hypotheses that decide are each member's."""
        shares = np.zeros(len(self.members))
        if not self.ahead():
            np.add.at(shares, self.ballot.origin[: self.ballot.numbers[SAVED]], 1.0)
        if self.ahead() or not self.rules.random:
            shares[int(self.mistakes.argmin())] += 1.0
        return list(zip(self.members, (shares / shares.sum()).tolist(), strict=True))

    def weights(self) -> dict[Any, float]:
        """The hypothesis that decides, by name, with absolute values that add up to 1."""
        vector, weights = self.vector(), dict[Any, float]()
        for key, _, at in self.ground.named():
            weights[key] = weights.get(key, 0.0) + float(vector[at])
        return scaled(weights)

    def explain(self, item: Any) -> Attribution:
        """What each sub-expert adds through all hypotheses that decide, and who the members are."""
        told = [
            (member.learner, share, item.guess(member.explain(item).scores))
            for member, share in self.shares()
            if share > 0.0
        ]
        if self.ahead():
            return self.leader.explain(item)._replace(members=told)
        if not self.rules.random:
            own = self.leader.explain(item)
            saved = item.of_vector(self.ground, self.ballot.total)
            parts = dict(saved.parts)
            for owner, row in own.parts.items():
                parts[owner] = parts.get(owner, 0.0) + row
            return Attribution(saved.scores + own.scores, parts, told)
        scores = np.zeros(item.known)
        for row in self.ballot.saved:
            scores[item.guess(item.of_vector(self.ground, row).scores)] += 1.0
        parts = item.of_vector(self.ground, self.vector()).parts
        return Attribution(scores, completed(parts, scores), told)

    # --- as arrays

    def state(self) -> State:
        """The saved hypotheses without spare room, and the counts."""
        full, sizes = self.ballot, self.ground.sizes()
        self._move(full, self.room, sizes)
        state = self.ballot._asdict()
        self.ballot = full
        return state | {"mistakes": self.mistakes, "streak": self.streak}

    def restore(self, state: State) -> None:
        """Take up what `state` gave."""
        self.room = self.ground.room
        self._move(Ballot(*(state[name] for name in Ballot._fields)), self.ground.sizes(), self.room)
        self.mistakes[:], self.streak[:] = state["mistakes"], state["streak"]

    def check(self, state: State, remembered: dict[int, int]) -> None:
        """Shapes, and numbers that a run could have left."""
        slots, members = self.rules.hypotheses, len(self.members)
        sizes = self.ground.sizes()._replace(stored=remembered[id(self.ground)])
        weights = size_of(self.ground.parts, sizes)
        check_array(state, "saved", (slots, weights), np.float64)
        check_array(state, "total", (weights,), np.float64)
        check_array(state, "figure", (slots,), np.float64)
        check_array(state, "origin", (slots,), np.int64, 0, members)
        check_array(state, "moment", (slots,), np.int64, 0, 2**62)
        for name in ("since", "mistakes", "streak"):
            check_array(state, name, (members,), np.int64, 0, 2**62)
        check_array(state, "numbers", (NUMBERS,), np.int64, 0, 2**62)
        numbers = state["numbers"]
        require(1 <= numbers[SLOT] <= max(slots, 1) and numbers[SPACING] >= 1, "numbers are out of range")
        require(numbers[SAVED] <= slots, "it has saved more hypotheses than there are places")


class Again:
    """The runs of leaders, gone through again from the start of a stretch."""

    def __init__(self, stretch: TrialChunk) -> None:
        self.stretch = stretch
        self.needed = bool(stretch.twins)
        self.runs: dict[int, tuple[Any, RuleRun, Buffer | NoBuffer]] = {}
        self.reached: dict[int, int] = {}

    def at(self, engine: RuleRun, begin: int, end: int) -> tuple[Any, tuple[Any, ...], Out]:
        """An engine as it was before trial `begin`; it will be taken on to `end`."""
        stretch, key = self.stretch, id(engine)
        tape = stretch.tapes[id(engine.ground)]
        if not self.needed:
            return stretch.forms[id(engine.ground)], engine.tools(engine.buffer(tape)), stretch.outs[key]
        if key not in self.runs:
            twin = stretch.twins[key].twin()  # somebody else may follow the same run
            form = stretch.forms[id(engine.ground)]
            if twin.ground is not engine.ground:
                form = twin.ground.form(tape.data)
            self.runs[key] = (form, twin, twin.buffer(tape))
            self.reached[key] = 0
        form, twin, buffer = self.runs[key]
        tools, gap = twin.tools(buffer), begin - self.reached[key]
        if gap > 0:
            skipped = _out(gap, 0, stretch.batch.classes_seen)
            place = tape.held + begin
            trials.run(form, tape.labels, tape.known, place - gap, place, *tools, skipped)
        self.reached[key] = min(end, stretch.length)
        return form, tools, _out(1, 1, stretch.batch.classes_seen)


def _out(guesses: int, boards: int, classes: int) -> Out:
    return Out(
        np.zeros(guesses, dtype=np.int32), np.zeros(guesses, dtype=np.int32),
        np.zeros((boards, classes)), np.zeros((boards, classes)), np.zeros(0, dtype=np.uint8),
    )  # fmt: skip
