"""linmax on a panel, and what needs no learning: the plurality and the best expert in hindsight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import linmax
from benchmarks.panels.reading import Ints, Panel
from linmax import Averaged, Fusion, Perceptron

LINMAX = "linmax"  # the default, which is what the peers are compared with


def fusions(k: int) -> dict[str, Callable[[], Fusion]]:
    """linmax's columns, new ones for each pass."""
    made: dict[str, Callable[[], Fusion]] = {
        LINMAX: lambda: Fusion(classes=range(k)),
        "averaged Perceptron": lambda: Fusion(Averaged(Perceptron()), classes=range(k)),
    }
    bank = getattr(linmax, "vr_combine", None)
    if bank is not None:
        made["vr_combine"] = lambda: Fusion(bank(), classes=range(k))
    return made


def accuracies(
    panel: Panel, order: Ints, each: Callable[[str], None] = lambda name: None
) -> dict[str, float]:
    """The part of right guesses in one pass; `each` is told who is next."""
    votes, labels = panel.votes[order], panel.labels[order]
    found = {}
    for name, fusion in fusions(panel.k).items():
        each(name)
        found[name] = share(fusion().learn(votes, labels).guesses, labels)
    return found | untaught(votes, labels, panel.k)


def untaught(votes: Ints, labels: Ints, k: int) -> dict[str, float]:
    """What needs no learning."""
    best = float((votes == labels[:, None]).mean(axis=0).max())
    return {"plurality": share(plurality(votes, k), labels), "best expert": best}


def share(guesses: Ints, labels: Ints) -> float:
    """The part of the guesses that is right."""
    return float(np.mean(np.asarray(guesses) == labels))


def plurality(votes: Ints, k: int) -> Ints:
    """The class with most votes; a tie goes to the first."""
    counts = np.stack([(votes == c).sum(axis=1) for c in range(k)], axis=1)
    return np.asarray(counts.argmax(axis=1), dtype=np.int64)
