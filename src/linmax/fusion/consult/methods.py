"""Consultations: ask the experts of an item one after the other, until the prediction is settled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

import numpy as np

from linmax.decisions import Decisions
from linmax.decisions.trials import ALARMS
from linmax.fusion.consult.arguments import (
    answers_at_once,
    check_answers,
    check_ask,
    check_risk,
    checked_answer,
    checked_experts,
    checked_range,
    price_array,
)
from linmax.fusion.consult.paths import critical_distances
from linmax.fusion.consult.record import NEVER, Consultations, Threshold, Way, check_exploration
from linmax.fusion.consult.settlement import NO_RANGE, OUTSIDE, ConsultStep, Settlement, state_key
from linmax.fusion.prediction import PredictionMethods
from linmax.fusion.results import Consultation
from linmax.kernels.settlement import NOT_ASKED
from linmax.validation import is_integer

IN_FULL = "asked in full, to explore and to calibrate: the item was chosen before it was seen"
ALL_ASKED = "all experts were asked"
EXACT = Threshold(None, "")


class ConsultMethods(PredictionMethods):
    """How a session asks experts; a base class of `Fusion`.

    Attributes
    ----------
    consultations : Consultations
        How many there were, and the calibration of ``risk``.
    """

    seed: int
    decisions: Decisions
    consultations: Consultations
    _settlement: Settlement | None = None

    @property
    def exploration(self) -> float:
        """The share of items that `consult` asks in full in the long run, 0.03 unless it is set.

        These items are drawn before they are seen. The first 200 are asked in full, and later ones with
        probability 200 / t until this share is reached. 0 switches exploration off.
        """
        return self.consultations.exploration

    @exploration.setter
    def exploration(self, rate: float) -> None:
        self.consultations.exploration = check_exploration(rate)

    def consult(
        self,
        ask: Callable[[Any], Any],
        *,
        experts: Iterable[Any] | None = None,
        attributes: Any = None,
        prices: Mapping[Any, float] | None = None,
        risk: float = 0.0,
        confidence: float = 0.95,
        batch: int = 1,
        score_range: tuple[float, float] | None = None,
    ) -> Consultation:
        """Ask experts for their votes on one item, until no other expert can change the prediction.

        With ``risk=0`` the prediction is the one that `predict` makes in the same state from the answers of
        all experts. That is proved from the weights for every learner whose prediction is a linear
        combination of votes: rules, `Averaged`, `Recycled`, `Tempered`, `Voted`, `Combine` and
        `WeightedMajority` over experts; and for the default learner, `Mixture`, `Stacked` and `NaiveBayes` if
        no class can be added. With other learners all experts are asked unless `risk` is above 0.

        With ``risk=r`` it stops earlier, so that at most a share r of predictions differs from that of the
        full panel. The statement has the given confidence and holds for exchangeable items; see
        docs/consult.md.

        Parameters
        ----------
        ask
            A function of an expert that returns its vote: a class, or None if it abstains.
        experts
            The experts that are available for this item. Default: all that the session knows.
        attributes
            As for `predict_one`.
        prices
            What it costs to ask each expert. Default: 1.
        risk
            The largest share of predictions that may differ from those of the full panel.
        confidence
            The probability with which this holds.
        batch
            How many experts are asked before the answers are looked at.
        score_range
            The lowest and the highest score, if experts answer with ``{class: score}``. Not needed if the
            learner rescales scores. Default: experts answer with classes.

        Returns
        -------
        Consultation
            Pass its `ticket` to `learn_one` when the label is known. An expert that was not asked abstains.

        Examples
        --------
        >>> from linmax import Fusion, Perceptron
        >>> fusion = Fusion(Perceptron(start="equal"), classes=["ham", "spam"], experts=["ann", "bob", "eve"])
        >>> fusion.exploration = 0
        >>> answers = {"ann": "ham", "bob": "ham", "eve": "spam"}
        >>> found = fusion.consult(answers.get)
        >>> found.prediction, found.asked, found.cost
        ('ham', ['ann', 'bob'], 2.0)
        >>> found.reason
        'settled: the expert that was not asked cannot change the prediction'
        >>> fusion.learn_one(found.ticket, "ham")
        'ham'
        """
        check_ask(ask)
        run = _Run(self, experts, attributes, prices, risk, confidence, batch, score_range)
        while names := run.next():
            for name in names:
                run.votes[name] = checked_answer(ask(name))
        return run.result

    async def consult_async(
        self,
        ask: Callable[[Any], Awaitable[Any]],
        *,
        experts: Iterable[Any] | None = None,
        attributes: Any = None,
        prices: Mapping[Any, float] | None = None,
        risk: float = 0.0,
        confidence: float = 0.95,
        batch: int = 1,
        score_range: tuple[float, float] | None = None,
    ) -> Consultation:
        """Do the same as `consult` with an asynchronous function; the experts of a batch are asked at once.

        If one of them fails, the others are cancelled.

        Parameters
        ----------
        ask
            An asynchronous function of an expert that returns its vote.
        experts, attributes, prices, risk, confidence, batch, score_range
            As for `consult`.

        Returns
        -------
        Consultation

        Examples
        --------
        >>> import asyncio
        >>> from linmax import Fusion, Perceptron
        >>> fusion = Fusion(Perceptron(start="equal"), classes=["ham", "spam"], experts=["ann", "bob", "eve"])
        >>> async def ask(expert):
        ...     return "ham"
        >>> asyncio.run(fusion.consult_async(ask, batch=2)).prediction
        'ham'
        """
        check_ask(ask)
        run = _Run(self, experts, attributes, prices, risk, confidence, batch, score_range)
        while names := run.next():
            answers = await answers_at_once(ask, names)
            run.votes.update(zip(names, answers, strict=True))
        return run.result

    def next_expert(
        self,
        votes: Mapping[Any, Any],
        *,
        experts: Iterable[Any] | None = None,
        attributes: Any = None,
        prices: Mapping[Any, float] | None = None,
        risk: float = 0.0,
        confidence: float = 0.95,
        score_range: tuple[float, float] | None = None,
    ) -> Any:
        """Return the expert to ask next, or None if the prediction is settled; nothing changes.

        For programs that ask the experts themselves. No item is explored.

        Parameters
        ----------
        votes
            The answers so far, ``{expert: class}``; None for an expert that was asked and abstains.
        experts, attributes, prices, risk, confidence, score_range
            As for `consult`.

        Returns
        -------
        expert or None

        Examples
        --------
        >>> from linmax import Fusion, Perceptron
        >>> fusion = Fusion(Perceptron(start="equal"), classes=["ham", "spam"], experts=["ann", "bob", "eve"])
        >>> fusion.next_expert({}, prices={"ann": 3, "bob": 1, "eve": 2})
        'bob'
        >>> fusion.next_expert({"bob": "ham"})
        'ann'
        >>> fusion.next_expert({"bob": "ham", "ann": "ham"}) is None
        True
        """
        with self._lock, self._lock.state:
            check_risk(risk, confidence)
            check_answers(votes)
            score_range = None if score_range is None else checked_range(score_range)
            state = self._settled_by(experts)
            base = state.base_of(self, attributes)
            if prices is not None and (state.prices is None or state.prices[0] != prices):
                array = price_array(prices, state.experts)
                state.prices = dict(prices), array
            listed = None if prices is None or state.prices is None else state.prices[1]
            threshold = EXACT if risk == 0.0 else self._threshold(risk, confidence, state, listed)
            step = self._look(state, votes, listed, base, score_range)
            if threshold.distance is not None:
                step = self._check_leader(state, step, votes, attributes)
            return None if step.next < 0 or _stops(step, threshold) else state.experts[step.next]

    # --- parts

    @property
    def _alarm_count(self) -> int:
        """How many alarms of drift there were."""
        return int(self.decisions.arrays.counts[ALARMS])

    def _settled_by(self, experts: Iterable[Any] | None) -> Settlement:
        """Return what the experts can change now; it is found anew when the session has learned."""
        names = tuple(self.names.experts.names) if experts is None else checked_experts(experts)
        if experts is not None and not names and "votes" in self.needs:
            raise ValueError("there is no expert to ask: pass experts= with at least one (got none)")
        found = self._settlement
        if found is None or found.key != state_key(self) or found.experts != names:
            self._settlement = found = Settlement(self, names)
        return found

    def _threshold(
        self, risk: float, confidence: float, state: Settlement, prices: np.ndarray | None, batch: int = 1
    ) -> Threshold:
        """Return when to stop; it is calibrated in the present state if all experts can be asked."""
        if risk == 0.0:
            return EXACT
        self.consultations.follow(self._alarm_count)
        whole = state.experts == tuple(self.names.experts.names)
        listed = None if prices is None or not whole else tuple(prices.tolist())
        way = Way(float(risk), float(confidence), int(batch), listed)
        refresh = partial(critical_distances, self, prices, batch) if whole and state.known else None
        return self.consultations.threshold(way, refresh)

    def _look(
        self,
        state: Settlement,
        votes: Mapping[Any, Any],
        prices: np.ndarray | None,
        base: np.ndarray | None,
        score_range: tuple[float, float] | None,
    ) -> ConsultStep:
        step = state.check(votes, prices, base, score_range)
        if step.limit in (NO_RANGE, OUTSIDE):
            self.consultations.scored = True
        elif self.consultations.scored and score_range is None and state.needs_range and step.next >= 0:
            return step._replace(settled=False, limit=NO_RANGE)
        return step

    def _check_leader(self, state: Settlement, step: ConsultStep, votes: Any, attributes: Any) -> ConsultStep:
        """Return the step with the class that is predicted now, which need not lead in an approximation."""
        if state.exact or not state.known:
            return step
        batch = self._read_one(votes if "votes" in self.needs else None, attributes, "vote")
        code = int(self.runner.run(batch, learn=False).codes[0])
        return step if code == step.leader else step._replace(leader=code, distance=0.0)


class _Run:
    """One consultation: `next` returns the experts to ask, and in the end an empty list and the result."""

    def __init__(
        self,
        fusion: ConsultMethods,
        experts: Iterable[Any] | None,
        attributes: Any,
        prices: Mapping[Any, float] | None,
        risk: float,
        confidence: float,
        batch: int,
        score_range: tuple[float, float] | None,
    ) -> None:
        if not is_integer(batch) or batch < 1:
            raise ValueError(f"batch must be a whole number, 1 or more (got {batch!r})")
        check_risk(risk, confidence)
        if score_range is not None:
            score_range = checked_range(score_range)
        self.fusion, self.attributes, self.batch, self.score_range = fusion, attributes, batch, score_range
        with fusion._lock, fusion._lock.state:
            known = fusion.names.experts.names
            if experts is None and not known and "votes" in fusion.needs:
                raise ValueError(
                    "consult needs the experts of the item: the session knows none; pass experts="
                )
            self.state = fusion._settled_by(experts)
            self.experts = self.state.experts
            self.prices = price_array(prices, self.experts)
            self.risk = risk
            fusion.consultations.follow(fusion._alarm_count)
            self.in_full = fusion.consultations.draw(fusion.seed)
            self.threshold = EXACT
            if not self.in_full:
                self.threshold = fusion._threshold(risk, confidence, self.state, self.prices, batch)
        self.votes: dict[Any, Any] = {}
        self.path: list[ConsultStep] = []
        self.same_state = True
        self.base: np.ndarray | None = None
        self.result: Consultation

    def next(self) -> list[Any]:
        """Return the experts to ask now; an empty list if there is a result."""
        fusion = self.fusion
        with fusion._lock, fusion._lock.state:
            state = fusion._settled_by(self.experts)
            if state is not self.state or not self.path:
                self.same_state &= state is self.state
                self.state, self.base = state, state.base_of(fusion, self.attributes)
            step = fusion._look(state, self.votes, self.prices, self.base, self.score_range)
            if self.in_full or self.threshold.distance is not None:
                step = fusion._check_leader(state, step, self.votes, self.attributes)
            self.path.append(step)
            if step.next < 0 or (not self.in_full and _stops(step, self.threshold)):
                self._finish(step)
                return []
            if self.batch == 1:
                return [state.experts[step.next]]
            order = np.argsort(-step.gains, kind="stable")[: self.batch]
            return [state.experts[i] for i in order if step.gains[i] >= 0.0]

    def _finish(self, step: ConsultStep) -> None:
        fusion = self.fusion
        # a tie of new classes goes to the one named first, which must not depend on the order of asking
        votes = {name: self.votes[name] for name in self.experts if name in self.votes}
        given = votes if "votes" in fusion.needs else None
        ticket = fusion.predict_one(given, attributes=self.attributes, ticket=True)
        probabilities = fusion.predict_proba_one(ticket)
        if self.in_full and self.same_state and self.state.known and not any(one.limit for one in self.path):
            fusion.consultations.record(critical_distance(self.path), self._row())
        index = self.state.index
        cost = float(sum(1.0 if self.prices is None else self.prices[index[name]] for name in self.votes))
        self.result = Consultation(
            ticket.guess, probabilities, list(self.votes), dict(self.votes), cost, self._reason(step),
            self.in_full, ticket,
        )  # fmt: skip

    def _row(self) -> np.ndarray | None:
        """Return the votes by expert; None if they are not all labels of known classes, by known experts."""
        known, codes = self.fusion.names.experts, self.state.codes
        row = np.full(len(known), NOT_ASKED, dtype=np.int32)
        try:
            for name, vote in self.votes.items():
                code = known.get(name)
                if code < 0 or self.state.found.of_attributes:
                    return None
                row[code] = codes[vote]
        except (KeyError, TypeError):
            return None
        return row

    def _reason(self, step: ConsultStep) -> str:
        left = len(self.experts) - len(self.votes)
        if self.in_full:
            return IN_FULL
        limit = self.state.limit or next((step.limit for step in self.path if step.limit), "")
        notes = [
            note for note in (limit, self.threshold.note and f"risk=0, since {self.threshold.note}") if note
        ]
        if left == 0:
            return "; ".join([ALL_ASKED, *notes])
        who = "the expert that was" if left == 1 else f"the {left} experts that were"
        if step.settled:
            return "; ".join([f"settled: {who} not asked cannot change the prediction", *notes])
        return f"stopped: {who} not asked would rarely change the prediction (risk={self.risk:g})"


def critical_distance(path: list[ConsultStep]) -> float:
    """Return the largest distance at which the leader was not the final one; NEVER if it always was."""
    final = path[-1].leader
    return max([NEVER, *(step.distance for step in path if step.leader != final)])


def _stops(step: ConsultStep, threshold: Threshold) -> bool:
    if step.settled:
        return True
    return threshold.distance is not None and not step.limit and step.distance > threshold.distance
