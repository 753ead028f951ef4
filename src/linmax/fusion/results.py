"""What a session returns: the run of `learn`, the explanation of an item, and a consultation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from linmax.fusion.tickets import Ticket


@dataclass(frozen=True)
class Run:
    """The result of learning some items, each predicted before its label was seen.

    With several passes, the items follow one another pass by pass.

    Parameters
    ----------
    decode
        Makes `guesses` when they are first asked for.
    wrong
        Whether the prediction of each item was a mistake.
    trials
        Number of items with a label.
    right
        Number of right predictions.
    mistakes
        Number of wrong predictions.
    novel
        Number of labels that were unknown when their item was predicted; they are neither right nor wrong.
    ignored
        Number of votes and labels that ``on_new_class="ignore"`` has left out.
    moves
        Number of trials on which a rule has changed its weights.
    cost
        What the mistakes cost by `mistake_costs`; their number if none are given.

    Examples
    --------
    >>> from linmax import Fusion, Winnow
    >>> run = Fusion(Winnow(2.0)).learn([["a", "b"], ["a", "b"], ["a", "b"]], ["b", "b", "c"])
    >>> run
    Run(trials=3, right=1, mistakes=1, novel=1, ignored=0)
    >>> run.guesses
    array(['a', 'b', 'b'], dtype='<U1')
    >>> run.accuracy
    0.5
    """

    decode: Callable[[], np.ndarray] = field(repr=False)
    wrong: np.ndarray = field(repr=False)
    trials: int
    right: int
    mistakes: int
    novel: int
    ignored: int
    moves: int = field(repr=False)
    cost: float = field(default=0.0, repr=False)

    @cached_property
    def guesses(self) -> np.ndarray:
        """The class predicted for each item, with or without a label."""
        return self.decode()

    @property
    def accuracy(self) -> float:
        """The share of right predictions among those that could be right; nan if there were none."""
        return self.right / (self.right + self.mistakes) if self.right + self.mistakes else float("nan")

    @property
    def curve(self) -> np.ndarray:
        """The number of mistakes up to each item."""
        return np.cumsum(self.wrong)


@dataclass(frozen=True)
class Explanation:
    """Why an item is predicted as it is.

    Parameters
    ----------
    guess
        The predicted class.
    scores
        The score of each class.
    contributions
        What each expert adds to the score of each class; the columns add up to `scores`.
    members
        Of an ensemble: the share of each member in the prediction, and the class it predicts.
    """

    guess: Any
    scores: dict[Any, float]
    contributions: dict[Any, dict[Any, float]]
    members: dict[str, tuple[float, Any]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Consultation:
    """The result of asking experts about one item.

    Parameters
    ----------
    prediction
        The predicted class.
    probabilities
        The probability of each class, from the answers given; see `Fusion.predict_proba_one`.
    asked
        The experts that were asked, in order.
    votes
        Their answers; None for an abstention.
    cost
        The sum of their prices; without prices, their number.
    reason
        Why no other expert was asked.
    in_full
        Whether the item was drawn, before it was seen, to be asked in full.
    ticket
        Pass it to `learn_one` with the label.
    """

    prediction: Any
    probabilities: dict[Any, float] = field(repr=False)
    asked: list[Any]
    votes: dict[Any, Any] = field(repr=False)
    cost: float
    reason: str
    in_full: bool = field(repr=False)
    ticket: Ticket = field(repr=False)
