"""The session: an on-line learner over a panel that may grow."""

from __future__ import annotations

import os
from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from typing import Any, Self

import numpy as np

from linmax import inputs as ballots
from linmax.fusion.explain import explain
from linmax.fusion.results import Explanation, Run
from linmax.fusion.tickets import Ticket, Tickets
from linmax.inputs import Batch, NameIndex, Names
from linmax.inputs.classes import check_abstain
from linmax.kernels.structs import MISTAKES, MOVES, NOVEL, TRIALS
from linmax.runtime.predictor import Predictions
from linmax.runtime.runner import Runner
from linmax.runtime.single_item import Shortcut
from linmax.spec import Learner, parse, short
from linmax.techniques import recommended

POLICIES = ("add", "error", "ignore")


class Fusion:
    """Learn whom to trust: guess each item's class from a panel's votes, hear the truth, move the weights.

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
        abstain: Any = ballots.DEFAULT,
        seed: int = 0,
    ) -> None:
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
        self.seed = _whole("seed", seed, 0)
        given = ((() if names is None else names) for names in (classes, experts))
        self.names = Names(
            *(NameIndex(names, what=what) for names, what in zip(given, ("class", "expert"), strict=True))
        )
        self.tickets = Tickets()
        self.notes: dict[str, Any] = {}  # whatever JSON has, saved and loaded along
        self.ignored = 0
        self._seat()
        self.runner.check()
        self.runner.fit()

    def _seat(self) -> None:
        self.runner = Runner(self.learner, self.names, self.seed)
        self._needs = frozenset(part.needs for part in self.runner.parts if part.needs)
        self._shortcut = Shortcut(self.runner, self._needs, self.abstain)

    def __repr__(self) -> str:
        met = f"classes={self.classes!r}, experts={len(self.experts)}, trials={self.trials}"
        return f"Fusion({self.learner}, {met})"

    def __getstate__(self) -> dict[str, Any]:
        made = ("runner", "_needs", "_shortcut")
        own = {name: fact for name, fact in vars(self).items() if name not in made}
        return {**own, "state": self.state()}

    def __setstate__(self, facts: dict[str, Any]) -> None:
        vars(self).update((name, fact) for name, fact in facts.items() if name != "state")
        self._seat()  # whoever copies arrays one by one loses which of them are the same
        self.runner.restore({name: np.array(array) for name, array in facts["state"].items()})

    def __copy__(self) -> Self:
        return deepcopy(self)  # two sessions that share their arrays would learn each other's trials

    # --- facts

    @property
    def classes(self) -> list[Any]:
        """The known classes, in the order of the columns of `scores`."""
        return list(self.names.classes.names)

    @property
    def experts(self) -> list[Any]:
        """The experts met so far."""
        return list(self.names.experts.names)

    @property
    def trials(self) -> int:
        """Labelled items learned."""
        return int(self.runner.counts[TRIALS])

    @property
    def mistakes(self) -> int:
        """Wrong guesses on them."""
        return int(self.runner.counts[MISTAKES])

    @property
    def novel(self) -> int:
        """Labels nobody had named before."""
        return int(self.runner.counts[NOVEL])

    @property
    def weights(self) -> dict[Any, float]:
        """The weights that predict, by name: an expert's own, or a tuple such as ("threshold", class)."""
        return self.runner.head.weights()

    @property
    def members(self) -> dict[str, float]:
        """The members of a committee and the part each has in a guess now; empty for a single learner.

        >>> from linmax import Fusion, Perceptron, WeightedMajority, Winnow
        >>> Fusion(WeightedMajority([Perceptron(), Winnow(1.2)])).members
        {'Perceptron()': 0.5, 'Winnow(1.2)': 0.5}
        """
        shares: dict[str, float] = {}
        for head, share in self.runner.head.members_below():
            shares[repr(head.learner)] = shares.get(repr(head.learner), 0.0) + share
        return shares

    # --- many items

    def learn(self, votes: Any = None, labels: Any = None, *, attributes: Any = None, passes: int = 1) -> Run:
        """Guess every item, hear its label, learn; items without a label are only guessed.

        Votes are a 2-D array or data frame of labels (a column per expert), a 3-D array of scores,
        `Triplets`, or a list of dicts.
        """
        passes = _whole("passes", passes, 1)
        if labels is None:
            raise ValueError("learn needs labels; without them use predict")
        before = self.runner.facts()
        guesses, wrong, ignored = [], [], self.ignored
        for _ in range(passes):
            batch = self.read(votes, labels, attributes=attributes)
            codes = self.learn_batch(batch).guesses
            guesses.append((codes, batch.unknown_classes))
            wrong.append((codes != batch.labels) & (batch.labels >= 0) & (batch.labels < batch.known))
        after = self.runner.facts()
        trials, mistakes, novel, moves = (int(after[i] - before[i]) for i in (TRIALS, MISTAKES, NOVEL, MOVES))
        return Run(
            partial(_named, self.names.classes, guesses), np.concatenate(wrong),
            trials, trials - mistakes - novel, mistakes, novel, self.ignored - ignored, moves,
        )  # fmt: skip

    def predict(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """The class of every item, as of now; nothing is learned."""
        batch = self.read(votes, attributes=attributes)
        codes = self.runner.run(batch).guesses
        return ballots.decode_classes(codes, self.names.classes, batch.unknown_classes)

    def scores(self, votes: Any = None, *, attributes: Any = None) -> np.ndarray:
        """What decides `predict`: a score per item and class, columns in the order of `classes`."""
        batch = self.read(votes, attributes=attributes)
        board = self.runner.run(batch, scores=True).board
        return board[:, : len(self.names.classes)]

    def read(self, votes: Any = None, labels: Any = None, *, attributes: Any = None) -> Batch:
        """Items in the codes of this session, as `learn_batch` takes them; nothing is learned."""
        batch = ballots.read(
            votes, labels, attributes, self.names,
            needs=self._needs, on_new_class=self.on_new_class, abstain=self.abstain,
        )  # fmt: skip
        self.runner.check(batch)
        return batch

    def learn_batch(self, batch: Batch, *, scores: bool = False) -> Predictions:
        """Learn items that `read` has just read: their guesses in codes and, if wanted, the scores behind."""
        self._meet(batch)
        self.ignored += batch.ignored
        return self.runner.run(batch, scores=scores)

    def _meet(self, batch: Batch) -> None:
        """Let the newcomers of a batch that is learned be known."""
        for roll, new in (
            (self.names.classes, batch.new_classes),
            (self.names.experts, batch.new_experts),
            (self.names.attributes, batch.new_attributes),
            (self.names.values, batch.new_values),
        ):
            if new:
                roll.extend(new)
                self.runner.version += 1
        batch.new_attributes = []

    # --- one item

    def predict_one(self, votes: Any = None, *, attributes: Any = None, ticket: bool = False) -> Any:
        """The class of one item, given as {expert: label} or {expert: {class: score}}, or of a ticket.

        With `ticket=True` a `Ticket` instead, which `learn_one` takes when the label is known.
        """
        votes, attributes = self.tickets.item(votes) if isinstance(votes, Ticket) else (votes, attributes)
        code = self._shortcut.trial(votes, attributes, None)
        if code is None:
            guess = _plain(self.predict(_one(votes), attributes=_one(attributes))[0])
        else:
            guess = self._name(code)
        return self.tickets.issue(guess, votes, attributes) if ticket else guess

    def learn_one(self, votes: Any, label: Any, *, attributes: Any = None) -> Any:
        """Guess one item (or the item of a ticket), learn its label, and return the guess."""
        if isinstance(votes, Ticket):
            kept, attributes = self.tickets.item(votes)
            guess = self.learn_one(kept, label, attributes=attributes)
            if label is not None:
                del self.tickets.waiting[votes.number]
            return guess
        code = self._shortcut.trial(votes, attributes, label) if label is not None else None
        if code is not None:
            return self._name(code)
        return _plain(self.learn(_one(votes), [label], attributes=_one(attributes)).guesses[0])

    def explain_one(self, votes: Any = None, *, attributes: Any = None) -> Explanation:
        """What each expert adds to each class for one item.

        >>> from linmax import Fusion, Perceptron
        >>> from linmax.experts import Votes
        >>> fusion = Fusion(Perceptron(start="equal").on(Votes()))
        >>> fusion.explain_one({"ann": "cat", "bob": "dog", "eve": "dog"})
        Explanation(guess='dog', scores={'cat': 1.0, 'dog': 2.0}, contributions={'ann': {'cat': 1.0}, ...})
        """
        return explain(self.runner, self.read(_one(votes), attributes=_one(attributes)))

    def _name(self, code: int) -> Any:
        return self.names.classes.names[code]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, which `linmax.load` reads; the file is never half-written."""
        from linmax.fusion.model_file import save

        save(self, path)

    def state(self) -> dict[str, np.ndarray]:
        """All that learning has changed, as arrays: two sessions with equal states go on alike."""
        return self.runner.state()


def _named(classes: NameIndex, guesses: list[tuple[np.ndarray, Any]]) -> np.ndarray:
    named = [ballots.decode_classes(codes, classes, strangers) for codes, strangers in guesses]
    return named[0] if len(named) == 1 else np.concatenate(named)


def _whole(what: str, value: Any, least: int) -> int:
    if isinstance(value, np.integer):
        value = value.item()
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise ValueError(f"{what} must be a whole number, {least} or more and below 2**63 (got {value!r})")
    return value


def _one(item: Any) -> Any:
    item = item.to_dict() if type(item).__name__ == "Series" and hasattr(item, "to_dict") else item
    return None if item is None else [item]


def _plain(guess: Any) -> Any:
    return guess.item() if isinstance(guess, np.generic) else guess
