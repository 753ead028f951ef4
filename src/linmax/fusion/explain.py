"""Explanations: what each expert adds to the scores of one item."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from linmax._jit import compilation
from linmax.experts.base import VoteArrays, expert_owner
from linmax.experts.votes import first_votes
from linmax.fusion.results import Explanation
from linmax.inputs import Batch, NameIndex, Names
from linmax.kernels import in_place
from linmax.kernels import trial as trials
from linmax.kernels.forms.base import LastWeights, append_votes
from linmax.kernels.forms.votes import class_slots
from linmax.kernels.recycling import NoBuffer
from linmax.kernels.structs import SILENT
from linmax.kernels.update import score_classes
from linmax.runtime.layout import WeightBlock
from linmax.runtime.predictor import REMAINDER, Attribution, Part, Predictor
from linmax.runtime.program import padded
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.sources import Sources

NEAR = 1e-9
"""Scores whose difference is smaller than this share of them may be equal but for rounding."""


def explain(runner: Runner, batch: Batch) -> Explanation:
    """Explain the prediction of a single item; nothing is learned.

    Parameters
    ----------
    runner
        The learner at work.
    batch
        One item, encoded.

    Returns
    -------
    Explanation
    """
    if batch.trials != 1:
        raise ValueError("explain_one needs an item: pass its votes or attributes")
    names = _with_unknown_names(runner.names, batch)
    classes = names.classes.names
    try:
        with compilation.interpreted():
            item = AttributedItem(runner, batch, names)
            attribution = item.explain(runner.predictor)
    finally:
        runner.resize()
    code = item.best_class(attribution)
    if attribution.code is None and _may_be_tie(attribution):  # of an ensemble
        with compilation.interpreted():
            code = int(runner.run(batch, learn=False).codes[0])
    return Explanation(
        classes[code] if code >= 0 else None,
        dict(zip(classes, attribution.scores.tolist(), strict=True)),
        _contributions(item, attribution, classes),
        _members(attribution, classes),
    )


def _contributions(
    item: AttributedItem, attribution: Attribution, classes: list[Any]
) -> dict[Any, dict[Any, float]]:
    """Return what each owner adds to each class, without zeros; the remainder is last."""
    factors: dict[Part, float] = {}
    for part, factor in attribution.parts:  # a member of several ensembles occurs in several of them
        factors[part] = factors.get(part, 0.0) + factor
    total = np.zeros((len(item.owners), item.known))
    for part, factor in factors.items():
        total[: len(part.values)] += factor * part.values
    values, rows = total.tolist(), frozenset[int]().union(*(part.rows for part in factors))
    contributions = {item.owners[row]: _named(classes, values[row]) for row in sorted(rows)}
    if attribution.remainder:
        remainder = attribution.scores - total.sum(axis=0)
        contributions[REMAINDER] = _named(classes, remainder.tolist())
    return contributions


def _named(classes: list[Any], values: list[float]) -> dict[Any, float]:
    """Return numbers by class, without zeros."""
    return {label: x for label, x in zip(classes, values, strict=True) if x != 0.0}


def _members(attribution: Attribution, classes: list[Any]) -> dict[str, tuple[float, Any]]:
    """Return the share and prediction of each member; one that occurs several times has the sum."""
    members: dict[str, tuple[float, Any]] = {}
    for title, share, code in attribution.members:
        before = members.get(title, (0.0, None))[0]
        members[title] = (before + share, classes[code] if code >= 0 else None)
    return members


class ItemVotes(NamedTuple):
    """What the sub-experts of some sources vote on one item.

    Parameters
    ----------
    weight
        The sub-expert of each vote: the index of its weight.
    label, value
        The class of each vote, and the vote.
    cell
        The place of each vote in an array of owners by classes.
    owners
        The number of rows of that array.
    rows
        The rows of the owners that vote.
    """

    weight: np.ndarray
    label: np.ndarray
    value: np.ndarray
    cell: np.ndarray
    owners: int
    rows: frozenset[int]


class AttributedItem:
    """One item in the form of every source, for predictors to explain.

    What sub-experts vote is found once for all runs on the same sources, and every predictor is asked once,
    also if it is in several ensembles.

    Parameters
    ----------
    runner
        The learner at work.
    batch
        One item, encoded.
    names
        All names, those of the item included.

    Attributes
    ----------
    known : int
        The number of classes.
    owners : list
        The keys of the explanation, in the order of the rows of a `Part`.
    """

    def __init__(self, runner: Runner, batch: Batch, names: Names) -> None:
        self.names = names
        self.known = int(batch.known[0])
        self.chunk = runner.prepare(batch)
        self.owners: list[Any] = []
        self._rows: dict[Any, int] = {}
        self._expert_rows = np.full(len(names.experts), -1)
        self._read: list[tuple[Any, VoteArrays]] = []
        self._votes: dict[Sources, ItemVotes] = {}
        self._attributions: dict[Predictor, Attribution] = {}

    def best_class(self, attribution: Attribution) -> int:
        """Return the code of the class that is predicted."""
        return self.best_classes([attribution])[0]

    def best_classes(self, found: list[Attribution]) -> list[int]:
        """Return the code of the class that is predicted, for several attributions."""
        if not self.known:
            return [-1] * len(found)
        codes: list[int] = np.array([one.scores for one in found]).argmax(axis=1).tolist()
        return [code if one.code is None else one.code for code, one in zip(codes, found, strict=True)]

    # --- the rows of parts

    def row_of(self, owner: Any) -> int:
        """Return the row of an owner, after adding it if it is new."""
        if owner not in self._rows:
            self._rows[owner] = len(self.owners)
            self.owners.append(owner)
        return self._rows[owner]

    def rows_of_experts(self, experts: np.ndarray) -> np.ndarray:
        """Return the rows of experts, given by their codes."""
        rows: np.ndarray = self._expert_rows[experts]
        if rows.min(initial=0) < 0:
            for i in dict.fromkeys(experts[rows < 0].tolist()):
                self._expert_rows[i] = self.row_of(expert_owner(self.names.experts.names[i]))
            rows = self._expert_rows[experts]
        return rows

    def add_up(self, rows: np.ndarray, labels: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the sums of values by row and class, as the values of a `Part`."""
        return self._values((rows * self.known + labels).reshape(-1), values.reshape(-1), len(self.owners))

    def _values(self, cells: np.ndarray, values: np.ndarray, rows: int) -> np.ndarray:
        return _sums(cells, values, rows * self.known).reshape(rows, self.known)

    # --- attributions

    def explain(self, predictor: Predictor) -> Attribution:
        """Return what decides the item for a predictor; it must not be changed."""
        if predictor not in self._attributions:
            self._attributions[predictor] = predictor.explain(self)
        return self._attributions[predictor]

    def of_run(self, run: RuleRun, mean: bool) -> Attribution:
        """Attribute the scores of a rule run; new experts have the weight with which they would start."""
        found = self._of_weights(run, mean)
        return found._replace(code=self._predict(run, mean)) if _may_be_tie(found) else found

    def _predict(self, run: RuleRun, mean: bool) -> int:
        """Return the prediction of a rule run itself: its kernel decides a tie by sums in its own order."""
        run.begin(1, self.chunk.classes)
        run.execute()
        code = int((run.outputs.mean if mean else run.outputs.own)[0])
        run.release()
        return code

    def _of_weights(self, run: RuleRun, mean: bool) -> Attribution:
        votes = self.votes_on(run.sources)
        if not _has_new_experts(run, votes.weight):
            return self._attribute(votes, run.weights(mean=mean, at=votes.weight))
        form = run.sources.form
        if run.in_place:
            h, history, work, settings, counts = run.in_place_state()
            join: Any = in_place.add_new_voters
        else:
            h, history, _, work, settings, counts = run.kernel_state(NoBuffer(0))
            join = trials.add_new_experts
        saved = h.s.copy()
        joined = join(form, 0, self.known, h, history, work, settings, counts)
        weights = run.weights(mean=mean, at=votes.weight)
        trials.remove_new_experts(h, history, work, settings, counts, joined)
        h.s[:] = saved
        return self._attribute(votes, weights)

    def of_vector(self, sources: Sources, vector: np.ndarray) -> Attribution:
        """Attribute the scores of a hypothesis over some sources."""
        votes = self.votes_on(sources)
        found = self._attribute(votes, vector[votes.weight])
        if not _may_be_tie(found):
            return found
        scores = np.zeros(class_slots(self.known))
        score_classes(sources.form, 0, self.known, LastWeights(vector), scores)
        return found._replace(code=int(scores[: self.known].argmax()))

    def _attribute(self, votes: ItemVotes, weights: np.ndarray) -> Attribution:
        """Attribute the scores of a hypothesis, given by the weight of every vote."""
        added = weights * votes.value
        part = Part(self._values(votes.cell, added, votes.owners), votes.rows)
        return Attribution(_sums(votes.label, added, self.known), ((part, 1.0),))

    # --- votes

    def first_votes(self, votes: Any) -> VoteArrays:
        """Return the experts, classes and values of votes, read once for all sources; see `first_votes`."""
        for known, found in self._read:
            if known is votes:
                return found
        self._read.append((votes, first_votes(votes)))
        return self._read[-1][1]

    def votes_on(self, sources: Sources) -> ItemVotes:
        """Return what the sub-experts of some sources vote."""
        if sources not in self._votes:
            sources.form.begin_trial(0)
            blocks = sources.layout.blocks
            parts = zip(blocks, _forms(sources.form, len(blocks)), sources.memories, strict=True)
            found = [self._of_source(block, form, memory) for block, form, memory in parts]
            weight, label, value, row = map(np.concatenate, zip(*found, strict=True))
            cell, rows = row * self.known + label, frozenset(row.tolist())
            self._votes[sources] = ItemVotes(weight, label, value, cell, len(self.owners), rows)
        return self._votes[sources]

    def _of_source(self, block: WeightBlock, form: Any, memory: Any) -> tuple[np.ndarray, ...]:
        """Return the weight, class, value and row of each vote on one source."""
        votes = block.part.sub_votes(form, self.known, self.first_votes, self.names)
        if votes is None:
            return self._listed(block, form, memory)
        if votes.owners:
            rows = np.array([self.row_of(owner) for owner in votes.owners])[votes.expert]
        elif votes.owner is None:
            rows = self.rows_of_experts(votes.expert)
        else:
            rows = np.full(len(votes.weight), self.row_of(votes.owner))
        return votes.weight + block.at, votes.label, votes.value, rows

    def _listed(self, block: WeightBlock, form: Any, memory: Any) -> tuple[np.ndarray, ...]:
        """Find the votes on a source with the functions of its form, and their owners by key."""
        size = math.prod(block.shape)
        index, value = np.zeros(size + 1, dtype=np.int64), np.zeros(size + 1)
        q = np.zeros(padded(self.known) + 1)
        found = [(index[:0], index[:0], value[:0])]
        for label in range(self.known):
            q[label] = 1.0  # with a single class in q, the coordinates of z are the votes for it
            count = append_votes(form, 0, self.known, q, 0, index, value, 0)
            q[label] = 0.0
            found.append((index[:count].copy(), np.full(count, label), value[:count].copy()))
        voters, labels, values = map(np.concatenate, zip(*found, strict=True))
        rows = np.zeros(size, dtype=np.int64)
        votes = np.zeros(size, dtype=bool)
        votes[voters] = True
        for key, place in block.part.keys(self.names, memory):
            at = 0
            for i, width in zip(place, block.shape, strict=True):
                at = at * width + i
            if votes[at]:
                rows[at] = self.row_of(block.part.owner(key))
        return voters + block.at, labels, values, rows[voters]


