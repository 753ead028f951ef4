"""linmax learns whom to trust: an on-line, mistake-bounded combination of experts' votes.

A panel of experts (classifiers, language models, annotators, rules, attributes) votes on each item. A
`Fusion` predicts one class with a learned linear combination of the votes, and updates its weights when the
label is known.

The session
    `Fusion`, `load`, `Run`, `Ticket`, `Explanation`, `Consultation`, `Triplets`
Rules, which update weights
    `Perceptron`, `Winnow`, `AdaptiveWinnow`, `BalancedWinnow`, `Romma`, `Alma`, `PNorm`, `QuasiAdditive`,
    `PassiveAggressive`, `Logistic`
Techniques and ensembles, which choose the hypothesis that predicts
    `Averaged`, `Recycled`, `Tempered`, `Voted`, `Combine`, `WeightedMajority`, `WinnowSearch`,
    `Mixture`, `Stacked`, `NaiveBayes`, `SquaredHinge`, `LeastSquares`
Presets
    `recommended`, `standard_bank`, `vr_combine`
Learners as text
    `parse`, `register`

The submodules `adapters`, `bounds`, `checks`, `evaluate`, `experts`, `problems`, `report`, `scale`, `streams`
and `svm` are imported when they are first used.

Examples
--------
>>> from linmax import Fusion
>>> fusion = Fusion()
>>> run = fusion.learn([["spam", "ham"], ["ham", "ham"], ["spam", "spam"]], ["ham", "ham", "spam"])
>>> run.trials
3
>>> fusion.predict([["ham", "ham"]]).tolist()
['ham']
"""

from importlib import import_module
from typing import Any

from linmax.fusion import Consultation, Explanation, Fusion, Run, Ticket, load
from linmax.inputs import Triplets
from linmax.rules import Cycle, Rule
from linmax.rules.adaptive_winnow import AdaptiveWinnow
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
    LeastSquares,
    Mixture,
    NaiveBayes,
    Recycled,
    SquaredHinge,
    Stacked,
    Tempered,
    Voted,
    WeightedMajority,
    WinnowSearch,
    recommended,
    standard_bank,
    vr_combine,
)

__version__ = "0.1.0"

_SUBMODULES = (
    "adapters",
    "bounds",
    "checks",
    "evaluate",
    "experts",
    "problems",
    "report",
    "scale",
    "streams",
    "svm",
)


def __getattr__(name: str) -> Any:
    """Import a submodule on first use, or look up a registered rule."""
    if name in _SUBMODULES:
        return import_module(f"linmax.{name}")
    thing = find(name)
    if not (isinstance(thing, type) and issubclass(thing, Rule)):
        raise AttributeError(f"module 'linmax' has no attribute {name!r}")
    return thing


def __dir__() -> list[str]:
    """List the public names and the submodules."""
    return sorted({*__all__, *_SUBMODULES, "__version__"})


__all__ = [
    "AdaptiveWinnow",
    "Alma",
    "Averaged",
    "BalancedWinnow",
    "Combine",
    "Consultation",
    "Cycle",
    "Explanation",
    "Fusion",
    "LeastSquares",
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
    "SquaredHinge",
    "Stacked",
    "Tempered",
    "Ticket",
    "Triplets",
    "Voted",
    "WeightedMajority",
    "Winnow",
    "WinnowSearch",
    "load",
    "parse",
    "recommended",
    "register",
    "standard_bank",
    "vr_combine",
]
