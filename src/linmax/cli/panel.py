"""What theory promises on a panel of votes, beside the mistakes that are made on it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linmax.bounds import Case, promise
from linmax.fusion import Fusion
from linmax.rules import Rule
from linmax.rules.alma import Alma
from linmax.rules.balanced_winnow import BalancedWinnow
from linmax.rules.passive_aggressive import PassiveAggressive
from linmax.rules.perceptron import Perceptron
from linmax.rules.pnorm import PNorm
from linmax.rules.romma import Romma
from linmax.rules.winnow import Winnow
from linmax.svm import Instances, comparator, instances, simplex_comparator

MARGINS = 64  # that are tried for each rule
SIGNED, POSITIVE = "SVM", "SVM, u >= 0"


class Votes(NamedTuple):
    """A file as it was read."""

    rows: list[dict[str, Any]]
    labels: list[Any]
    classes: list[Any]  # in the order they are met, expert by expert and item by item


class Line(NamedTuple):
    """One rule on a panel."""

    rule: Rule
    comparator: str
    case: Case | None  # of the margin that promises most
    bound: float | None
    reason: str  # why there is no bound
    mistakes: int


def best_alpha(delta: float) -> float:
    """What makes the multiplicative bounds least; a perfect margin has no best, so near it.

    >>> round(best_alpha(1 / 3) ** 2, 9)
    2.0
    """
    near = min(delta, 1 - 1e-6)
    return math.sqrt((1 + near) / (1 - near))


def rules(n: int, delta: float) -> list[Rule]:
    """The rules that have a bound, each as this margin asks for, where it may ask."""
    return [
        Perceptron(),
        Romma(),
        Winnow(best_alpha(delta)),
        BalancedWinnow(best_alpha(delta)),
        PNorm(max(2.0, round(2 * math.log(n), 1))),
        Alma(2.0),
        PassiveAggressive(),
    ]


def read(path: Path, label: str, first: int | None = None) -> Votes:
    """A CSV, a column per expert and one of labels; an empty cell abstains, as does -1 among integers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = list(csv.DictReader(file))[:first]
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(f"{path} is no CSV in UTF-8; save it as one") from None
    if not table:
        raise ValueError(f"{path} has no items; it needs a line of names and a line for each item")
    if label not in table[0]:
        names = ", ".join(map(str, table[0]))
        raise ValueError(f"{path} has no column {label!r}; name one of {names} with --label")
    for number, row in enumerate(table, start=2):
        if None in row or None in row.values():
            raise ValueError(f"{path}, line {number} has not as many values as there are names; mend it")
    whole = all(_is_whole(value) for row in table for value in row.values() if value)
    rows = [
        {name: int(value) if whole else value for name, value in row.items() if name != label and value}
        for row in table
    ]
    labels = [(int(row[label]) if whole else row[label]) if row[label] else None for row in table]
    rows = [{name: value for name, value in row.items() if not (whole and value == -1)} for row in rows]
    named = [*labels, *(value for row in rows for value in row.values())]
    return Votes(rows, labels, [one for one in dict.fromkeys(named) if one is not None])


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal()


def promised(votes: Votes, C: float = 1.0) -> list[Line]:
    """Every rule with a bound: the comparator's case, what follows from it, and what the rule really did."""
    z = instances(Fusion(Perceptron(), classes=votes.classes), votes.rows, votes.labels)
    u = {SIGNED: comparator(z, C), POSITIVE: simplex_comparator(z, C)}
    n, lines = z.z.shape[1], []
    for at, plain in enumerate(rules(n, 0.5)):
        who = POSITIVE if isinstance(plain, Winnow) else SIGNED
        case, rule = _best(at, u[who], z)
        said = promise(rule, case) if case else None
        run = Fusion(rule, classes=votes.classes).learn(votes.rows, votes.labels)
        reason = said.reason if said else "the comparator is right on no trial"
        lines.append(Line(rule, who, case, said.value if said else None, reason, run.mistakes))
    return lines


def _best(at: int, u: np.ndarray, z: Instances) -> tuple[Case | None, Rule]:
    """The margin, and the rule made for it, that promise most; without a bound the margin of least noise."""
    leads = np.full(int(z.trial.max()) + 1, np.inf)
    np.minimum.at(leads, z.trial, z.z @ u)
    margins = np.unique(leads[np.isfinite(leads) & (leads > 0)])
    if not len(margins):
        return None, rules(len(u), 0.5)[at]
    chosen = margins[np.unique(np.linspace(0, len(margins) - 1, MARGINS).astype(int))]
    size = float(np.abs(u).sum())
    cases = [
        (Case.of(u, z, margin=float(margin)), rules(len(u), float(margin) / size)[at]) for margin in chosen
    ]
    values = [promise(rule, case).value for case, rule in cases]
    return cases[int(np.argmin([math.inf if value is None else value for value in values]))]
