"""The session: an on-line learner over a panel of experts that may grow."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from linmax import inputs
from linmax.decisions import Decisions, MistakeCosts
from linmax.fusion.consult.methods import ConsultMethods
from linmax.fusion.consult.record import Consultations
from linmax.fusion.decision_methods import DecisionMethods
from linmax.fusion.explain import explain
from linmax.fusion.prediction import as_list
from linmax.fusion.results import Explanation, Run
from linmax.fusion.tickets import Ticket, Tickets
from linmax.inputs import Batch, NameIndex, Names
from linmax.inputs.abstain import check_abstain
from linmax.inputs.names import to_label, to_python
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, TRIALS
from linmax.runtime.concurrency import SessionLock
from linmax.runtime.predictor import NO_SCORES, Predictions
from linmax.runtime.runner import Runner
from linmax.runtime.single_item import SingleItem
from linmax.spec import Learner, parse, short
from linmax.techniques import recommended
from linmax.validation import require

POLICIES = ("add", "error", "ignore")


class Fusion(ConsultMethods, DecisionMethods):
    """Predict the class of items from a panel's votes, and learn whom to trust from their labels.

    A trial is a matrix of votes x. The prediction is the class c with the largest score s = w . x^c, and when
    it was wrong, the rule of the learner updates the weights w.

    A session may be shared by threads. Calls that learn follow one another; a prediction sees the state
    before or after such a call (or a whole chunk of 65,536 trials of it; 16,384 for an ensemble), and waits
    for one chunk at most. While it learns in the main thread, Ctrl-C is deferred to the end of the chunk,
    unless the program has installed a handler for SIGINT: if that raises, a committee may be left in the
    middle of a chunk.

    Parameters
    ----------
    learner
        A learner such as ``Winnow(1.2)``, or its text. The default is ``recommended()`` for the votes, the
        attributes or both that the first items have.
    classes
        The classes that are known from the start, in the order of the columns of `scores`.
    experts
        The experts that are known from the start, in the order of the columns of votes.
    on_new_class
        What happens to votes and labels for unknown classes: "add" makes the class known, "error" raises a
        ValueError, "ignore" leaves them out.
    abstain
        A vote that means an abstention, such as 0; the default is -1 among numbers and "" among texts. A
        missing vote (None, NaN) always abstains.
    seed
        Seed for learners that draw at random.
    calibrate
        Which labelled items `predict_proba`, `max_error`, `predict_set` and `alarms` learn from: "sample"
        takes the first 5120, then 1024 from 65,536 and from every 1,048,576 on, so that learning is hardly
        slower; "all" takes all; "none" takes none: probabilities are then the softmax of the scores, and
        there are no alarms. Alarms otherwise see all labels.
    mistake_costs
        What it costs to predict one class when another is true: a matrix with a row per true class and a
        column per prediction, in the order of `classes`, or a dict ``{(truth, guess): cost}`` in which other
        pairs cost 1, and 0 if both are the same. The class of least expected cost is then predicted, by the
        probabilities of `predict_proba`; the updates of the learner are not changed.
    cost_margins
        Whether costs also change the updates: the margin up to which a right prediction is updated is the
        slack of the rule times the cost of the mistake that was near. The learner has rules with a slack,
        such as ``Averaged(Perceptron(slack=20))``.

    Attributes
    ----------
    learner : Learner
    chooses_learner : bool
        Whether no learner was given, so that the first items decide.
    names : Names
        The names of classes, experts, attributes and attribute values.
    needs : frozenset of str
        What the learner reads: "votes", "rows" (numeric attributes) or "nominal" (nominal attributes).
    runner : Runner
        The learner at work: its rule runs, sources and predictor.
    tickets : Tickets
        Items whose label is still to come.
    consultations : Consultations
        How many items `consult` has asked for, and the calibration of its ``risk``.
    notes : dict
        Anything that JSON can hold; it is saved with the session.
    ignored : int
        Number of votes and labels that were left out by ``on_new_class="ignore"``.
    decisions : Decisions
        What turns scores into probabilities and decisions.
    cost_margins : bool
        Whether costs change the updates.

    Examples
    --------
    >>> from linmax import Averaged, Fusion, Winnow
    >>> votes = [["cat", "dog"], ["dog", "dog"], ["cat", "dog"], ["dog", "cat"]]
    >>> truth = ["dog", "dog", "dog", "cat"]
    >>> fusion = Fusion(Averaged(Winnow(1.5)), experts=["ann", "bob"])
    >>> fusion.learn(votes, truth)
    Run(trials=4, right=3, mistakes=1, novel=0, ignored=0)
    >>> fusion.predict_one({"ann": "dog", "bob": "cat"})
    'cat'
    >>> fusion.classes, fusion.experts, fusion.trials, fusion.mistakes
    (['cat', 'dog'], ['ann', 'bob'], 4, 1)
    """

    def __init__(
        self,
        learner: Learner | str | None = None,
        *,
        classes: Iterable[Any] | None = None,
        experts: Iterable[Any] | None = None,
        on_new_class: str = "add",
        abstain: Any = inputs.DEFAULT,
        seed: int = 0,
        calibrate: str = "sample",
        mistake_costs: Any = None,
        cost_margins: bool = False,
    ) -> None:
        self.chooses_learner = learner is None
        if learner is None:
            learner = recommended()
        if isinstance(learner, str):
            learner = parse(learner)
        if not isinstance(learner, Learner):
            several = "; Combine takes several" if isinstance(learner, list | tuple) else ""
            raise ValueError(f"Fusion needs a learner such as Winnow(1.2){several} (got {short(learner)})")
        if on_new_class not in POLICIES:
            raise ValueError(f'Fusion needs on_new_class "add", "error" or "ignore" (got {on_new_class!r})')
        if on_new_class != "add" and classes is None:
            raise ValueError(f'on_new_class="{on_new_class}" needs the classes: pass classes=')
        self.learner = learner
        self.on_new_class = on_new_class
        self.abstain = check_abstain(abstain)
        self.seed = _whole_number("seed", seed, 0)
        self.names = Names(
            NameIndex(() if classes is None else classes, what="class"),
            NameIndex(() if experts is None else experts, what="expert"),
        )
        costs = MistakeCosts.of(mistake_costs, self.names.classes, closed=on_new_class != "add")
        require(
            isinstance(cost_margins, bool) and (costs is not None or not cost_margins),
            f"cost_margins is True or False, and needs mistake_costs (got {cost_margins!r})",
        )
        self.cost_margins = cost_margins
        self.decisions = Decisions(calibrate, costs)
        self.tickets = Tickets()
        self.notes: dict[str, Any] = {}
        self.ignored = 0
        self.consultations = Consultations()
        self._lock = SessionLock()
        self._start()
        self.runner.check()
        self.runner.resize()

    def _start(self) -> None:
        costs = self.decisions.matrix if self.cost_margins else None
        self.runner = Runner(self.learner, self.names, self.seed, costs)
        self.needs = frozenset(part.needs for part in self.runner.parts if part.needs)
        self.decisions.scores_are_logs = self.runner.predictor.log_probabilities
        self.runner.observer = self.decisions
        self._single = SingleItem(self.runner, self.needs, self.abstain, self._lock)
        self._settlement = None

    def _choose_learner(self, votes: bool, attributes: bool) -> None:
        """Use the default for what is given, unless something has been learned, or is just being learned.

        Of the threads that share a session, one at a time learns, and only that one may change its choice.
        """
        if not self.chooses_learner or self.runner.counts[TRIALS] > 0:
            return
        votes = votes or not attributes
        if (votes, attributes) != ("votes" in self.needs, "rows" in self.needs):
            with self._lock.state:
                if self._lock.learning_thread in (None, threading.current_thread()):
                    self.learner = recommended(votes=votes, attributes=attributes)
                    self._start()

    def __repr__(self) -> str:
        known = f"classes={self.classes!r}, experts={len(self.experts)}, trials={self.trials}"
        return f"Fusion({self.learner}, {known})"

    def __getstate__(self) -> dict[str, Any]:
        derived = ("runner", "needs", "_single", "_lock", "_settlement")
        with self._lock, self._lock.state:
            own = {name: deepcopy(value) for name, value in vars(self).items() if name not in derived}
            return {**own, "state": self.runner.state()}

    def __setstate__(self, values: dict[str, Any]) -> None:
        vars(self).update((name, value) for name, value in values.items() if name != "state")
        if "decisions" not in values:  # pickled by an earlier version
            self.decisions = Decisions()
        self.cost_margins = values.get("cost_margins", False)  # not in pickles of earlier versions
        self._lock = SessionLock()
        self._start()  # copies of the arrays one by one would not be the same arrays any more
        self.runner.restore({name: np.array(array) for name, array in values["state"].items()})

    def __copy__(self) -> Self:
        return deepcopy(self)  # two sessions that share arrays would learn each other's trials

    # --- many items

    def learn(self, votes: Any = None, labels: Any = None, *, attributes: Any = None, passes: int = 1) -> Run:
        """Predict every item, then learn its label; items without a label are only predicted.

        Parameters
        ----------
        votes
            A 2-D array or data frame of labels (a column per expert), a 3-D array of scores, `Triplets`, or
            a list of dicts.
        labels
            One label per item; None or NaN where it is missing.
        attributes
            A 2-D array, data frame, sparse matrix or list of dicts, for learners that read attributes.
        passes
            How often the items are gone through.

        Returns
        -------
        Run
        """
        passes = _whole_number("passes", passes, 1)
        if labels is None:
            raise ValueError("learn needs labels; without them use predict")
        with self._lock.learning, self._lock.exclusive:
            before, ignored, spent = self.runner.totals(), self.ignored, self.mistake_cost
            found, wrong = [], []
            for _ in range(passes):
                batch = self.read(votes, labels, attributes=attributes)
                codes = self._learn_batch(batch).codes
                found.append((codes, batch.unknown_classes))
                wrong.append(batch.wrong(codes))
            counts = self.runner.totals() - before
            trials, mistakes, novel = int(counts[TRIALS]), int(counts[MISTAKES]), int(counts[NOVEL])
            if self.decisions.decides:  # the learner has counted those of the best class
                mistakes = sum(int(one.sum()) for one in wrong)
            return Run(
                partial(_decode, self.names.classes, found), np.concatenate(wrong),
                trials, trials - mistakes - novel, mistakes, novel,
                self.ignored - ignored, int(counts[MOVES]), self.mistake_cost - spent,
            )  # fmt: skip

    def learn_batch(self, batch: Batch, *, scores: bool = False, probabilities: bool = False) -> Predictions:
        """Learn items that `read` has just encoded.

        Parameters
        ----------
        batch
            The encoded items.
        scores
            Whether the scores behind the predictions are returned, too.
        probabilities
            Whether the calibrated probabilities of each item, before its label was seen, are returned, too.

        Returns
        -------
        Predictions
            The codes of the predicted classes, the scores and the probabilities.
        """
        with self._lock.learning, self._lock.exclusive:
            self._check_batch(batch)
            return self._learn_batch(batch, scores, probabilities)

    def _learn_batch(self, batch: Batch, scores: bool = False, probabilities: bool = False) -> Predictions:
        self.ignored += batch.ignored
        codes = None if scores or probabilities else self._single.learn_rows(batch)
        if codes is not None:
            return Predictions(codes, NO_SCORES)
        return self.runner.run(batch, learn=True, scores=scores, probabilities=probabilities, lock=self._lock)

    # --- one item

    def learn_one(self, votes: Any = None, label: Any = None, *, attributes: Any = None) -> Any:
        """Predict one item, then learn its label.

        Parameters
        ----------
        votes
            As for `predict_one`; None without votes. Learning from a ticket uses the votes stored with it.
        label
            The true class; None if it is missing.
        attributes
            As for `predict_one`.

        Returns
        -------
        class
            The prediction, made before the label was seen.
        """
        if type(votes) is Ticket:
            return self._learn_ticket(votes, label)
        code = None if label is None else self._single.run(votes, attributes, label)
        if code is None:
            return to_python(self.learn(as_list(votes), [label], attributes=as_list(attributes)).guesses[0])
        return self.names.classes.names[code]

    def _learn_ticket(self, ticket: Ticket, label: Any) -> Any:
        with self._lock.learning:
            votes, attributes = self.tickets.item(ticket)
            predicted = self.learn_one(votes, label, attributes=attributes)
            if to_label(label, "labels") is not None:
                self.tickets.answered(ticket)
            return predicted

    def explain_one(
        self, votes: Any = None, *, attributes: Any = None, new_experts: str = "ignore"
    ) -> Explanation:
        """Return what each expert adds to the score of each class for one item.

        Parameters
        ----------
        votes, attributes, new_experts
            As for `predict_one`.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from linmax import Fusion, Perceptron
        >>> from linmax.experts import Votes
        >>> fusion = Fusion(Perceptron(start="equal").on(Votes()))
        >>> fusion.explain_one({"ann": "cat", "bob": "dog", "eve": "dog"})
        Explanation(guess='dog', scores={'cat': 1.0, 'dog': 2.0}, contributions={'ann': {'cat': 1.0}, ...})
        """
        with self._lock, self._lock.state:
            batch = self._read_one(votes, attributes, new_experts)  # which may choose the learner
            found = explain(self.runner, batch)
            if self.decisions.decides and found.guess is not None:
                coded = self.runner.run(batch, learn=False).codes, batch.unknown_classes
                found = replace(found, guess=to_python(_decode(self.names.classes, [coded])[0]))
            return found

    # --- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, which `linmax.load` reads; the file is never half-written.

        Parameters
        ----------
        path
            The name of the file.
        """
        from linmax.fusion.model_file import save

        save(self, path)

    def state(self) -> dict[str, np.ndarray]:
        """Return all that learning has changed, as arrays.

        Returns
        -------
        dict of str to ndarray
            Two sessions with the same learner, names and equal states go on alike.
        """
        with self._lock, self._lock.state:
            return {**self.runner.state(), **self.decisions.state()}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        """Replace all that learning has changed; the session then goes on as the one that `state` is of.

        Parameters
        ----------
        state
            What `state` has returned, of a session with the same learner, classes and experts, or means of
            such arrays. Another state is a ValueError, and changes nothing. Notes and tickets stay.

        Examples
        --------
        >>> from linmax import Fusion
        >>> first = Fusion("Perceptron()", classes=["a", "b"], experts=["ann", "bob"])
        >>> run = first.learn([["a", "b"], ["b", "a"]], ["b", "a"])
        >>> second = Fusion("Perceptron()", classes=["a", "b"], experts=["ann", "bob"])
        >>> second.set_state(first.state())
        >>> second.weights == first.weights, second.trials
        (True, 2)
        """
        from linmax.fusion.state_check import check_state

        arrays = {name: np.array(array) for name, array in state.items()}
        with self._lock.learning, self._lock.exclusive:
            try:
                check_state(self.runner, arrays)
                self.decisions.validate(arrays)
            except KeyError as error:
                raise ValueError(f"the state has no array {error.args[0]!r}") from None
            except ValueError as error:
                raise ValueError(f"the state is not one of this session: {error}") from None
            self._start()
            self.runner.restore(arrays)
            self.decisions.restore(arrays)


def _decode(classes: NameIndex, found: list[tuple[np.ndarray, Any]]) -> np.ndarray:
    named = [inputs.decode_classes(codes, classes, unknown) for codes, unknown in found]
    return named[0] if len(named) == 1 else np.concatenate(named)


def _whole_number(what: str, value: Any, least: int) -> int:
    value = value.item() if isinstance(value, np.integer) else value
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise ValueError(f"{what} must be a whole number, {least} or more and below 2**63 (got {value!r})")
    return value