def _is_near_tie(scores: np.ndarray) -> bool:
    """Return whether the order in which the scores of the two best classes are added up may matter.

    >>> _is_near_tie(np.array([0.3, 0.1 + 0.2, 0.0])), _is_near_tie(np.array([0.3, 0.2]))
    (True, False)
    """
    if len(scores) < 2:
        return False
    second, first = np.partition(scores, -2)[-2:].tolist()
    return bool(first - second <= NEAR * max(abs(first), abs(second)))


def _may_be_tie(found: Attribution) -> bool:
    """Return whether the scores of a hypothesis are a tie, unless no vote adds anything."""
    return _is_near_tie(found.scores) and any(part.values.any() for part, _ in found.parts)


def _sums(index: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Return the sums of values by index, each added up in the order of the values."""
    return np.bincount(index, values, size) if len(index) else np.zeros(size)


def _forms(form: Any, count: int) -> list[Any]:
    """Return the forms of so many sources, of which a form is the sum."""
    forms: list[Any] = []
    while len(forms) < count - 1:
        form, last = form.a, form.b
        forms.append(last)
    return [form, *reversed(forms)]


def _has_new_experts(run: RuleRun, voters: np.ndarray) -> bool:
    """Return whether some of these sub-experts vote for the first time, and have to be given a weight."""
    if not run.counts[SILENT] or not (run.rule.first() != 0.0 if run.in_place else run.tracks_spoken):
        return False
    spoken = run.columns["spoken"]
    voters = voters[voters < len(spoken)]
    new = voters[spoken[voters] == 0]
    return bool(run.columns["first"][new].any()) if run.in_place else len(new) > 0


def _with_unknown_names(names: Names, batch: Batch) -> Names:
    """Return the names with those that only this item has."""
    if int(batch.known[0]) == len(names.classes) and not (
        batch.new_experts or batch.new_attributes or batch.new_values
    ):
        return names
    codes = range(len(names.classes), int(batch.known[0]))
    unknown = [batch.unknown_classes.name(0, code) for code in codes]
    return Names(
        NameIndex([*names.classes.names, *unknown], what="class"),
        NameIndex([*names.experts.names, *batch.new_experts], what="expert"),
        NameIndex([*names.attributes.names, *batch.new_attributes], what="attribute"),
        NameIndex([*names.values.names, *batch.new_values], what="value"),
    )
