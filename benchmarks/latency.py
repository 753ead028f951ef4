"""The CPU time of `learn_one` with the default learner, in total and by part."""

from __future__ import annotations

from functools import partial
from statistics import median
from typing import Any

from benchmarks.timing import in_turn, time_call
from linmax import Fusion
from linmax.problems import majority
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.single_item import SingleItem

EXPERTS, CLASSES = 20, 10


def by_part(items: int, rounds: int) -> list[dict[str, Any]]:
    """Return microseconds of CPU per item, in total and by part; the parts are timed separately."""
    votes, labels = majority(items, experts=EXPERTS, classes=CLASSES, noise=0.1)
    stream, truth = [dict(enumerate(row)) for row in votes.tolist()], labels.tolist()
    fusion = Fusion(classes=range(CLASSES))
    for item, label in zip(stream[:100], truth, strict=False):
        fusion.learn_one(item, label)

    def learn() -> None:
        for item, label in zip(stream, truth, strict=True):
            fusion.learn_one(item, label)

    def predict() -> None:
        for item in stream:
            fusion.predict_one(item)

    learn()  # the calls below run on a state that has learned
    single = SingleItem(fusion.runner, fusion.needs, fusion.abstain, SessionLock())
    single.run(stream[0], None, None)
    program = single.programs[0]
    parts_of_item = [label_of(stage) for stage in program.stages]

    def repeat(number: int) -> None:
        program.repeat_stage(number, items)

    works = {"learn_one": partial(time_call, learn), "predict_one": partial(time_call, predict)}
    for number in range(len(parts_of_item)):
        works[str(number)] = partial(time_call, partial(repeat, number))
    costs = in_turn(works, rounds)
    us = {name: 1e6 * median(one.cpu for one in found) / items for name, found in costs.items()}
    parts: dict[str, float] = {}
    for number, name in enumerate(parts_of_item):
        parts[name] = parts.get(name, 0.0) + us[str(number)]
    rows = [{"part": name, "us": us[name]} for name in ("learn_one", "predict_one")]
    rows += [{"part": f"of it {name}", "us": took} for name, took in parts.items()]
    rest = us["learn_one"] - sum(parts.values())
    return [*rows, {"part": "of it reading the votes, and Python", "us": rest}]


LABELS = {
    "rule_group": "the rules that are run together",
    "in_place": "rules that are run alone",
    "naive_bayes": "the counters of votes",
    "board": "the softmax of all members",
    "mixtures": "stacking and mixing",
    "program": "copying and counting",
    "trials": "calibration",
}
"""What the kernels of a module do for an item of the default learner."""


def label_of(stage: Any) -> str:
    """Return what a stage does, by the module of its kernel."""
    return LABELS[stage.kernel.python.__module__.rpartition(".")[2]]
