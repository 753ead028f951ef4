"""Settlement: whether the experts that were not asked yet can change a prediction, and whom to ask next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from linmax.experts.base import Capacity
from linmax.experts.votes import rescale
from linmax.fusion.consult.interval import IntervalBound, interval_bound
from linmax.inputs import read
from linmax.inputs.abstain import read_abstain
from linmax.inputs.names import to_label
from linmax.kernels.forms import Dense
from linmax.kernels.settlement import (
    ABSTAINS,
    DISTANCE,
    LEADER,
    NEXT,
    NOT_ASKED,
    NUMBERS,
    SETTLED,
    settle,
)
from linmax.kernels.structs import TRIALS
from linmax.runtime.influence import Influences
from linmax.runtime.sources import sizes_of

ROUNDING = 1e-15  # of the largest possible score, per sum of numbers
ROUNDING_OF_ATTRIBUTES = 1e-10
NO_BOUND = "no bound is known: the prediction of this learner is no linear combination of votes"
NEW_CLASS = (
    f"{NO_BOUND}, and a new class may change all scores;"
    ' there may be one with on_new_class="error" or "ignore"'
)
NEVER_SETTLED = NO_BOUND, NEW_CLASS  # reasons that hold for all items
NO_SCORES = "scores have no bound under this learner"
COSTS = "with mistake_costs the prediction is not the class with the highest score"
NO_RANGE = "scores without a range have no bound; pass score_range="
OUTSIDE = "a score is outside of score_range, so that there is no bound; pass the range of all scores"


class ConsultStep(NamedTuple):
    """What is known after some answers.

    Parameters
    ----------
    leader
        The number of the class that leads among the classes of the item; -1 if no class is known.
    settled
        Whether no answer of the experts that were not asked can change the prediction.
    distance
        The smallest lead over another class, divided by the third root of the sum of third powers of what
        each of these experts can change; infinite if the bound holds.
    gains
        What each expert can change, per price; negative if it was asked.
    limit
        Why nothing can be settled; empty if it can.
    """

    leader: int
    settled: bool
    distance: float
    next: int
    gains: np.ndarray
    limit: str


class Settlement:
    """What the answers of some experts can change, in the present state of a session.

    Parameters
    ----------
    fusion
        The session; its lock is held.
    experts
        The experts that can be asked, in the order that decides ties.

    Attributes
    ----------
    key : tuple
        Changes with the state of the session.
    interval : IntervalBound or None
        The bound of a mixture.
    exact : bool
        Whether the prediction is linear in the votes.
    known : bool
        Whether at least an order of asking and distances are known.
    limit : str
        Why nothing can be settled.
    """

    def __init__(self, fusion: Any, experts: Sequence[Any]) -> None:
        names, runner = fusion.names, fusion.runner
        self.experts = tuple(experts)
        self.index = {name: i for i, name in enumerate(self.experts)}
        if len(self.index) < len(self.experts):
            raise ValueError("consult needs each expert once in experts=; leave out the repeated ones")
        self.names, self.abstain, self.policy = names, fusion.abstain, fusion.on_new_class
        self.classes = len(names.classes)
        self.adds = fusion.on_new_class == "add"
        k = self.classes + self.adds
        decides = getattr(getattr(fusion, "decisions", None), "decides", False)
        found = self._find(runner, k, not decides)
        self.key = state_key(fusion)
        n = len(self.experts)
        self.known = found is not None
        self.prices: tuple[dict[Any, float], Any] | None = (
            None  # those of the last item, as given and as array
        )
        self.limit = COSTS if decides else NEW_CLASS if self.adds else NO_BOUND
        if self.exact or self.interval is not None:
            self.limit = ""
        if found is None:
            return
        self.found = found
        self.rescaled = np.zeros((2, *found.diagonal.shape[:2]))
        for part in found.scales.values():
            self.rescaled += np.stack((part, abs(part)))
        largest = abs(found.diagonal).max(axis=2, initial=0.0) + abs(found.table).max(
            axis=(2, 3), initial=0.0
        )
        self.silent = (largest.max(axis=0) == 0.0).astype(np.int64)
        self.size = float(largest.sum(axis=1).max() + abs(found.base).max(initial=0.0))
        if len(found.base) > 1 and self.size > 0.0:  # new experts change the scale: rounding may end a tie
            self.silent[[names.experts.get(name) < 0 for name in self.experts]] = 0
        self.place = np.arange(k)
        self.ones = np.ones(n)
        self.answers = np.zeros(n, dtype=np.int64)
        self.codes = self._codes()
        self.int_classes = self.classes > 0 and type(names.classes.names[0]) is int

    def _find(self, runner: Any, k: int, exact: bool) -> Influences | None:
        """Find what answers add, with space for new experts and for a new class."""
        known = self.names.experts
        sizes = sizes_of(self.names)
        codes, new = [], sizes.experts
        for name in self.experts:
            code = known.get(name)
            codes.append(code if code >= 0 else new)
            new += code < 0
        try:
            runner.resize(Capacity(new, max(k, 1), sizes.attributes, 0))
            experts, predictor = np.array(codes, dtype=np.int64), runner.predictor
            found: Influences | None = predictor.influences(experts, k, self.names)
            if found is not None and found.of_attributes and len(found.base) > 1:
                found = None
            self.exact = found is not None and exact
            self.interval: IntervalBound | None = None
            if self.exact:
                return found
            if exact:
                self.interval = interval_bound(predictor, experts, k, self.names)
            approximation: Influences | None = predictor.approximation(experts, k, self.names)
            return approximation
        finally:
            runner.resize()

    def _codes(self) -> dict[Any, int]:
        """Return the codes of votes; names that are missing here are read one by one."""
        abstentions = read_abstain(self.abstain, self.names.classes, None)
        codes: dict[Any, int] = dict.fromkeys((None, *abstentions.names), ABSTAINS) | self.names.classes.codes
        for name in abstentions.ambiguous:
            codes.pop(name, None)
        return codes

    @property
    def needs_range(self) -> bool:
        """Whether scores have to be in a range to be bounded."""
        return (self.exact and self.found.raw) or self.interval is not None

    def rounding(self, classes: int) -> float:
        """Return what rounding can change in a score."""
        return (len(self.experts) + classes + 8) * ROUNDING * self.size

    # --- one item

    def base_of(self, fusion: Any, attributes: Any) -> np.ndarray | None:
        """Return the scores of an item without votes, where they depend on its attributes."""
        if not self.known or not self.found.of_attributes:
            return None
        return self.bases_of(fusion, None if attributes is None else [attributes], 1)

    def bases_of(self, fusion: Any, attributes: Any, items: int) -> np.ndarray:
        """Return the scores of some items without votes, items by classes."""
        batch = fusion.read([{}] * items if "votes" in fusion.needs else None, attributes=attributes)
        batch.known[:] += self.adds
        batch.classes_seen += self.adds
        scores: np.ndarray = fusion.runner.run(batch, learn=False, scores=True).scores
        return scores

    def check(
        self,
        votes: Mapping[Any, Any],
        prices: np.ndarray | None = None,
        base: np.ndarray | None = None,
        score_range: tuple[float, float] | None = None,
    ) -> ConsultStep:
        """Return what is known after some answers.

        Parameters
        ----------
        votes
            The answers so far.
        prices
            The price of each expert; None: all are 1.
        base
            What `base_of` returned.
        score_range
            The range of scores that experts may answer with; None: they answer with labels.
        """
        if not self.known:
            return self._ask_all(votes)
        answers, codes, index = self.answers, self.codes, self.index
        answers.fill(NOT_ASKED)
        try:
            if self.int_classes and bool in map(type, votes.values()):
                raise KeyError
            for name, vote in votes.items():
                answers[index[name]] = codes[vote]
        except (KeyError, TypeError):
            return self._check_any(votes, prices, base, score_range)
        return self._settle(
            self.found.base if base is None else base, self.place, self.classes, prices, score_range
        )

    def _ask_all(self, votes: Mapping[Any, Any]) -> ConsultStep:
        """Ask in the given order."""
        gains = np.array([-1.0 if name in votes else 0.0 for name in self.experts])
        left = np.flatnonzero(gains == 0.0)
        return ConsultStep(-1, len(left) == 0, 0.0, int(left[0]) if len(left) else -1, gains, self.limit)

    def _settle(
        self,
        base: np.ndarray,
        place: np.ndarray,
        known: int,
        prices: np.ndarray | None,
        score_range: tuple[float, float] | None,
    ) -> ConsultStep:
        found = self.found
        low, high = (0.0, 0.0) if score_range is None else score_range
        rounding = self.rounding(len(place))
        if found.of_attributes:
            rounding += ROUNDING_OF_ATTRIBUTES * (self.size + float(abs(base).max(initial=0.0)))
        gains, result = np.empty(len(self.answers)), np.empty(NUMBERS)
        settle(
            base, self.answers, place, known, self.ones if prices is None else prices, self.silent,
            found.diagonal, found.table, self.rescaled, int(score_range is not None and found.raw),
            low, high, rounding, np.empty((len(base), len(place))), gains, result,
        )  # fmt: skip
        leader, settled = int(result[LEADER]), result[SETTLED] == 1.0
        if not self.exact and result[NEXT] >= 0:
            bound = self.interval if leader >= 0 and known == self.classes else None
            settled = bound is not None and bound.settled(self.answers, leader)
        return ConsultStep(leader, settled, float(result[DISTANCE]), int(result[NEXT]), gains, "")

    def _check_any(
        self,
        votes: Mapping[Any, Any],
        prices: np.ndarray | None,
        base: np.ndarray | None,
        score_range: tuple[float, float] | None,
    ) -> ConsultStep:
        """Do the same for votes for new classes and for scores, after checking them."""
        found, new = self.found, dict[Any, int]()
        read(
            [dict(votes)], None, None, self.names, needs=frozenset({"votes"}), on_new_class=self.policy,
            abstain=self.abstain, ignore_newcomers=False,
        )  # fmt: skip
        base = found.base if base is None else base
        self.answers.fill(NOT_ASKED)
        scored: list[tuple[int, dict[int, float]]] = []
        for name, vote in votes.items():
            if name not in self.index:
                raise ValueError(f"{name!r} has voted and is not in experts=; add it there")
            i = self.index[name]
            if isinstance(vote, Mapping) and vote:
                scores = {self._code(label, new): float(score) for label, score in vote.items()}
                scores.pop(ABSTAINS, None)
                scored.append((i, scores))
                self.answers[i] = ABSTAINS
            else:
                self.answers[i] = ABSTAINS if isinstance(vote, Mapping) else self._code(vote, new)
        known = self.classes + len(new)
        place = np.array([*range(self.classes), *[self.classes] * (len(new) + self.adds)], dtype=np.int64)
        base = np.take(base, place, axis=1)  # contiguous, as the kernel is compiled for
        for i, scores in scored:
            self._add_scores(base, place, i, scores, known)
        step = self._settle(base, place, known, prices, score_range)
        outside = score_range is not None and any(
            not score_range[0] <= score <= score_range[1] for _, scores in scored for score in scores.values()
        )
        if scored and (self.exact or self.interval is not None) and step.next >= 0:
            if found.labels_only or not self.exact:
                return step._replace(settled=False, limit=NO_SCORES)
            if found.raw and (score_range is None or outside):
                return step._replace(settled=False, limit=OUTSIDE if outside else NO_RANGE)
        return step

    def _code(self, vote: Any, new: dict[Any, int]) -> int:
        """Return the code of a vote; a class that is new gets the next one."""
        label = to_label(vote, "votes")
        if label is None or read_abstain(self.abstain, self.names.classes, None).includes(label):
            return ABSTAINS
        code: int = self.names.classes.get(label)
        if code >= 0:
            return code
        if not self.adds:
            return ABSTAINS
        return new.setdefault(label, self.classes + len(new))

    def _add_scores(
        self, base: np.ndarray, place: np.ndarray, i: int, scores: dict[int, float], known: int
    ) -> None:
        """Add to the scores of all classes what an expert's scores add."""
        found, row = self.found, np.zeros(known)
        row[list(scores)] = list(scores.values())
        raw = found.diagonal[:, i, place[:known]].copy()
        for scale, weights in found.scales.items():
            raw -= weights[:, i, None]
            base[:, :known] += weights[:, i, None] * rescale(Dense(row[None, None]), scale).values[0, 0]
        base[:, :known] += raw * row
        if found.table.shape[3]:
            base += np.einsum("a,sac->sc", row, found.table[:, i][:, place[:known]][:, :, place])

    # --- many items

    def added_by_votes(self, votes: np.ndarray) -> np.ndarray:
        """Return what recorded votes, items by experts, add: items by cases by experts by classes."""
        found = self.found
        added = np.zeros((len(votes), *found.diagonal.shape))
        t, i = np.nonzero(votes >= 0)
        a = votes[t, i]
        if found.table.shape[3]:
            added[t, :, i] = found.table[:, i, a].transpose(1, 0, 2)
        added[t, :, i, a] += found.diagonal[:, i, a].T
        return added

    def added_by_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return what recorded scores, items by experts by classes, add: as `added_by_votes`."""
        found, k = self.found, scores.shape[2]
        added = np.zeros((len(scores), *found.diagonal.shape))
        raw = found.diagonal[:, :, :k].copy()
        for scale, weights in found.scales.items():
            raw -= weights[:, :, None]
            added[..., :k] += weights[None, :, :, None] * rescale(Dense(scores), scale).values[:, None]
        added[..., :k] += raw * scores[:, None]
        if found.table.shape[3]:
            added += np.einsum("tia,siac->tsic", scores, found.table[:, :, :k])
        return added


def state_key(fusion: Any) -> tuple[Any, ...]:
    """Return what changes with the state of a session."""
    runner = fusion.runner
    return runner, runner.version, int(runner.counts[TRIALS])
