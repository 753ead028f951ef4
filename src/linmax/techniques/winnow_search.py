"""WinnowSearch: search Winnow's multiplier while learning, with members that are added and replaced."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linmax.kernels.ensembles.mixtures import NEW
from linmax.rules.winnow import Winnow
from linmax.runtime.predictor import Attribution, Predictor, RulePredictor, State, mix_attributions
from linmax.runtime.rule_runs.rule_run import RuleRun
from linmax.runtime.runner import DEFAULT_SOURCE
from linmax.spec import Learner, RunOptions, short
from linmax.techniques.base import Committee, check_multiplier
from linmax.techniques.weighted_majority import MemberMajority
from linmax.validation import check_array, is_integer, require

FIRST = 16  # labelled trials before the first search; each later one is after twice as many
LARGEST, RATIO, COUNT = 2.0, 3.0, 8
GRID = tuple(Winnow.from_eta(LARGEST * RATIO**-i) for i in range(COUNT))


@dataclass(frozen=True, repr=False)
class WinnowSearch(Committee):
    """Weighted Majority over Winnow with many multipliers, some of which are searched while it learns.

    After 16, 32, 64, ... labelled trials, the member with the most weight is copied. The copy keeps the
    hypothesis, continues with half the learning rate ``eta = ln alpha``, and starts at the mean weight of all
    members. It fills an empty slot or, if there is none, replaces the copy with the least weight. The given
    members are never replaced, so that the mistake bound of each of them holds for the committee, up to a
    factor near 2: see `linmax.bounds.search_bound`.

    Parameters
    ----------
    members
        `Winnow` rules that differ in `alpha` only. The default has the learning rates 2, 2/3, 2/9, ...,
        2/3^7, which covers margins from 0.001 to 0.96.
    slots
        How many copies there are at a time, 2 to 100.
    multiplier
        The weight of a member that was wrong is divided by this.

    References
    ----------
    Mesterharm, Using linear-threshold algorithms to combine multi-class sub-experts, 2003, section 6 (the
    plan to search an infinite parameter space).

    Littlestone & Warmuth, The weighted majority algorithm, 1994.

    Examples
    --------
    >>> from linmax import Fusion, Winnow, WinnowSearch
    >>> from linmax.problems import majority
    >>> stream = majority(2000, noise=0.05)
    >>> Fusion(WinnowSearch()).learn(*stream).mistakes
    293
    >>> min(Fusion(Winnow(alpha)).learn(*stream).mistakes for alpha in (1.01, 1.03, 1.1, 1.3, 2.0))
    346
    """

    members: tuple[Learner, ...] = GRID
    slots: int = field(default=4, kw_only=True)
    multiplier: float = field(default=1.2, kw_only=True)

    def __post_init__(self) -> None:
        """Raise a ValueError for other rules than Winnow, and for numbers out of range."""
        super().__post_init__()
        check_multiplier(self)
        if not is_integer(self.slots) or not 2 <= self.slots <= 100:
            raise ValueError(
                f"WinnowSearch requires 2 <= slots <= 100 (got {self.slots!r}); a typical value is 4"
            )
        first = self.members[0]
        for member in self.members:
            if type(member) is not Winnow or replace(member, alpha=2.0) != replace(first, alpha=2.0):  # type: ignore[type-var]
                raise ValueError(
                    "WinnowSearch requires Winnow rules that differ in alpha only, such as [Winnow(1.1),"
                    f" Winnow(1.5)] (got {short(member)})"
                )
        if len(set(self.members)) < len(self.members):
            raise ValueError(f"WinnowSearch requires members that differ (got {short(self)})")

    def predictor(self, runner: Any) -> Predictor:
        """Return the predictor over the runs of the members, and over runs of its own for the copies."""
        first = self.members[0]
        sources = runner.shared_sources((first.rule.experts or DEFAULT_SOURCE).parts)
        if sources.stateful:
            raise ValueError(
                f"WinnowSearch cannot copy a member on a source with a memory (got {short(self)});"
                " WeightedMajority takes such members"
            )
        members = [runner.predictor_for(member) for member in self.members]
        runs = [RuleRun(first, RunOptions(), sources) for _ in range(self.slots)]
        runner.rule_runs += runs  # not shared with equal rules, because they change
        return SearchPredictor(self, members, [RulePredictor(first, run, False) for run in runs])


class SearchPredictor(MemberMajority):
    """The given members vote, and so do the copies.

    Parameters
    ----------
    learner
        The committee.
    members
        The predictors of its members.
    copies
        Predictors with runs of their own, one per slot.
    """

    changes: ClassVar[bool] = True

    def __init__(self, learner: Any, members: list[Any], copies: list[RulePredictor]) -> None:
        super().__init__(learner, [*members, *copies])
        self.copies = copies
        self.etas = np.zeros(len(copies))  # the learning rates; 0 for an empty slot
        self.spoken[len(members) :] = NEW

    @property
    def used(self) -> np.ndarray:
        """Which members predict: all but the empty slots."""
        given = len(self.members) - len(self.copies)
        return np.concatenate((np.ones(given, dtype=bool), self.etas > 0))

    def voters(self) -> list[Any]:
        """Return the members that predict; None for empty slots, which abstain."""
        return [
            member if used else None for member, used in zip(self.members, self.used.tolist(), strict=True)
        ]

    def next_change(self, trials: int) -> int:
        """Return the number of labelled trials after which the next copy is made."""
        return FIRST if trials < FIRST else FIRST << (trials // FIRST).bit_length()

    def change(self, trials: int) -> bool:
        """Copy the best member, if it is time to; return whether it was."""
        if trials < FIRST or self.next_change(trials - 1) != trials:
            return False
        logs = np.where(self.spoken == NEW, -np.inf, self.logs)
        best, given = int(logs.argmax()), len(self.members) - len(self.copies)
        others = [i for i in range(len(self.copies)) if given + i != best]
        slot = min(others, key=lambda i: (self.etas[i] > 0, logs[given + i]))  # an empty one first
        parent = self.members[best]
        eta = self.etas[best - given] if best >= given else math.log(parent.learner.alpha)
        run = self.copies[slot].run
        for name, column in parent.run.columns.items():
            run.columns[name][...] = column
        run.s[:], run.total[:], run.counts[:] = parent.run.s, parent.run.total, parent.run.counts
        run.columns["theta"] *= 2.0  # the same exponents eta theta
        self.etas[slot] = eta / 2.0
        self.logs[given + slot], self.spoken[given + slot] = 0.0, NEW
        self._set_rules()
        return True

    def _set_rules(self) -> None:
        """Give the runs of the copies their learning rates."""
        for copy, eta in zip(self.copies, self.etas.tolist(), strict=True):
            if eta > 0:
                copy.set_rule(replace(self.learner.members[0], alpha=math.exp(eta)))

    def shares(self) -> list[tuple[Predictor, float]]:
        """Return the members that predict by weight."""
        return [pair for pair, used in zip(super().shares(), self.used, strict=True) if used]

    def explain(self, item: Any) -> Attribution:
        """Return each member's weight for its prediction, relative to the largest."""
        logs = self.logs_of_all()
        voters = [(member, log) for member, log in zip(self.voters(), logs, strict=True) if member]
        weights = np.exp(np.array([log for _, log in voters]) - max(log for _, log in voters))
        members = [(member, weight) for (member, _), weight in zip(voters, weights.tolist(), strict=True)]
        attribution = mix_attributions(members, item)
        total = float(weights.sum())
        return attribution._replace(
            members=tuple((title, part / total, code) for title, part, code in attribution.members)
        )

    def state(self) -> State:
        """Return the weights, who has voted, and the learning rates of the copies."""
        return super().state() | {"etas": self.etas}

    def restore(self, state: State) -> None:
        """Take over what `state` returned."""
        super().restore(state)
        self.etas = state["etas"].copy()
        self._set_rules()

    def validate(self, state: State, sizes: Any) -> None:
        """Check that there is one weight per member, and a learning rate per copy."""
        super().validate(state, sizes)
        check_array(state, "etas", (len(self.copies),), np.float64)
        etas = state["etas"]
        require(bool(((etas >= 0) & (etas < 700)).all()), "etas has learning rates that no search produces")
        require(
            not bool((np.diff(etas > 0, prepend=True) & (etas > 0)).any()), "an empty slot precedes a copy"
        )
