"""Averaged: guess with the mean of all hypotheses."""

from dataclasses import dataclass

from linmax.learner import Learner
from linmax.techniques.base import Technique


@dataclass(frozen=True, repr=False)
class Averaged(Technique):
    """Guess with the mean of the hypotheses held at the start of each trial, the current one included.

    The inner learner goes on guessing for itself and moves on its own mistakes. Freund & Schapire 1999, as
    used in 2008 (A-B).

    >>> from linmax import Averaged, Fusion, Perceptron
    >>> from linmax.problems import majority
    >>> votes, labels = majority(1000, noise=0.1)
    >>> [Fusion(B).learn(votes, labels).mistakes for B in (Perceptron(), Averaged(Perceptron()))]
    [347, 226]
    """

    inner: Learner
