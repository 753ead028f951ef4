"""From scores to decisions: probabilities, costs of mistakes, items passed on, sets of classes, and drift."""

from linmax.decisions.answers import AnswerThreshold, NoAnswerWarning
from linmax.decisions.costs import MistakeCosts
from linmax.decisions.drift import DriftAlarm
from linmax.decisions.observer import Decisions

__all__ = ["AnswerThreshold", "Decisions", "DriftAlarm", "MistakeCosts", "NoAnswerWarning"]
