"""Groups of rule runs: runs that add multiples of z on the same sources, with their weights side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linmax._jit.memory import aligned_zeros
from linmax._jit.vectors import WIDTH
from linmax.kernels import rule_group
from linmax.kernels.rule_group import GroupOutputs, GroupSettings, GroupState, GroupWorkspace
from linmax.kernels.structs import COUNTS
from linmax.rules import base
from linmax.rules.base import SCALARS
from linmax.runtime.sources import NO_COSTS

if TYPE_CHECKING:
    from linmax.runtime.layout import Columns, WeightLayout
    from linmax.runtime.rule_runs.rule_run import RuleRun


class RuleGroup:
    """Rule runs that one kernel runs together.

    The arrays of every run become parts of the arrays of the group; a run is resized, saved and read as
    before.

    Parameters
    ----------
    runs
        Runs that can be grouped and that have learned nothing, at most `WIDTH` lanes of them.
    """

    def __init__(self, runs: list[RuleRun]) -> None:
        self.runs = runs
        self.s = np.zeros((len(runs), SCALARS))
        self.total = np.zeros((len(runs), 1))
        self.counts = np.zeros((len(runs), COUNTS), dtype=np.int64)
        self.mean = np.full(len(runs), -1, dtype=np.int64)
        lane = len(runs)
        for r, run in enumerate(runs):
            if run.averages:
                self.mean[r] = lane
                lane += 1
            self.s[r] = run.s
            run.s, run.total, run.counts = self.s[r], self.total[r], self.counts[r]
        self.layout: WeightLayout | None = None
        for run in runs:
            run.join(self)

    def share(self, run: RuleRun, columns: Columns, layout: WeightLayout) -> None:
        """Replace the new columns of a run by lanes of the arrays of the group."""
        if layout is not self.layout:
            self.layout = layout
            self.w = aligned_zeros((layout.size, WIDTH))
            self.spoken = columns["spoken"]
            classes = layout.sizes.classes + 1
            scores, q = aligned_zeros((2, classes * WIDTH))
            self.work = GroupWorkspace(
                np.zeros(layout.voters + 1, dtype=np.int64), scores, q, aligned_zeros(WIDTH),
                np.zeros(classes), np.zeros(classes), np.zeros(classes), NO_COSTS,
            )  # fmt: skip
        r = self.runs.index(run)
        columns["theta"] = columns["w"] = self.w[:, r]
        columns["spoken"] = self.spoken
        if run.averages:
            columns["past"] = self.w[:, self.mean[r]]

    def stage(self, form: Any, labels: np.ndarray, known: np.ndarray, out: GroupOutputs) -> Any:
        """Return the kernel, bound to the arrays of the group."""
        rules = [run.rule for run in self.runs]
        first = np.zeros(WIDTH)
        first[: len(rules)] = [rule.first() for rule in rules]
        settings = GroupSettings(
            np.array([float(rule.step().size) for rule in rules]),
            first,
            self.mean,
            np.array([base.rivals_code(rule.rivals)[0] for rule in rules], dtype=np.int64),
            np.array([len(rule.scalars()) > 0 for rule in rules], dtype=np.int64),
            int(rules[0].first() != 0.0),
        )
        state = GroupState(self.w.reshape(-1), self.spoken, self.s, self.total, self.counts)
        work = self.work._replace(costs=self.runs[0].sources.costs())
        return rule_group.run.stage(form, labels, known, state, settings, work, out)


def group_runs(runs: list[RuleRun]) -> None:
    """Group the runs that can be, if there are at least two on the same sources."""
    groups: list[list[RuleRun]] = []
    for run in filter(_can_be_grouped, runs):
        for group in groups:
            if _fit_together(group[0], run) and sum(map(_lanes, [*group, run])) <= WIDTH:
                group.append(run)
                break
        else:
            groups.append([run])
    for group in groups:
        if len(group) > 1:
            RuleGroup(group)  # which the runs refer to


def _can_be_grouped(run: RuleRun) -> bool:
    return run.in_place and not run.rule.step().adapts and all(part.grouped for part in run.sources.parts)


def _fit_together(one: RuleRun, other: RuleRun) -> bool:
    """Whether two runs have the same trials, and both track new experts, or neither."""
    return one.sources is other.sources and bool(one.rule.first()) == bool(other.rule.first())


def _lanes(run: RuleRun) -> int:
    return 2 if run.averages else 1
