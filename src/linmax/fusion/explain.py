"""Whose votes decide: `voices` with a single class in q gives every sub-expert's vote for that class."""

from __future__ import annotations

from typing import Any

import numpy as np

from linmax import _jit
from linmax.fusion.results import Explanation
from linmax.inputs import Batch, NameIndex, Names
from linmax.kernels import trial as trials
from linmax.kernels.forms.base import voices
from linmax.kernels.update import best
from linmax.runtime.predictor import Attribution
from linmax.runtime.rule_run import RuleRun
from linmax.runtime.runner import Runner
from linmax.runtime.sources import Sources


def explain(council: Runner, batch: Batch) -> Explanation:
    """What each owner of sub-experts adds to each class, in a trial that is rehearsed and then undone."""
    if batch.trials != 1:
        raise ValueError("explain_one needs an item: pass its votes or attributes")
    names = everyone(council.names, batch)
    classes = names.classes.names
    with _jit.interpreted():
        item = Item(council, batch, names)
        reason = council.head.explain(item)
        council.fit()
    guess = item.guess(reason.scores)
    return Explanation(
        classes[guess] if guess >= 0 else None,
        dict(zip(classes, reason.scores.tolist(), strict=True)),
        {
            owner: {label: x for label, x in zip(classes, row.tolist(), strict=True) if x != 0.0}
            for owner, row in reason.parts.items()
        },
        _members(reason, classes),
    )


def _members(reason: Attribution, classes: list[Any]) -> dict[str, tuple[float, Any]]:
    """Each member's part and guess; one that sits in several places has the sum of its parts."""
    told: dict[str, tuple[float, Any]] = {}
    for learner, part, code in reason.members:
        before = told.get(repr(learner), (0.0, None))[0]
        told[repr(learner)] = (before + part, classes[code] if code >= 0 else None)
    return told


class Item:
    """One item as every source sees it."""

    def __init__(self, council: Runner, batch: Batch, names: Names) -> None:
        self.names = names
        self.known = int(batch.known[0])
        self.stretch = council.lay_out(batch, slice(0, 1))

    def guess(self, scores: np.ndarray) -> int:
        """The class that scores say."""
        return int(best(scores, len(scores)))

    def of_engine(self, engine: RuleRun, mean: bool) -> Attribution:
        """The hypothesis of a run, newcomers included for the moment."""
        form = self.stretch.forms[id(engine.ground)]
        h, history, how, work = engine.hypothesis(), engine.history(), engine.how(), engine.work
        saved = h.s.copy()
        form.enter(0)
        joined = trials.enlist(form, 0, self.known, h, history, work, how, engine.counts) if how.hears else 0
        newcomers = work.index[:joined].copy()
        reason = self.of_vector(engine.ground, engine.weights(mean=mean))
        work.index[:joined] = newcomers
        trials.dismiss(h, history, work, how, engine.counts, joined)
        h.s[:] = saved
        return reason

    def of_vector(self, ground: Sources, vector: np.ndarray) -> Attribution:
        """A hypothesis over a ground."""
        form = self.stretch.forms[id(ground)]
        form.enter(0)
        owners = {at: owner for _, owner, at in ground.named(self.names)}
        index, value = np.zeros(len(vector) + 1, dtype=np.int64), np.zeros(len(vector) + 1)
        q = np.zeros(ground.room.classes + 1)
        scores, parts = np.zeros(self.known), dict[Any, np.ndarray]()
        for label in range(self.known):
            q[label] = 1.0
            count = voices(form, 0, self.known, q, 0, index, value, 0)
            q[label] = 0.0
            for at, x in zip(index[:count].tolist(), value[:count].tolist(), strict=True):
                part = float(vector[at]) * x
                scores[label] += part
                parts.setdefault(owners[at], np.zeros(self.known))[label] += part
        return Attribution(scores, parts)


def everyone(names: Names, batch: Batch) -> Names:
    """The rolls with the strangers of a single predicted item."""
    strangers = [batch.unknown_classes.name(0, code) for code in range(len(names.classes), int(batch.known[0]))]
    return Names(
        NameIndex([*names.classes.names, *strangers], what="class"),
        NameIndex([*names.experts.names, *batch.new_experts], what="expert"),
        NameIndex([*names.attributes.names, *batch.new_attributes], what="attribute"),
        NameIndex([*names.values.names, *batch.new_values], what="value"),
    )
