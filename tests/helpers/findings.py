"""Findings made by hand: a small panel with everything in it, and anything of it changed."""

from __future__ import annotations

import math
from typing import Any

from linmax.evaluate.audit.audit import Milestone
from linmax.evaluate.audit.sample import ItemRecord
from linmax.evaluate.calibration import Calibration, ReliabilityBin
from linmax.evaluate.findings.decisions import (
    AnsweredItems,
    AnswerPoint,
    DecisionSummary,
    DriftSummary,
    ExpertChange,
    SetPoint,
)
from linmax.evaluate.findings.findings import (
    NO_METRICS,
    Agreement,
    BaselineComparison,
    CalibrationSummary,
    Confusion,
    CoveragePoint,
    Curves,
    ExpertSummary,
    Findings,
    ModelResult,
    TrustHistory,
)
from linmax.evaluate.findings.verdict import Baseline
from linmax.evaluate.metrics import Metrics
from linmax.evaluate.significance import gain
from linmax.validation import DataWarning

NAMES = ("ann", "bob", "eve", "joe")
CLASSES = ("ham", "spam", "eggs")


def findings(names: Any = NAMES, classes: Any = CLASSES, points: int = 40, **changes: Any) -> Findings:
    """Some experts and classes over 1000 items, of which `changes` are made."""
    names, classes = list(names), list(classes)
    n, k, trials = len(names), len(classes), 1000
    at = [round(trials * (j + 1) / points) for j in range(points)]
    curves = [[round(t * (0.2 + 0.6 * i / max(n, 1)) + 3 * math.sin(t)) for t in at] for i in range(n)]
    looks = [32, 64, 128, 256, 512, 1000]
    total = sum(1 / (i + 1) for i in range(n))
    shares = [[1 / (i + 1) / total] * len(looks) for i in range(n)]
    whole = {
        "learner": "Averaged(Winnow(1.2))",
        "file": "votes.csv",
        "source": "votes.csv: CSV, wide",
        "items": trials + 20,
        "trials": trials,
        "unlabelled": 20,
        "repeated": False,
        "novel": 1,
        "sampled": trials,
        "classes": classes,
        "results": results(names),
        "comparisons": comparisons(names),
        "experts": [expert(name, i, n) for i, name in enumerate(names)],
        "curves": Curves(at, at, [round(t * 0.15) for t in at], [round(t * 0.3) for t in at],
                         [round(t * 0.2) for t in at], curves),
        "trust_history": TrustHistory(looks, shares),
        "confusion": Confusion(classes, [[50 if y == c else y + c for c in range(k)] for y in range(k)], 0),
        "agreement": Agreement(
            names, [[None if i == j + 1 else (i + j) / (2 * n) for j in range(n)] for i in range(n)]
        ),
        "coverage": [CoveragePoint(part / 20, 1.0 - part / 100, 2.0 - part / 10) for part in range(1, 21)],
        "hardest": [item(row, names, classes, truth=True) for row in range(20)],
        "next_labels": [item(row, names, classes, truth=False) for row in range(20)],
        "milestones": [Milestone(1 << j, "ham", None, j, j + 1, j) for j in range(10)],
        "bound": "At most 400 mistakes are promised; 150 were made.",
        "members": {"Winnow(1.2)": 0.75, "Perceptron()": 0.25},
        "warnings": [DataWarning("shuffled", "note", "rows are sorted by label")],
        "verdict": "better",
        "decision": "Use it: linmax avoids 150 of the 300 errors.",
        "accuracy": 0.85,
        "baselines": baselines(names),
        "metrics": Metrics(0.85, 0.84, 0.83, 0.8, None),
        "calibration": CalibrationSummary(calibration(0.05), calibration(0.2)),
        "decisions": decisions(names),
        "schema": {"ann": "expert"},
        "notes": ["a remark"],
    }  # fmt: skip
    return Findings(**{**whole, **changes})


