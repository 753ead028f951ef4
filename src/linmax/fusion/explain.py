"""Whose votes decide: `gap` with a single class in q gives every sub-expert's vote for that class."""

from __future__ import annotations

from typing import Any

from linmax import _jit
from linmax.ballots import Batch, Roll, Rolls
from linmax.fusion.run import Explanation
from linmax.techniques import trials
from linmax.techniques.engine import Engine


def explain(engine: Engine, batch: Batch) -> Explanation:
    """What each owner of sub-experts adds to each class, in a trial that is rehearsed and then undone."""
    if batch.trials != 1:
        raise ValueError("explain_one needs an item: pass its votes or attributes")
    names = everyone(engine.names, batch)
    classes = names.classes.names
    with _jit.interpreted():
        form = engine.form(engine.lay_out(batch, slice(0, 1)))
        h, history, how, work = engine.hypothesis(), engine.history(), engine.how(), engine.work
        saved = h.s.copy()
        form.enter(0)
        joined = (
            trials.enlist(form, 0, len(classes), h, history, work, how, engine.counts) if how.hears else 0
        )
        newcomers = work.index[:joined].copy()
        weights = engine.weights()
        votes = [_votes(form, c, len(classes), work) for c in range(len(classes))]
        work.index[:joined] = newcomers
        trials.dismiss(h, history, work, how, engine.counts, joined)
        h.s[:] = saved
        owners = {at: owner for _, owner, at in engine.named(names)}
        engine.fit(engine.sizes())
    contributions: dict[Any, dict[Any, float]] = {}
    scores = dict.fromkeys(classes, 0.0)
    for label, cells in zip(classes, votes, strict=True):
        for at, x in cells:
            part = float(weights[at]) * x
            scores[label] += part
            row = contributions.setdefault(owners[at], {})
            row[label] = row.get(label, 0.0) + part
    return Explanation(max(classes, key=lambda label: scores[label], default=None), scores, contributions)


def everyone(names: Rolls, batch: Batch) -> Rolls:
    """The rolls with the strangers of a single predicted item."""
    strangers = [batch.strangers.name(0, code) for code in range(len(names.classes), int(batch.known[0]))]
    return Rolls(
        Roll([*names.classes.names, *strangers], what="class"),
        Roll([*names.experts.names, *batch.new_experts], what="expert"),
        Roll([*names.attributes.names, *batch.new_attributes], what="attribute"),
        Roll([*names.values.names, *batch.new_values], what="value"),
    )


def _votes(form: Any, label: int, known: int, work: Any) -> list[tuple[int, float]]:
    work.q[label] = 1.0
    count = form.gap(0, known, work.q, 0, work.index, work.value, 0)
    work.q[label] = 0.0
    return list(zip(work.index[:count].tolist(), work.value[:count].tolist(), strict=True))
