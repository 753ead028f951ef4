"""linmax learns whom to trust: an on-line, mistake-bounded combination of experts' votes."""

from importlib import import_module
from typing import Any

from linmax.fusion import Explanation, Fusion, Run, Ticket, load
from linmax.inputs import Triplets
from linmax.rules import Rule, cycle
from linmax.rules.alma import Alma
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.logistic import Logistic
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.pnorm import PNorm
from linmax.rules.quasi_additive import QuasiAdditive
from linmax.rules.romma import Romma
from linmax.rules.winnow import Winnow
from linmax.spec import find, parse, register
from linmax.techniques import (
    Averaged,
    Combine,
    Mixture,
    NaiveBayes,
    Recycled,
    Stacked,
    Tempered,
    Voted,
    WeightedMajority,
    recommended,
    standard_bank,
    vr_combine,
)

__version__ = "0.1.0"


_submodules = ("adapters", "bounds", "checks", "evaluate", "problems", "report", "streams", "svm")


def __getattr__(name: str) -> Any:
    """A registered rule needs no line here, and parts of linmax are imported when they are first used."""
    if name in _submodules:
        return import_module(f"linmax.{name}")
    thing = find(name)
    if not (isinstance(thing, type) and issubclass(thing, Rule)):
        raise AttributeError(f"module 'linmax' has no attribute {name!r}")
    return thing


__all__ = [
    "Alma",
    "Averaged",
    "BalancedWinnow",
    "Combine",
    "Explanation",
    "Fusion",
    "Logistic",
    "Mixture",
    "NaiveBayes",
    "PNorm",
    "PassiveAggressive",
    "Perceptron",
    "QuasiAdditive",
    "Recycled",
    "Romma",
    "Rule",
    "Run",
    "Stacked",
    "Tempered",
    "Ticket",
    "Triplets",
    "Voted",
    "WeightedMajority",
    "Winnow",
    "cycle",
    "load",
    "parse",
    "recommended",
    "register",
    "standard_bank",
    "vr_combine",
]