def decisions(names: list[Any]) -> DecisionSummary:
    """Answers, sets, costs and an alarm."""
    sets = [SetPoint(level, level + 0.01, None) for level in (0.5, 0.8, 0.9, 0.95)]
    answers = [AnswerPoint(0.01, 0.0, 0.0, None)]
    answers += [AnswerPoint(limit, 2 * limit, limit / 2, 1 - limit) for limit in (0.05, 0.1, 0.4)]
    changes = [ExpertChange(name, 0.9, 0.4) for name in names]
    alarm = DriftSummary(704, 640, 0.1, 0.45, changes)
    return DecisionSummary(answers, sets, AnsweredItems(0.1, 1000, 250, 5), sets[-1], 123.5, 0, [alarm])


def nothing(**changes: Any) -> Findings:
    """What is found where there is nothing."""
    empty: dict[str, Any] = dict.fromkeys(("items", "trials", "unlabelled", "novel", "sampled"), 0)
    empty |= {name: [] for name in ("classes", "results", "comparisons", "experts", "coverage", "hardest")}
    empty |= {name: [] for name in ("next_labels", "milestones", "warnings", "notes", "baselines")}
    parts = {
        "curves": Curves([], [], [], [], [], []),
        "trust_history": TrustHistory([], []),
        "confusion": Confusion([], [], 0),
        "agreement": Agreement([], []),
        "bound": "",
        "members": {},
        "verdict": "not judged",
        "decision": "",
        "accuracy": None,
        "metrics": NO_METRICS,
        "calibration": None,
        "decisions": None,
    }
    return findings(**{**empty, **parts, **changes})


def results(names: list[Any], right: float = 0.85) -> list[ModelResult]:
    best = str(names[0]) if names else ""
    return [
        ModelResult("linmax", "", 1000, round(1000 * (1 - right)), right, right + 0.01),
        ModelResult("plurality", "", 1000, 300, 0.7, 0.69),
        ModelResult("best expert", best, 1000, 200, 0.8, None),
    ]


def baselines(names: list[Any]) -> list[Baseline]:
    best = str(names[0]) if names else ""
    return [
        Baseline(
            name, detail, 1000, 1.0, 300.5, 150, 0.6995, Metrics(0.6995, 0.6, None, 0.5), gain(1000, 200, 50)
        )
        for name, detail in (("plurality", ""), ("best expert", best), ("last label", ""))
    ]


def calibration(error: float) -> Calibration:
    bins = [
        ReliabilityBin(b / 10, b / 10 + 0.1, 10 * b, b / 10 + 0.05, b / 10 + 0.05 - error)
        for b in range(3, 10)
    ]
    return Calibration(420, error, 0.5, 0.3, 0.7, 0.7 - error, bins)


def comparisons(names: list[Any], better: int = 200, worse: int = 50) -> list[BaselineComparison]:
    best = str(names[0]) if names else ""
    return [
        BaselineComparison(other, who, part, gain(trials, better * trials // 1000, worse * trials // 1000))
        for other, who in (("plurality", ""), ("best expert", best))
        for part, trials in (("all", 1000), ("last half", 500))
    ]


def expert(name: Any, i: int, n: int) -> ExpertSummary:
    total = sum(1 / (j + 1) for j in range(n))
    return ExpertSummary(
        name, 0.8 - 0.6 * i / n, 1.0 - i / (2 * n), 0.7, 1 / (i + 1) / total, "as voted",
        None, None, 0.84, 0.01 * math.cos(i), gain(1000, 10, 10 - round(10 * math.cos(i))), i == 2, None,
    )  # fmt: skip


def item(row: int, names: list[Any], classes: list[Any], *, truth: bool) -> ItemRecord:
    votes = {name: classes[(i + row) % len(classes)] for i, name in enumerate(names)} if classes else {}
    label = classes[-1] if truth and classes else None
    return ItemRecord(
        row, row + 2, None if row % 2 else f"id{row}", classes[0] if classes else None, label, 0.9, votes
    )
