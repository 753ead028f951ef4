"""The predictor of `Combine` and `Voted`: saved hypotheses of past leaders vote with the current one."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from linmax._jit.compilation import interpreted
from linmax._jit.memory import Stage, aligned_zeros
from linmax.kernels import trial as trials
from linmax.kernels.ensembles.voting import (
    LABELLED,
    NUMBERS,
    SAVED,
    SLOT,
    SPACING,
    VOTING,
    Leader,
    MemberRecord,
    SavedHypotheses,
    VotingSettings,
    VotingWorkspace,
    count_mistakes,
    follow,
    uniform,
)
from linmax.kernels.forms.votes import class_slots
from linmax.kernels.recycling import Buffer, NoBuffer
from linmax.kernels.structs import Outputs
from linmax.runtime.influence import Hypothesis, Leaf, hypotheses_of_run, split_vector
from linmax.runtime.layout import WeightLayout, copy_columns
from linmax.runtime.predictor import (
    Attribution,
    Predictions,
    Predictor,
    RulePredictor,
    State,
    TrialChunk,
    normalized,
)
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.spec import short
from linmax.validation import check_array, require


class VotingPredictor(Predictor):
    """Keeps hypotheses of past leaders, as rows over the weights of all members' sources.

    Parameters
    ----------
    learner
        `Combine` or `Voted`.
    members
        The predictors of its members.
    runner
        The learner at work.
    """

    def __init__(self, learner: Any, members: list[RulePredictor], runner: Any) -> None:
        self.learner = learner
        self.members = members
        self.recent = learner.recent if learner.hypotheses else 0
        self.rules = VotingSettings(
            learner.hypotheses, learner.window, learner.recent, learner.patience,
            int(learner.choose == "random"), runner.seed,
        )  # fmt: skip
        self.member_parts = list(dict.fromkeys(member.run.sources.parts for member in members))
        parts = [part for source in self.member_parts for part in source]
        memories = [memory for part in parts if (memory := part.new_memory()) is not None]
        if any(memory.binds_weights for memory in memories):
            raise ValueError(
                f"hypotheses on a Kernel cannot be saved without its support vectors (got {short(learner)});"
                " WeightedMajority and Mixture take such members"
            )
        if sum(memory.freezes_votes for memory in memories) > 1:
            raise ValueError(
                f"only one Pairs can be in a committee that votes (got {short(learner)});"
                " WeightedMajority takes any members"
            )
        self.sources = runner.shared_sources(tuple(parts))
        self.mistakes = np.zeros(len(members), dtype=np.int64)
        self.streak = np.zeros(len(members), dtype=np.int64)
        self.layout: WeightLayout = self.sources.layout
        self.hypotheses = self._empty(self.layout)
        self.hypotheses.numbers[[SPACING, SLOT]] = 1

    def _empty(self, layout: WeightLayout) -> SavedHypotheses:
        slots, members = self.rules.hypotheses, len(self.members)
        return SavedHypotheses(
            np.zeros((slots, layout.size)), np.zeros(layout.size), np.zeros(slots),
            np.zeros(slots, dtype=np.int64), np.zeros(slots, dtype=np.int64),
            np.zeros(members, dtype=np.int64), np.zeros(NUMBERS, dtype=np.int64),
        )  # fmt: skip

    def _copy(self, saved: SavedHypotheses, old: WeightLayout, new: WeightLayout) -> SavedHypotheses:
        """Return the same in another layout; later experts and classes have weight 0 in what is saved."""
        copy = self._empty(new)
        before = {str(i): row for i, row in enumerate((*saved.saved, saved.total))}
        after = {str(i): row for i, row in enumerate((*copy.saved, copy.total))}
        copy_columns(before, old, after, new)
        for target, source in zip(copy[2:], saved[2:], strict=True):
            target[...] = source
        return copy

    def resize(self) -> None:
        """Follow the capacity of the sources."""
        if self.layout is not self.sources.layout:
            self.hypotheses = self._copy(self.hypotheses, self.layout, self.sources.layout)
            self.layout = self.sources.layout

    @property
    def leader(self) -> RulePredictor:
        """The member with the fewest mistakes so far, the first of those that tie."""
        leader: RulePredictor = self.members[int(self.mistakes.argmin())]
        return leader

    def leader_predicts(self) -> bool:
        """Return whether the leader predicts alone, because it has made fewer mistakes than voting."""
        best = int(self.mistakes.argmin())
        numbers = self.hypotheses.numbers
        if self.rules.random or not self.rules.hypotheses:
            return not numbers[SAVED]
        return bool(self.mistakes[best] - self.hypotheses.since[best] < numbers[VOTING])

    def _counts_right(self) -> bool:
        """Are hypotheses compared by the right predictions that were made while they were current?"""
        return self.rules.hypotheses > 0 and self.rules.recent == 0

    # --- running

    def request(self, chunk: TrialChunk, scores: bool) -> None:
        """Ask for the leader's scores or, where the leader may change, for a copy to replay its run."""
        super().request(chunk, scores)
        if self._counts_right():
            for member in self.members:
                member.run.requests.moves = True
        if not self.rules.hypotheses:
            for member in self.members:
                member.request(chunk, scores)
        elif not chunk.learns:
            self.leader.request(chunk, True)
        else:
            for member in self.members:
                member.request(chunk, chunk.length == 1)
                if chunk.length > 1:
                    member.run.requests.replay = True

    def compute(self, chunk: TrialChunk) -> Predictions:
        """Follow the leaders through a chunk."""
        record = self._record(chunk)
        if not self.rules.hypotheses:
            return self._of_leaders(chunk, record)
        workspace = self._workspace(chunk)
        sequence = self.sources.trials
        record = record._replace(drawn=self._drawn(chunk))
        labelled = sequence.labels >= 0
        places = np.flatnonzero(labelled)
        learned = np.concatenate(([0], np.cumsum(labelled)))[sequence.buffered :]
        replay = HypothesisReplay(chunk)
        changes = np.flatnonzero(np.diff(record.leader)) + 1
        for begin, end in zip((0, *changes.tolist()), (*changes.tolist(), chunk.length + 1), strict=True):
            number = int(record.leader[begin])
            member = self.members[number]
            form, state, out, again = replay.advance(member.run, begin, end)
            h, average, *_, counts = state
            workspace = workspace._replace(candidate=np.zeros(len(member.run.columns["w"])))
            code, memory = (0, 0) if again is None else again.reach()
            start, mean = self._start(member), int(member.mean)
            leader = Leader(number, start, mean, int(again is not None), code, memory)
            with interpreted() if callable(code) else contextlib.nullcontext():
                follow.stage(
                    self.sources.form, form, sequence.labels, sequence.known, places, learned,
                    sequence.buffered, leader, h, average, counts, out, self.hypotheses, self.rules, record,
                    workspace,
                )(begin, end)  # fmt: skip
        return Predictions(workspace.guesses, workspace.out_scores)

    def _start(self, member: RulePredictor) -> int:
        """Return the index at which the weights of a member's sources begin."""
        parts = member.run.sources.parts
        before = self.member_parts[: self.member_parts.index(parts)]
        return sum(WeightLayout(other, self.sources.capacity).size for other in before)

    def _record(self, chunk: TrialChunk) -> MemberRecord:
        codes = np.stack([member.predictions(chunk).codes for member in self.members])
        moved = np.zeros((0, 0), dtype=np.uint8)
        if self._counts_right() and chunk.learns:
            moved = np.stack([member.run.outputs.moved for member in self.members])
        shape = (chunk.length + 1, len(self.members))
        record = MemberRecord(
            np.zeros(shape[0], dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros((0, 0), dtype=np.uint8),
        )
        count_mistakes(codes, moved, chunk.labels, chunk.known, self.mistakes, self.streak, record)
        return record

    def _of_leaders(self, chunk: TrialChunk, record: MemberRecord) -> Predictions:
        found = [member.predictions(chunk) for member in self.members]
        trial = np.arange(chunk.length)
        codes = np.stack([one.codes for one in found])[record.leader[:-1], trial]
        scores = np.stack([one.scores for one in found])
        return Predictions(codes, scores[record.leader[:-1], trial] if self.scores_wanted else scores[0])

    def _drawn(self, chunk: TrialChunk) -> np.ndarray:
        """Return which slots take the hypothesis before each trial: with probability 1/t after t trials."""
        if not self.rules.random:
            return np.zeros((0, 0), dtype=np.uint8)
        learned = int(self.hypotheses.numbers[LABELLED]) + np.concatenate(([0], np.cumsum(chunk.labels >= 0)))
        chance = uniform(self.rules.seed, learned[:, None], np.arange(1, self.rules.hypotheses + 1)[None, :])
        return np.asarray(chance * learned[:, None] < 1.0, dtype=np.uint8)

    def _workspace(self, chunk: TrialChunk) -> VotingWorkspace:
        scores, other = aligned_zeros((2, class_slots(self.sources.capacity.classes)))
        return VotingWorkspace(
            np.zeros(0), scores, other, np.empty(chunk.length, dtype=np.int32),
            np.zeros((chunk.length if self.scores_wanted else 0, chunk.classes)),
            np.zeros(len(chunk.trials.labels), dtype=np.uint8),
        )  # fmt: skip

    # --- what was learned

    def vector(self) -> np.ndarray:
        """Return the hypothesis that predicts: the leader's, with the saved ones unless it predicts alone."""
        alone = self.leader_predicts()
        vector = np.zeros(len(self.hypotheses.total)) if alone else self.hypotheses.total.copy()
        if self.rules.random and not alone:
            return self.hypotheses.saved.sum(axis=0)  # type: ignore[no-any-return]
        at, own = self._start(self.leader), self.leader.vector()
        vector[at : at + len(own)] += own
        return vector

    def linear_hypotheses(self) -> list[Hypothesis] | None:
        """Return the leader's hypothesis, with the saved ones unless it predicts alone."""
        if self.leader_predicts():
            return self.leader.linear_hypotheses()
        found = hypotheses_of_run(self.leader.run, self.leader.mean)
        if found is None or self.rules.random:
            return None
        at, cases = self._start(self.leader), []
        for own in found:
            vector = self.hypotheses.total.copy()
            vector[at : at + len(own)] += own
            cases.append(split_vector(self.layout, vector))
        return cases

    def leaves_of_mixture(self, experts: np.ndarray, k: int, names: Any) -> list[Leaf] | None:
        """Return what predicts, unless new experts change the scale of the leader's weights."""
        leaves = self.leader.leaves_of_mixture(experts, k, names)
        if leaves is None or self.leader_predicts():
            return leaves
        return super().leaves_of_mixture(experts, k, names)

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the share of each member in the hypotheses that predict."""
        shares = np.zeros(len(self.members))
        alone = self.leader_predicts()
        if not alone:
            np.add.at(shares, self.hypotheses.origin[: self.hypotheses.numbers[SAVED]], 1.0)
        if alone or not self.rules.random:
            shares[int(self.mistakes.argmin())] += 1.0
        return list(zip(self.members, (shares / shares.sum()).tolist(), strict=True))

    def weights(self) -> dict[Any, float]:
        """Return the hypothesis that predicts, by key, normalized."""
        vector, weights = self.vector(), dict[Any, float]()
        for key, _, at in self.sources.named_weights():
            weights[key] = weights.get(key, 0.0) + float(vector[at])
        return normalized(weights)

    def explain(self, item: Any) -> Attribution:
        """Return what each sub-expert adds through all hypotheses that predict, and the members."""
        members = tuple(
            (member.title, share, item.best_class(item.explain(member)))
            for member, share in self.shares()
            if share > 0.0
        )
        if self.leader_predicts():
            alone: Attribution = item.explain(self.leader)
            return alone._replace(members=members)
        if not self.rules.random:
            own, saved = item.explain(self.leader), item.of_vector(self.sources, self.hypotheses.total)
            return Attribution(saved.scores + own.scores, saved.parts + own.parts, members=members)
        scores = np.zeros(item.known)
        for row in self.hypotheses.saved:
            scores[item.best_class(item.of_vector(self.sources, row))] += 1.0
        mean = item.of_vector(self.sources, self.vector())
        return Attribution(scores, mean.parts, True, members)

    # --- as arrays

    def state(self) -> State:
        """Return the saved hypotheses without spare capacity, and the counts."""
        trimmed = WeightLayout(self.sources.parts, self.sources.sizes_of_names())
        state = self._copy(self.hypotheses, self.layout, trimmed)._asdict()
        return state | {"mistakes": self.mistakes, "streak": self.streak}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        trimmed = WeightLayout(self.sources.parts, self.sources.sizes_of_names())
        self.layout = self.sources.layout
        self.hypotheses = self._copy(
            SavedHypotheses(*(state[name] for name in SavedHypotheses._fields)), trimmed, self.layout
        )
        self.mistakes[:], self.streak[:] = state["mistakes"], state["streak"]

    def validate(self, state: State, sizes: Any) -> None:
        """Check shapes, and that a run could have left these numbers."""
        slots, members = self.rules.hypotheses, len(self.members)
        weights = WeightLayout(self.sources.parts, sizes(self.sources)).size
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
        require(numbers[SAVED] <= slots, "it has saved more hypotheses than there are slots")


class HypothesisReplay:
    """Runs the rules of the leaders once more, from their state before a chunk.

    Parameters
    ----------
    chunk
        The chunk, which the rule runs have already gone through.
    """

    def __init__(self, chunk: TrialChunk) -> None:
        self.chunk = chunk
        self.runs: dict[RuleRun, tuple[Any, RuleRun, Buffer | NoBuffer]] = {}
        self.reached: dict[RuleRun, int] = {}

    def advance(
        self, run: RuleRun, begin: int, end: int
    ) -> tuple[Any, tuple[Any, ...], Outputs, Stage | None]:
        """Return the form, kernel state and outputs of a run before trial `begin`; it is used until `end`.

        The last is what repeats its trials, one at a time; None if the outputs have them.
        """
        sequence, form = run.sources.trials, run.sources.form
        if run.before is None:
            return form, run.kernel_state(run.recycling_buffer(sequence, form)), run.outputs, None
        if run not in self.runs:
            twin = run.before.twin()  # another ensemble may replay the same run
            if twin.sources is not run.sources:
                form = twin.sources.build_form(sequence.data)
            self.runs[run] = (form, twin, twin.recycling_buffer(sequence, form))
            self.reached[run] = 0
        form, twin, buffer = self.runs[run]
        state, skip = twin.kernel_state(buffer), begin - self.reached[run]
        arguments = form, sequence.labels, sequence.known, *state
        if skip > 0:
            start = sequence.buffered + begin
            trials.run.stage(*arguments, self._outputs(skip, 0))(start - skip, start)
        self.reached[run] = min(end, self.chunk.length)
        out = self._outputs(1, 1)
        return form, state, out, trials.run.stage(*arguments, out)

    def _outputs(self, length: int, scores: int) -> Outputs:
        classes = self.chunk.classes
        return Outputs(
            np.zeros(length, dtype=np.int32), np.zeros(length, dtype=np.int32),
            np.zeros((scores, classes)), np.zeros((scores, classes)), np.zeros(0, dtype=np.uint8),
        )  # fmt: skip
