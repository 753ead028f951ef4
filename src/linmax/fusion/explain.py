"""Explanations: what each expert adds to the scores of one item."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax import _jit
from linmax.fusion.results import Explanation
from linmax.inputs import Batch, NameIndex, Names
from linmax.kernels import trial as trials
from linmax.kernels.forms.base import append_votes
from linmax.kernels.recycling import NoBuffer
from linmax.kernels.update import best_class
from linmax.runtime.predictor import Attribution
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.sources import Sources


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
        with _jit.interpreted():
            item = AttributedItem(runner, batch, names)
            attribution = runner.predictor.explain(item)
    finally:
        runner.resize()
    code = item.best_class(attribution.scores)
    return Explanation(
        classes[code] if code >= 0 else None,
        dict(zip(classes, attribution.scores.tolist(), strict=True)),
        {
            owner: {label: x for label, x in zip(classes, row.tolist(), strict=True) if x != 0.0}
            for owner, row in attribution.parts.items()
        },
        _members(attribution, classes),
    )


def _members(attribution: Attribution, classes: list[Any]) -> dict[str, tuple[float, Any]]:
    """Return the share and prediction of each member; one that occurs several times has the sum."""
    members: dict[str, tuple[float, Any]] = {}
    for learner, share, code in attribution.members:
        before = members.get(repr(learner), (0.0, None))[0]
        members[repr(learner)] = (before + share, classes[code] if code >= 0 else None)
    return members


class AttributedItem:
    """One item in the form of every source, for predictors to explain.

    Parameters
    ----------
    runner
        The learner at work.
    batch
        One item, encoded.
    names
        All names, those of the item included.
    """

    def __init__(self, runner: Runner, batch: Batch, names: Names) -> None:
        self.names = names
        self.known = int(batch.known[0])
        self.chunk = runner.prepare(batch)

    def best_class(self, scores: np.ndarray) -> int:
        """Return the code of the class with the highest score."""
        return int(best_class(scores, len(scores)))

    def of_run(self, run: RuleRun, mean: bool) -> Attribution:
        """Attribute the scores of a rule run; new experts have the weight with which they would start."""
        form = run.sources.form
        h, history, _, work, settings, counts = run.kernel_state(NoBuffer(0))
        saved = h.s.copy()
        form.begin_trial(0)
        joined = 0
        if run.tracks_spoken:
            joined = trials.add_new_experts(form, 0, self.known, h, history, work, settings, counts)
        newcomers = work.index[:joined].copy()
        attribution = self.of_vector(run.sources, run.weights(mean=mean))
        work.index[:joined] = newcomers
        trials.remove_new_experts(h, history, work, settings, counts, joined)
        h.s[:] = saved
        return attribution

    def of_vector(self, sources: Sources, vector: np.ndarray) -> Attribution:
        """Attribute the scores of a hypothesis over some sources."""
        form = sources.form
        form.begin_trial(0)
        owners = {at: owner for _, owner, at in sources.named_weights(self.names)}
        index, value = np.zeros(len(vector) + 1, dtype=np.int64), np.zeros(len(vector) + 1)
        q = np.zeros(sources.capacity.classes + 1)
        scores, parts = np.zeros(self.known), dict[Any, np.ndarray]()
        for label in range(self.known):
            q[label] = 1.0  # with a single class in q, `voices` gives every sub-expert's vote for it
            count = append_votes(form, 0, self.known, q, 0, index, value, 0)
            q[label] = 0.0
            for at, x in zip(index[:count].tolist(), value[:count].tolist(), strict=True):
                part = float(vector[at]) * x
                scores[label] += part
                parts.setdefault(owners[at], np.zeros(self.known))[label] += part
        return Attribution(scores, parts)


def _with_unknown_names(names: Names, batch: Batch) -> Names:
    """Return the names with those that only this item has."""
    codes = range(len(names.classes), int(batch.known[0]))
    unknown = [batch.unknown_classes.name(0, code) for code in codes]
    return Names(
        NameIndex([*names.classes.names, *unknown], what="class"),
        NameIndex([*names.experts.names, *batch.new_experts], what="expert"),
        NameIndex([*names.attributes.names, *batch.new_attributes], what="attribute"),
        NameIndex([*names.values.names, *batch.new_values], what="value"),
    )
