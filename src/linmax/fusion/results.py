"""What `learn` tells: every guess, made before its label was seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Run:
    """One pass over some trials (or several: then trial after trial, pass after pass).

    >>> from linmax import Fusion, Winnow
    >>> run = Fusion(Winnow(2.0)).learn([["a", "b"], ["a", "b"], ["a", "b"]], ["b", "b", "c"])
    >>> run
    Run(trials=3, right=1, mistakes=1, novel=1, ignored=0)
    >>> run.guesses
    array(['a', 'b', 'b'], dtype='<U1')
    >>> run.accuracy
    0.5
    """

    named: Callable[[], np.ndarray] = field(repr=False)  # makes `guesses`, when somebody asks for them
    wrong: np.ndarray = field(repr=False)  # bool: this guess was a mistake
    trials: int  # items with a label
    right: int
    mistakes: int
    novel: int  # labels nobody had named before: neither right nor wrong
    ignored: int  # votes and labels left out by on_new_class="ignore"
    moves: int = field(repr=False)  # trials on which the rule moved its weights

    @cached_property
    def guesses(self) -> np.ndarray:
        """The class guessed for each item, labelled or not."""
        return self.named()

    @property
    def accuracy(self) -> float:
        """Right guesses among the trials whose label was known; nan when there were none."""
        return self.right / (self.right + self.mistakes) if self.right + self.mistakes else float("nan")

    @property
    def curve(self) -> np.ndarray:
        """Mistakes made up to each item."""
        return np.cumsum(self.wrong)


@dataclass(frozen=True)
class Explanation:
    """Why an item is guessed as it is: what each expert added to each class; columns add up to `scores`."""

    guess: Any
    scores: dict[Any, float]
    contributions: dict[Any, dict[Any, float]]
    members: dict[str, tuple[float, Any]] = field(
        default_factory=dict, repr=False
    )  # of a committee: each member's part in the guess, and its own guess
