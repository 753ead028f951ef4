"""Predictions of a session: classes, scores and probabilities, of many items or of one."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linmax import inputs
from linmax.fusion.facts import Facts
from linmax.fusion.tickets import Ticket, Tickets, by_name
from linmax.inputs import Batch, Newcomers
from linmax.inputs.names import to_python
from linmax.inputs.read import ARGUMENTS
from linmax.kernels.structs import TRIALS
from linmax.runtime.predictor import Predictions
from linmax.runtime.single_item import SingleItem

Scores = NDArray[np.float64]

NEW_EXPERTS = ("ignore", "vote")


class PredictionMethods(Facts):
    """How a session reads and predicts items; a base class of `Fusion`.

    Experts and attributes that the session has not met are newcomers. While it learns, they vote from their
    first item on. A session that has learned a trial ignores them in a mere prediction, as if they were not
    in the data: nothing is known about them. With ``new_experts="vote"`` they vote there, too.
    """

    chooses_learner: bool = False
    needs: Set[str]
    on_new_class: str
    abstain: Any
    tickets: Tickets
    _single: SingleItem

    # --- many items

    def predict(
        self,
        votes: Any = None,
        *,
        attributes: Any = None,
        new_experts: str = "ignore",
        max_error: float | None = None,
        confidence: float = 0.95,
    ) -> np.ndarray:
        """Predict the class of every item; nothing is learned.

        Parameters
        ----------
        votes, attributes
            As for `learn`.
        new_experts
            What happens to experts and attributes that the session has not met: "ignore" leaves them out
            once a trial has been learned, "vote" lets them vote as they would in `learn`.
        max_error
            The allowed share of wrong predictions among those given: the others are None, to be passed on to
            a human, say. It holds with the probability `confidence` for items that are exchangeable with
            those learned; docs/decisions.md says what that means while weights still move. With too few
            labels, all are None and a `NoAnswerWarning` says how many are needed.
        confidence
            The probability with which `max_error` is kept.

        Returns
        -------
        ndarray
            One class per item; with `max_error` an array of objects.

        Examples
        --------
        >>> from linmax import Fusion, Winnow
        >>> fusion = Fusion(Winnow(1.5))
        >>> run = fusion.learn([{"ann": "ham"}, {"ann": "spam", "bob": "ham"}], ["ham", "spam"])
        >>> item = {"ann": "ham", "eve": "spam", "joe": "spam"}
        >>> fusion.predict([item]), fusion.predict([item], new_experts="vote")
        (array(['ham'], dtype='<U4'), array(['spam'], dtype='<U4'))
        """
        with self._lock, self._lock.state:
            batch = self.read(votes, attributes=attributes, new_experts=new_experts)
            if max_error is not None:
                return self._answers(batch, max_error, confidence)
            codes = self._single.run_rows(batch)
            if codes is None:
                codes = self._single.predict_read(batch).codes
        return inputs.decode_classes(codes, self.names.classes, batch.unknown_classes)

    def scores(self, votes: Any = None, *, attributes: Any = None, new_experts: str = "ignore") -> np.ndarray:
        """Return what decides `predict`: a score per item and class.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict`.

        Returns
        -------
        ndarray
            Items by classes, columns in the order of `classes`.
        """
        with self._lock, self._lock.state:
            return self._scores(self.read(votes, attributes=attributes, new_experts=new_experts))

    def predict_proba(
        self, votes: Any = None, *, attributes: Any = None, new_experts: str = "ignore"
    ) -> np.ndarray:
        """Return a probability per item and class, calibrated by the labels learned so far.

        The scores of the default learner, of `Logistic`, `NaiveBayes` and `Tempered(...)` are
        log-probabilities, and the result is their softmax. The scores of other learners have no scale: a
        temperature and a share of the uniform distribution are learned on-line, and mixed with the softmax so
        that the log-loss over a stream never exceeds that of the softmax by more than ln 2 in total.
        ``Fusion(calibrate=...)`` says from which items.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict`.

        Returns
        -------
        ndarray
            Items by classes, columns in the order of `classes`; without columns if no class is known. Rows
            add up to 1, also where votes name a class that has no column: `predict_proba_one` has that, too.

        Examples
        --------
        >>> from linmax import Fusion, Logistic
        >>> fusion = Fusion(Logistic(0.5), experts=["ann", "bob"], classes=["ham", "spam"])
        >>> votes = [["ham", "spam"], ["spam", "spam"], ["spam", "ham"]]
        >>> run = fusion.learn(votes, ["ham", "spam", "spam"], passes=9)
        >>> fusion.predict_proba([["ham", "spam"], ["spam", "spam"]]).round(2)
        array([[0.91, 0.09],
               [0.07, 0.93]])
        >>> {name: round(p, 2) for name, p in fusion.predict_proba_one({"ann": "ham"}).items()}
        {'ham': 0.85, 'spam': 0.15}
        """
        with self._lock, self._lock.state:
            batch = self.read(votes, attributes=attributes, new_experts=new_experts)
            return self._probabilities(self._scores(batch))

    def _probabilities(self, scores: Scores) -> Scores:
        raise NotImplementedError

    def _answers(self, batch: Batch, max_error: float, confidence: float) -> np.ndarray:
        """Return predictions, with None where they would be wrong too often."""
        raise NotImplementedError

    def newcomers(self, votes: Any = None, *, attributes: Any = None) -> Newcomers:
        """Return the experts and attributes of these items that the session has not met.

        Parameters
        ----------
        votes, attributes
            As for `learn`.

        Returns
        -------
        Newcomers
            The names of experts, of attributes, and pairs of a known attribute and its new value.

        Examples
        --------
        >>> from linmax import Fusion, Winnow
        >>> fusion = Fusion(Winnow(1.2), experts=["ann", "bob"])
        >>> fusion.newcomers([{"ann": "ham", "eve": "spam"}, {"eve": "ham", "joe": "ham"}]).experts
        ['eve', 'joe']
        """
        with self._lock, self._lock.state:
            return self._encode(votes, None, attributes, "ignore", True).left_out

    def read(
        self, votes: Any = None, labels: Any = None, *, attributes: Any = None, new_experts: str = "vote"
    ) -> Batch:
        """Encode items with the names of this session, for `learn_batch` or `predict_batch`.

        Parameters
        ----------
        votes, labels, attributes
            As for `learn`.
        new_experts
            As for `predict`; here the default is "vote", as in `learn`.

        Returns
        -------
        Batch
            The encoded items. It is valid until the session meets new names. Its `left_out` names the
            experts and attributes that were ignored.
        """
        if new_experts not in NEW_EXPERTS:
            raise _new_experts_error(new_experts)
        ignore = new_experts == "ignore" and self.runner.counts[TRIALS] > 0
        batch = self._encode(votes, labels, attributes, self.on_new_class, ignore)
        self.runner.check(batch)
        batch.needs, batch.names, batch.sizes = self.needs, self.names, self.names.sizes
        return batch

    def predict_batch(
        self, batch: Batch, *, scores: bool = False, probabilities: bool = False
    ) -> Predictions:
        """Predict items that `read` has just encoded; nothing is learned.

        Parameters
        ----------
        batch
            The encoded items, without labels.
        scores
            Whether the scores behind the predictions are returned, too.
        probabilities
            Whether the calibrated probabilities are returned, too.

        Returns
        -------
        Predictions
            The codes of the predicted classes, the scores and the probabilities.
        """
        with self._lock, self._lock.state:
            self._check_batch(batch)
            return self.runner.run(batch, learn=False, scores=scores, probabilities=probabilities)

    def _check_batch(self, batch: Batch) -> None:
        """Refuse a batch of another session, or one that has other names or another learner by now."""
        if batch.needs is not None and batch.needs != self.needs:
            raise ValueError(
                f"the batch has {_kinds(batch.needs)}, and the session now learns from {_kinds(self.needs)};"
                " read it again"
            )
        read = batch.names
        if read is not None and (batch.sizes != self.names.sizes or not read.begin_like(self.names)):
            raise ValueError(
                "the batch was read by a session with other names, or before this one met new names; read it"
                " again"
            )

    def _choose_learner(self, votes: bool, attributes: bool) -> None:
        """Choose the learner for what is given, if none was chosen by the user."""

    def _encode(self, votes: Any, labels: Any, attributes: Any, on_new_class: str, ignore: bool) -> Batch:
        self._choose_learner(votes is not None, attributes is not None)
        if self.chooses_learner and attributes is not None and "rows" not in self.needs:
            raise ValueError(
                "this session learns from votes alone and cannot use attributes now; leave them out, or"
                " learn all items in a new session with both"
            )
        if self.chooses_learner and votes is not None and "votes" not in self.needs:
            raise ValueError(
                "this session learns from attributes alone and cannot use votes now; leave them out, or"
                " learn all items in a new session with both"
            )
        return inputs.read(
            votes, labels, attributes, self.names,
            needs=self.needs, on_new_class=on_new_class, abstain=self.abstain, ignore_newcomers=ignore,
        )  # fmt: skip

    def _scores(self, batch: Batch) -> Scores:
        scores: Scores = self._single.predict_read(batch, scores=True).scores
        return scores[:, : len(self.names.classes)]

    # --- one item

    def predict_one(
        self,
        votes: Any = None,
        *,
        attributes: Any = None,
        ticket: bool = False,
        new_experts: str = "ignore",
        max_error: float | None = None,
        confidence: float = 0.95,
    ) -> Any:
        """Predict the class of one item.

        Parameters
        ----------
        votes
            ``{expert: label}`` or ``{expert: {class: score}}``, or a `Ticket`.
        attributes
            ``{attribute: value}``, for learners that read attributes.
        ticket
            Whether to return a `Ticket`, which `learn_one` takes when the label is known.
        new_experts
            As for `predict`. In the item of a ticket new experts always vote, as they do when it is learned.
        max_error, confidence
            As for `predict`; without a ticket.

        Returns
        -------
        class or Ticket
            With `max_error`, None where the prediction would be wrong too often.
        """
        if max_error is not None:
            return self._answer_one(votes, attributes, ticket, new_experts, max_error, confidence)
        if new_experts not in NEW_EXPERTS:
            raise _new_experts_error(new_experts)
        if ticket or type(votes) is Ticket:
            return self._predict_ticket(votes, attributes, ticket)
        code = self._single.run(votes, attributes, None)
        if code is None:
            return self._predict_general(votes, attributes, new_experts)
        return self.names.classes.names[code]

    def predict_proba_one(
        self, votes: Any = None, *, attributes: Any = None, new_experts: str = "ignore"
    ) -> dict[Any, float]:
        """Return the calibrated probability of each class for one item.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict_one`.

        Returns
        -------
        dict
            The probability of each class that the session knows or the votes name, which add up to 1. If all
            of them are known, these are the numbers of `predict_proba`. Empty if there is no class.

        Examples
        --------
        >>> from linmax import Fusion, Perceptron
        >>> fusion = Fusion(Perceptron(start="equal"), classes=["ham", "spam"], calibrate="none")
        >>> found = fusion.predict_proba_one({"ann": "ham", "bob": "eggs", "eve": "eggs"})
        >>> {name: round(p, 2) for name, p in found.items()}
        {'ham': 0.24, 'spam': 0.09, 'eggs': 0.67}
        """
        return self.predict_with_proba_one(votes, attributes=attributes, new_experts=new_experts)[1]

    def predict_with_proba_one(
        self, votes: Any = None, *, attributes: Any = None, new_experts: str = "ignore"
    ) -> tuple[Any, dict[Any, float]]:
        """Return what `predict_one` and `predict_proba_one` do, in less time than both take.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict_one`.

        Examples
        --------
        >>> from linmax import Fusion
        >>> Fusion(classes=["ham", "spam"]).predict_with_proba_one({"ann": "spam", "bob": "spam"})[0]
        'spam'
        """
        if new_experts not in NEW_EXPERTS:
            raise _new_experts_error(new_experts)
        with self._lock, self._lock.state:
            if type(votes) is Ticket:
                (votes, attributes), new_experts = self.tickets.item(votes), "vote"
            names, found = self.names.classes.names, self._single.predict_probabilities(votes, attributes)
            if found is not None:
                prediction, p = names[found[0]], found[1]
            else:
                batch = self._read_one(votes, attributes, new_experts)
                if batch.trials != 1:
                    raise ValueError("predict_proba_one needs an item: pass its votes or attributes")
                new = range(len(names), int(batch.known[0]))
                names = [*names, *(batch.unknown_classes.name(0, code) for code in new)]
                run = self._single.predict_read(batch, scores=True)
                classes = inputs.decode_classes(run.codes, self.names.classes, batch.unknown_classes)
                prediction, p = to_python(classes[0]), self._probabilities(run.scores[:, : len(names)])[0]
            return prediction, dict(zip(names, p.tolist(), strict=True))

    def _answer_one(
        self, votes: Any, attributes: Any, ticket: bool, new_experts: str, max_error: float, confidence: float
    ) -> Any:
        if ticket:
            raise ValueError("a ticket has a prediction: pass ticket=False with max_error, or no max_error")
        with self._lock, self._lock.state:
            batch = self._read_one(votes, attributes, new_experts)
            if batch.trials != 1:
                raise ValueError("predict_one needs an item: pass its votes or attributes")
            return to_python(self._answers(batch, max_error, confidence)[0])

    def _predict_ticket(self, votes: Any, attributes: Any, issue: bool) -> Any:
        with self._lock, self._lock.state:
            if type(votes) is Ticket:
                votes, attributes = self.tickets.item(votes)
            predicted = self.predict_one(votes, attributes=attributes, new_experts="vote")
            return self.tickets.issue(predicted, votes, attributes) if issue else predicted

    def _predict_general(self, votes: Any, attributes: Any, new_experts: str) -> Any:
        """Predict an item that has newcomers, or something else that single items do not know."""
        with self._lock, self._lock.state:
            if new_experts == "ignore" and self.runner.counts[TRIALS] > 0:
                code = self._single.run_known(votes, attributes)
                if code is not None:
                    return self.names.classes.names[code]
            votes, attributes = as_list(votes), as_list(attributes)
            return to_python(self.predict(votes, attributes=attributes, new_experts=new_experts)[0])

    def _read_one(self, votes: Any, attributes: Any, new_experts: str) -> Batch:
        """Encode one item, or that of a ticket, in which newcomers vote."""
        if type(votes) is Ticket:
            votes, attributes = self.tickets.item(votes)
            new_experts = "vote"
        return self.read(as_list(votes), attributes=as_list(attributes), new_experts=new_experts)


def _kinds(needs: Set[str]) -> str:
    return " and ".join(sorted({ARGUMENTS[need] for need in needs}, reverse=True))


def as_list(item: Any) -> Any:
    """Return one item as a list of items; None stays None.

    >>> as_list({"ann": "ham"}), as_list(None)
    ([{'ann': 'ham'}], None)
    """
    return None if item is None else [by_name(item)]


def _new_experts_error(got: Any) -> ValueError:
    return ValueError(f'new_experts must be "ignore" or "vote" (got {got!r})')
